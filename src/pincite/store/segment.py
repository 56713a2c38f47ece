"""One immutable segment: documents and chunks in SQLite, bulk numbers in array files."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import asdict, astuple, dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

from pincite.model.errors import MALFORMED, StoreError
from pincite.model.types import (
    Box,
    Chunk,
    Document,
    Enrichment,
    Link,
    ParsedDocument,
    ReaderWarning,
    Span,
)
from pincite.store.files import Array, read_arrays, write_folder
from pincite.store.manifest import SEGMENTS, SegmentEntry, VectorEntry, check_files, home_of

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

    loaded: ParsedDocument
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
        self._facts: dict[Enrichment, int] = {}
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
                (ordinals[x.source], self._word(x.relation), x.target, x.span.start, x.span.end)
                for x in loaded.links
            ],
            "findings": [(number, as_json(finding)) for finding in loaded.findings],
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
        self, chunk: Chunk, document: int, ordinals: Mapping[str, int], facts: Enrichment | None
    ) -> tuple[Any, ...]:
        return (
            *(ordinals[chunk.id], chunk.id, document, chunk.span.start, chunk.span.end),
            *(chunk.own_end, self._word(chunk.kind), chunk.locator, chunk.title),
            *(self._word(json.dumps(chunk.path, ensure_ascii=False)), chunk.page),
            None if chunk.parent is None else ordinals[chunk.parent],
            *(int(chunk.searched), self._word(chunk.context)),
            None if facts is None else self._known(facts),
        )

    def _known(self, facts: Enrichment) -> int:
        """Return the number of these facts: most chunks share theirs with many others."""
        number = self._facts.get(facts)
        if number is None:
            if len(self._facts) >= REMEMBERED_WORDS:
                self._facts.clear()
            number = self._facts[facts] = self._word(as_json(facts))
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


def as_json(value: Enrichment | ReaderWarning) -> str:
    return json.dumps(asdict(value), sort_keys=True, ensure_ascii=False)


DIGESTS = "document_digests"  # of a segment's arrays: a row for each document, by its number
DIGEST_BYTES = 16
_facts_text = lru_cache(20_000)(repr)  # most chunks share theirs with many others


def digest_of(loaded: ParsedDocument) -> bytes:
    """Return a hash of all that an index keeps of a document.

    What a database gives back has the same one, or is not what was written.
    """
    document, nothing = loaded.document, Enrichment()
    chunks = [
        (
            *(c.id, c.span.start, c.span.end, c.own_end, c.kind, c.locator, c.title, c.path),
            *(c.page, c.parent, c.searched, c.context),
            _facts_text(loaded.facts.get(c.id, nothing)),
        )
        for c in loaded.chunks
    ]
    links = [(x.source, x.relation, x.target, x.span.start, x.span.end) for x in loaded.links]
    boxes = [
        (box.start, box.end, box.page, *map(float, (box.x0, box.y0, box.x1, box.y1)))
        for box in loaded.boxes
    ]
    meta = json.dumps(dict(document.meta), sort_keys=True)
    about = (document.id, document.title, meta)
    whole = repr((about, chunks, links, list(loaded.findings), boxes))
    digest = blake2b(document.text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES)
    digest.update(whole.encode("utf-8", "surrogatepass"))
    return digest.digest()


def as_array(digests: Iterable[bytes]) -> Array:
    """Return the digests of a segment's documents, in their order, as one of its arrays."""
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, DIGEST_BYTES)


_CHUNK_COLUMNS = (
    "id, doc_id, start, end, own_end, kind, locator, title, path, page, parent, searched, context"
)

_BOX_COLUMNS = "t.start, t.end, t.page, t.x0, t.y0, t.x1, t.y1"
_FACTS = "SELECT c.id, w.text FROM chunks c JOIN words w ON w.number = c.facts WHERE"
K = TypeVar("K")
V = TypeVar("V")
MAX_VALUES = 10_000  # in one statement; SQLite's limit is 32,766 where nobody raised it
_LINKS = """
SELECT c.id, w.text, l.target, l.start, l.end
FROM documents d
JOIN links l ON l.source BETWEEN d.first AND d.last
JOIN chunks c ON c.ordinal = l.source
JOIN words w ON w.number = l.relation
WHERE d.id = ? ORDER BY l.rowid
"""


