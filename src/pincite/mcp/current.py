"""The newest generation of an index, lent to whoever reads, and closed when nobody does."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from pincite.api import Index
from pincite.core.errors import PinciteError
from pincite.core.settings import Settings
from pincite.index.opened import OpenIndex
from pincite.store.manifest import pointer

log = logging.getLogger(__name__)


class _Lent:
    """An open index and how many read it."""

    def __init__(self, index: Index, at: tuple[int, str]) -> None:
        self.index = index
        self.at = at  # the generation and its checksum
        self.readers = 0
        self.is_old = False


class CurrentIndex:
    """Lends the current generation; a new one is opened when somebody asks for it.

    Who reads keeps the generation that was lent. If a new one cannot be opened, the old one goes on
    answering and the log says why.
    """

    def __init__(
        self, folder: Path, settings: Settings, access: tuple[str, ...] | None = None
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.access = access  # tags of the reader; None for one who sees all
        self._lock = Lock()
        at = pointer(folder)
        self._now = _Lent(self._open(), at)
        self._failed: tuple[int, str] | None = None  # a generation that could not be opened

    @contextmanager
    def lend(self) -> Iterator[Index]:
        """Yield the index, which stays open until the block ends."""
        with self._lock:
            self._renew()
            lent = self._now
            lent.readers += 1
        try:
            yield lent.index
        finally:
            with self._lock:
                lent.readers -= 1
                _close_if_done(lent)

    def close(self) -> None:
        """Close the index as soon as nobody reads it."""
        with self._lock:
            self._now.is_old = True
            _close_if_done(self._now)

    def _open(self) -> Index:
        opened = OpenIndex.open(self.folder)
        seen = opened if self.access is None else opened.seen_by(self.access)
        return Index(seen, self.settings)

    def _renew(self) -> None:
        # The pointer is read before the index is opened: at worst the next call opens it again.
        try:
            at = pointer(self.folder)
            if at in (self._now.at, self._failed):
                return
            opened = _Lent(self._open(), at)
        except PinciteError as error:
            self._failed = _pointer_or_none(self.folder)
            log.warning("the new generation is not used: %s", error.message)
            return
        old, self._now, self._failed = self._now, opened, None
        old.is_old = True
        _close_if_done(old)


def _pointer_or_none(folder: Path) -> tuple[int, str] | None:
    try:
        return pointer(folder)
    except PinciteError:
        return None


def _close_if_done(lent: _Lent) -> None:
    if lent.is_old and not lent.readers:
        lent.index.close()
