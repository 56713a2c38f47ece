"""Reading an index in a server: one generation, its segments and vectors.

A reader has no files open in a server. Writers keep a generation for ``GRACE_SECONDS`` after the
next one came, and sweep it then. Rows that were swept look like rows that never were, so a reader
makes sure in time that its generation is still kept, and is told to open the index again otherwise.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pincite.model.errors import StoreError, StoreUnavailable
from pincite.model.types import (
    Box,
    Chunk,
    Document,
    Enrichment,
    Link,
    ParsedDocument,
    ReaderWarning,
)
from pincite.store.files import Array
from pincite.store.manifest import Manifest, SegmentEntry, VectorEntry, manifest_of
from pincite.store.segment import Entry, Field, RecentCache, Segment, Vectors, to_chunk
from pincite.store.server.arrays import BucketField, ServerArrays, VectorRows, fetch_buckets
from pincite.store.server.contract import StoreEngine
from pincite.store.server.graph import LINK, ServerGraphRows, link_of
from pincite.store.snapshot import KEPT_CHARS, Snapshot

GRACE_SECONDS = 900.0
# A reader looks no more often than this, and counts twice as much as gone already: one question
# for rows takes far less.
LOOK_SECONDS = 60.0


class Retention:
    """Says whether a generation that is being read is still kept, asking the server rarely."""

    def __init__(self, engine: StoreEngine, number: int, manifest: bytes, looked: float) -> None:
        self._engine = engine
        self._number = number
        self._manifest = manifest
        self._looked = looked  # then it was the current one
        self._lock = Lock()

    def check(self) -> None:
        """Raise StoreUnavailable if rows of the generation may be gone."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        with self._lock:
            now = time.monotonic()
            if now - self._looked < LOOK_SECONDS:
                return  # another thread has looked meanwhile
            if not self._is_kept():
                raise StoreUnavailable(
                    f"{self._engine.shown}: generation {self._number} was replaced "
                    "long ago and is no longer there",
                    hint="open the index again",
                )
            self._looked = now

    def _is_kept(self) -> bool:
        if self._engine.head() == self._manifest:
            return True
        known, number = self._engine.generations(), self._number
        if number not in known or known[number][1] != self._manifest:
            return False
        # As writers count it: a generation is current until the next one comes.
        after = known.get(number + 1)
        return after is not None and after[0] < GRACE_SECONDS - 2 * LOOK_SECONDS


# The document of each searched row, by number; made when a segment is written.
ROW_DOCUMENTS = "row_documents"
DIMENSION = "dimension"
CHUNK = (
    "id", "document", "start", "stop", "own_end", "kind", "locator", "title", "path", "page",
    "parent", "searched", "context",
)  # fmt: skip
# Documents that are read together where all are read.
BATCH = 64


class Header(NamedTuple):
    """A document without its text."""

    number: int
    id: str
    title: str
    meta: dict[str, str]


