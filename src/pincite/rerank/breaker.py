"""A circuit breaker: who failed often is left alone for a while, then tried by one."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import Literal

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
