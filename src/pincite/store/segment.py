"""One immutable segment: documents and chunks in SQLite, bulk numbers as memory-mapped arrays."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from pincite.core.errors import StoreError
from pincite.core.types import Chunk, Document, Span
from pincite.store.files import delete, sha256_of, sync
from pincite.store.manifest import SegmentEntry, check_segment

Array = np.ndarray[Any, np.dtype[Any]]

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
CREATE INDEX chunks_of_document ON chunks (doc_id, ordinal);
CREATE INDEX chunks_of_parent ON chunks (parent);
"""
_CHUNK_COLUMNS = (
    "id, doc_id, start, end, own_end, kind, locator, title, path, page, parent, searched, context"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A document on its way into a segment, with its chunks and the keys they are found by."""

    document: Document
    chunks: Sequence[Chunk]
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
    for array_name, array in arrays.items():
        np.save(aside / f"{array_name}.npy", array, allow_pickle=False)
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        for file in sorted(aside.iterdir())
    }
    listing = aside / "segment.json"
    listing.write_text(json.dumps({"files": files}, indent=1, sort_keys=True), encoding="ascii")
    for file in aside.iterdir():
        sync(file)
    sync(aside)
    delete(home)  # of a writer that was killed before its commit
    aside.rename(home)
    sync(home.parent)
    return SegmentEntry(name, sha256_of(home / "segment.json"), documents, chunks)


def _write_sqlite(file: Path, entries: Iterable[Entry]) -> tuple[int, int]:
    documents = searched = ordinal = 0
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        # The file is synced as a whole before anything refers to it: no journal is needed.
        database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _SCHEMA)
        database.execute("BEGIN")
        for entry in entries:
            doc = entry.document
            database.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?)",
                (doc.id, doc.title, doc.text, json.dumps(dict(doc.meta), sort_keys=True)),
            )
            rows = [_row(ordinal + i, chunk) for i, chunk in enumerate(entry.chunks)]
            database.executemany(f"INSERT INTO chunks VALUES ({', '.join('?' * 14)})", rows)
            database.executemany("INSERT OR IGNORE INTO keys VALUES (?, ?)", entry.keys)
            documents += 1
            ordinal += len(rows)
            searched += sum(chunk.searched for chunk in entry.chunks)
        database.execute("COMMIT")
    return documents, searched


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


class Segment:
    """A segment opened for reading. Its files stay readable even when swept meanwhile."""

    def __init__(self, folder: Path, entry: SegmentEntry) -> None:
        self.folder = folder
        self.entry = entry
        self.dropped = frozenset(entry.dropped)
        self.check(full=False)
        home = (folder / "segments" / entry.name).absolute()
        self.arrays: dict[str, Array] = {}
        try:
            # By the listing, not by what is there: a writer may be sweeping the folder right now.
            for name in json.loads((home / "segment.json").read_bytes())["files"]:
                if name.endswith(".npy"):
                    mapped = np.load(home / name, mmap_mode="r", allow_pickle=False)
                    # The same memory as a plain array: numpy's memmap class slows every slice.
                    self.arrays[name.removesuffix(".npy")] = mapped.view(np.ndarray)
            # immutable=1: no lock files beside it, so a read-only folder serves as well.
            self._database = sqlite3.connect(
                f"{(home / 'chunks.sqlite').as_uri()}?mode=ro&immutable=1",
                uri=True,
                check_same_thread=False,
            )
        except (ValueError, sqlite3.Error) as error:
            raise StoreError(
                f"segment {entry.name} cannot be opened: {error}", hint="run: pincite doctor"
            ) from error
        self._lock = Lock()

    def close(self) -> None:
        self._database.close()

    def check(self, *, full: bool) -> None:
        """Raise StoreError if a file is missing or has another size or, if full, checksum."""
        problems = check_segment(self.folder, self.entry, full=full)
        if problems:
            raise StoreError(f"the index is damaged: {problems[0]}", hint="run: pincite doctor")

    def select(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        try:
            with self._lock:
                return self._database.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"segment {self.entry.name} is damaged: {error}", hint="run: pincite doctor"
            ) from error

    def document(self, doc_id: str) -> Document | None:
        """Return the document, or None where this segment does not hold it (any more)."""
        if doc_id in self.dropped:
            return None
        rows = self.select("SELECT id, text, title, meta FROM documents WHERE id = ?", (doc_id,))
        if not rows:
            return None
        found_id, text, title, meta = rows[0]
        return Document(found_id, text, title, json.loads(meta))

    def meta(self, doc_id: str) -> dict[str, str] | None:
        """Return a document's facts without reading its text."""
        meta = self._fact("meta", doc_id)
        return None if meta is None else dict(json.loads(meta))

    def title(self, doc_id: str) -> str | None:
        return self._fact("title", doc_id)

    def _fact(self, column: str, doc_id: str) -> str | None:
        if doc_id in self.dropped:
            return None
        rows = self.select(f"SELECT {column} FROM documents WHERE id = ?", (doc_id,))
        return str(rows[0][0]) if rows else None

    def doc_ids(self) -> list[str]:
        ids = (row[0] for row in self.select("SELECT id FROM documents ORDER BY id"))
        return [doc_id for doc_id in ids if doc_id not in self.dropped]

    def entries(self) -> Iterator[Entry]:
        """Yield every live document with chunks and keys, for merging, in the order written."""
        order = self.select("SELECT doc_id FROM chunks GROUP BY doc_id ORDER BY MIN(ordinal)")
        for (doc_id,) in order:
            document = self.document(doc_id)
            if document is not None:
                chunks = self.chunk_rows("WHERE doc_id = ? ORDER BY ordinal", (doc_id,))
                keys = self.select(
                    "SELECT k.key, k.id FROM keys k JOIN chunks c USING (id) WHERE c.doc_id = ?",
                    (doc_id,),
                )
                yield Entry(document, [to_chunk(row, document.text) for row in chunks], keys)

    def chunk_rows(self, where: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the raw columns of live chunks; ``where`` is our own SQL, never a user's."""
        rows = self.select(f"SELECT {_CHUNK_COLUMNS} FROM chunks {where}", values)
        return [row for row in rows if row[1] not in self.dropped] if self.dropped else rows

    def live_rows(self) -> Array:
        """Return which searched rows belong to documents that are still in the index."""
        live = np.ones(self.entry.chunks, dtype=bool)
        if self.dropped:
            marks = self.select("SELECT doc_id FROM chunks WHERE searched ORDER BY ordinal")
            live[:] = [doc_id not in self.dropped for (doc_id,) in marks]
        return live


def to_chunk(row: Sequence[Any], text: str) -> Chunk:
    """Return the chunk of a raw row and its document's text."""
    return Chunk(
        id=row[0],
        span=Span(row[1], row[2], row[3]),
        text=text[row[2] : row[3]],
        own_end=row[4],
        kind=row[5],
        locator=row[6],
        title=row[7],
        path=tuple(json.loads(row[8])),
        page=row[9],
        parent=row[10],
        searched=bool(row[11]),
        context=row[12],
    )
