"""The service: bounded work on leased indexes."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from pincite.answer.asker import Message
from pincite.model.errors import ConfigError, PinciteError, is_server
from pincite.model.settings import Settings
from pincite.search.metrics import Metrics
from pincite.search.reader import IndexReader
from pincite.serve.access import OWNER, AuditLog, Buckets, Caller, Keys, caller_of, read_keys
from pincite.serve.collections import Jobs, ServedCollection
from pincite.serve.errors import WHICH, ServiceError, overloaded
from pincite.serve.metrics import HttpMetrics
from pincite.serve.work import Work
from pincite.store.location import Location

T = TypeVar("T")


def forget(future: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody waits for."""
    if not future.cancelled():
        future.exception()


_TABLE = """CREATE TABLE IF NOT EXISTS messages (
    owner TEXT NOT NULL, session TEXT NOT NULL, at REAL NOT NULL, role TEXT NOT NULL,
    text TEXT NOT NULL)"""


class Sessions:
    """Messages by owner and session. In a file, several worker processes share them."""

    def __init__(self, file: Path | None, sessions: int, messages: int) -> None:
        self._most, self._messages = max(1, sessions), max(2, messages)
        self._lock = Lock()
        self._file = file
        self._opened: sqlite3.Connection | None = None

    @property
    def _database(self) -> sqlite3.Connection:
        """The open database; whoever asks holds the lock."""
        if self._opened is None:
            name = ":memory:" if self._file is None else str(self._file)
            self._opened = sqlite3.connect(name, check_same_thread=False, timeout=10)
            with self._opened as database:
                database.execute(_TABLE)
                database.execute("CREATE INDEX IF NOT EXISTS one ON messages (owner, session)")
        return self._opened

    def history(self, owner: str, session: str) -> list[Message]:
        """Return what was said, oldest first."""
        sql = "SELECT role, text FROM messages WHERE owner = ? AND session = ? ORDER BY rowid"
        with self._lock:
            rows = self._database.execute(sql, (owner, session)).fetchall()
        return [Message(role, text) for role, text in rows]

    def add(self, owner: str, session: str, question: str, answer: str) -> None:
        """Remember a question and its answer; the owner's oldest of too many are forgotten."""
        now = time.time()
        new = [(owner, session, now, "user", question), (owner, session, now, "assistant", answer)]
        with self._lock, self._database as database:
            database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", new)
            database.execute(
                "DELETE FROM messages WHERE owner = ? AND session = ? AND rowid NOT IN (SELECT "
                "rowid FROM messages WHERE owner = ? AND session = ? ORDER BY rowid DESC LIMIT ?)",
                (owner, session, owner, session, self._messages),
            )
            database.execute(
                "DELETE FROM messages WHERE owner = ? AND session NOT IN (SELECT session FROM "
                "messages WHERE owner = ? GROUP BY session ORDER BY max(rowid) DESC LIMIT ?)",
                (owner, owner, self._most),
            )

    def forget(self, owner: str, session: str) -> bool:
        """Forget a session; False if there was none."""
        with self._lock, self._database as database:
            sql = "DELETE FROM messages WHERE owner = ? AND session = ?"
            return database.execute(sql, (owner, session)).rowcount > 0

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()


DEFAULT = "default"
# Wrong keys of one address a minute; a person who mistypes needs fewer.
FAILURES_PER_MINUTE = 30
# While a language model writes. Reading for answers has threads of its own, as scores have: few,
# for its models use all processors, and searches would wait for them.
ASK_THREADS = 8
STREAM_SHARE = 4  # one key may have the fourth part of the streams, and of the uploads
# Chat sessions of one key that are kept, and messages of each: what is older is forgotten.
SESSIONS, SESSION_MESSAGES = 1000, 40
logger = logging.getLogger("pincite.serve")


@dataclass(frozen=True, slots=True)
class Options:
    """How a service is started, beyond the settings."""

    keys: Path | None = None  # file of keys; None: everybody may do everything
    audit_log: Path | None = None
    workers: int = 1  # processes that share the work, and so the rates
    sessions: Path | None = None  # file of chats, which several processes share; None: in memory


