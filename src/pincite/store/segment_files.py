"""Writing one immutable segment: documents and chunks in SQLite, bulk numbers in one array file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

from pincite.core.types import Chunk, Facts, Finding, Loaded
from pincite.store.array_files import Array, write_folder
from pincite.store.manifest import SEGMENTS, SegmentEntry

_SCHEMA = """
CREATE TABLE documents (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL, meta TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE chunks (
    ordinal INTEGER PRIMARY KEY,  -- document order; searched chunks take rows in this order
    id TEXT NOT NULL UNIQUE, doc_id TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
    own_end INTEGER NOT NULL, kind TEXT NOT NULL, locator TEXT NOT NULL, title TEXT NOT NULL,
    path TEXT NOT NULL, page INTEGER, parent TEXT, searched INTEGER NOT NULL, context TEXT NOT NULL
);
CREATE TABLE keys (key TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (key, id)) WITHOUT ROWID;
CREATE TABLE links (
    source TEXT NOT NULL, relation TEXT NOT NULL, target TEXT NOT NULL,
    doc_id TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL
);
CREATE TABLE facts (id TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE findings (doc_id TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE boxes (
    doc_id TEXT NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, page INTEGER NOT NULL,
    x0 REAL NOT NULL, y0 REAL NOT NULL, x1 REAL NOT NULL, y1 REAL NOT NULL
);
CREATE INDEX chunks_of_document ON chunks (doc_id, ordinal);
CREATE INDEX chunks_of_parent ON chunks (parent);
CREATE INDEX links_from ON links (source);
CREATE INDEX links_to ON links (target);
CREATE INDEX boxes_of_document ON boxes (doc_id, start);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A document on its way into a segment, with the keys that its chunks are found by."""

    loaded: Loaded
    keys: Sequence[tuple[str, str]] = field(default=())  # (normalised locator or title, chunk id)


def write_segment(
    folder: Path, name: str, entries: Iterable[Entry], arrays: Mapping[str, Array]
) -> SegmentEntry:
    """Write a complete segment aside, sync it, put it in place, and return its entry."""
    counts = (0, 0)

    def fill(aside: Path) -> None:
        nonlocal counts
        counts = _write_sqlite(aside / "chunks.sqlite", entries)

    sha256 = write_folder(folder / SEGMENTS / name, arrays, fill)
    return SegmentEntry(name, sha256, *counts)


def _write_sqlite(file: Path, entries: Iterable[Entry]) -> tuple[int, int]:
    documents = searched = ordinal = 0
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        # The file is synced as a whole before anything refers to it: no journal is needed.
        database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _SCHEMA)
        database.execute("BEGIN")
        for entry in entries:
            loaded = entry.loaded
            rows = [_row(ordinal + i, chunk) for i, chunk in enumerate(loaded.chunks)]
            _insert(database, entry, rows)
            documents += 1
            ordinal += len(rows)
            searched += sum(chunk.searched for chunk in loaded.chunks)
        database.execute("COMMIT")
    return documents, searched


def _insert(database: sqlite3.Connection, entry: Entry, rows: list[tuple[Any, ...]]) -> None:
    """Insert everything about one document."""
    loaded, doc = entry.loaded, entry.loaded.document
    meta = json.dumps(dict(doc.meta), sort_keys=True)
    database.execute(
        "INSERT INTO documents VALUES (?, ?, ?, ?)", (doc.id, doc.title, doc.text, meta)
    )
    values = {
        "chunks": rows,
        "keys": entry.keys,
        "links": [
            (link.source, link.relation, link.target, doc.id, link.span.start, link.span.end)
            for link in loaded.links
        ],
        "facts": [(name, _as_json(facts)) for name, facts in sorted(loaded.facts.items())],
        "findings": [(doc.id, _as_json(finding)) for finding in loaded.findings],
        "boxes": [(doc.id, *astuple(box)) for box in loaded.boxes],
    }
    for table, table_rows in values.items():
        if table_rows:
            marks = ", ".join("?" * len(table_rows[0]))
            database.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", table_rows)


def _as_json(value: Facts | Finding) -> str:
    return json.dumps(asdict(value), sort_keys=True, ensure_ascii=False)


def _row(ordinal: int, chunk: Chunk) -> tuple[Any, ...]:
    span = chunk.span
    return (
        ordinal,
        chunk.id,
        span.doc_id,
        span.start,
        span.end,
        chunk.own_end,
        chunk.kind,
        chunk.locator,
        chunk.title,
        json.dumps(chunk.path, ensure_ascii=False),
        chunk.page,
        chunk.parent,
        int(chunk.searched),
        chunk.context,
    )
