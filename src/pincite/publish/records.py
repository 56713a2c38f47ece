"""A document of an index as documents of the six collections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np

from pincite.core.errors import StoreError
from pincite.core.types import Chunk, Facts, Loaded
from pincite.search.neighbours import Homes
from pincite.store.files import Array
from pincite.store.graph import GraphRows
from pincite.store.mongodb.engine import Record
from pincite.store.mongodb.runs import (
    CHUNKS,
    CONTENT_KINDS,
    EDGES,
    EMBEDDINGS,
    NODES,
    text_hash,
)
from pincite.store.segment import Segment, Vectors
from pincite.store.snapshot import Snapshot

# Kinds of chunks that are parts of tables, whatever the profile calls what they say.
_TABLES = ("table", "row")


@dataclass(frozen=True, slots=True)
class Scope:
    """What all documents of a run have in common."""

    ruleset_id: str
    run_id: str
    made: datetime

    def of(self, book: str) -> Record:
        return {"ruleset_id": self.ruleset_id, "book_id": book, "run_id": self.run_id}


@dataclass(slots=True)
class SegmentVectors:
    """The vectors of a segment's chunks by model."""

    segment: Segment
    parts: Mapping[str, Vectors]
    rows: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot, segment: Segment) -> SegmentVectors:
        name = segment.entry.name
        parts = {v.entry.model: v for v in snapshot.vectors if v.entry.segment == name}
        ids = segment.arrays["ids"][:].tolist()
        return cls(segment, parts, {chunk_id.decode(): row for row, chunk_id in enumerate(ids)})

    def windows(self, chunk_id: str, model: str) -> Array | None:
        """Return the vectors of a chunk's windows, None if it has none."""
        part = self.parts.get(model)
        if part is None:
            return None
        row = self.rows[chunk_id]
        begin, end = np.searchsorted(part.rows, [row, row + 1]).tolist()
        return part.exact[begin:end].astype(np.float32) if end > begin else None


def published(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks that are searched and have a word: others have no vector, ever."""
    return [c for c in chunks if c.searched and any(sign.isalnum() for sign in c.text)]


def records_of(
    loaded: Loaded, scope: Scope, vectors: SegmentVectors, models: Sequence[str], graph: GraphRows
) -> dict[str, list[Record]]:
    """Return one document, a book, as documents of the collections."""
    book = scope.of(loaded.document.id)
    chunks = published(loaded.chunks)
    nodes, edges = _graph(loaded, chunks, book, graph)
    return {
        CHUNKS: [
            {**book, **_chunk(number, chunk, loaded.facts.get(chunk.id, Facts()))}
            for number, chunk in enumerate(chunks)
        ],
        EMBEDDINGS: [
            {**book, **_embedding(chunk, model, vectors, scope.made)}
            for model in models
            for chunk in chunks
        ],
        NODES: nodes,
        EDGES: edges,
    }


def _chunk(number: int, chunk: Chunk, facts: Facts) -> Record:
    return {
        "chunk_id": chunk.id,
        "order": number,
        "text": chunk.text,
        "page": chunk.page,
        "content_kind": content_kind(chunk, facts),
        "tags": list(facts.tags),
        "traits": list(facts.traits),
        "section_path": list(chunk.path),
        "is_rule_bearing": facts.is_rule_bearing,
        # Beyond what those programs ask for: what a citation needs.
        "profile_kind": facts.content_kind,
        "kind": chunk.kind,
        "locator": chunk.locator,
        "title": chunk.title,
        "span": [chunk.span.start, chunk.span.end],
    }


def content_kind(chunk: Chunk, facts: Facts) -> str:
    """Return which of the six kinds a chunk is; a profile may know more kinds than these."""
    if facts.content_kind in CONTENT_KINDS:
        return facts.content_kind
    if chunk.kind in _TABLES:
        return "table"
    return "rule" if facts.is_rule_bearing else "narrative"


def _embedding(chunk: Chunk, model: str, vectors: SegmentVectors, made: datetime) -> Record:
    windows = vectors.windows(chunk.id, model)
    if windows is None:
        raise StoreError(
            f"{chunk.span.doc_id}: {chunk.locator or chunk.id} has no vector of {model}",
            hint="give the index the vectors it lacks: pincite ingest",
        )
    # A long chunk has a vector for each of its windows; those programs expect one.
    mean = windows.mean(axis=0)
    embedding = mean / max(float(np.linalg.norm(mean)), 1e-12)
    record: Record = {
        "chunk_id": chunk.id,
        "model_id": model,
        "embedding": embedding.astype(float).tolist(),
        "metadata": {"text_hash": text_hash(chunk.text), "created_at": made},
    }
    if len(windows) > 1:
        record["windows"] = windows.astype(float).tolist()
    return record


def _graph(
    loaded: Loaded, chunks: Sequence[Chunk], book: Record, graph: GraphRows
) -> tuple[list[Record], list[Record]]:
    """Return the nodes and edges of a document."""
    edges = [{**book, **edge} for edge in _edges(loaded, chunks, graph)]
    nodes = [
        {**book, "node_id": chunk.id, "kind": chunk.kind, "label": chunk.locator or chunk.title}
        for chunk in loaded.chunks
    ]
    names = {edge["target_id"] for edge in edges if edge["target_id"].startswith(NAME)}
    nodes += [
        {**book, "node_id": name, "kind": "name", "label": name.removeprefix(NAME)}
        for name in sorted(names)
    ]
    return nodes, edges


NAME = "name:"


def _edges(loaded: Loaded, chunks: Sequence[Chunk], graph: GraphRows) -> Iterator[Record]:
    for chunk in loaded.chunks:
        if chunk.parent is not None:
            yield _edge(chunk.parent, chunk.id, "contains")
    for before, after in pairwise(chunks):
        yield _edge(before.id, after.id, "next")
    homes = Homes(graph, {link.target for link in loaded.links})
    for link in loaded.links:
        evidence: dict[str, Any] = {"name": link.target, "span": [link.span.start, link.span.end]}
        # What a name leads to depends on which documents there are; it may lead nowhere.
        places = [each.id for each in homes.of(link.target, link.span.doc_id)]
        for target in places or [NAME + link.target]:
            yield _edge(link.source, target, link.relation, evidence)


def _edge(
    source: str, target: str, relation: str, metadata: Mapping[str, Any] | None = None
) -> Record:
    known = dict(metadata or {})
    return {"source_id": source, "target_id": target, "relation": relation, "metadata": known}
