"""The breaker's three states, on a clock of the test's own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pincite.search.guard import Breaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def broken(clock: Clock, failures: int = 3) -> Breaker:
    breaker = Breaker(failures, 30.0, clock)
    for _ in range(failures):
        breaker.report(breaker.enter(), False)
    return breaker


def test_it_opens_after_failures_in_a_row() -> None:
    breaker = Breaker(3, 30.0, Clock())
    for ok in (False, False, True, False, False):  # a success in between starts anew
        breaker.report(breaker.enter(), ok)
    assert breaker.state == "closed"
    breaker.report(breaker.enter(), False)
    assert breaker.state == "open" and breaker.opened == 1
    assert breaker.enter() == 0


def test_one_tries_and_closes_it() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now = 29.9
    assert breaker.enter() == 0
    clock.now = 30.0
    assert breaker.state == "half-open"
    probe = breaker.enter()
    assert probe and not breaker.enter()  # only one
    breaker.report(probe, True)
    assert breaker.state == "closed" and breaker.enter()


def test_a_probe_that_fails_opens_it_again() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now = 30.0
    breaker.report(breaker.enter(), False)
    clock.now = 59.9
    assert breaker.enter() == 0
    clock.now = 60.0
    assert breaker.enter()


def test_a_probe_that_learned_nothing_gives_its_turn_away() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now = 30.0
    breaker.report(breaker.enter(), None)
    assert breaker.enter() and not breaker.enter()


def test_reports_from_before_say_nothing() -> None:
    clock = Clock()
    breaker = Breaker(1, 30.0, clock)
    early, other = breaker.enter(), breaker.enter()
    breaker.report(early, False)
    breaker.report(other, True)  # began before it broke: no proof that it is well
    assert breaker.state == "open"
    clock.now = 30.0
    assert breaker.enter()
    breaker.report(other, True)
    assert breaker.state == "half-open"


def test_0_failures_never_open() -> None:
    assert broken(Clock(), failures=0).state == "closed"
    breaker = Breaker(0, 30.0, Clock())
    for _ in range(100):
        breaker.report(breaker.enter(), False)
    assert breaker.state == "closed"


def test_of_many_threads_one_gets_the_probe() -> None:
    clock = Clock()
    breaker = broken(clock)
    clock.now = 31.0
    with ThreadPoolExecutor(16) as pool:
        permits = list(pool.map(lambda _: breaker.enter(), range(200)))
    assert sum(map(bool, permits)) == 1
