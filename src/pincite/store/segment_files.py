"""Writing one immutable segment: documents and chunks in SQLite, bulk numbers in one array file."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pincite.core.types import Chunk, Facts, Finding, Loaded
from pincite.store.files import delete, sha256_of, sync
from pincite.store.manifest import SegmentEntry

Array = np.ndarray[Any, np.dtype[Any]]
# Where arrays start in their file: a cache line, so that mapped numbers are aligned.
ALIGNMENT = 64

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
    home = folder / "segments" / name
    aside = home.with_name(f"{name}.tmp-{os.getpid()}")
    delete(aside)  # of a killed writer with this process id: in a container all have the same
    aside.mkdir()
    documents, chunks = _write_sqlite(aside / "chunks.sqlite", entries)
    layout = _write_arrays(aside / "arrays.bin", arrays)
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        for file in sorted(aside.iterdir())
    }
    listing = aside / "segment.json"
    facts = {"files": files, "arrays": layout}
    listing.write_text(json.dumps(facts, indent=1, sort_keys=True), encoding="ascii")
    for file in aside.iterdir():
        sync(file)
    sync(aside)
    delete(home)  # of a writer that was killed before its commit
    aside.rename(home)
    sync(home.parent)
    return SegmentEntry(name, sha256_of(home / "segment.json"), documents, chunks)


def _write_arrays(file: Path, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Write all arrays into one file and return where each one stands."""
    layout = {}
    with file.open("wb") as stream:
        for name, array in sorted(arrays.items()):
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            where = {"dtype": array.dtype.str, "shape": array.shape, "offset": stream.tell()}
            layout[name] = where
            stream.write(np.ascontiguousarray(array).data)
    return layout


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
