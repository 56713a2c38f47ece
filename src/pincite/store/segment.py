"""Reading one immutable segment."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from pincite.core.errors import StoreError
from pincite.core.types import Box, Chunk, Document, Facts, Finding, Link, Loaded, Span
from pincite.store.array_files import Array, read_arrays
from pincite.store.manifest import SegmentEntry, check_files, home_of
from pincite.store.segment_files import Entry

_CHUNK_COLUMNS = (
    "id, doc_id, start, end, own_end, kind, locator, title, path, page, parent, searched, context"
)


class Segment:
    """A segment opened for reading. Its files stay readable even when swept meanwhile."""

    def __init__(self, folder: Path, entry: SegmentEntry) -> None:
        self.folder = folder
        self.entry = entry
        self.dropped = frozenset(entry.dropped)
        self.check(full=False)
        home = home_of(folder, entry).absolute()
        try:
            self.arrays = read_arrays(home)
            # immutable=1: no lock files beside it, so a read-only folder serves as well.
            self._database = sqlite3.connect(
                f"{(home / 'chunks.sqlite').as_uri()}?mode=ro&immutable=1",
                uri=True,
                check_same_thread=False,
            )
        except (ValueError, KeyError, TypeError, sqlite3.Error) as error:
            raise StoreError(
                f"segment {entry.name} cannot be opened: {error}", hint="run: pincite doctor"
            ) from error
        self._lock = Lock()

    def close(self) -> None:
        self._database.close()

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

    def of_document(self, columns: str, table: str, doc_id: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table that belong to a live document, in the order written."""
        if doc_id in self.dropped:
            return []
        order = "ordinal" if table == "chunks" else "rowid"
        sql = f"SELECT {columns} FROM {table} WHERE doc_id = ? ORDER BY {order}"
        return self.select(sql, (doc_id,))

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

    def links(self, doc_id: str) -> list[Link]:
        """Return the edges that start in a document."""
        rows = self.of_document("source, relation, target, start, end", "links", doc_id)
        return [
            Link(source, relation, target, Span(doc_id, start, end))
            for source, relation, target, start, end in rows
        ]

    def findings(self, doc_id: str) -> list[Finding]:
        """Return what the reader noticed about a document."""
        rows = self.of_document("value", "findings", doc_id)
        return [Finding(**json.loads(row[0])) for row in rows]

    def boxes(self, doc_id: str) -> list[Box]:
        """Return where a document's words stand on its pages."""
        rows = self.of_document("start, end, page, x0, y0, x1, y1", "boxes", doc_id)
        return [Box(*row) for row in rows]

    def facts(self, ids: Sequence[str]) -> dict[str, Facts]:
        """Return what enrichment knows of these chunks."""
        marks = ", ".join("?" * len(ids))
        rows = self.select(f"SELECT id, value FROM facts WHERE id IN ({marks})", ids)
        return {chunk_id: Facts.from_plain(json.loads(value)) for chunk_id, value in rows}

    def entries(self) -> Iterator[Entry]:
        """Yield every live document with all that belongs to it, in the order written."""
        order = self.select("SELECT doc_id FROM chunks GROUP BY doc_id ORDER BY MIN(ordinal)")
        for (doc_id,) in order:
            document = self.document(doc_id)
            if document is None:
                continue
            rows = self.of_document(_CHUNK_COLUMNS, "chunks", doc_id)
            chunks = [to_chunk(row, document.text) for row in rows]
            facts = self._facts_of(doc_id)
            loaded = Loaded(
                document,
                chunks,
                self.links(doc_id),
                facts,
                self.findings(doc_id),
                self.boxes(doc_id),
            )
            keys = self.select(
                "SELECT k.key, k.id FROM keys k JOIN chunks c USING (id) WHERE c.doc_id = ?",
                (doc_id,),
            )
            yield Entry(loaded, keys)

    def _facts_of(self, doc_id: str) -> dict[str, Facts]:
        sql = "SELECT f.id, f.value FROM facts f JOIN chunks c USING (id) WHERE c.doc_id = ?"
        return {
            name: Facts.from_plain(json.loads(value)) for name, value in self.select(sql, (doc_id,))
        }

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
