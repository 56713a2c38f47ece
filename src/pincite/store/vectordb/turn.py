"""One writer at a time, where nobody but the writers themselves notices that one has died.

Whose turn it is says a mark, ``lock_1`` if nobody was there before. A writer also keeps a record
that changes again and again. Who wants to write while there is a mark watches that record: if it
changes, the other one lives; if it stands still for the lease, the other one is dead, and the mark
with the next number is made. Only waiting is measured, so no two clocks need to agree.

A writer that was thought dead may wake up. That is harmless: generations are marks as well, made by
one (``engine.py``), and what it wrote has homes of its own.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from threading import Event, Thread

from pincite.core.errors import IndexBusy, StoreError
from pincite.store.vectordb.driver import KEYS, Absent, Driver, Record

LEASE_SECONDS = 12.0
BEAT_SECONDS = 1.5
WATCH_SECONDS = 0.5
LAST_BEAT_SECONDS = 1.0
_LOCK = "lock_"


class Turn:
    """The right to write, from :meth:`take` to :meth:`give_back`."""

    def __init__(self, driver: Driver, home: int) -> None:
        self.home = home  # of what is written about this turn
        self._driver = driver
        self._mark = ""
        self._ended = Event()
        self._beating = Thread(target=self._keep, name="pincite-turn", daemon=True)
        self._is_lost = False

    def take(self) -> None:
        """Take it; IndexBusy if another writer lives."""
        dead = self._dead_mark()
        number = _number(dead) + 1 if dead else 1
        mark = f"{_LOCK}{number}"
        if not self._driver.make_mark(mark, self._note):
            raise self._busy()
        self._mark = mark
        locks = self._locks()
        if locks and _number(locks[-1]) > number:  # somebody else was faster
            self._driver.drop_mark(mark)
            raise self._busy()
        for other in locks:
            if _number(other) < number:
                self._driver.drop_mark(other)
        self._driver.add_home(self.home)
        self._beat(0)
        self._beating.start()

    @property
    def _note(self) -> str:
        return json.dumps({"home": self.home})

    def _locks(self) -> list[str]:
        return sorted((m for m in self._driver.marks() if m.startswith(_LOCK)), key=_number)

    def _dead_mark(self) -> str:
        """Return the mark of a writer that died, nothing if there is none; wait to find out."""
        seen: tuple[str, str | None] | None = None
        left = LEASE_SECONDS
        while left > 0:
            locks = self._locks()
            note = self._driver.note(locks[-1]) if locks else None
            if note is None:  # nobody, or it has just gone
                return ""
            now = (note, self._seen_beat(int(json.loads(note)["home"])))
            if seen is not None and now[0] == seen[0] and now[1] != seen[1]:
                raise self._busy()
            if seen is None or now[0] != seen[0]:
                left = LEASE_SECONDS
            seen = now
            time.sleep(WATCH_SECONDS)
            left -= WATCH_SECONDS
        return locks[-1]

    def _busy(self) -> IndexBusy:
        return IndexBusy(
            f"another process is writing to {self._driver.shown}", hint="try again later"
        )

    def _seen_beat(self, home: int) -> str | None:
        try:
            found = self._driver.by_id([home], [f"{home}/beat"], self._driver.stamp())
        except Absent:
            return None  # its home is not made yet, or no more
        return found[0].body if found else None

    def _beat(self, number: int) -> None:
        beat = Record(f"{self.home}/beat", (0,) * KEYS, f"{number}")
        self._driver.put(self.home, [beat], replace=True)

    def _keep(self) -> None:
        number = 0
        while not self._ended.wait(BEAT_SECONDS):
            number += 1
            # A server that is away comes back with the mark as it was, or it does not.
            with suppress(StoreError):
                self._beat(number)
                self.check()
            if self._is_lost:
                return

    def check(self) -> None:
        """Raise StoreError if another writer has taken the turn."""
        if not self._is_lost and self._driver.note(self._mark) != self._note:
            self._is_lost = True
        if self._is_lost:
            raise self.lost()

    def lost(self) -> StoreError:
        return StoreError(
            f"{self._driver.shown}: another writer took over while this one was silent",
            hint="run the same command again; nothing of this run is visible",
        )

    def give_back(self) -> None:
        """Let the next writer in at once; without this it waits until the lease is over."""
        self._ended.set()
        if self._beating.is_alive():
            self._beating.join(LAST_BEAT_SECONDS)
        if self._mark and self._driver.note(self._mark) == self._note:
            self._driver.drop_mark(self._mark)


def _number(mark: str) -> int:
    return int(mark.removeprefix(_LOCK))
