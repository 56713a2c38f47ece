"""PostgreSQL with pgvector behind the contract of ``store/server``."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.model.errors import IndexBusy, StoreError, require
from pincite.model.settings import StoreSettings
from pincite.store.files import Array
from pincite.store.postgres.connections import (
    Connection,
    Connections,
    PostgresAddress,
    check_version,
    halves,
    migrate,
    plain_row,
    stored,
    to_name,
    to_number,
    vector_rows,
)
from pincite.store.server.contract import TABLES, Row, StoreEngine
from pincite.store.server.engine_parts import CONNECTIONS, gone

# A model with fewer vectors is compared one by one: milliseconds, and nothing is missed.
EXACT_UP_TO = 10_000
# A filter that leaves no more vectors than this has them compared one by one.
FILTERED_EXACT = 20_000
MAX_INDEXED = 4000  # numbers of a vector; the server cannot index longer ones
INDEX = """CREATE INDEX IF NOT EXISTS vectors_of_{model} ON vectors
    USING hnsw ((embedding::halfvec({dimension})) halfvec_ip_ops) WHERE model = {model}"""
_NAMED = "(segment, number) IN (SELECT * FROM unnest(%(homes)s::bigint[], %(numbers)s::int[]))"


@dataclass(frozen=True, slots=True)
class PostgresModel:
    """A model as the server knows it."""

    number: int
    dimension: int
    count: int  # of its vectors, as far as it matters


def nearest(
    model: PostgresModel,
    names: Sequence[str],
    vector: Array,
    wanted: int,
    allowed: Mapping[str, Array],
    *,
    exact: bool,
) -> tuple[str, dict[str, Any], bool]:
    """Return the statement, its parameters, and whether it is meant for the server's own index."""
    free = [to_number(name) for name in names if name not in allowed]
    named = [to_number(name) for name in allowed]
    homes = np.repeat(named, [len(each) for each in allowed.values()])
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *allowed.values()])
    few_are_left = not free and len(homes) <= FILTERED_EXACT
    exact = exact or few_are_left or model.count < EXACT_UP_TO
    # With the cast the statement fits the server's own index, without it nothing is missed.
    column = "embedding" if exact else f"embedding::halfvec({model.dimension})"
    where = "segment = ANY(%(free)s::bigint[])"
    if len(homes):
        where = f"({where} OR {_NAMED})" if free else _NAMED
    distance = f"{column} <#> %(query)s::halfvec({model.dimension})"
    sql = f"""SELECT segment, number, -({distance}) AS near FROM vectors
        WHERE model = {model.number} AND {where} ORDER BY {distance} LIMIT {int(wanted)}"""
    query = "[" + ",".join(f"{value:.8g}" for value in vector.tolist()) + "]"
    values = {"free": free, "homes": homes.tolist(), "numbers": numbers.tolist(), "query": query}
    return sql, values, not exact


# Making the index of many vectors takes minutes.
BUILD_SECONDS = 3600
# So many new rows, and the server looks at its tables again to plan by.
ANALYZED_ROWS = 5_000
# So long another writer is given to end before the index is said to be busy.
BUSY_SECONDS = 2.0