class RecentCache(Generic[K, V]):
    """Values by key up to a bound, the least recently used given up first; safe to share."""

    def __init__(self, limit: int, size_of: Callable[[V], int] = lambda _: 1) -> None:
        self._limit = limit
        self._size_of = size_of
        self._values: OrderedDict[K, V] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, keys: Iterable[K]) -> dict[K, V]:
        """Return those values that are known."""
        with self._lock:
            found = {key: self._values[key] for key in keys if key in self._values}
            for key in found:
                self._values.move_to_end(key)
            return found

    def put(self, values: Mapping[K, V]) -> None:
        with self._lock:
            for key, value in values.items():
                if key not in self._values:
                    self._values[key] = value
                    self._size += self._size_of(value)
            while self._size > self._limit and len(self._values) > 1:
                _, old = self._values.popitem(last=False)
                self._size -= self._size_of(old)


class Field:
    """One field of one segment, opened for scoring: see ``index/postings.py``."""

    def __init__(self, name: str, arrays: Mapping[str, Array]) -> None:
        self.keys = arrays[f"{name}_keys"]
        self.offsets = arrays[f"{name}_offsets"]
        self.rows = arrays[f"{name}_rows"]
        self.counts = arrays[f"{name}_counts"]

    def position(self, key: int) -> int:
        """Return where a key stands, -1 if the field does not have it."""
        at = int(np.searchsorted(self.keys, self.keys.dtype.type(key)))
        return at if at < len(self.keys) and self.keys[at] == key else -1

    def span(self, position: int) -> tuple[int, int]:
        """Return where the postings of the key at this position start and end."""
        return int(self.offsets[position]), int(self.offsets[position + 1])

    def dead(self, rows: Array) -> Mapping[int, int]:
        """Return for each position how many of its rows are dead ones."""
        if not rows.any():
            return {}
        hits = rows[self.rows]
        position = np.repeat(np.arange(len(self.keys)), np.diff(self.offsets))[hits]
        where, counts = np.unique(position, return_counts=True)
        return dict(zip(where.tolist(), counts.tolist(), strict=True))


