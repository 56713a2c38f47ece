"""One segment that lives in a server, and one model's vectors of it."""

from __future__ import annotations

import json
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pincite.core.types import Box, Chunk, Document, Facts, Finding, Link, Loaded, Span
from pincite.store.array_files import Array
from pincite.store.manifest import SegmentEntry, VectorEntry
from pincite.store.segment import Segment, to_chunk
from pincite.store.segment_files import Entry
from pincite.store.server.arrays import ServerArrays
from pincite.store.server.contract import Engine
from pincite.store.server.keeping import Kept
from pincite.store.vectors import Vectors

# The document of each searched row, by number; made when a segment is written.
ROW_DOCUMENTS = "row_documents"
DIMENSION = "dimension"
CHUNK = (
    "id", "document", "start", "stop", "own_end", "kind", "locator", "title", "path", "page",
    "parent", "searched", "context",
)  # fmt: skip
LINK = ("document", "source", "relation", "target", "start", "stop")
# Documents that are read together where all are read.
BATCH = 64
KEPT_VECTORS = 40_000


class Header(NamedTuple):
    """A document without its text."""

    number: int
    id: str
    title: str
    meta: dict[str, str]


class ServerSegment(Segment):
    """A segment in a server; every answer is asked for when it is needed."""

    def __init__(self, engine: Engine, entry: SegmentEntry, kept: Kept | None = None) -> None:
        self.engine = engine
        self.entry = entry
        self._kept = kept
        self.dropped = frozenset(entry.dropped)
        self.has_hidden = False

    @cached_property
    def arrays(self) -> Mapping[str, Array]:  # type: ignore[override]
        return ServerArrays(self.engine, self.entry.name)

    @property
    def fields(self) -> Mapping[str, Any]:
        """What is known of the keyed slices: how many keys, and in how many buckets."""
        arrays: Any = self.arrays
        known: Mapping[str, Any] = arrays.fields
        return known

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
            facts: dict[str, Facts] = {}
            for row in chunks[header.id]:
                own[row[2]] = to_chunk(row[2:-1], text)
                if row[-1] is not None:
                    facts[row[2]] = Facts.from_plain(json.loads(row[-1]))
            place = {chunk_id: number for number, chunk_id in enumerate(own)}
            names = sorted((place[chunk], key, chunk) for _, key, chunk in keys[header.id])
            loaded = Loaded(
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


def link_of(row: Sequence[Any]) -> Link:
    return Link(row[1], row[2], row[3], Span(row[0], row[4], row[5]))


def findings_of(value: str) -> list[Finding]:
    return [Finding(**each) for each in json.loads(value)]


def boxes_of(data: bytes) -> list[Box]:
    """Return boxes from seven numbers each, as they were packed."""
    numbers = np.frombuffer(data, dtype="<f8").reshape(-1, 7).tolist()
    return [Box(int(n[0]), int(n[1]), int(n[2]), *n[3:]) for n in numbers]


class ServerVectors(Vectors):
    """One model's vectors of one segment in a server."""

    def __init__(self, engine: Engine, entry: VectorEntry) -> None:
        self.engine = engine
        self.entry = entry
        self.centres = None
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


class VectorRows:
    """The vectors of a name, read when they are asked for; those used last are kept."""

    def __init__(self, engine: Engine, name: str, shape: tuple[int, int]) -> None:
        self._engine = engine
        self._name = name
        self._kept: OrderedDict[int, Array] = OrderedDict()
        self._lock = Lock()
        self.shape = shape
        self.dtype = np.dtype(np.float16)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def __getitem__(self, at: Any) -> Array:
        numbers = np.arange(len(self))[at]
        if len(numbers) > KEPT_VECTORS:
            return self._engine.vectors(self._name, numbers.tolist())
        wanted = numbers.tolist()
        with self._lock:
            known = {n: self._kept[n] for n in wanted if n in self._kept}
        missing = [n for n in dict.fromkeys(wanted) if n not in known]
        if missing:
            known |= zip(missing, self._engine.vectors(self._name, missing), strict=True)
        with self._lock:
            for number, vector in known.items():
                self._kept[number] = vector
                self._kept.move_to_end(number)
            while len(self._kept) > KEPT_VECTORS:
                self._kept.popitem(last=False)
        if not wanted:
            return np.zeros((0, self.shape[1]), dtype=self.dtype)
        return np.stack([known[n] for n in wanted])
