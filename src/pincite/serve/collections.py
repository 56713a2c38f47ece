"""Collections: named indexes that follow their stores, and what each reader may see of them.

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
from threading import Lock

from pincite.core.errors import PinciteError, StoreError, StoreFull, StoreUnavailable
from pincite.core.locations import beside, redact_url
from pincite.core.settings import Settings
from pincite.index.opened import OpenIndex
from pincite.search.metrics import Metrics
from pincite.search.reader import IndexReader
from pincite.store.location import GenerationPoller, Location

# Readers with the same tags share a view; so many kinds of readers are kept ready.
VIEWS = 16
logger = logging.getLogger("pincite.serve")


class Generation:
    """One open generation, its views, and who is using it."""

    def __init__(self, location: Location, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self.index = IndexReader(
            OpenIndex.open(location, settings.store), settings, metrics=metrics
        )
        self.number = self.index.snapshot.manifest.generation
        self._views: OrderedDict[tuple[tuple[str, ...] | None, float], IndexReader] = OrderedDict()
        self._lock = Lock()
        self._users = 0
        self._is_retired = False

    def seen_by(self, access: tuple[str, ...] | None, threshold: float = 0.0) -> IndexReader:
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

    def _made(self, tags: tuple[str, ...] | None, threshold: float) -> IndexReader:
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
        return IndexReader(opened, settings, metrics=self._metrics)

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
    """One index, served under a name; safe for any number of threads."""

    def __init__(
        self, name: str, location: Location, settings: Settings, metrics: Metrics | None = None
    ) -> None:
        self.name = name
        self.location = location
        # What does not come from documents: uploads, jobs, judgements, runs.
        self.folder = beside(location, settings.store.folder)
        self.settings = settings
        self.metrics = metrics or Metrics(log_queries=settings.rerank.log_queries)
        self.reloads = 0
        self.problem = ""  # why the newest generation is not served, for the log and metrics
        self.is_reachable = True  # whether its store answered when it was last looked at
        self._watch = GenerationPoller(location, settings.store)
        self._looked = 0.0
        self._current: Generation | None = None
        self._stamp = ""
        self._lock = Lock()
        self._opening = Lock()
        self.writing = Lock()  # one of this process writes at a time

    @property
    def generation(self) -> int:
        """The number of the generation that is served; 0 if there is none."""
        current = self._current
        return current.number if current else 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ingested yet, as far as its store tells."""
        return self._current is None and self.is_reachable

    @property
    def is_ready(self) -> bool:
        """Whether a search would load nothing any more; an empty collection is ready."""
        current = self._current
        return self.is_reachable and (current is None or current.index.ready)

    @contextmanager
    def lease(
        self, access: tuple[str, ...] | None, threshold: float = 0.0
    ) -> Iterator[IndexReader]:
        """Hand out the index as a reader with these tags sees it, for as long as it is used."""
        with self._lock:
            generation = self._current
            if generation is None:
                raise self._nothing()
            generation.enter()
        try:
            with self.discreet():
                yield generation.seen_by(access, threshold)
        finally:
            generation.leave()

    def _nothing(self) -> StoreError:
        if not self.is_reachable:
            return _told_others(self.name, StoreUnavailable(""))
        return StoreError(
            f"the collection {self.name!r} has no documents yet", hint="upload some first"
        )

    @contextmanager
    def discreet(self) -> Iterator[None]:
        """Keep folders, hosts and users out of errors that are told to others."""
        try:
            yield
        except StoreUnavailable as error:
            raise _told_others(self.name, error) from error
        except PinciteError as error:
            names = {str(self.folder), str(self.folder.absolute()), redact_url(self.location)}
            for each in sorted(names, key=len, reverse=True):
                error.message = error.message.replace(each, self.name)
                error.hint = error.hint.replace(each, self.name)
            raise

    def refresh(self, within: float = 0.0) -> bool:
        """Serve the newest generation; True if it is another one than before.

        One that cannot be opened is not served: the one before goes on, and the log says why. With
        ``within``, nothing is done so many seconds after the last look.
        """
        with self._opening:
            if within and time.monotonic() - self._looked < within:
                return False
            try:
                return self._refresh()
            finally:
                self._looked = time.monotonic()

    def _refresh(self) -> bool:
        started = time.monotonic()
        try:
            newest = self._watch.stamp()
            generation = self._opened() if newest not in ("", self._stamp) else None
        except PinciteError as error:
            if self.problem != error.message:
                logger.error("collection %s: %s", self.name, error.message)
            self.problem = error.message
            self.is_reachable = not isinstance(error, StoreUnavailable)
            if self._current is None and self.is_reachable:
                raise
            return False
        if not self.is_reachable:
            logger.info("collection %s: its store answers again", self.name)
        self.problem, self.is_reachable = "", True
        if generation is None:
            return False  # the same as before, or nothing was ingested yet
        with self._lock:
            old, self._current = self._current, generation
            self._stamp = newest
        self.reloads += old is not None
        took = time.monotonic() - started
        logger.info("collection %s: generation %d in %.2f s", self.name, generation.number, took)
        if old is not None:
            old.retire()
        return True

    def _opened(self) -> Generation:
        """Return the newest generation, ready to be asked."""
        generation = Generation(self.location, self.settings, self.metrics)
        try:
            generation.index.warm()
        except BaseException:
            generation.index.close()
            raise
        return generation

    def close(self) -> None:
        """Stop serving; what is in use is closed when it is no longer."""
        with self._lock:
            old, self._current = self._current, None
        if old is not None:
            old.retire()
        self._watch.close()


def _told_others(name: str, error: StoreUnavailable) -> StoreUnavailable:
    """Return an error of a server without what the server said: that is for the log."""
    if isinstance(error, StoreFull):
        return StoreFull(
            f"the store of {name!r} has no room left", hint="tell who runs the service"
        )
    return StoreUnavailable(
        f"the store of {name!r} does not answer", hint="try again in some seconds"
    )