class ServerSegment(Segment):
    """A segment in a server; every answer is asked for when it is needed."""

    def __init__(
        self, engine: StoreEngine, entry: SegmentEntry, kept: Retention | None = None
    ) -> None:
        self.engine = engine
        self.entry = entry
        self._kept = kept
        self.dropped = frozenset(entry.dropped)
        self.has_hidden = False

    @cached_property
    def arrays(self) -> ServerArrays:  # type: ignore[override]
        return ServerArrays(self.engine, self.entry.name)

    def field(self, name: str) -> Field | None:
        return BucketField(name, self.arrays) if name in self.arrays.fields else None

    def close(self) -> None:
        """Nothing is open: the engine is closed with the snapshot."""

    def check(self, *, full: bool) -> None:
        """A server answers for its own bytes; pages and buckets that are missing are told."""

    def rows(
        self, table: str, columns: Sequence[str], by: str = "", values: Sequence[Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Return rows of this segment, without its name."""
        if self._kept is not None:
            self._kept.check()
        found = self.engine.select(table, columns, [self.entry.name], by, values)
        return [row[1:] for row in found]

    @cached_property
    def _headers(self) -> dict[str, Header]:
        columns = ("number", "id", "title", "meta")
        return {each.id: each for each in map(header_of, sorted(self.rows("documents", columns)))}

    def documents(self) -> list[Header]:
        """Return the live documents without their texts, in the order written."""
        return [each for each in self._headers.values() if each.id not in self.dropped]

    def meta(self, doc_id: str) -> dict[str, str] | None:
        found = None if doc_id in self.dropped else self._headers.get(doc_id)
        return None if found is None else found.meta

    def title(self, doc_id: str) -> str | None:
        found = None if doc_id in self.dropped else self._headers.get(doc_id)
        return None if found is None else found.title

    def headers(self) -> list[tuple[str, str, dict[str, str]]]:
        return sorted((each.id, each.title, each.meta) for each in self.documents())

    def doc_ids(self) -> list[str]:
        return sorted(each.id for each in self.documents())

    def ordinals(self, ids: Sequence[str]) -> list[tuple[str, int, bool]]:
        found = self.rows("chunks", ("id", "ordinal", "searched"), "id", ids)
        return [(chunk_id, ordinal, bool(searched)) for chunk_id, ordinal, searched in found]

    def titled(self, kinds: Sequence[str]) -> list[tuple[str, str, str]]:
        found = self.rows("chunks", ("ordinal", "kind", "id", "document", "title"))
        return [row[2:] for row in sorted(found) if row[1] in kinds]

    def live_rows(self) -> Array:
        if not self.dropped:
            return np.ones(self.entry.chunks, dtype=bool)
        dead = [h.number for name, h in self._headers.items() if name in self.dropped]
        return ~np.isin(self.arrays[ROW_DOCUMENTS], dead)

    def entries(self) -> Iterator[Entry]:
        """Yield every live document with all that belongs to it, in the order written."""
        live = self.documents()
        for at in range(0, len(live), BATCH):
            yield from self._entries(live[at : at + BATCH])

    def _entries(self, headers: Sequence[Header]) -> Iterator[Entry]:
        ids = [each.id for each in headers]
        texts = {row[0]: row[1:] for row in self.rows("texts", TEXT, "document", ids)}
        chunks = self._grouped("chunks", ("document", "ordinal", *CHUNK, "facts"), ids)
        links = self._grouped("links", ("document", "ordinal", *LINK), ids)
        keys = self._grouped("keys", ("document", "key", "chunk"), ids)
        for header in headers:
            text, findings, boxes = texts[header.id]
            own: dict[str, Chunk] = {}
            facts: dict[str, Enrichment] = {}
            for row in chunks[header.id]:
                own[row[2]] = to_chunk(row[2:-1], text)
                if row[-1] is not None:
                    facts[row[2]] = Enrichment.from_plain(json.loads(row[-1]))
            place = {chunk_id: number for number, chunk_id in enumerate(own)}
            names = sorted((place[chunk], key, chunk) for _, key, chunk in keys[header.id])
            loaded = ParsedDocument(
                Document(header.id, text, header.title, header.meta),
                list(own.values()),
                [link_of(row[2:]) for row in links[header.id]],
                facts,
                findings_of(findings),
                boxes_of(boxes),
            )
            yield Entry(loaded, [(key, chunk) for _, key, chunk in names])

    def _grouped(
        self, table: str, columns: Sequence[str], documents: Sequence[str]
    ) -> dict[str, list[tuple[Any, ...]]]:
        groups: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for row in sorted(self.rows(table, columns, "document", documents), key=lambda r: r[:2]):
            groups[row[0]].append(row)
        return groups


TEXT = ("document", "text", "findings", "boxes")


def header_of(row: Sequence[Any]) -> Header:
    return Header(row[0], row[1], row[2], json.loads(row[3]))


def findings_of(value: str) -> list[ReaderWarning]:
    return [ReaderWarning(**each) for each in json.loads(value)]


def boxes_of(data: bytes) -> list[Box]:
    """Return boxes from seven numbers each, as they were packed."""
    numbers = np.frombuffer(data, dtype="<f8").reshape(-1, 7).tolist()
    return [Box(int(n[0]), int(n[1]), int(n[2]), *n[3:]) for n in numbers]


class ServerVectors(Vectors):
    """One model's vectors of one segment in a server."""

    def __init__(self, engine: StoreEngine, entry: VectorEntry) -> None:
        self.engine = engine
        self.entry = entry
        self.centres = self.codes = None
        self._arrays = ServerArrays(engine, entry.name)

    def check(self, *, full: bool) -> None:
        """A server answers for its own bytes."""

    @cached_property
    def rows(self) -> Array:  # type: ignore[override]
        return self._arrays["rows"]

    @cached_property
    def exact(self) -> Array:  # type: ignore[override]
        dimension = int(self._arrays[DIMENSION][0])
        found: Any = VectorRows(self.engine, self.entry.name, (self.entry.windows, dimension))
        matrix: Array = found  # as much of a matrix as is used of it
        return matrix

    @cached_property
    def tokens(self) -> tuple[Array, Array] | None:  # type: ignore[override]
        if "token_codes" not in self._arrays:
            return None
        return self._arrays["token_codes"], self._arrays["token_starts"]


MAX_VALUES = 5_000  # in one question to a server
RowScores = tuple[Array, Array]
KEPT_DOCUMENTS = 20_000
KEPT_PARENTS = 20_000


class ServerSnapshot(Snapshot):
    """A generation in a server, for any number of reading threads.

    Each method asks all segments at once, and remembers what is asked for again and again.
    """

    def __init__(
        self, engine: StoreEngine, manifest: Manifest, kept: Retention | None = None
    ) -> None:
        self.engine = engine
        self._kept = kept  # None for the writer, who alone sweeps
        self.folder = Path(engine.shown)
        self.manifest = manifest
        self.segments = [ServerSegment(engine, entry, kept) for entry in manifest.segments]
        self.vectors = [ServerVectors(engine, entry) for entry in manifest.vectors]
        self._is_view = False
        self._texts = RecentCache(KEPT_CHARS, len)
        self._forget()
        self._headers: RecentCache[str, Header] = RecentCache(KEPT_DOCUMENTS)
        self._children: RecentCache[str, list[tuple[Any, ...]]] = RecentCache(KEPT_PARENTS)
        self._hidden: frozenset[str] = frozenset()  # a view shares what is remembered

    def hiding(self, doc_ids: frozenset[str]) -> ServerSnapshot:
        view = super().hiding(doc_ids)
        assert isinstance(view, ServerSnapshot)
        view._hidden = self._hidden | doc_ids
        return view

    @classmethod
    def of(cls, engine: StoreEngine) -> ServerSnapshot:
        """Return the current generation; StoreError if there is none."""
        looked = time.monotonic()
        head = engine.head()
        if head is None:
            raise StoreError(
                f"no index in {engine.shown}",
                hint=f"make one: pincite ingest FILES --index {engine.shown}",
            )
        manifest = manifest_of(head, origin=engine.shown)
        return cls(engine, manifest, Retention(engine, manifest.generation, head, looked))

    def close(self) -> None:
        if not self._is_view:
            self.engine.close()

    def select(
        self, table: str, columns: Sequence[str], by: str, values: Iterable[Any], limit: int = 0
    ) -> list[tuple[Any, ...]]:
        """Return rows of live documents; the first column names the document and is left in."""
        if self._kept is not None:
            self._kept.check()
        dropped = {part.entry.name: part.dropped for part in self.segments}
        wanted, found = [each for each in dict.fromkeys(values) if _is_whole(each)], []
        limit = 0 if any(dropped.values()) else limit  # dead rows must not take others' places
        for at in range(0, len(wanted), MAX_VALUES):
            some = wanted[at : at + MAX_VALUES]
            found += self.engine.select(table, columns, list(dropped), by, some, limit)
        return [row[1:] for row in found if row[1] not in dropped[row[0]]]

    def documents(self) -> list[str]:
        return sorted(doc_id for doc_id, _, _ in self.headers())

    def _about(self, doc_ids: Iterable[str]) -> dict[str, Header]:
        """Return documents without their texts; those that are not there are left out."""
        wanted = list(dict.fromkeys(doc_ids))
        known = self._headers.get(wanted)
        missing = [name for name in wanted if name not in known]
        if missing:
            rows = self.select("documents", ("id", "number", "title", "meta"), "id", missing)
            found = {row[0]: header_of((row[1], row[0], *row[2:])) for row in rows}
            self._headers.put(found)
            known |= found
        return {name: header for name, header in known.items() if name not in self._hidden}

    def meta(self, doc_id: str) -> dict[str, str] | None:
        found = self._about([doc_id]).get(doc_id)
        return None if found is None else found.meta

    def title(self, doc_id: str) -> str:
        found = self._about([doc_id]).get(doc_id)
        return "" if found is None else found.title

    def document(self, doc_id: str) -> Document:
        header = self._about([doc_id]).get(doc_id)
        if header is None:
            raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")
        return Document(doc_id, self.text(doc_id), header.title, header.meta)

    def text(self, doc_id: str) -> str:
        return self._texts_of([doc_id])[doc_id]

    def _texts_of(self, doc_ids: Iterable[str]) -> dict[str, str]:
        """Return the texts of documents, the recently used ones from memory."""
        about = self._about(doc_ids)
        found = self._texts.get(about)
        missing = [name for name in about if name not in found]
        read = dict(self.select("texts", ("document", "text"), "document", missing))
        self._texts.put(read)
        found |= read
        for doc_id in doc_ids:
            if doc_id not in found:
                raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")
        return found

    def chunks(self, doc_id: str) -> list[Chunk]:
        return self._chunks("document", [doc_id])

    def chunks_within(self, doc_id: str, start: int, end: int) -> list[Chunk]:
        return [c for c in self.chunks(doc_id) if c.span.start < end and c.span.end > start]

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        found = {chunk.id: chunk for chunk in self._chunks("id", ids)}
        missing = [chunk_id for chunk_id in ids if chunk_id not in found]
        if missing:
            raise StoreError(f"no chunk {missing[0]!r} in the index", hint="open the index again")
        return [found[chunk_id] for chunk_id in ids]

    def places(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        rows = self.select("chunks", ("document", "id", "locator"), "id", ids)
        found = {chunk_id: (doc_id, locator) for doc_id, chunk_id, locator in rows}
        return [found[chunk_id] for chunk_id in ids]

    def children(self, chunk_id: str) -> list[Chunk]:
        return self._as_chunks(self._below([chunk_id])[chunk_id])

    def expect_keys(self, wanted: Iterable[tuple[Any, Iterable[int]]]) -> None:
        fetch_buckets(wanted)

    def expect_below(self, ids: Sequence[str]) -> None:
        level = list(ids)
        while level:
            level = [row[2] for rows in self._below(level).values() for row in rows]

    def _below(self, ids: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of the chunks directly below each one; those read last are kept."""
        known = self._children.get(ids)
        missing = [i for i in ids if i not in known]
        if missing:
            read: dict[str, list[tuple[Any, ...]]] = {i: [] for i in missing}
            for row in self._rows("parent", missing):
                read[row[2 + CHUNK.index("parent")]].append(row)
            self._children.put(read)
            known |= read
        return known

    def _chunks(self, by: str, values: Iterable[str]) -> list[Chunk]:
        return self._as_chunks(self._rows(by, values))

    def _rows(self, by: str, values: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return the rows of chunks in document order."""
        rows = self.select("chunks", ("document", "ordinal", *CHUNK), by, values)
        return sorted(rows, key=lambda row: row[:2])

    def _as_chunks(self, rows: Sequence[tuple[Any, ...]]) -> list[Chunk]:
        texts = self._texts_of({row[0] for row in rows})
        return [to_chunk(row[2:], texts[row[0]]) for row in rows]

    def found_by(self, keys: Iterable[str]) -> list[Chunk]:
        rows = self.select("keys", ("document", "key", "chunk"), "key", keys)
        return self._chunks("id", [row[2] for row in rows])

    def documents_with(self, keys: Iterable[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for doc_id, key in self.select("keys", ("document", "key"), "key", keys):
            found[key].add(doc_id)
        return dict(found)

    def links(self, doc_id: str) -> list[Link]:
        rows = self.select("links", ("document", "ordinal", *LINK), "document", [doc_id])
        return [link_of(row[2:]) for row in sorted(rows)]

    def findings(self, doc_id: str) -> list[ReaderWarning]:
        rows = self.select("texts", ("document", TEXT[2]), "document", [doc_id])
        return [each for _, value in rows for each in findings_of(value)]

    def boxes(self, doc_id: str, within: tuple[int, int] | None = None) -> list[Box]:
        rows = self.select("texts", ("document", TEXT[3]), "document", [doc_id])
        found = [box for _, data in rows for box in boxes_of(data)]
        if within is None:
            return found
        return [box for box in found if box.start < within[1] and box.end > within[0]]

    def facts(self, ids: Sequence[str]) -> dict[str, Enrichment]:
        rows = self.select("chunks", ("document", "id", "facts"), "id", ids)
        return {
            row[1]: Enrichment.from_plain(json.loads(row[2])) for row in rows if row[2] is not None
        }

    def graph_rows(self) -> ServerGraphRows:
        return ServerGraphRows(self.select)

    def nearest_rows(
        self, model: str, query: Array, masks: Sequence[Array | None], wanted: int
    ) -> dict[int, RowScores] | None:
        """Return the rows of the vectors that the server names as nearest."""
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        found: dict[int, RowScores] = dict.fromkeys(range(len(self.segments)), nothing)
        parts = {
            part.entry.name: (number, part)
            for number, part in enumerate(self.vectors_of(model))
            if part is not None and part.entry.windows
        }
        filtered = {
            name: np.flatnonzero(mask[part.rows])
            for name, (number, part) in parts.items()
            if (mask := masks[number]) is not None and not mask.all()
        }
        sizes = {
            name: len(filtered[name]) if name in filtered else part.entry.windows
            for name, (_, part) in parts.items()
        }
        left, names = sum(sizes.values()), [name for name, size in sizes.items() if size]
        limit = min(3 * wanted // 4, left)  # a server's scores are nearly exact: fewer will do
        # Long chunks have many windows: as many chunks as somebody may want have to be there.
        while left:
            near = self.engine.nearest(names, query, limit, filtered)
            windows: dict[str, list[tuple[int, float]]] = {}
            for name, window, score in near:
                windows.setdefault(name, []).append((window, score))
            best = {parts[n][0]: _best_rows(parts[n][1].rows, some) for n, some in windows.items()}
            rows = sum(len(found_rows) for found_rows, _ in best.values())
            if 2 * rows >= wanted or len(near) < limit or limit == left:
                return found | best
            limit = min(4 * limit, left)
        return found


def _best_rows(rows: Array, windows: Sequence[tuple[int, float]]) -> RowScores:
    """Return the rows of windows, each with its best score."""
    numbers, near = zip(*windows, strict=True)
    found, scores = rows[np.array(numbers)].astype(np.int64), np.array(near, dtype=np.float32)
    order = np.argsort(found, kind="stable")
    found, starts = np.unique(found[order], return_index=True)
    return found, np.maximum.reduceat(scores[order], starts)


def _is_whole(value: Any) -> bool:
    """Tell whether a value has no half character, which nothing in an index has."""
    return not isinstance(value, str) or not any(0xD800 <= ord(sign) < 0xE000 for sign in value)