class SearchService:
    """One process of the service; lives as long as its event loop."""

    def __init__(
        self, places: Mapping[str, Location], settings: Settings, options: Options | None = None
    ) -> None:
        self.settings = settings
        self.limits = settings.serving
        self.options = options or Options()
        if not places:
            raise ConfigError("no index to serve", hint="name one: pincite serve --index FOLDER")
        self.reranking = Metrics(log_queries=settings.serve.log_queries)
        self.collections = {
            name: ServedCollection(name, place, settings, self.reranking)
            for name, place in places.items()
        }
        # Threads of Python take turns: more of them than processors wait for servers, or in vain.
        share = 2 if any(map(is_server, places.values())) else 1
        threads = self.limits.threads or share * (os.cpu_count() or 1)
        self.searching = Work("search", threads, self.limits.queue)
        self.scoring = Work("score", max(1, threads // 4), self.limits.queue)
        self.reading = Work("read", max(1, threads // 4), self.limits.queue)
        self.asking = Work("ask", ASK_THREADS, self.limits.queue)
        self.writing = Work("write", len(places), self.limits.jobs * len(places))
        self.metrics = HttpMetrics()
        self.audit = AuditLog(self.options.audit_log, log_queries=self.limits.log_queries)
        self.buckets = Buckets()
        self.sessions = Sessions(self.options.sessions, SESSIONS, SESSION_MESSAGES)
        self.streams: Counter[str] = Counter()  # by owner
        self._coming: Counter[str] = Counter()  # documents, by owner
        self.is_stopping = False
        self._keys: Keys | None = None
        self._keys_stamp: tuple[int, int, int] | None = None
        if self.options.keys is not None:
            self._keys = read_keys(self.options.keys)
            self._keys_stamp = _stamp(self.options.keys)
        self._watching: asyncio.Task[None] | None = None

    @property
    def pools(self) -> tuple[Work, ...]:
        return self.searching, self.scoring, self.reading, self.asking, self.writing

    def begin_stream(self, owner: str) -> None:
        """Count a stream; ServiceError if there are too many, or too many of one key."""
        if self.streams.total() >= self.limits.streams:
            raise overloaded(2.0)
        if self.has_keys and self.streams[owner] >= max(1, self.limits.streams // STREAM_SHARE):
            raise ServiceError("too many answers of this key at a time", 429, retry_after=2.0)
        self.streams[owner] += 1

    def end_stream(self, owner: str) -> None:
        self.streams[owner] -= 1
        if not self.streams[owner]:
            del self.streams[owner]

    @contextmanager
    def receiving(self, owner: str) -> Iterator[None]:
        """Count a document that comes in; ServiceError if there are too many, or of one key."""
        most, coming = self.limits.jobs, self._coming
        if coming.total() >= most or coming[owner] >= max(1, most // STREAM_SHARE):
            raise ServiceError("too many uploads at a time", 429, retry_after=2.0)
        coming[owner] += 1
        try:
            yield
        finally:
            coming[owner] -= 1
            if not coming[owner]:
                del coming[owner]

    @property
    def has_keys(self) -> bool:
        return self._keys is not None

    async def start(self) -> None:
        """Open all collections, and follow them from now on."""
        for collection in self.collections.values():
            await asyncio.to_thread(collection.refresh)
            await asyncio.to_thread(self._recover, collection)
        self._watching = asyncio.create_task(self._watch())

    def _recover(self, collection: ServedCollection) -> None:
        """Undo what was half done when the service was killed; that is no reason not to serve."""
        try:
            Jobs(collection, self.settings).recover()
        except (PinciteError, OSError) as error:
            logger.error("collection %s: uploads are not cleaned up: %s", collection.name, error)

    async def stop(self) -> None:
        """Begin nothing new and close what is open."""
        self.is_stopping = True
        if self._watching is not None:
            self._watching.cancel()
        for work in self.pools:
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

        async def again_and_again(work: Callable[[], None]) -> None:
            while True:
                await asyncio.sleep(max(0.05, self.limits.reload_seconds))
                await asyncio.to_thread(work)

        await asyncio.gather(*map(again_and_again, works))

    def _follow(self, collection: ServedCollection) -> None:
        try:
            collection.refresh()
        except PinciteError:
            return  # logged; there is nothing else to serve
        except Exception:
            logger.exception("collection %s cannot be reloaded", collection.name)

    def _refresh_keys(self) -> None:
        """Read the keys again if their file changed; without a file nobody has a key."""
        file = self.options.keys
        if file is None or (stamp := _stamp(file)) == self._keys_stamp:
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

    def collection(self, caller: Caller, name: str = "") -> ServedCollection:
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
        hint = f"collections: {', '.join(sorted(mine))}"
        told, status = (f"no collection {name!r}", 404) if name else (WHICH, 400)
        raise ServiceError(told, status, hint=hint)

    async def read(self, caller: Caller, collection: str, work: Callable[[IndexReader], T]) -> T:
        """Do something with a collection's index, as the caller sees it, in a thread."""
        chosen = self.collection(caller, collection)

        def leased() -> T:
            with chosen.lease(caller.access) as index:
                return work(index)

        return await self.searching.run(caller.id, self.limits.search_seconds, leased)


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced; None if it is not there."""
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_ino, facts.st_mode


@dataclass(slots=True)
class AuditFacts:
    """What a request tells the audit log besides its path and status."""

    caller: str | None = None
    collection: str | None = None
    query: str | None = None
    facts: dict[str, int | str] = field(default_factory=dict)
