"""Work that may crash, hang or be slow, done so that a search never suffers for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import BoundedSemaphore, Event, Lock, Thread
from typing import Literal

from pincite.model.errors import ModelError

# Who got less time than this cannot be blamed for not being done.
FAIR_SECONDS = 0.1

Work = Callable[[], None]  # knows its deadline, and stops there if it can
State = Literal["closed", "open", "half-open"]


class Breaker:
    """Closed: all may enter. Open: none. Half-open: one, whose luck decides.

    Entering gives a permit to report with. A report that comes after the state has changed says
    nothing about the new state and is ignored. ``failures`` of 0 never opens.
    """

    def __init__(
        self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.failures = failures
        self.seconds = seconds
        self.clock = clock
        self.opened = 0  # how often, ever
        self._state: State = "closed"
        self._permit = 1  # changes with the state, and with every probe
        self._in_a_row = 0
        self._until = 0.0
        self._lock = Lock()

    @property
    def state(self) -> State:
        """What somebody who enters now would find."""
        with self._lock:
            is_over = self._state == "open" and self.clock() >= self._until
            return "half-open" if is_over else self._state

    def enter(self) -> int:
        """Return a permit to try; 0 if there is none now."""
        with self._lock:
            if self._state == "closed":
                return self._permit
            if self._state == "open" and self.clock() >= self._until:
                self._change("half-open")
                return self._permit
            return 0  # open, or somebody else is trying

    def report(self, permit: int, ok: bool | None) -> None:
        """Say how it went: well, badly, or that nothing was learned (None)."""
        with self._lock:
            if permit != self._permit:
                return
            if ok:
                self._in_a_row = 0
                if self._state == "half-open":
                    self._change("closed")
            elif self._state == "half-open":
                # Nothing learned: the next one may try at once.
                self._open(self.seconds if ok is False else 0.0)
            elif ok is False:
                self._in_a_row += 1
                if 0 < self.failures <= self._in_a_row:
                    self.opened += 1
                    self._open(self.seconds)

    def _open(self, seconds: float) -> None:
        self._until = self.clock() + seconds
        self._change("open")

    def _change(self, state: State) -> None:
        self._state = state
        self._in_a_row = 0
        self._permit += 1


class TookTooLong(ModelError):
    """The deadline came first."""


class Busy(ModelError):
    """Too many others are waiting, or all who could work hang."""


class Resting(ModelError):
    """It failed often enough to be left alone for a while."""


class Guard:
    """Lets work run in a bounded number of threads and waits for it no longer than allowed.

    A thread that hangs cannot be ended; it keeps its place until it comes back. When all places
    are lost that way nobody waits any more, and everything is well again once they return.
    """

    def __init__(
        self,
        workers: int,
        waiting: int,
        breaker: Breaker,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.workers = max(1, workers)
        self.waiting = waiting
        self.breaker = breaker
        self.clock = clock
        self._places = BoundedSemaphore(self.workers)
        self._lock = Lock()
        self._in_queue = 0
        self._stuck = 0

    def run(
        self, work: Work, deadline: float | None, is_fair: Callable[[], bool] = lambda: True
    ) -> None:
        """Do the work; raises what it raised, or why it was not done or not finished.

        Without a deadline it is done here and now, however long it takes. Being late counts as a
        failure only if ``is_fair`` says so then: who is still loading is not broken.
        """
        permit = self.breaker.enter()
        if not permit:
            raise Resting("the model failed too often and is left alone for a while")
        if not self._place(deadline):
            self.breaker.report(permit, None)
            raise Busy("too many searches are being re-ranked")
        task = _Task(self, work)
        started = self.clock()
        if deadline is None:
            task.run()
        elif not self._started(task):
            self.breaker.report(permit, None)
            raise Busy("no thread can be started")
        else:
            task.done.wait(max(0.0, deadline - started))
        if self._abandoned(task):
            is_to_blame = self.clock() - started >= FAIR_SECONDS and is_fair()
            self.breaker.report(permit, False if is_to_blame else None)
            raise TookTooLong("the model was not done in time")
        self._finish(task, permit, is_inline=deadline is None)

    def _finish(self, task: _Task, permit: int, *, is_inline: bool) -> None:
        error = task.error
        self.breaker.report(permit, error is None)
        if error is None:
            return
        if isinstance(error, Exception) or is_inline:
            raise error
        # What ends a thread of ours (SystemExit) must not end the thread of whoever searches.
        raise ModelError(f"the model ended its thread: {error!r}") from error

    def _place(self, deadline: float | None) -> bool:
        """Return whether there is a place to work at, after waiting for it if that makes sense."""
        if self._places.acquire(blocking=False):
            return True
        with self._lock:
            is_full = self._in_queue >= self.waiting and deadline is not None
            if is_full or self._stuck >= self.workers:
                return False
            self._in_queue += 1
        try:
            if deadline is None:
                return self._places.acquire()
            # The other half of the time is for the work itself.
            return self._places.acquire(timeout=max(0.0, (deadline - self.clock()) / 2))
        finally:
            with self._lock:
                self._in_queue -= 1

    def _started(self, task: _Task) -> bool:
        try:
            # A daemon: a model that hangs must not keep the program from ending.
            Thread(target=task.run, name="pincite-rerank", daemon=True).start()
        except RuntimeError:
            self._places.release()
            return False
        return True

    def _abandoned(self, task: _Task) -> bool:
        """Give up a task that is not done; returns whether that was so."""
        with self._lock:
            if task.done.is_set():
                return False
            task.is_late = True
            self._stuck += 1
            return True

    def ended(self, task: _Task) -> None:
        """Take note that a task has come to its end, in time or not."""
        with self._lock:
            task.done.set()
            self._stuck -= task.is_late
        self._places.release()


class _Task:
    """One piece of work on its way."""

    def __init__(self, guard: Guard, work: Work) -> None:
        self.guard = guard
        self.work = work
        self.done = Event()
        self.is_late = False
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.work()
        except BaseException as error:
            self.error = error
        finally:
            self.guard.ended(self)
