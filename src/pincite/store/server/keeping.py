"""How long what is read from a server stays there: the promise of writers, and a reader's care.

A reader has no files open in a server. Writers keep a generation for ``GRACE_SECONDS`` after the
next one came, and sweep it then. Rows that were swept look like rows that never were, so a reader
makes sure in time that its generation is still kept, and is told to open the index again otherwise.
"""

from __future__ import annotations

import hashlib
import time
from threading import Lock

from pincite.core.errors import StoreUnavailable
from pincite.store.server.contract import Engine, Stamped

GRACE_SECONDS = 900.0
# A reader looks no more often than this, and counts twice as much as gone already: one question
# for rows takes far less.
LOOK_SECONDS = 60.0


def stamp_of(engine: Engine) -> str:
    """Return what only the current manifest has; empty if there is no index yet."""
    if isinstance(engine, Stamped):
        return engine.stamp()
    head = engine.head()
    return hashlib.sha256(head).hexdigest() if head is not None else ""


class Kept:
    """Says whether a generation that is being read is still kept, asking the server rarely."""

    def __init__(self, engine: Engine, number: int, manifest: bytes, looked: float) -> None:
        self._engine = engine
        self._number = number
        self._manifest = manifest
        self._looked = looked  # then it was the current one
        self._lock = Lock()

    def check(self) -> None:
        """Raise StoreUnavailable if rows of the generation may be gone."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        with self._lock:
            now = time.monotonic()
            if now - self._looked < LOOK_SECONDS:
                return  # another thread has looked meanwhile
            if not self._is_kept():
                raise StoreUnavailable(
                    f"{self._engine.shown}: generation {self._number} was replaced "
                    "long ago and is no longer there",
                    hint="open the index again",
                )
            self._looked = now

    def _is_kept(self) -> bool:
        if self._engine.head() == self._manifest:
            return True
        known, number = self._engine.generations(), self._number
        if number not in known or known[number][1] != self._manifest:
            return False
        # As writers count it: a generation is current until the next one comes.
        after = known.get(number + 1)
        return after is not None and after[0] < GRACE_SECONDS - 2 * LOOK_SECONDS
