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
from pincite.store.digests import DIGESTS, as_array, digest_of
from pincite.store.manifest import SEGMENTS, SegmentEntry

# Names stand once and are numbered: documents by ``number``, chunks by ``ordinal``, repeated words
# (kinds, paths, contexts, facts) in ``words``. The view ``places`` puts them together again.
_SCHEMA = """
CREATE TABLE documents (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, first INTEGER NOT NULL,
    last INTEGER NOT NULL,  -- the ordinals of its chunks
    title TEXT NOT NULL, meta TEXT NOT NULL, text TEXT NOT NULL  -- last: the rest is read without
);
CREATE TABLE words (number INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE chunks (
    ordinal INTEGER PRIMARY KEY,  -- document order; searched chunks take rows in this order
    id TEXT NOT NULL UNIQUE, document INTEGER NOT NULL, start INTEGER NOT NULL,
    end INTEGER NOT NULL, own_end INTEGER NOT NULL, kind INTEGER NOT NULL, locator TEXT NOT NULL,
    title TEXT NOT NULL, path INTEGER NOT NULL, page INTEGER, parent INTEGER,
    searched INTEGER NOT NULL, context INTEGER NOT NULL, facts INTEGER
);
CREATE TABLE keys (
    key TEXT NOT NULL, ordinal INTEGER NOT NULL, PRIMARY KEY (key, ordinal)
) WITHOUT ROWID;
CREATE TABLE links (
    source INTEGER NOT NULL, relation INTEGER NOT NULL, target TEXT NOT NULL,
    start INTEGER NOT NULL, end INTEGER NOT NULL
);
CREATE TABLE findings (document INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE boxes (
    document INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
    page INTEGER NOT NULL, x0 REAL NOT NULL, y0 REAL NOT NULL, x1 REAL NOT NULL, y1 REAL NOT NULL
);
CREATE VIEW places AS
    SELECT c.ordinal, c.id, d.id AS doc_id, c.start, c.end, c.own_end, k.text AS kind, c.locator,
        c.title, p.text AS path, c.page, c.parent AS above,
        (SELECT id FROM chunks WHERE ordinal = c.parent) AS parent, c.searched, x.text AS context
    FROM chunks c
    JOIN documents d ON d.number = c.document AND c.ordinal BETWEEN d.first AND d.last
    JOIN words k ON k.number = c.kind
    JOIN words p ON p.number = c.path
    JOIN words x ON x.number = c.context;
"""
# Made when all rows are there: faster, and their pages are full.
_INDEXES = """
CREATE INDEX chunks_of_parent ON chunks (parent);
CREATE INDEX links_from ON links (source);
CREATE INDEX links_to ON links (target);
CREATE INDEX findings_of_document ON findings (document);
CREATE INDEX boxes_of_document ON boxes (document);
"""
DATABASE = "chunks.sqlite"
# Repeated words that are remembered while a segment is written; beyond it some stand twice.
REMEMBERED_WORDS = 20_000


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

    def fill(aside: Path) -> dict[str, Array]:
        nonlocal counts
        rows = _write_sqlite(aside / DATABASE, entries)
        counts = rows.documents, rows.searched
        return {DIGESTS: as_array(rows.digests)}

    sha256 = write_folder(folder / SEGMENTS / name, arrays, fill)
    return SegmentEntry(name, sha256, *counts)


def _write_sqlite(file: Path, entries: Iterable[Entry]) -> _Rows:
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        # The file is synced as a whole before anything refers to it: no journal is needed.
        database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + _SCHEMA)
        database.execute("BEGIN")
        rows = _Rows(database)
        for entry in entries:
            rows.insert(entry)
        database.execute("COMMIT")
        database.executescript(_INDEXES)
    return rows


class _Rows:
    """Inserts documents, one after the other, and numbers what they name."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._words: dict[str, int] = {}
        self._facts: dict[Facts, int] = {}
        self._last_word = 0
        self._chunks = 0
        self.documents = 0
        self.searched = 0
        self.digests: list[bytes] = []

    def insert(self, entry: Entry) -> None:
        """Insert everything about one document."""
        loaded, document = entry.loaded, entry.loaded.document
        first, number = self._chunks, self.documents
        ordinals = {chunk.id: first + i for i, chunk in enumerate(loaded.chunks)}
        last = first + len(loaded.chunks) - 1
        meta = json.dumps(dict(document.meta), sort_keys=True)
        about = (number, document.id, first, last, document.title, meta, document.text)
        values: dict[str, Sequence[tuple[Any, ...]]] = {
            "documents": [about],
            "chunks": [
                self._row(chunk, number, ordinals, loaded.facts.get(chunk.id))
                for chunk in loaded.chunks
            ],
            "keys": [(key, ordinals[chunk_id]) for key, chunk_id in entry.keys],
            "links": [
                (
                    ordinals[link.source],
                    self._word(link.relation),
                    link.target,
                    link.span.start,
                    link.span.end,
                )
                for link in loaded.links
            ],
            "findings": [(number, _as_json(finding)) for finding in loaded.findings],
            "boxes": [(number, *astuple(box)) for box in loaded.boxes],
        }
        for table, rows in values.items():
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                # A key that names one chunk twice, by its locator and its title, is one row.
                self._database.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
        self._chunks += len(loaded.chunks)
        self.documents += 1
        self.digests.append(digest_of(loaded))
        self.searched += sum(chunk.searched for chunk in loaded.chunks)

    def _row(
        self, chunk: Chunk, document: int, ordinals: Mapping[str, int], facts: Facts | None
    ) -> tuple[Any, ...]:
        return (
            ordinals[chunk.id],
            chunk.id,
            document,
            chunk.span.start,
            chunk.span.end,
            chunk.own_end,
            self._word(chunk.kind),
            chunk.locator,
            chunk.title,
            self._word(json.dumps(chunk.path, ensure_ascii=False)),
            chunk.page,
            None if chunk.parent is None else ordinals[chunk.parent],
            int(chunk.searched),
            self._word(chunk.context),
            None if facts is None else self._known(facts),
        )

    def _known(self, facts: Facts) -> int:
        """Return the number of these facts: most chunks share theirs with many others."""
        number = self._facts.get(facts)
        if number is None:
            if len(self._facts) >= REMEMBERED_WORDS:
                self._facts.clear()
            number = self._facts[facts] = self._word(_as_json(facts))
        return number

    def _word(self, text: str) -> int:
        """Return the number of a repeated word, writing it when it is new."""
        number = self._words.get(text)
        if number is None:
            if len(self._words) >= REMEMBERED_WORDS:
                self._words.clear()
            self._last_word += 1
            number = self._words[text] = self._last_word
            self._database.execute("INSERT INTO words VALUES (?, ?)", (number, text))
        return number


def _as_json(value: Facts | Finding) -> str:
    return json.dumps(asdict(value), sort_keys=True, ensure_ascii=False)
