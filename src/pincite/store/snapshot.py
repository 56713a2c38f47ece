"""Reading an index: one generation, opened once, unchanged until it is closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from pincite.model.editions import Edition, edition_of
from pincite.model.errors import StoreError
from pincite.model.pages import PageRef, Pages, read_pages
from pincite.model.types import Box, Chunk, Document, Enrichment, Link, ReaderWarning
from pincite.store.files import Array, explained
from pincite.store.graph import GraphRows
from pincite.store.manifest import Manifest, current, pointer
from pincite.store.segment import Field, RecentCache, Segment, Vectors, to_chunk

KEPT_CHARS = 16_000_000  # of the texts of recently used documents


# A writer may sweep a generation between our reading CURRENT and opening its files.
OPEN_ATTEMPTS = 5

_OWNED = "chunks c JOIN documents d ON d.number = c.document"
_KEYED = f"SELECT DISTINCT k.key, d.id FROM {_OWNED} JOIN keys k ON k.ordinal = c.ordinal"


class Snapshot:
    """A generation of an index, for any number of reading threads."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.segments: list[Segment] = []
        self._is_view = False
        try:
            with explained("read", folder):
                for entry in manifest.segments:
                    self.segments.append(Segment(folder, entry))
                self.vectors = [Vectors(folder, entry) for entry in manifest.vectors]
        except StoreError:
            self.close()
            raise
        self._texts: RecentCache[str, str] = RecentCache(KEPT_CHARS, len)

    @classmethod
    def open(cls, folder: Path) -> Snapshot:
        """Return the current generation; StoreError if there is none or it is damaged."""
        for _ in range(OPEN_ATTEMPTS - 1):
            before = pointer(folder)
            try:
                return cls(folder, current(folder))
            except StoreError:
                if pointer(folder) == before:
                    raise
        return cls(folder, current(folder))

    def hiding(self, doc_ids: frozenset[str]) -> Snapshot:
        """Return this generation as if it did not have some documents.

        It shares the open files and is of use until this snapshot is closed. Whatever reads it
        cannot tell: hidden documents are treated as those that were removed.
        """
        view = copy(self)
        view.segments = [segment.hiding(doc_ids) for segment in self.segments]
        view._is_view = True
        return view

    def close(self) -> None:
        if self._is_view:
            return  # the files are those of the snapshot that it is a view of
        for segment in self.segments:
            segment.close()

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return sum(int(segment.live_rows().sum()) for segment in self.segments)

    def documents(self) -> list[str]:
        return sorted(doc_id for segment in self.segments for doc_id in segment.doc_ids())

    def document(self, doc_id: str) -> Document:
        for segment in self.segments:
            document = segment.document(doc_id)
            if document is not None:
                return document
        raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")

    def meta(self, doc_id: str) -> dict[str, str] | None:
        """Return what is known of a document without its text; None if it is not there."""
        metas = (segment.meta(doc_id) for segment in self.segments)
        return next((meta for meta in metas if meta is not None), None)

    def title(self, doc_id: str) -> str:
        """Return a document's title without its text; empty if it is not there."""
        titles = (segment.title(doc_id) for segment in self.segments)
        return next((title for title in titles if title is not None), "")

    def headers(self) -> list[tuple[str, str, dict[str, str]]]:
        """Return id, title and facts of all documents, without their texts."""
        return [each for segment in self.segments for each in segment.headers()]

    def chunks(self, doc_id: str) -> list[Chunk]:
        return self._load("WHERE doc_id = ? ORDER BY ordinal", (doc_id,))

    def chunks_within(self, doc_id: str, start: int, end: int) -> list[Chunk]:
        """Return the chunks that hold characters between two offsets, in document order."""
        where = "WHERE doc_id = ? AND start < ? AND end > ? ORDER BY ordinal"
        return self._load(where, (doc_id, end, start))

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        found = {chunk.id: chunk for chunk in self._load("WHERE id IN ({})", ids)}
        missing = [chunk_id for chunk_id in ids if chunk_id not in found]
        if missing:
            raise StoreError(f"no chunk {missing[0]!r} in the index", hint="run: pincite doctor")
        return [found[chunk_id] for chunk_id in ids]

    def places(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return document and locator of chunks, without reading their texts."""
        found: dict[str, tuple[str, str]] = {}
        sql = f"SELECT c.id, d.id, c.locator FROM {_OWNED} WHERE c.id IN ({{}})"
        for segment in self.segments:
            for chunk_id, doc_id, locator in segment.select_in(sql, ids):
                if doc_id not in segment.dropped:
                    found[chunk_id] = (doc_id, locator)
        return [found[chunk_id] for chunk_id in ids]

    def children(self, chunk_id: str) -> list[Chunk]:
        """Return the chunks directly below, in document order."""
        return self._load(
            "WHERE above = (SELECT ordinal FROM chunks WHERE id = ?) ORDER BY ordinal", (chunk_id,)
        )

    def expect_keys(self, wanted: Iterable[tuple[Field, Iterable[int]]]) -> None:
        """Say which keys of fields will be asked for; a server reads them at once."""

    def expect_below(self, ids: Sequence[str]) -> None:
        """Say that all that is below these chunks will be asked for; a server reads it at once."""

    def found_by(self, keys: Iterable[str]) -> list[Chunk]:
        """Return the chunks with one of these normalised locators or titles, in document order."""
        where = "WHERE ordinal IN (SELECT ordinal FROM keys WHERE key IN ({})) ORDER BY ordinal"
        found = self._load(where, sorted(set(keys)))
        return sorted(found, key=lambda chunk: chunk.span.doc_id)

    def known_keys(self, keys: Iterable[str]) -> set[str]:
        """Return which of these normalised locators or titles the index has."""
        return set(self.documents_with(keys))

    def documents_with(self, keys: Iterable[str]) -> dict[str, set[str]]:
        """Return for each of these locators or titles the documents that have it."""
        found: dict[str, set[str]] = defaultdict(set)
        wanted = sorted(set(keys))
        for segment in self.segments:
            for key, doc_id in segment.select_in(f"{_KEYED} WHERE k.key IN ({{}})", wanted):
                if doc_id not in segment.dropped:
                    found[key].add(doc_id)
        return dict(found)

    def work(self, doc_id: str) -> str:
        """Return what a document has in common with its other editions."""
        return self.edition(doc_id).work

    def edition(self, doc_id: str) -> Edition:
        """Return which work a document is an edition of, and when it is in force."""
        return edition_of(doc_id, self.title(doc_id), self.meta(doc_id) or {})

    def editions(self) -> list[Edition]:
        """Return all documents as editions of their works."""
        return [edition_of(*header) for header in sorted(self.headers(), key=lambda each: each[0])]

    def links(self, doc_id: str) -> list[Link]:
        """Return the edges that start in a document."""
        return [link for segment in self.segments for link in segment.links(doc_id)]

    def findings(self, doc_id: str) -> list[ReaderWarning]:
        """Return what the reader noticed about a document."""
        return [each for segment in self.segments for each in segment.findings(doc_id)]

    def boxes(self, doc_id: str, within: tuple[int, int] | None = None) -> list[Box]:
        """Return where a document's words stand on its pages, or those between two offsets."""
        return [box for segment in self.segments for box in segment.boxes(doc_id, within)]

    def pages(self, doc_id: str) -> Pages:
        """Return the pages of a document; none if it has none, or an older version read it."""
        return read_pages((self.meta(doc_id) or {}).get("pages", ""))

    def pages_of(self, chunk: Chunk) -> Pages:
        """Return the pages of a chunk; of an index of an older version, the one it begins on."""
        start, pages = chunk.span.start, self.pages(chunk.span.doc_id)
        if not pages.starts:
            return Pages() if chunk.page is None else Pages((start,), (chunk.page,))
        return pages.within(start, chunk.span.end)

    def page_of(self, chunk: Chunk) -> PageRef:
        """Return the page that a chunk begins on."""
        return self.pages_of(chunk).cited(chunk.span.start)

    def facts(self, ids: Sequence[str]) -> dict[str, Enrichment]:
        """Return what enrichment knows of these chunks."""
        known: dict[str, Enrichment] = {}
        for segment in self.segments:
            known |= segment.facts(ids)
        return known

    def vectors_of(self, model: str) -> list[Vectors | None]:
        """Return a model's vectors of each segment; None where a segment has none."""
        known = {each.entry.segment: each for each in self.vectors if each.entry.model == model}
        return [known.get(segment.entry.name) for segment in self.segments]

    def graph_rows(self) -> GraphRows:
        """Return what reads the graph."""
        return GraphRows(self.segments)

    def nearest_rows(
        self, model: str, query: Array, masks: Sequence[Array | None], wanted: int
    ) -> dict[int, tuple[Array, Array]] | None:
        """Return for every segment the best rows that the store finds itself, and their scores.

        None, as here, where all vectors are to be compared by the reader.
        """
        return None

    def _load(self, where: str, values: Sequence[Any]) -> list[Chunk]:
        return [
            to_chunk(row, self._text(segment, row[1]))
            for segment in self.segments
            for row in segment.chunk_rows(where, values)
        ]

    def text(self, doc_id: str) -> str:
        """Return a document's text; StoreError if it is not there."""
        for segment in self.segments:
            if segment.title(doc_id) is not None:
                return self._text(segment, doc_id)
        raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")

    def _text(self, segment: Segment, doc_id: str) -> str:
        """Return a document's text, the recently used ones from memory."""
        known = self._texts.get([doc_id])
        if doc_id not in known:
            document = segment.document(doc_id)
            if document is None:
                raise StoreError(f"no document {doc_id!r} in the index", hint="run: pincite doctor")
            known = {doc_id: document.text}
            self._texts.put(known)
        return known[doc_id]
