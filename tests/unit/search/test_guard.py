"""Work that hangs, crashes or is late, and who waits for it how long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from threading import Event

import pytest

from pincite.model.errors import ModelError
from pincite.search.guard import Breaker, Busy, Guard, Resting, TookTooLong


@pytest.fixture
def release() -> Iterator[Event]:
    """Ends what hangs when the test is over."""
    event = Event()
    yield event
    event.set()


def guard(workers: int = 2, waiting: int = 0, failures: int = 3) -> Guard:
    return Guard(workers, waiting, Breaker(failures, 1000.0))


def soon(seconds: float = 0.15) -> float:
    return time.monotonic() + seconds


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "pincite-rerank"}


def test_work_is_done_and_errors_come_through() -> None:
    done: list[int] = []
    guard().run(lambda: done.append(1), soon(5))
    guard().run(lambda: done.append(2), None)
    assert done == [1, 2]

    def fails() -> None:
        raise MemoryError("no room")

    for deadline in (soon(5), None):
        with pytest.raises(MemoryError):
            guard().run(fails, deadline)


@pytest.mark.alone
def test_nobody_waits_past_the_deadline(release: Event) -> None:
    started = time.monotonic()
    with pytest.raises(TookTooLong):
        guard().run(lambda: bool(release.wait(60)), soon(0.2))
    assert 0.19 < time.monotonic() - started < 0.6


@pytest.mark.alone
def test_what_hangs_is_bounded_and_nobody_queues_for_it(release: Event) -> None:
    own, before = guard(workers=2, waiting=50, failures=0), threads()
    for _ in range(2):
        with pytest.raises(TookTooLong):
            own.run(lambda: bool(release.wait(60)), soon())
    started = time.monotonic()
    for _ in range(20):
        with pytest.raises(Busy):
            own.run(lambda: None, soon(5))
    assert time.monotonic() - started < 1.0
    assert len(threads() - before) == 2
    release.set()
    deadline = time.monotonic() + 5
    while threads() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    own.run(lambda: None, soon(5))  # all is well again
    assert own._stuck == 0


def test_a_queue_of_bounded_length_waits_for_a_place(release: Event) -> None:
    own = guard(workers=1, waiting=1)
    done: list[int] = []
    first = threading.Thread(target=own.run, args=(lambda: bool(release.wait(5)), soon(10)))
    second = threading.Thread(target=own.run, args=(lambda: done.append(2), soon(10)))
    first.start()
    time.sleep(0.05)
    second.start()
    time.sleep(0.05)
    with pytest.raises(Busy):
        own.run(lambda: done.append(3), soon(10))
    release.set()
    first.join()
    second.join()
    assert done == [2]


def test_failures_in_a_row_let_it_rest(release: Event) -> None:
    def fails() -> None:
        raise ModelError("broken")

    own = guard(failures=2)
    for _ in range(2):
        with pytest.raises(ModelError, match="broken"):
            own.run(fails, soon(5))
    with pytest.raises(Resting):
        own.run(lambda: None, soon(5))


def test_who_has_no_time_or_loads_is_not_to_blame(release: Event) -> None:
    own = guard(workers=4, failures=1)
    with pytest.raises(TookTooLong):
        own.run(lambda: bool(release.wait(5)), soon(0.01))
    with pytest.raises(TookTooLong):
        own.run(lambda: bool(release.wait(5)), soon(0.2), is_fair=lambda: False)
    assert own.breaker.state == "closed"
    with pytest.raises(TookTooLong):
        own.run(lambda: bool(release.wait(5)), soon(0.2))
    assert own.breaker.state == "open"


def test_what_ends_a_thread_does_not_end_the_search() -> None:
    def leaves() -> None:
        raise SystemExit(3)

    with pytest.raises(ModelError, match="SystemExit"):
        guard().run(leaves, soon(5))
