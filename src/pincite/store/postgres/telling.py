"""What PostgreSQL tells of itself and of an index in it, without reading the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pincite.core.errors import StoreError
from pincite.core.extras import require
from pincite.store.server.contract import Row

Read = Callable[[str, Sequence[Any]], list[Row]]


def stamp_of(read: Read, schema: str) -> str:
    """Return number and time of the current manifest; empty if nothing was written yet.

    One row by its key: it is asked for every second.
    """
    errors = require("psycopg.errors", extra="postgres")
    tables = f"{schema}.head JOIN {schema}.generations USING (number)"
    try:
        rows = read(f"SELECT number, made::text FROM {tables}", ())
    except StoreError as error:
        if isinstance(error.__cause__, (errors.UndefinedTable, errors.InvalidSchemaName)):
            return ""
        raise
    return " ".join(map(str, rows[0])) if rows else ""


def server_of(read: Read) -> str:
    """Return the versions of the server and of its vectors."""
    sql = """SELECT current_setting('server_version'), coalesce(
        (SELECT extversion FROM pg_extension WHERE extname = 'vector'), 'not made yet')"""
    version, vector = read(sql, ())[0]
    return f"PostgreSQL {version}, pgvector {vector}"
