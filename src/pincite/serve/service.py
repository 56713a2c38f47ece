"""What all routes share: collections, keys, threads, limits and figures of one process."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from pincite.core.errors import ConfigError, PinciteError
from pincite.core.settings import Settings
from pincite.search.metrics import Metrics
from pincite.search.reader import IndexReader
from pincite.serve.audit_log import AuditLog
from pincite.serve.callers import OWNER, Caller, caller_of
from pincite.serve.collections import Collection
from pincite.serve.errors import ServiceError
from pincite.serve.keys import Keys, read_keys
from pincite.serve.metrics import HttpMetrics
from pincite.serve.rates import Buckets
from pincite.serve.sessions import Sessions
from pincite.serve.work import Work
from pincite.store.location import Location

P = ParamSpec("P")
T = TypeVar("T")
DEFAULT = "default"
# Wrong keys of one address a minute; a person who mistypes needs fewer.
FAILURES_PER_MINUTE = 30
logger = logging.getLogger("pincite.serve")


@dataclass(frozen=True, slots=True)
class Options:
    """How a service is started, beyond the settings."""

    keys: Path | None = None  # file of keys; None: everybody may do everything
    audit_log: Path | None = None
    workers: int = 1  # processes that share the work, and so the rates
    sessions: Path | None = None  # file of chats, which several processes share; None: in memory


class Service:
    """One process of the service; lives as long as its event loop."""

    def __init__(
        self, places: Mapping[str, Location], settings: Settings, options: Options | None = None
    ) -> None:
        self.settings = settings
        self.limits = settings.serve
        self.options = options or Options()
        if not places:
            raise ConfigError("no index to serve", hint="name one: pincite serve --index FOLDER")
        self.reranking = Metrics(log_queries=settings.rerank.log_queries)
        self.collections = {
            name: Collection(name, place, settings, self.reranking)
            for name, place in places.items()
        }
        threads = self.limits.threads or 2 * (os.cpu_count() or 1)
        self.searching = Work("search", threads, self.limits.queue)
        self.asking = Work("ask", max(1, self.limits.ask_threads), self.limits.queue)
        self.writing = Work("write", len(places), self.limits.jobs * len(places))
        self.metrics = HttpMetrics()
        self.audit = AuditLog(self.options.audit_log, log_queries=self.limits.log_queries)
        self.buckets = Buckets()
        limits = self.limits
        self.sessions = Sessions(self.options.sessions, limits.sessions, limits.session_messages)
        self.streams = 0
        self.is_stopping = False
        self._keys: Keys | None = None
        self._keys_stamp: tuple[int, int, int] | None = None
        if self.options.keys is not None:
            self._keys = read_keys(self.options.keys)
            self._keys_stamp = _stamp(self.options.keys)
        self._watching: asyncio.Task[None] | None = None

    @property
    def has_keys(self) -> bool:
        return self._keys is not None

    async def start(self) -> None:
        """Open all collections, and follow them from now on."""
        for collection in self.collections.values():
            await asyncio.to_thread(collection.refresh)
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Begin nothing new and close what is open."""
        self.is_stopping = True
        if self._watching is not None:
            self._watching.cancel()
        for work in (self.searching, self.asking, self.writing):
            work.close()
        for collection in self.collections.values():
            collection.close()
        self.sessions.close()
        self.audit.close()

    async def _watch(self) -> None:
        """Serve new generations and read changed keys, as long as the service runs."""
        # Each on its own: a store that hangs must not keep the others from being looked at.
        works: list[Callable[[], None]] = [self._refresh_keys]
        works += [partial(self._follow, each) for each in self.collections.values()]
        await asyncio.gather(*map(self._again_and_again, works))

    async def _again_and_again(self, work: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(max(0.05, self.limits.reload_seconds))
            await asyncio.to_thread(work)

    def _follow(self, collection: Collection) -> None:
        try:
            collection.refresh()
        except PinciteError:
            return  # logged; there is nothing else to serve
        except Exception:
            logger.exception("collection %s cannot be reloaded", collection.name)

    def _refresh_keys(self) -> None:
        """Read the keys again if their file changed; without a file nobody has a key."""
        file = self.options.keys
        if file is None:
            return
        stamp = _stamp(file)
        if stamp == self._keys_stamp:
            return
        try:
            self._keys = read_keys(file)
        except PinciteError as error:
            logger.error("%s; no key is accepted until it can be read", error.message)
            self._keys = Keys([])
        self._keys_stamp = stamp

    def caller(self, shown: str | None, address: str) -> Caller:
        """Return who shows this key; ServiceError 401 if nobody is known by it."""
        if self._keys is None:
            return OWNER
        key = self._keys.find(shown) if shown else None
        if key is not None:
            return caller_of(key)
        if shown:
            wait = self.buckets.take(f"failed {address}", FAILURES_PER_MINUTE, FAILURES_PER_MINUTE)
            if wait:
                raise ServiceError("too many wrong keys", 429, retry_after=wait)
        raise ServiceError(
            "this key is not known, or has expired" if shown else "no key",
            401,
            hint="send the header Authorization: Bearer KEY",
        )

    def admit(self, caller: Caller) -> None:
        """Take one request of the caller's rate; ServiceError 429 if there is none left."""
        limits, workers = self.limits, max(1, self.options.workers)
        rate = limits.rate_per_minute if caller.rate_per_minute is None else caller.rate_per_minute
        wait = self.buckets.take(caller.id, rate / workers, limits.burst / workers)
        if wait:
            raise ServiceError(
                "too many requests with this key", 429, hint="come back later", retry_after=wait
            )

    def collection(self, caller: Caller, name: str = "") -> Collection:
        """Return a collection that the caller may use; an unknown one looks like a forbidden one.

        Without a name it is the only one, or the one that is called "default".
        """
        mine = {n: c for n, c in self.collections.items() if caller.may_use(n)}
        if name in mine:
            return mine[name]
        if not name:
            if len(mine) == 1:
                return next(iter(mine.values()))
            if DEFAULT in mine:
                return mine[DEFAULT]
            raise ServiceError(
                "which collection?", 400, hint=f"collections: {', '.join(sorted(mine))}"
            )
        raise ServiceError(
            f"no collection {name!r}", 404, hint=f"collections: {', '.join(sorted(mine))}"
        )

    async def read(
        self,
        caller: Caller,
        collection: str,
        work: Callable[Concatenate[IndexReader, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Do something with a collection's index, as the caller sees it, in a thread."""
        chosen = self.collection(caller, collection)

        def leased() -> T:
            with chosen.lease(caller.access) as index:
                return work(index, *args, **kwargs)

        return await self.searching.run(self.limits.search_seconds, leased)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced; None if it is not there."""
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_ino, facts.st_mode


@dataclass(slots=True)
class Asked:
    """What a request tells the audit log besides its path and status."""

    caller: str | None = None
    collection: str | None = None
    query: str | None = None
    facts: dict[str, int | str] = field(default_factory=dict)
