"""Connections to PostgreSQL: time-outs on everything, errors in plain words; tables and values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from threading import BoundedSemaphore, Lock
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from pincite.model.errors import (
    ConfigError,
    PinciteError,
    StaleIndex,
    StoreError,
    redact_url,
    require,
)
from pincite.store.files import Array
from pincite.store.server.engine_parts import Troubles

# Of psycopg, which is an extra: the rest of the program is checked without it.
Connection = Any
DEFAULT_SCHEMA = "pincite"
CONNECT_SECONDS = 5
# Longer than the server's own limit, so that a server that lives tells its reason first.
MORE_PATIENCE = 2.0
# A server that has no room for its journal says so in other words and with another code.
_NO_ROOM = ("No space left on device", "File too large", "Disk quota exceeded")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,40}")


class PostgresAddress:
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
        self.shown = redact_url(url)


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
        address: PostgresAddress,
        seconds: float,
        max_connections: int,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings or {}
        self.address = address
        self.seconds = seconds
        self._troubles = Troubles(address.shown, seconds)
        self._class = patient_connection()
        self._room = BoundedSemaphore(max_connections)
        self._idle: list[Connection] = []
        self._lock = Lock()
        self._is_closed = False

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """Lend a connection; one that broke is not used again."""
        with self.explained():
            if not self._room.acquire(timeout=self.seconds):
                raise self._troubles.busy()
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

    def _told(self, error: Exception, errors: Any) -> StoreError:
        where = self.address.shown
        reason = " ".join(str(error).split())
        if isinstance(error, (errors.QueryCanceled, errors._WaitTimeout)):
            return self._troubles.slow()
        if isinstance(error, errors.DiskFull) or any(words in reason for words in _NO_ROOM):
            return self._troubles.full(reason)
        if isinstance(error, (errors.InsufficientPrivilege, errors.UndefinedFile)):
            return StoreError(
                f"{where} refused: {reason}",
                hint="the user needs the right to create a schema, the server the extension vector",
            )
        if isinstance(error, errors.OperationalError):
            return self._troubles.unreachable(reason)
        return StoreError(f"{where}: {reason}", hint="is the index of another version?")


def migrations() -> list[str]:
    """Return the statements of all versions, oldest first."""
    folder = files("pincite.store.postgres") / "migrations"
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def check_version(version: int, where: str, *, is_writer: bool = False) -> None:
    """Raise StaleIndex if tables are of another version; a writer brings older ones up to date."""
    newest = len(migrations())
    if version > newest or (version < newest and not is_writer):
        raise StaleIndex(
            f"{where} has tables of version {version}, this Pincite has {newest}",
            hint="use the newest Pincite; one that writes brings older tables up to date",
        )


def migrate(connection: Connection, schema: str) -> None:
    """Bring the tables to the version of this program, each step as a whole."""
    with connection.transaction():
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
        connection.execute(
            f"CREATE TABLE IF NOT EXISTS {schema}.migrations (number int PRIMARY KEY, "
            "made timestamptz NOT NULL DEFAULT clock_timestamp())".encode()
        )
    row = connection.execute("SELECT coalesce(max(number), 0) FROM migrations").fetchone()
    done = row[0] if row else 0
    check_version(done, schema, is_writer=True)
    for number, sql in enumerate(migrations(), 1):
        if number > done:
            with connection.transaction():
                connection.execute(sql.encode())
                connection.execute("INSERT INTO migrations VALUES (%s)", (number,))


PER_GENERATION = 1_000_000
# Rows of a COPY that are sent at a time.
BLOCK = 1000
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"


def to_number(name: str) -> int:
    """Return a segment's name as a number.

    >>> to_number("000007-12"), to_name(to_number("000007-12"))
    (7000012, '000007-12')
    """
    generation, _, place = name.partition("-")
    return int(generation) * PER_GENERATION + int(place)


def to_name(number: int) -> str:
    """Return the name that a number stands for."""
    generation, place = divmod(number, PER_GENERATION)
    return f"{generation:06d}-{place}"


def stored(value: Any) -> Any:
    """Return a value as the server can hold it: it has no sign for the character zero.

    >>> plain(stored("a\\x00b\\x01")) == "a\\x00b\\x01", stored("plain")
    (True, 'plain')
    """
    if not isinstance(value, str):
        return value
    if "\x00" in value or "\x01" in value:
        value = value.replace("\x01", "\x01a").replace("\x00", "\x01b")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half a character
        raise StoreError(
            f"{value[:40]!r} is not text that can be stored", hint="is the document's text damaged?"
        ) from error
    return value


def plain(value: Any) -> Any:
    """Return what :func:`stored` was given."""
    if isinstance(value, str) and "\x01" in value:
        return value.replace("\x01b", "\x00").replace("\x01a", "\x01")
    return value


def plain_row(row: Sequence[Any], segment: str, texts: Sequence[int]) -> tuple[Any, ...]:
    """Return a row with the name of its segment, and with its texts as they were given."""
    values = list(row)
    values[0] = segment
    for at in texts:
        values[at] = plain(values[at])
    return tuple(values)


def vector_rows(segment: int, model: int, vectors: Array) -> Iterator[bytes]:
    """Yield what a binary COPY of (segment, number, model, halfvec) consists of."""
    count, dimension = vectors.shape
    row = np.dtype(
        [
            ("fields", ">i2"),
            *[("segment_bytes", ">i4"), ("segment", ">i8")],
            *[("number_bytes", ">i4"), ("number", ">i4")],
            *[("model_bytes", ">i4"), ("model", ">i4")],
            *[("vector_bytes", ">i4"), ("dimension", ">i2"), ("unused", ">i2")],
            ("halves", ">f2", (dimension,)),
        ]
    )
    yield _SIGNATURE
    for at in range(0, count, BLOCK):
        some = vectors[at : at + BLOCK]
        rows = np.zeros(len(some), dtype=row)
        rows["fields"] = 4
        rows["segment_bytes"], rows["segment"] = 8, segment
        rows["number_bytes"], rows["number"] = 4, np.arange(at, at + len(some))
        rows["model_bytes"], rows["model"] = 4, model
        rows["vector_bytes"], rows["dimension"] = 4 + 2 * dimension, dimension
        rows["halves"] = some
        yield rows.tobytes()
    yield _END


def halves(data: bytes) -> Array:
    """Return the float16 numbers of a vector as the server sends it."""
    return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float16)
