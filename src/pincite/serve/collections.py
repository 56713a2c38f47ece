"""Collections: named indexes that follow their folders, and what each reader may see of them.

A request works on one generation from its begin to its end. A new one is opened and warmed beside
the old one, then takes its place; the old one is closed when its last request has ended.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock

from pincite.api import Index
from pincite.core.errors import PinciteError, StoreError
from pincite.core.settings import Settings
from pincite.index.opened import OpenIndex
from pincite.rerank.metrics import Metrics
from pincite.store.manifest import pointer

# Readers with the same tags share a view; so many kinds of readers are kept ready.
VIEWS = 16
logger = logging.getLogger("pincite.serve")


class Generation:
    """One open generation, its views, and who is using it."""

    def __init__(self, folder: Path, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self.index = Index(OpenIndex.open(folder), settings, metrics=metrics)
        self.number = self.index.snapshot.manifest.generation
        self._views: OrderedDict[tuple[tuple[str, ...] | None, float], Index] = OrderedDict()
        self._lock = Lock()
        self._users = 0
        self._is_retired = False

    def seen_by(self, access: tuple[str, ...] | None, threshold: float = 0.0) -> Index:
        """Return the index as one with these tags sees it; None is one who sees all.

        With a threshold, hits are read together with the question, and those left out that answer
        it with a smaller probability.
        """
        tags = None if access is None else tuple(sorted({tag.casefold() for tag in access}))
        name = (tags, threshold)
        if name == (None, 0.0):
            return self.index
        with self._lock:
            if name in self._views:
                self._views.move_to_end(name)
                return self._views[name]
        view = self._made(tags, threshold)
        with self._lock:
            # Two threads may have made it at the same time: one is kept.
            view = self._views.setdefault(name, view)
            while len(self._views) > VIEWS:
                self._views.popitem(last=False)
        return view

    def _made(self, tags: tuple[str, ...] | None, threshold: float) -> Index:
        opened = self.index.opened
        if tags is not None:
            opened = self.seen_by(tags).opened if threshold else opened.seen_by(tags)
        if opened is self.index.opened and not threshold:
            return self.index
        settings = self._settings
        if threshold:
            # Who names a threshold waits for it: hits that nobody read would pass it unseen.
            rerank = replace(settings.rerank, enabled=True, threshold=threshold, budget_ms=0)
            settings = replace(settings, rerank=rerank)
        return Index(opened, settings, metrics=self._metrics)

    def enter(self) -> None:
        with self._lock:
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            is_last = self._is_retired and not self._users
        if is_last:
            self.index.close()

    def retire(self) -> None:
        """Close it as soon as nobody uses it."""
        with self._lock:
            self._is_retired = True
            is_free = not self._users
        if is_free:
            self.index.close()


class Collection:
    """One index folder, served under a name; safe for any number of threads."""

    def __init__(
        self, name: str, folder: Path, settings: Settings, metrics: Metrics | None = None
    ) -> None:
        self.name = name
        self.folder = folder
        self.settings = settings
        self.metrics = metrics or Metrics(log_queries=settings.rerank.log_queries)
        self.reloads = 0
        self.problem = ""  # why the newest generation is not served, for the log and metrics
        self._current: Generation | None = None
        self._pointer: tuple[int, str] | None = None
        self._lock = Lock()
        self._opening = Lock()
        self.writing = Lock()  # one of this process writes at a time

    @property
    def generation(self) -> int:
        """The number of the generation that is served; 0 if there is none."""
        current = self._current
        return current.number if current else 0

    @property
    def is_ready(self) -> bool:
        """Whether a search would load nothing any more; an empty collection is ready."""
        current = self._current
        return current is None or current.index.ready

    @contextmanager
    def lease(self, access: tuple[str, ...] | None, threshold: float = 0.0) -> Iterator[Index]:
        """Hand out the index as a reader with these tags sees it, for as long as it is used."""
        with self._lock:
            generation = self._current
            if generation is None:
                raise StoreError(
                    f"the collection {self.name!r} has no documents yet", hint="upload some first"
                )
            generation.enter()
        try:
            yield generation.seen_by(access, threshold)
        finally:
            generation.leave()

    def refresh(self) -> bool:
        """Serve the newest generation; True if it is another one than before.

        One that cannot be opened is not served: the one before goes on, and the log says why.
        """
        with self._opening:
            return self._refresh()

    def _refresh(self) -> bool:
        if not (self.folder / "CURRENT").exists():
            return False  # nothing was ingested yet
        try:
            newest = pointer(self.folder)
            if newest == self._pointer:
                return False
            started = time.monotonic()
            generation = Generation(self.folder, self.settings, self.metrics)
            generation.index.warm()
        except PinciteError as error:
            if self.problem != error.message:
                logger.error("collection %s: %s", self.name, error.message)
            self.problem = error.message
            if self._current is None:
                raise
            return False
        with self._lock:
            old, self._current = self._current, generation
            self._pointer = newest
        self.problem = ""
        self.reloads += old is not None
        took = time.monotonic() - started
        logger.info("collection %s: generation %d in %.2f s", self.name, generation.number, took)
        if old is not None:
            old.retire()
        return True

    def close(self) -> None:
        """Stop serving; what is in use is closed when it is no longer."""
        with self._lock:
            old, self._current = self._current, None
        if old is not None:
            old.retire()
