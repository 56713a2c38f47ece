"""Writing an index in a server: the one writer adds segments, then a manifest that names them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

import numpy as np

from pincite.model.types import Chunk, Enrichment
from pincite.store.files import Array
from pincite.store.manifest import KEPT_GENERATIONS, Manifest, SegmentEntry, manifest_of
from pincite.store.segment import Entry, as_json
from pincite.store.server.arrays import blobs_of
from pincite.store.server.contract import StoreEngine
from pincite.store.server.snapshot import DIMENSION, GRACE_SECONDS, ROW_DOCUMENTS, ServerSnapshot
from pincite.store.snapshot import Snapshot
from pincite.store.writer import IndexWriter, check_shape

# Rows that wait in memory before they are sent.
BATCH_CHUNKS = 2_000


class ServerWriter(IndexWriter):
    """Holds the server's write lock from ``with`` to the end; nothing is visible before commit."""

    def __init__(
        self,
        engine: StoreEngine,
        shape: Mapping[str, Any],
        *,
        rebuild: bool = False,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self.engine = engine
        self.folder = Path(engine.shown)
        self.shape = shape
        self._rebuild = rebuild
        self._begin = None
        self._grace = grace
        self._open = ExitStack()

    def __enter__(self) -> ServerWriter:
        try:
            self._open.enter_context(self.engine.lock())
            self._build_on(self._start())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._open.close()
        finally:
            self.engine.close()

    def _start(self) -> Manifest:
        known = self.engine.generations()
        head = self.engine.head()
        if head is None:
            return Manifest(0, self.shape)
        self._sweep(known)
        if self._rebuild:
            return Manifest(max(known), self.shape)
        manifest = manifest_of(head, origin=self.engine.shown)
        check_shape(manifest.shape, self.shape)
        return manifest

    def _sweep(self, known: Mapping[int, tuple[float, bytes]]) -> None:
        """Delete old generations, and what no kept one names."""
        newest = max(known)
        kept: dict[int, Manifest] = {}
        # A generation is current until the next one comes: that one's age counts.
        for number, (_, data) in known.items():
            after = known.get(number + 1)
            recent = number > newest - KEPT_GENERATIONS or (after and after[0] < self._grace)
            if recent:
                kept[number] = manifest_of(data, origin=self.engine.shown)
        names = {entry.name for each in kept.values() for entry in each.entries}
        self.engine.sweep(sorted(kept), sorted(names))

    def _snapshot(self, manifest: Manifest) -> Snapshot:
        return _Base(self.engine, manifest)

    def _write_segment(
        self, name: str, entries: Iterable[Entry], arrays: Mapping[str, Array]
    ) -> SegmentEntry:
        counts = _Counts()
        waiting = _Unsent(self.engine, name)
        for entry in entries:
            for table, rows in _rows_of(entry, counts).items():
                waiting.add(table, rows)
        of_rows = np.array(counts.row_documents, dtype=np.uint32)
        for blob in blobs_of({**arrays, ROW_DOCUMENTS: of_rows}):
            waiting.add("blobs", [blob])
        waiting.send()
        return SegmentEntry(name, "", counts.documents, len(of_rows))

    def _write_vectors(self, name: str, model: str, arrays: Mapping[str, Array]) -> str:
        parts = ("rows", "token_codes", "token_starts")
        kept = {part: arrays[part] for part in parts if part in arrays}
        exact = arrays["exact"]
        kept[DIMENSION] = np.array([exact.shape[1]], dtype=np.uint32)
        self.engine.insert("blobs", name, blobs_of(kept))
        self.engine.put_vectors(name, model, np.asarray(exact, dtype=np.float16))
        return ""

    def _switch(self, manifest: Manifest) -> None:
        self.engine.switch(manifest.generation, manifest.to_bytes())

    def commit(self) -> Manifest:
        manifest = super().commit()
        self._sweep(self.engine.generations())
        return manifest


class _Base(ServerSnapshot):
    """What a writer builds on: it asks for every document, so it reads their facts at once."""

    def meta(self, doc_id: str) -> dict[str, str] | None:
        return Snapshot.meta(self, doc_id)


class _Counts:
    """What is numbered through a segment."""

    def __init__(self) -> None:
        self.documents = self.chunks = self.links = 0
        self.row_documents: list[int] = []


class _Unsent:
    """Rows on their way to the server, sent when there are some."""

    def __init__(self, engine: StoreEngine, segment: str) -> None:
        self._engine = engine
        self._segment = segment
        self._rows: dict[str, list[Sequence[Any]]] = {}

    def add(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        waiting = self._rows.setdefault(table, [])
        waiting.extend(rows)
        if len(waiting) >= BATCH_CHUNKS:
            self.send()

    def send(self) -> None:
        rows, self._rows = self._rows, {}
        for table, some in rows.items():
            if some:
                self._engine.insert(table, self._segment, some)


def _rows_of(entry: Entry, counts: _Counts) -> dict[str, list[Sequence[Any]]]:
    """Return one document as rows of the server's tables."""
    loaded, document = entry.loaded, entry.loaded.document
    number = counts.documents
    counts.documents += 1
    meta = json.dumps(dict(document.meta), sort_keys=True)
    findings = json.dumps([asdict(each) for each in loaded.findings])
    boxes = np.array([astuple(box) for box in loaded.boxes], dtype="<f8").tobytes()
    first_chunk, first_link = counts.chunks, counts.links
    counts.chunks += len(loaded.chunks)
    counts.links += len(loaded.links)
    counts.row_documents += [number for chunk in loaded.chunks if chunk.searched]
    return {
        "documents": [(number, document.id, document.title, meta)],
        "texts": [(document.id, document.text, findings, boxes)],
        "chunks": list(_chunk_rows(loaded.chunks, loaded.facts, first_chunk)),
        "keys": [(key, chunk, document.id) for key, chunk in dict.fromkeys(entry.keys)],
        "links": [
            (first_link + at, document.id, x.source, x.relation, x.target, x.span.start, x.span.end)
            for at, x in enumerate(loaded.links)
        ],
    }


def _chunk_rows(
    chunks: Sequence[Chunk], facts: Mapping[str, Enrichment], first: int
) -> Iterator[Sequence[Any]]:
    for ordinal, chunk in enumerate(chunks, first):
        known = facts.get(chunk.id)
        yield (
            *(ordinal, chunk.id, chunk.span.doc_id, chunk.span.start, chunk.span.end),
            *(chunk.own_end, chunk.kind, chunk.locator, chunk.title),
            *(json.dumps(chunk.path, ensure_ascii=False), chunk.page, chunk.parent),
            *(int(chunk.searched), chunk.context),
            None if known is None else as_json(known),
        )