class Segment:
    """A segment opened for reading. Its files stay readable even when swept meanwhile.

    A repair gives ``arrays`` in place of those that are damaged, and has looked at the rest itself.
    """

    def __init__(
        self, folder: Path, entry: SegmentEntry, *, arrays: dict[str, Array] | None = None
    ) -> None:
        self.folder = folder
        self.entry = entry
        self.dropped = frozenset(entry.dropped)
        self.has_hidden = False  # some of its documents are kept from this reader
        if arrays is None:
            self.check(full=False)
        home = home_of(folder, entry).absolute()
        try:
            self.arrays = read_arrays(home) if arrays is None else arrays
            # immutable=1: no lock files beside it, so a read-only folder serves as well.
            self._database = sqlite3.connect(
                f"{(home / DATABASE).as_uri()}?mode=ro&immutable=1",
                uri=True,
                check_same_thread=False,
            )
        except (sqlite3.Error, *MALFORMED) as error:
            raise StoreError(
                f"segment {entry.name} cannot be opened: {error}", hint="run: pincite doctor"
            ) from error
        self._lock = Lock()

    def close(self) -> None:
        self._database.close()

    def hiding(self, doc_ids: frozenset[str]) -> Segment:
        """Return this segment as if it did not have some documents; both share what is open."""
        mine = doc_ids.intersection(self.doc_ids())
        if not mine:
            return self
        other = copy(self)
        other.dropped = self.dropped | mine
        other.has_hidden = True
        return other

    def check(self, *, full: bool) -> None:
        """Raise StoreError if a file is missing or has another size or, if full, checksum."""
        problems = check_files(self.folder, self.entry, full=full)
        if problems:
            raise StoreError(f"the index is damaged: {problems[0]}", hint="run: pincite doctor")

    def select(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        try:
            with self._lock:
                return self._database.execute(sql, values).fetchall()
        except UnicodeEncodeError:  # half a character, which nothing in the index has
            return self.select(sql, [_whole(value) for value in values])
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"segment {self.entry.name} is damaged: {error}", hint="run: pincite doctor"
            ) from error

    def select_in(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query in which ``{}`` stands for any number of values."""
        found: list[tuple[Any, ...]] = []
        for at in range(0, len(values), MAX_VALUES):
            some = values[at : at + MAX_VALUES]
            # The last one is repeated up to a power of two: a statement is prepared once for each
            # number of values, and that takes longer than running it.
            size = 1 << (len(some) - 1).bit_length()
            padded = [*some, *[some[-1]] * (size - len(some))]
            found += self.select(sql.format(", ".join("?" * size)), padded)
        return found

    def _of_document(
        self, columns: str, table: str, doc_id: str, where: str = "", *values: Any
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a table that belong to a live document, in the order written."""
        if doc_id in self.dropped:
            return []
        sql = (
            f"SELECT {columns} FROM documents d JOIN {table} t ON t.document = d.number "
            f"WHERE d.id = ? {where} ORDER BY t.rowid"
        )
        return self.select(sql, (doc_id, *values))

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
        rows = self.select("SELECT meta FROM documents WHERE id = ?", (doc_id,))
        return dict(json.loads(rows[0][0])) if rows and doc_id not in self.dropped else None

    def title(self, doc_id: str) -> str | None:
        rows = self.select("SELECT title FROM documents WHERE id = ?", (doc_id,))
        return str(rows[0][0]) if rows and doc_id not in self.dropped else None

    def headers(self) -> list[tuple[str, str, dict[str, str]]]:
        """Return id, title and facts of all live documents, without their texts."""
        rows = self.select("SELECT id, title, meta FROM documents ORDER BY id")
        return [
            (doc_id, title, json.loads(meta))
            for doc_id, title, meta in rows
            if doc_id not in self.dropped
        ]

    def doc_ids(self) -> list[str]:
        ids = (row[0] for row in self.select("SELECT id FROM documents ORDER BY id"))
        return [doc_id for doc_id in ids if doc_id not in self.dropped]

    def links(self, doc_id: str) -> list[Link]:
        """Return the edges that start in a document."""
        if doc_id in self.dropped:
            return []
        rows = self.select(_LINKS, (doc_id,))
        return [
            Link(source, relation, target, Span(doc_id, start, end))
            for source, relation, target, start, end in rows
        ]

    def findings(self, doc_id: str) -> list[ReaderWarning]:
        """Return what the reader noticed about a document."""
        rows = self._of_document("t.value", "findings", doc_id)
        return [ReaderWarning(**json.loads(row[0])) for row in rows]

    def boxes(self, doc_id: str, within: tuple[int, int] | None = None) -> list[Box]:
        """Return where a document's words stand on its pages, or those between two offsets."""
        where, values = ("AND t.start < ? AND t.end > ?", within[::-1]) if within else ("", ())
        rows = self._of_document(_BOX_COLUMNS, "boxes", doc_id, where, *values)
        return [Box(*row) for row in rows]

    def facts(self, ids: Sequence[str]) -> dict[str, Enrichment]:
        """Return what enrichment knows of these chunks."""
        return _as_facts(self.select_in(f"{_FACTS} c.id IN ({{}})", ids))

    def entries(self) -> Iterator[Entry]:
        """Yield every live document with all that belongs to it, in the order written."""
        keys = self.select("SELECT ordinal, key FROM keys ORDER BY ordinal")
        for doc_id, first, last in self.select("SELECT id, first, last FROM documents"):
            loaded = self.loaded(doc_id, first, last)
            if loaded is None:
                continue
            start, end = bisect_left(keys, (first, "")), bisect_left(keys, (last + 1, ""))
            own = [(key, loaded.chunks[ordinal - first].id) for ordinal, key in keys[start:end]]
            yield Entry(loaded, own)

    def loaded(self, doc_id: str, first: int, last: int) -> ParsedDocument | None:
        """Return a document with all that was read from it; None if it is not here (any more)."""
        document = self.document(doc_id)
        if document is None:
            return None
        rows = self.chunk_rows("WHERE ordinal BETWEEN ? AND ? ORDER BY ordinal", (first, last))
        return ParsedDocument(
            document,
            [to_chunk(row, document.text) for row in rows],
            self.links(doc_id),
            _as_facts(self.select(f"{_FACTS} c.ordinal BETWEEN ? AND ?", (first, last))),
            self.findings(doc_id),
            self.boxes(doc_id),
        )

    def chunk_rows(self, where: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the raw columns of live chunks; ``where`` is our own SQL, never a user's."""
        select = self.select_in if "{}" in where else self.select
        rows = select(f"SELECT {_CHUNK_COLUMNS} FROM places {where}", values)
        return [row for row in rows if row[1] not in self.dropped] if self.dropped else rows

    def ordinals(self, ids: Sequence[str]) -> list[tuple[str, int, bool]]:
        """Return number and kind of those chunks that are here: (id, ordinal, is searched)."""
        rows = self.select_in("SELECT id, ordinal, searched FROM chunks WHERE id IN ({})", ids)
        return [(chunk_id, ordinal, bool(searched)) for chunk_id, ordinal, searched in rows]

    def titled(self, kinds: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return (id, document, title) of the chunks of some kinds, in document order."""
        sql = "SELECT id, doc_id, title FROM places WHERE kind IN ({}) ORDER BY ordinal"
        return [(row[0], row[1], row[2]) for row in self.select_in(sql, kinds)]

    def field(self, name: str) -> Field | None:
        """Return a field of the postings; None if the segment has none of that name."""
        return Field(name, self.arrays) if f"{name}_keys" in self.arrays else None

    def live_rows(self) -> Array:
        """Return which searched rows belong to documents that are still in the index."""
        live = np.ones(self.entry.chunks, dtype=bool)
        if self.dropped:
            numbers = self.select("SELECT number, id FROM documents")
            dropped = {number for number, doc_id in numbers if doc_id in self.dropped}
            marks = self.select("SELECT document FROM chunks WHERE searched ORDER BY ordinal")
            live[:] = [number not in dropped for (number,) in marks]
        return live


def _as_facts(rows: Iterable[tuple[Any, ...]]) -> dict[str, Enrichment]:
    return {chunk_id: Enrichment.from_plain(json.loads(value)) for chunk_id, value in rows}


def _whole(value: Any) -> Any:
    """Return a text with replacements for lone surrogates, any other value as it is."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


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


class Vectors:
    """The vectors of a segment's rows, mapped into memory.

    ``rows`` names the row of each window, in rising order; ``exact`` holds the vectors as float16,
    ``codes`` times ``scales`` nearly the same in half the memory. If there are many, codes and
    scales stand in lists: list ``n`` from ``starts[n]`` on, ``order`` names each one's window.
    ``tokens`` are the codes of the windows' tokens and where each window's begin, if there are any.
    """

    def __init__(self, folder: Path, entry: VectorEntry) -> None:
        self.folder = folder
        self.entry = entry
        self.check(full=False)
        try:
            arrays = read_arrays(home_of(folder, entry))
            self.rows: Array = arrays["rows"]
            self.codes: Array | None = arrays["codes"]  # a server keeps none
            self.scales: Array = arrays["scales"]
            self.exact: Array = arrays["exact"]
            self.tokens: tuple[Array, Array] | None = None
            if "token_codes" in arrays:
                self.tokens = arrays["token_codes"], arrays["token_starts"]
            self.centres: Array | None = arrays.get("centres")
            if self.centres is not None:
                self.order: Array = arrays["order"]
                self.starts: Array = arrays["starts"]
        except MALFORMED as error:
            raise StoreError(
                f"vectors {entry.name} cannot be opened: {error}", hint="run: pincite doctor"
            ) from error

    def check(self, *, full: bool) -> None:
        """Raise StoreError if a file is missing or has another size or, if full, checksum."""
        problems = check_files(self.folder, self.entry, full=full)
        if problems:
            raise StoreError(f"the index is damaged: {problems[0]}", hint="run: pincite doctor")
