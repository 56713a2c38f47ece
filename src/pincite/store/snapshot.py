"""Reading an index: one generation, opened once, unchanged until it is closed.

Links name their targets; the places of a name are looked up when somebody asks. All answers leave
out documents that were dropped, so they do not depend on how documents are spread over segments.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from pincite.model.editions import Edition, edition_of
from pincite.model.errors import StoreError
from pincite.model.types import (
    Box,
    Chunk,
    Document,
    Enrichment,
    Link,
    PageRef,
    Pages,
    ReaderWarning,
    Span,
    read_pages,
)
from pincite.store.files import Array, explained
from pincite.store.manifest import Manifest, current, pointer
from pincite.store.segment import Field, RecentCache, Segment, Vectors, to_chunk

KEPT_CHARS = 16_000_000  # of the texts of recently used documents
# Searches find the same sections again and again, and look for the clause in each; one search asks
# for its hits three times.
KEPT_CHUNK_CHARS, KEPT_BELOW_CHARS = 4_000_000, 4_000_000
KEPT_PAGES = 200_000


# A writer may sweep a generation between our reading CURRENT and opening its files.
OPEN_ATTEMPTS = 5

# How many places behind a chunk are looked at for what is inside it: bounds every statement.
WINDOW = 64
# The same for the searched chunks that stand for a section.
PARTS = 16
MAX_THINGS = 5_000  # names; to remember more would take longer than to look them up
# A place and the tables that its columns come from, for a chunk that a statement calls c.
_COLUMNS = """c.id, d.id, c.start, c.end, w.text, c.locator, c.title,
    (SELECT id FROM chunks WHERE ordinal = c.parent), c.searched"""
_WITH = "JOIN documents d ON d.number = c.document JOIN words w ON w.number = c.kind"
_LINKS = """links l JOIN chunks c ON c.ordinal = l.source JOIN documents d ON d.number = c.document
    JOIN words w ON w.number = l.relation"""


class Place(NamedTuple):
    """A chunk without its words."""

    id: str
    doc_id: str
    start: int
    end: int
    kind: str
    locator: str
    title: str
    parent: str | None
    searched: bool


class GraphRows:
    """Reads a snapshot's places and links, a whole set of ids or names with one statement."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments

    def places(self, ids: Sequence[str]) -> dict[str, Place]:
        """Return the places with these ids."""
        sql = f"SELECT {_COLUMNS} FROM chunks c {_WITH} WHERE c.id IN ({{}})"
        return {place.id: place for place, _ in self._places(sql, ids)}

    def inside(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id itself and what it covers, up to WINDOW places, in document order."""
        return self._below(ids, WINDOW, "")

    def parts(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id the searched chunks among the first PARTS places that it covers."""
        return self._below(ids, PARTS, "WHERE c.searched")

    def _below(self, ids: Sequence[str], window: int, where: str) -> dict[str, list[Place]]:
        sql = f"""WITH RECURSIVE down(of, last, ordinal) AS (
                SELECT id, ordinal + {window}, ordinal FROM chunks WHERE id IN ({{}})
                UNION ALL SELECT down.of, down.last, c.ordinal FROM down JOIN chunks c
                ON c.parent = down.ordinal AND c.ordinal <= down.last)
            SELECT {_COLUMNS}, down.of FROM down JOIN chunks c ON c.ordinal = down.ordinal {_WITH}
            {where} ORDER BY c.ordinal"""
        return _grouped(self._places(sql, ids))

    def below(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id the searched chunks directly below it, in document order.

        A clause below it that is cut stands there by its introduction.
        """
        child = "JOIN chunks {0} ON {0}.parent = a.ordinal AND {0}.ordinal <= a.ordinal + "
        child += str(WINDOW)
        sql = f"""WITH whole(id, ordinal) AS (SELECT id, ordinal FROM chunks WHERE id IN ({{}}))
            SELECT {_COLUMNS}, a.id FROM whole a {child.format("c")} {_WITH} WHERE c.searched
            UNION ALL SELECT {_COLUMNS}, a.id FROM whole a {child.format("m")}
            JOIN chunks c ON c.parent = m.ordinal AND c.start = m.start {_WITH}
            WHERE NOT m.searched AND w.text = 'piece' ORDER BY 3"""
        return _grouped(self._places(sql, ids))

    def above(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id the places that hold it, nearest first, up to a searched one."""
        sql = f"""WITH RECURSIVE up(of, ordinal, step) AS (
                SELECT id, parent, 1 FROM chunks WHERE id IN ({{}})
                UNION ALL SELECT up.of, c.parent, up.step + 1 FROM up
                JOIN chunks c ON c.ordinal = up.ordinal WHERE NOT c.searched AND up.step < {WINDOW})
            SELECT {_COLUMNS}, up.of FROM up JOIN chunks c ON c.ordinal = up.ordinal {_WITH}
            ORDER BY up.step"""
        return _grouped(self._places(sql, ids))

    def beside(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return pairs of a searched chunk and the next one of its document, around these ids."""
        near = "(SELECT c.id FROM chunks c WHERE c.searched AND c.ordinal"
        sql = f"""SELECT d.id,
            {near} BETWEEN d.first AND a.ordinal - 1 ORDER BY c.ordinal DESC LIMIT 1), a.id,
            {near} BETWEEN a.ordinal + 1 AND d.last ORDER BY c.ordinal LIMIT 1)
            FROM chunks a JOIN documents d ON d.number = a.document
            WHERE a.searched AND a.id IN ({{}})"""
        pairs: dict[tuple[str, str], None] = {}
        for segment, rows in self._select(sql, ids):
            for doc_id, *row in rows:
                if doc_id not in segment.dropped:
                    pairs.update(dict.fromkeys(pair for pair in pairwise(row) if all(pair)))
        return list(pairs)

    def named(self, keys: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each normalised name the places that have it."""
        sql = f"""SELECT {_COLUMNS}, k.key FROM keys k JOIN chunks c ON c.ordinal = k.ordinal
            {_WITH} WHERE k.key IN ({{}})"""
        return _grouped(self._places(sql, keys))

    def name_counts(self, keys: Sequence[str]) -> Counter[str]:
        """Return how many places have each name; cheap also where there are very many."""
        return self._counts("keys", "key", "ordinal", keys)

    def terms(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return (id, term or alias) of the chunks that define one or have one."""
        sql = """SELECT c.id, json_extract(f.text, '$.terms'), json_extract(f.text, '$.aliases')
            FROM chunks c JOIN words f ON f.number = c.facts WHERE c.id IN ({})
            AND json_array_length(f.text, '$.terms') + json_array_length(f.text, '$.aliases') > 0"""
        return [
            (chunk_id, name)
            for _, rows in self._select(sql, ids)
            for chunk_id, terms, aliases in rows
            for name in (*json.loads(terms), *json.loads(aliases))
        ]

    def links_from(self, ids: Sequence[str], skipped: Sequence[str] = ()) -> list[Link]:
        """Return the links that start at one of these chunks, but for the skipped relations."""
        return list(self._links("c.id", ids, skipped))

    def links_to(self, keys: Sequence[str], skipped: Sequence[str] = ()) -> list[Link]:
        """Return the links that name one of these keys, but for the skipped relations."""
        return list(self._links("l.target", keys, skipped))

    def links_with(self, relation: str, limit: int) -> list[Link]:
        """Return at most so many links of one relation."""
        sql = """SELECT c.id, l.target, d.id, l.start, l.end FROM links l
            JOIN chunks c ON c.ordinal = l.source JOIN documents d ON d.number = c.document
            WHERE l.relation IN (SELECT number FROM words WHERE text = ?)"""
        found: list[Link] = []
        for segment in self.segments:
            # Links of dropped documents must not take the places of others.
            rest = "" if segment.dropped else f" LIMIT {limit - len(found)}"
            found += [
                Link(source, relation, target, Span(doc_id, start, end))
                for source, target, doc_id, start, end in segment.select(sql + rest, (relation,))
                if doc_id not in segment.dropped
            ]
        return found[:limit]

    @cached_property
    def _things(self) -> frozenset[str] | None:
        """The names of all things that chunks describe; None if they are too many to remember."""
        links = self.links_with("describes", MAX_THINGS + 1)
        return frozenset(each.target for each in links) if len(links) <= MAX_THINGS else None

    @cached_property
    def describes(self) -> bool:
        """Whether any chunk describes a thing: profiles of rulebooks know such, others do not."""
        return self._things is None or bool(self._things)

    def described(self, keys: Sequence[str]) -> set[str]:
        """Return which of these names are those of things that a chunk describes."""
        if self._things is not None:
            return set(keys).intersection(self._things)
        sql = f"""SELECT DISTINCT l.target, d.id FROM {_LINKS}
            WHERE l.target IN ({{}}) AND w.text = 'describes'"""
        return {
            target
            for segment in self.segments
            for target, doc_id in segment.select_in(sql, keys)
            if doc_id not in segment.dropped
        }

    def link_counts(self, keys: Sequence[str]) -> Counter[str]:
        """Return how many links name each key."""
        return self._counts("links", "target", "source", keys)

    def _links(self, column: str, values: Sequence[str], skipped: Sequence[str]) -> Iterator[Link]:
        names = ", ".join(f"'{relation}'" for relation in skipped)  # ours, never a document's
        sql = f"""SELECT c.id, w.text, l.target, d.id, l.start, l.end FROM {_LINKS}
            WHERE {column} IN ({{}}) AND w.text NOT IN ({names})"""
        for segment, rows in self._select(sql, values):
            for source, relation, target, doc_id, start, end in rows:
                if doc_id not in segment.dropped:
                    yield Link(source, relation, target, Span(doc_id, start, end))

    def _counts(self, table: str, key: str, place: str, keys: Sequence[str]) -> Counter[str]:
        """Count by key; the documents are looked at only where some were dropped."""
        document = f"""(SELECT d.id FROM chunks c JOIN documents d ON d.number = c.document
            WHERE c.ordinal = {table}.{place})"""
        found: Counter[str] = Counter()
        where = f"FROM {table} WHERE {key} IN ({{}}) GROUP BY 1"
        for segment, rows in self._select(f"SELECT {key}, COUNT(*), '' {where}", keys):
            if segment.dropped:
                by_document = f"SELECT {key}, COUNT(*), {document} {where}, 3"
                rows = segment.select_in(by_document, [row[0] for row in rows])
            for name, count, doc_id in rows:
                found[name] += 0 if doc_id in segment.dropped else count
        return found

    def _places(self, sql: str, values: Sequence[str]) -> Iterator[tuple[Place, str]]:
        """Yield live places, each with what the statement says it belongs to."""
        for segment, rows in self._select(sql, values):
            for row in rows:
                if row[1] not in segment.dropped:
                    yield Place(*row[:9]), row[-1]

    def _select(self, sql: str, values: Sequence[str]) -> Iterator[tuple[Segment, list[Any]]]:
        for segment in self.segments:
            yield segment, segment.select_in(sql, values)


def _grouped(pairs: Iterator[tuple[Place, str]]) -> dict[str, list[Place]]:
    groups: dict[str, list[Place]] = {}
    for place, name in pairs:
        groups.setdefault(name, []).append(place)
    return groups


_OWNED = "chunks c JOIN documents d ON d.number = c.document"
_KEYED = f"SELECT DISTINCT k.key, d.id FROM {_OWNED} JOIN keys k ON k.ordinal = c.ordinal"
FROM_INDEX = "source_from_index"  # the way from an index in a folder to a document's file


def source_file(meta: Mapping[str, str], folder: str | Path) -> Path:
    """Return a document's file: where it was, or where it is if the index was moved with it."""
    source = Path(meta.get("source", ""))
    if FROM_INDEX in meta and not source.exists():
        beside = Path(os.path.normpath(Path(folder).resolve() / meta[FROM_INDEX]))
        return beside if beside.exists() else source
    return source


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
        self._forget()

    def _forget(self) -> None:
        """Begin anew with what is remembered of documents that are seen."""
        self._kept_chunks: RecentCache[str, Chunk] = RecentCache(
            KEPT_CHUNK_CHARS, lambda c: _chars([c])
        )
        self._kept_below: RecentCache[str, list[Chunk]] = RecentCache(KEPT_BELOW_CHARS, _chars)
        self._pages: RecentCache[str, Pages] = RecentCache(KEPT_PAGES, lambda p: 1 + len(p.starts))

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
        view._forget()
        return view

    def verify(self, known: Collection[str] = ()) -> frozenset[str]:
        """Raise StoreError if a file of this generation is not what was written; reads all of it.

        Parts are named by their checksums; those that are known are not looked at again. Returns
        the names of all.
        """
        every: list[Segment | Vectors] = [*self.segments, *self.vectors]
        parts = {part.entry.sha256: part for part in every}
        for name in parts.keys() - set(known):
            parts[name].check(full=True)
        return frozenset(parts)

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
        found = self._kept_chunks.get(ids)
        if others := [chunk_id for chunk_id in ids if chunk_id not in found]:
            read = {chunk.id: chunk for chunk in self._load("WHERE id IN ({})", others)}
            self._kept_chunks.put(read)
            found |= read
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
        where = "WHERE above = (SELECT ordinal FROM chunks WHERE id = ?) ORDER BY ordinal"
        return self._load(where, (chunk_id,))

    def inside(self, chunk_id: str) -> list[Chunk]:
        """Return all that is below a chunk, however deep, but for pieces; from memory if it can."""
        known = self._kept_below.get([chunk_id])
        if chunk_id not in known:
            found: list[Chunk] = []
            waiting = [chunk_id]
            while waiting:
                places = [each for each in self.children(waiting.pop()) if each.kind != "piece"]
                found += places
                waiting += (each.id for each in places)
            known = {chunk_id: found}
            self._kept_below.put(known)
        return list(known[chunk_id])

    def expect_keys(self, wanted: Iterable[tuple[Field, Iterable[int]]]) -> None:
        """Say which keys of fields will be asked for; a server reads them at once."""

    def expect_below(self, ids: Sequence[str]) -> None:
        """Say that all that is below these chunks will be asked for; a server reads it at once."""

    def found_by(self, keys: Iterable[str]) -> list[Chunk]:
        """Return the chunks with one of these normalised locators or titles, in document order."""
        where = "WHERE ordinal IN (SELECT ordinal FROM keys WHERE key IN ({})) ORDER BY ordinal"
        found = self._load(where, sorted(set(keys)))
        return sorted(found, key=attrgetter("span.doc_id"))

    def locators_from(self, beginning: str, limit: int) -> list[str]:
        """Return at most so many locators whose normalised form begins so, each once."""
        key = beginning.casefold()
        sql = """SELECT DISTINCT c.locator, d.id FROM keys k JOIN chunks c ON c.ordinal = k.ordinal
            JOIN documents d ON d.number = c.document WHERE k.key >= ? AND k.key < ?
            ORDER BY k.key LIMIT ?"""
        found = {
            locator
            for segment in self.segments
            for locator, doc_id in segment.select(sql, (key, f"{key}\U0010ffff", 4 * limit))
            if doc_id not in segment.dropped and locator.casefold().startswith(key)
        }
        return sorted(found)[:limit]

    def documents_with(self, keys: Iterable[str]) -> dict[str, set[str]]:
        """Return for each of these normalised locators or titles that are known who has it."""
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
        known = self._pages.get([doc_id])
        if doc_id not in known:
            known = {doc_id: read_pages((self.meta(doc_id) or {}).get("pages", ""))}
            self._pages.put(known)
        return known[doc_id]

    def pages_of(self, chunk: Chunk) -> Pages:
        """Return the pages of a chunk; of an index of an older version, the one it begins on."""
        start, pages = chunk.span.start, self.pages(chunk.span.doc_id)
        if not pages.starts:
            return Pages() if chunk.page is None else Pages((start,), (chunk.page,))
        return pages.within(start, chunk.span.end)

    def page_of(self, chunk: Chunk, at: int | None = None) -> PageRef:
        """Return the page of a character of a chunk, of the first one if none is named."""
        pages = self.pages(chunk.span.doc_id)
        if not pages.starts:
            return PageRef(chunk.page)
        return pages.cited(chunk.span.start if at is None else at)

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


def _one_chars(chunk: Chunk) -> int:
    return 1 + len(chunk.text)


def _chars(chunks: Sequence[Chunk]) -> int:
    return 1 + sum(map(_one_chars, chunks))
