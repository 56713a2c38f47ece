"""Reading one immutable segment."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from pincite.core.errors import MALFORMED, StoreError
from pincite.core.types import Box, Chunk, Document, Facts, Finding, Link, Loaded, Span
from pincite.store.array_files import Array, read_arrays
from pincite.store.manifest import SegmentEntry, check_files, home_of
from pincite.store.segment_files import DATABASE, Entry

_CHUNK_COLUMNS = (
    "id, doc_id, start, end, own_end, kind, locator, title, path, page, parent, searched, context"
)

_BOX_COLUMNS = "t.start, t.end, t.page, t.x0, t.y0, t.x1, t.y1"
_LINKS = """
SELECT c.id, w.text, l.target, l.start, l.end
FROM documents d
JOIN links l ON l.source BETWEEN d.first AND d.last
JOIN chunks c ON c.ordinal = l.source
JOIN words w ON w.number = l.relation
WHERE d.id = ? ORDER BY l.rowid
"""


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
        meta = self._fact("meta", doc_id)
        return None if meta is None else dict(json.loads(meta))

    def title(self, doc_id: str) -> str | None:
        return self._fact("title", doc_id)

    def _fact(self, column: str, doc_id: str) -> str | None:
        if doc_id in self.dropped:
            return None
        rows = self.select(f"SELECT {column} FROM documents WHERE id = ?", (doc_id,))
        return str(rows[0][0]) if rows else None

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

    def findings(self, doc_id: str) -> list[Finding]:
        """Return what the reader noticed about a document."""
        rows = self._of_document("t.value", "findings", doc_id)
        return [Finding(**json.loads(row[0])) for row in rows]

    def boxes(self, doc_id: str, within: tuple[int, int] | None = None) -> list[Box]:
        """Return where a document's words stand on its pages, or those between two offsets."""
        where, values = ("AND t.start < ? AND t.end > ?", within[::-1]) if within else ("", ())
        rows = self._of_document(_BOX_COLUMNS, "boxes", doc_id, where, *values)
        return [Box(*row) for row in rows]

    def facts(self, ids: Sequence[str]) -> dict[str, Facts]:
        """Return what enrichment knows of these chunks."""
        marks = ", ".join("?" * len(ids))
        return self._facts(f"c.id IN ({marks})", ids)

    def _facts(self, where: str, values: Sequence[Any]) -> dict[str, Facts]:
        sql = "SELECT c.id, w.text FROM chunks c JOIN words w ON w.number = c.facts WHERE "
        rows = self.select(sql + where, values)
        return {chunk_id: Facts.from_plain(json.loads(value)) for chunk_id, value in rows}

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

    def loaded(self, doc_id: str, first: int, last: int) -> Loaded | None:
        """Return a document with all that was read from it; None if it is not here (any more)."""
        document = self.document(doc_id)
        if document is None:
            return None
        rows = self.chunk_rows("WHERE ordinal BETWEEN ? AND ? ORDER BY ordinal", (first, last))
        return Loaded(
            document,
            [to_chunk(row, document.text) for row in rows],
            self.links(doc_id),
            self._facts("c.ordinal BETWEEN ? AND ?", (first, last)),
            self.findings(doc_id),
            self.boxes(doc_id),
        )

    def chunk_rows(self, where: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the raw columns of live chunks; ``where`` is our own SQL, never a user's."""
        rows = self.select(f"SELECT {_CHUNK_COLUMNS} FROM places {where}", values)
        return [row for row in rows if row[1] not in self.dropped] if self.dropped else rows

    def ordinals(self, ids: Sequence[str]) -> list[tuple[str, int, bool]]:
        """Return number and kind of those chunks that are here: (id, ordinal, is searched)."""
        marks = ", ".join("?" * len(ids))
        rows = self.select(f"SELECT id, ordinal, searched FROM chunks WHERE id IN ({marks})", ids)
        return [(chunk_id, ordinal, bool(searched)) for chunk_id, ordinal, searched in rows]

    def titled(self, kinds: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return (id, document, title) of the chunks of some kinds, in document order."""
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT id, doc_id, title FROM places WHERE kind IN ({marks}) ORDER BY ordinal"
        return [(row[0], row[1], row[2]) for row in self.select(sql, kinds)]

    def live_rows(self) -> Array:
        """Return which searched rows belong to documents that are still in the index."""
        live = np.ones(self.entry.chunks, dtype=bool)
        if self.dropped:
            numbers = self.select("SELECT number, id FROM documents")
            dropped = {number for number, doc_id in numbers if doc_id in self.dropped}
            marks = self.select("SELECT document FROM chunks WHERE searched ORDER BY ordinal")
            live[:] = [number not in dropped for (number,) in marks]
        return live


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