class PostgresEngine(StoreEngine):
    """One schema of a database as the server of one index."""

    def __init__(self, url: str, settings: StoreSettings | None = None) -> None:
        settings = settings or StoreSettings()
        self._address = PostgresAddress(url)
        self.shown = self._address.shown
        self._exact = settings.exact
        limits = settings.timeout_seconds, CONNECTIONS
        self._connections = Connections(self._address, *limits)
        # The server takes its index of vectors for dearer than it is: here it may not sort instead.
        self._indexed = Connections(self._address, *limits, {"enable_sort": "off"})
        self._writing: Connection | None = None  # the session that holds the lock
        self._inserted = 0
        self._models: dict[int, PostgresModel] = {}

    def close(self) -> None:
        self._connections.close()
        self._indexed.close()

    # Reading

    def head(self) -> bytes | None:
        sql = "SELECT manifest FROM head JOIN generations USING (number)"
        rows = self._known(sql)
        return bytes(rows[0][0]) if rows else None

    def stamp(self) -> str:
        errors = require("psycopg.errors", extra="postgres")
        schema = self._address.quoted
        tables = f"{schema}.head JOIN {schema}.generations USING (number)"
        try:
            rows = self._read(f"SELECT number, made::text FROM {tables}", ())  # by its key
        except StoreError as error:
            if isinstance(error.__cause__, (errors.UndefinedTable, errors.InvalidSchemaName)):
                return ""  # nothing was written yet
            raise
        return " ".join(map(str, rows[0])) if rows else ""

    def server(self) -> str:
        sql = """SELECT current_setting('server_version'), coalesce(
            (SELECT extversion FROM pg_extension WHERE extname = 'vector'), 'not made yet')"""
        version, vector = self._read(sql, ())[0]
        return f"PostgreSQL {version}, pgvector {vector}"

    def size(self) -> int | None:
        sql = """SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'm') AND n.nspname = %s"""
        return int(self._read(sql, (self._address.schema,))[0][0])

    def generations(self) -> dict[int, tuple[float, bytes]]:
        sql = """SELECT number, EXTRACT(epoch FROM clock_timestamp() - made)::float8, manifest
            FROM generations"""
        rows = self._known(sql)
        return {number: (age, bytes(manifest)) for number, age, manifest in rows}

    def _known(self, sql: str) -> list[Row]:
        """Return what is read; nothing where there is no index yet."""
        is_there = "SELECT to_regclass(%s) IS NOT NULL"
        if not self._read(is_there, (f"{self._address.quoted}.migrations",))[0][0]:
            return []
        version = self._read("SELECT max(number) FROM migrations", ())[0][0]
        check_version(version, self.shown)
        return self._read(sql, ())

    def select(
        self,
        table: str,
        columns: Sequence[str],
        segments: Sequence[str],
        by: str = "",
        values: Sequence[Any] = (),
        limit: int = 0,
    ) -> list[Row]:
        kinds = TABLES[table].columns
        texts = [at for at, name in enumerate(columns, 1) if kinds[name] == "text"]
        sql = f"SELECT segment, {', '.join(columns)} FROM {table} WHERE segment = ANY(%s)"
        parameters: list[Any] = [[to_number(name) for name in segments]]
        if by:
            kind = "text[]" if kinds[by] == "text" else "int[]"
            sql += f" AND {by} = ANY(%s::{kind})"
            parameters.append([stored(value) for value in values])
        if limit:
            sql += f" LIMIT {int(limit)}"
        rows = self._read(sql, parameters)
        names = {to_number(name): name for name in segments}
        return [plain_row(row, names[row[0]], texts) for row in rows]

    def blobs(
        self, name: str, wanted: Mapping[str, Sequence[int] | None]
    ) -> list[tuple[str, int, bytes]]:
        whole = [to_number(segment) for segment, numbers in wanted.items() if numbers is None]
        pairs = [
            (to_number(segment), n) for segment, numbers in wanted.items() for n in numbers or ()
        ]
        rows: list[Row] = []
        if whole:
            sql = "SELECT segment, number, data FROM blobs WHERE segment = ANY(%s) AND name = %s"
            rows += self._read(sql, (whole, name))
        if pairs:
            sql = """SELECT b.segment, b.number, b.data
                FROM unnest(%s::bigint[], %s::int[]) AS w (segment, number)
                JOIN blobs b ON b.segment = w.segment AND b.number = w.number AND b.name = %s"""
            homes, numbers = zip(*pairs, strict=True)
            rows += self._read(sql, (list(homes), list(numbers), name))
        return [(to_name(segment), number, bytes(data)) for segment, number, data in rows]

    def vectors(self, name: str, numbers: Sequence[int]) -> Array:
        sql = """SELECT number, halfvec_send(embedding) FROM vectors
            WHERE segment = %s AND number = ANY(%s::int[])"""
        found = {n: halves(data) for n, data in self._read(sql, (to_number(name), list(numbers)))}
        try:
            return np.stack([found[number] for number in numbers])
        except KeyError as error:
            raise gone(self.shown, f"vectors {name}") from error

    def nearest(
        self, names: Sequence[str], vector: Array, wanted: int, allowed: Mapping[str, Array]
    ) -> list[tuple[str, int, float]]:
        if not names:
            return []
        model = self._model_of(names[0])
        sql, values, is_indexed = nearest(model, names, vector, wanted, allowed, exact=self._exact)
        rows = self._read(sql, values, self._indexed if is_indexed else None)
        return sorted(
            ((to_name(segment), number, near) for segment, number, near in rows),
            key=lambda each: -each[2],
        )

    def _model_of(self, name: str) -> PostgresModel:
        """Return the model of some vectors."""
        segment = to_number(name)
        if segment not in self._models:
            sql = """SELECT m.number, m.dimension, (SELECT count(*) FROM
                (SELECT 1 FROM vectors WHERE model = m.number LIMIT %s) AS few)
                FROM vectors v JOIN models m ON m.number = v.model WHERE v.segment = %s LIMIT 1"""
            rows = self._read(sql, (EXACT_UP_TO, segment))
            if not rows:
                raise gone(self.shown, f"vectors {name}")
            self._models[segment] = PostgresModel(*rows[0])
        return self._models[segment]

    def _read(self, sql: str, parameters: Any, by: Connections | None = None) -> list[Row]:
        """Return the rows of a statement; one that met a dead connection is tried once more."""
        errors = require("psycopg.errors", extra="postgres")
        for is_last in (False, True):
            try:
                with (by or self._connections).lend() as connection:
                    cursor = connection.cursor(binary=True)
                    rows: list[Row] = cursor.execute(sql.encode(), parameters).fetchall()
                    return rows
            except StoreError as error:
                was_cut = isinstance(error.__cause__, (errors.AdminShutdown, errors.CrashShutdown))
                was_cut = was_cut or type(error.__cause__) is errors.OperationalError
                if is_last or not was_cut:
                    raise
        raise AssertionError("unreachable")

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        connection = self._connections.connect()
        is_well = False
        try:
            with self._connections.explained():
                self._take(connection)
                migrate(connection, self._address.quoted)
            self._writing = connection
            yield
            is_well = True
        finally:
            self._writing = None
            with suppress(Exception):  # of a server that is gone
                if is_well:
                    # The server notices a closed connection some moments later.
                    connection.execute("SELECT pg_advisory_unlock(%s)", (self._lock_key,))
                connection.close()

    def _take(self, connection: Connection) -> None:
        """Take the lock; who has just ended may hold it for some moments more."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            got = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock_key,))
            if (got.fetchone() or (False,))[0]:
                return
            if time.monotonic() > until:
                raise IndexBusy(
                    f"another process is writing to {self.shown}", hint="try again later"
                )
            time.sleep(0.05)

    @property
    def _lock_key(self) -> int:
        digest = hashlib.sha256(f"pincite {self._address.schema}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    @contextmanager
    def _written(self) -> Iterator[Connection]:
        """Lend the writer's own session: with it, its lock is lost, and what it would switch."""
        if self._writing is None:
            raise ValueError("take the lock first")
        with self._connections.explained():
            yield self._writing

    def insert(self, table: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
        number = to_number(segment)
        columns = ", ".join(TABLES[table].columns)
        types = {"int": "int4", "text": "text", "bytes": "bytea"}
        kinds = [types[kind] for kind in TABLES[table].columns.values()]
        with self._written() as connection, connection.transaction():
            self._register(connection, number)
            sql = f"COPY {table} (segment, {columns}) FROM STDIN WITH (FORMAT binary)"
            with connection.cursor().copy(sql.encode()) as copy:
                copy.set_types(["int8", *kinds])
                for row in rows:
                    copy.write_row((number, *map(stored, row)))
                    self._inserted += 1

    def _register(self, connection: Connection, segment: int) -> None:
        connection.execute("INSERT INTO segments VALUES (%s) ON CONFLICT DO NOTHING", (segment,))

    def put_vectors(self, name: str, model: str, vectors: Array) -> None:
        dimension = vectors.shape[1]
        with self._written() as connection:
            # With an index of vectors in place, each new one takes some milliseconds.
            with self._connections.patient(connection, BUILD_SECONDS):
                self._register(connection, to_number(name))
                connection.execute(
                    "INSERT INTO models (name, dimension) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                    (model, dimension),
                )
                sql = "SELECT number FROM models WHERE name = %s AND dimension = %s"
                row = connection.execute(sql, (model, dimension)).fetchone()
                assert row is not None
                columns = "segment, number, model, embedding"
                sql = f"COPY vectors ({columns}) FROM STDIN WITH (FORMAT binary)"
                with connection.cursor().copy(sql.encode()) as copy:
                    for block in vector_rows(to_number(name), row[0], vectors):
                        copy.write(block)
            self._index_vectors(connection, row[0], dimension)

    def _index_vectors(self, connection: Connection, model: int, dimension: int) -> None:
        """Let the server make its index of a model's vectors, when there are enough of them."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM vectors WHERE model = %s LIMIT %s) AS few"
        row = connection.execute(sql, (model, EXACT_UP_TO)).fetchone()
        if row is None or row[0] < EXACT_UP_TO or dimension > MAX_INDEXED:
            return
        with self._connections.patient(connection, BUILD_SECONDS):
            connection.execute(INDEX.format(model=model, dimension=dimension).encode())
            connection.execute("ANALYZE vectors")

    def switch(self, number: int, manifest: bytes) -> None:
        with self._written() as connection, connection.transaction():
            connection.execute(
                "INSERT INTO generations (number, manifest) VALUES (%s, %s)", (number, manifest)
            )
            connection.execute(
                "INSERT INTO head (number) VALUES (%s) ON CONFLICT (one) DO UPDATE SET number = "
                "excluded.number",
                (number,),
            )
        if self._inserted >= ANALYZED_ROWS:
            self._inserted = 0
            with self._written() as connection, self._connections.patient(connection, 60):
                connection.execute(f"ANALYZE {', '.join(TABLES)}".encode())

    def sweep(self, generations: Sequence[int], segments: Sequence[str]) -> None:
        kept = [to_number(name) for name in segments]
        with self._written() as connection:
            connection.execute(
                "DELETE FROM generations WHERE NOT number = ANY(%s::bigint[])", (list(generations),)
            )
            rows = connection.execute(
                "SELECT segment FROM segments WHERE NOT segment = ANY(%s::bigint[])", (kept,)
            ).fetchall()
            gone = [row[0] for row in rows]
            if not gone:
                return
            with self._connections.patient(connection, BUILD_SECONDS):
                for table in (*TABLES, "vectors", "segments"):  # the last says what is there
                    connection.execute(
                        f"DELETE FROM {table} WHERE segment = ANY(%s::bigint[])".encode(), (gone,)
                    )

    def remove(self) -> bool:
        sql = f"DROP SCHEMA {self._address.quoted} CASCADE".encode()
        patient = self._connections.patient
        with self.lock(), self._written() as used, patient(used, BUILD_SECONDS):
            used.execute(sql)
        return True
