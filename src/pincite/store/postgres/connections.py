"""Connections to PostgreSQL: some that are kept, time-outs on everything, errors in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore, Lock
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pincite.core.errors import (
    ConfigError,
    PinciteError,
    StoreError,
    StoreFull,
    StoreUnavailable,
)
from pincite.core.extras import require
from pincite.core.locations import shown

# Of psycopg, which is an extra: the rest of the program is checked without it.
Connection = Any
DEFAULT_SCHEMA = "pincite"
CONNECT_SECONDS = 5
# Longer than the server's own limit, so that a server that lives tells its reason first.
MORE_PATIENCE = 2.0
# A server that has no room for its journal says so in other words and with another code.
_NO_ROOM = ("No space left on device", "File too large", "Disk quota exceeded")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,40}")


class Address:
    """Where an index is: ``postgresql://user@host:port/database#schema``."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.schema = parts.fragment or DEFAULT_SCHEMA
        if not _SCHEMA.fullmatch(self.schema):
            raise ConfigError(
                f"{self.schema!r} is no name for an index in PostgreSQL",
                hint="after #: small letters, digits and _, at most 41",
            )
        self.quoted = f'"{self.schema}"'  # a word of the language may be a name too
        self.conninfo = urlunsplit(parts._replace(scheme="postgresql", fragment=""))
        self.shown = shown(url)


def patient_connection() -> Any:
    """Return the class of connections that wait a bounded time for every answer."""
    psycopg = require("psycopg", extra="postgres")

    class PatientConnection(psycopg.Connection[tuple[Any, ...]]):  # type: ignore[misc, name-defined]
        patience: float | None = None

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            # A server that hangs keeps its connections open and never answers.
            return super().wait(gen, interval, timeout or self.patience)

    return PatientConnection


class Connections:
    """Some connections, made when they are needed and kept for the next who asks."""

    def __init__(
        self,
        address: Address,
        seconds: float,
        most: int,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings or {}
        self.address = address
        self.seconds = seconds
        self._class = patient_connection()
        self._room = BoundedSemaphore(most)
        self._idle: list[Connection] = []
        self._lock = Lock()
        self._is_closed = False

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """Lend a connection; one that broke is not used again."""
        with self.explained():
            if not self._room.acquire(timeout=self.seconds):
                raise StoreUnavailable(
                    f"{self.address.shown}: all connections were busy for {self.seconds:g} s",
                    hint="raise store.connections, or ask for less at a time",
                )
            try:
                with self._lock:
                    connection = self._idle.pop() if self._idle else None
                connection = connection or self.connect()
                try:
                    yield connection
                except BaseException:
                    with suppress(Exception):
                        connection.close()
                    raise
                self._give_back(connection)
            finally:
                self._room.release()

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(connection)
                return
        connection.close()

    def connect(self) -> Connection:
        """Return a new connection of one's own."""
        with self.explained():
            connection = self._class.connect(
                self.address.conninfo,
                autocommit=True,
                prepare_threshold=2,
                connect_timeout=CONNECT_SECONDS,
                application_name="pincite",
                keepalives_idle=30,
                tcp_user_timeout=int(1000 * (self.seconds + MORE_PATIENCE)),
            )
            connection.patience = self.seconds + MORE_PATIENCE
            settings = {
                "search_path": f"{self.address.quoted}, public",
                "statement_timeout": f"{int(1000 * self.seconds)}",
                "hnsw.ef_search": "300",
                "hnsw.iterative_scan": "relaxed_order",
                **self._settings,
            }
            for name, value in settings.items():
                connection.execute("SELECT set_config(%s, %s, false)", (name, value))
            return connection

    @contextmanager
    def patient(self, connection: Connection, seconds: float) -> Iterator[None]:
        """Let what is done inside take longer, all of it or nothing."""
        before = connection.patience
        connection.patience = seconds + MORE_PATIENCE
        try:
            with connection.transaction():
                limit = f"SET LOCAL statement_timeout = {int(1000 * seconds)}"
                connection.execute(limit.encode())
                yield
        finally:
            connection.patience = before

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            with suppress(Exception):
                connection.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the driver raises into an error that says what to do."""
        errors = require("psycopg.errors", extra="postgres")
        try:
            yield
        except PinciteError:
            raise
        except errors.Error as error:
            raise self._told(error, errors) from error

    def _slow(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self.address.shown} did not answer within {self.seconds:g} s",
            hint="is the server overloaded? store.timeout_seconds is how long to wait",
        )

    def _told(self, error: Exception, errors: Any) -> StoreError:
        where = self.address.shown
        reason = " ".join(str(error).split())
        if isinstance(error, (errors.QueryCanceled, errors._WaitTimeout)):
            return self._slow()
        if isinstance(error, errors.DiskFull) or any(words in reason for words in _NO_ROOM):
            return StoreFull(f"{where} has no room left: {reason}", hint="free some disk space")
        if isinstance(error, (errors.InsufficientPrivilege, errors.UndefinedFile)):
            return StoreError(
                f"{where} refused: {reason}",
                hint="the user needs the right to create a schema, the server the extension vector",
            )
        if isinstance(error, errors.OperationalError):
            return StoreUnavailable(
                f"{where} cannot be reached: {reason}", hint="is the server running, the URL right?"
            )
        return StoreError(f"{where}: {reason}", hint="is the index of another version?")
