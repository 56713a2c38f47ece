"""An index as collections that other programs read in MongoDB."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pincite.model.errors import ConfigError, StoreError, redact_url
from pincite.model.profiles import profile_text, profile_values
from pincite.model.settings import StoreSettings
from pincite.model.traversal import AUTO_PROFILES
from pincite.model.types import Chunk, Enrichment, ParsedDocument
from pincite.search.neighbours import Homes
from pincite.store.files import Array
from pincite.store.location import open_snapshot
from pincite.store.mongodb.engine import MongoAddress, MongoClient, MongoLease, Record
from pincite.store.mongodb.runs import (
    CHUNKS,
    CONFIGS,
    CONTENT_KINDS,
    EDGES,
    EMBEDDINGS,
    NODES,
    RUNS,
    forget,
    prepare,
    send,
    text_hash,
    whole_runs,
)
from pincite.store.segment import Segment, Vectors
from pincite.store.snapshot import GraphRows, Snapshot

# Kinds of things that are listed by their names.
NAMED = ("condition", "spell", "feat", "item", "action")
AUDIENCES = ("player", "gm")


class Names:
    """Collects the names of the things that an index describes."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {kind: set() for kind in NAMED}

    def see(self, chunks: Iterable[Chunk], facts: Mapping[str, Enrichment]) -> None:
        for chunk in chunks:
            kind = facts[chunk.id].content_kind if chunk.id in facts else ""
            if kind in self._names and chunk.title:
                self._names[kind].add(chunk.title)

    def config(self, shape: Mapping[str, Any]) -> Record:
        """Return the configuration of an index that was built with some settings."""
        profiles = [_profile(name) for name in _profiles(shape)]
        audiences = [each.get("audiences", {}) for each in profiles]
        walks = [each.get("traversal", {}) for each in profiles]
        patterns: dict[str, list[str]] = {}
        policies: Record = {}
        for walk in walks:
            for intent in walk.get("intent", ()):
                patterns.setdefault(intent["name"], []).extend(intent["patterns"])
            for policy in walk.get("policy", ()):
                policies.setdefault(policy["name"], policy)
        return {
            **{f"{kind}_names": sorted(self._names[kind]) for kind in NAMED},
            **{
                f"{audience}_keywords": [w for each in audiences for w in each.get(audience, ())]
                for audience in AUDIENCES
            },
            "intent_patterns": patterns,
            "policies": policies,
        }


def _profiles(shape: Mapping[str, Any]) -> tuple[str, ...]:
    name = str(shape.get("ingest", {}).get("profile", "none"))
    if name == "auto":
        return AUTO_PROFILES
    return () if name == "none" else (name,)


def _profile(name: str) -> Mapping[str, Any]:
    try:
        return profile_values(profile_text(name), origin=name)[0]
    except ConfigError:  # a file that has gone since the index was built
        return {}


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
    loaded: ParsedDocument,
    scope: Scope,
    vectors: SegmentVectors,
    models: Sequence[str],
    graph: GraphRows,
) -> dict[str, list[Record]]:
    """Return one document, a book, as documents of the collections."""
    book = scope.of(loaded.document.id)
    chunks = published(loaded.chunks)
    nodes, edges = _graph(loaded, chunks, book, graph)
    return {
        CHUNKS: [
            {**book, **_chunk(number, chunk, loaded.facts.get(chunk.id, Enrichment()))}
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


def _chunk(number: int, chunk: Chunk, facts: Enrichment) -> Record:
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


def content_kind(chunk: Chunk, facts: Enrichment) -> str:
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
    loaded: ParsedDocument, chunks: Sequence[Chunk], book: Record, graph: GraphRows
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


def _edges(loaded: ParsedDocument, chunks: Sequence[Chunk], graph: GraphRows) -> Iterator[Record]:
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


KEPT_RUNS = 2
# One publisher at a time in a database; a document of this collection says who.
LEASE = "pincite_publish"


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication did."""

    run_id: str
    books: int
    chunks: int
    embeddings: int
    edges: int
    is_new: bool  # False: the run was there already
    is_validated: bool  # whether the server keeps the validators


def publish(
    location: str | Path,
    url: str,
    ruleset: str,
    *,
    run_id: str = "",
    kept: int = KEPT_RUNS,
    settings: StoreSettings | None = None,
) -> Published:
    """Write the current generation of an index as a run; readers see all of it or nothing.

    Args:
        ruleset: what the documents of the index, its books, are called together.
        run_id: the run's name; made of the generation if it is left out.
        kept: so many whole runs of the ruleset stay, this one included.
    """
    settings = settings or StoreSettings()
    client = MongoClient(MongoAddress(url), settings)
    try:
        with open_snapshot(location, settings) as snapshot, _publishing(client) as lease:
            snapshot.verify()
            run = Scope(ruleset, run_id or name_of(snapshot), datetime.now(UTC))
            is_validated = prepare(client)
            runs = whole_runs(client, ruleset)
            if run.run_id in runs:
                return _told(run.run_id, runs[run.run_id], False, is_validated)
            forget(client, ruleset, runs)  # what a publisher that died left
            records = _write(client, snapshot, run, lease, redact_url(location))
            lease.check()
            send(client, RUNS, records)
            forget(client, ruleset, [run.run_id, *list(runs)[: max(0, kept - 1)]])
            return _told(run.run_id, records, True, is_validated)
    finally:
        client.close()


@contextmanager
def _publishing(client: MongoClient) -> Iterator[MongoLease]:
    lease = MongoLease(client, client.collection(LEASE, journalled=True))
    lease.take()
    try:
        yield lease
    finally:
        with suppress(StoreError):  # of a server that is gone: the lease runs out
            lease.give_back()


def name_of(snapshot: Snapshot) -> str:
    """Return the name of a generation's run: the same generation has the same name."""
    digest = hashlib.sha256(snapshot.manifest.to_bytes()).hexdigest()
    return f"{snapshot.manifest.generation:06d}-{digest[:8]}"


def _write(
    client: MongoClient, snapshot: Snapshot, run: Scope, lease: MongoLease, origin: str
) -> list[Record]:
    """Write all that belongs to a run and return the records that make it count."""
    models = sorted({each.entry.model for each in snapshot.vectors})
    if not models:
        raise StoreError("the index has no vectors", hint="give it some: pincite ingest")
    graph, names = snapshot.graph_rows(), Names()
    counts: dict[str, Counter[str]] = {}
    for segment in snapshot.segments:
        vectors = SegmentVectors.of(snapshot, segment)
        for entry in segment.entries():
            lease.check()
            loaded = entry.loaded
            names.see(loaded.chunks, loaded.facts)
            found = records_of(loaded, run, vectors, models, graph)
            book = Counter({name: send(client, name, some) for name, some in found.items()})
            counts[loaded.document.id] = book
    version = _config_version(client, run, names.config(snapshot.manifest.shape))
    about = {
        "sequence": lease.term,
        "books": len(counts),
        "models": models,
        "config_version": version,
        "generation": snapshot.manifest.generation,
        "origin": origin,
        "created_at": run.made,
    }
    return [{**run.of(book), **about, "counts": _plain(count)} for book, count in counts.items()]


def _plain(count: Counter[str]) -> dict[str, int]:
    names = {"chunks": CHUNKS, "embeddings": EMBEDDINGS, "edges": EDGES, "nodes": NODES}
    return {short: count[name] for short, name in names.items()}


def _config_version(client: MongoClient, run: Scope, config: Record) -> int:
    """Return the version of a configuration: the newest if it says the same, or a new one."""
    with client.explained():
        known = list(client.collection(CONFIGS).find({"ruleset_id": run.ruleset_id}))
        newest: Any = max(known, key=lambda each: each["version"], default=None)
        if newest is not None and all(newest.get(key) == value for key, value in config.items()):
            return int(newest["version"])
        version = 1 if newest is None else int(newest["version"]) + 1
        dates = {"created_at": run.made, "updated_at": run.made}
        client.collection(CONFIGS).insert_one(
            {"ruleset_id": run.ruleset_id, "version": version, **config, **dates}
        )
    return version


def _told(run_id: str, records: Sequence[Any], is_new: bool, is_validated: bool) -> Published:
    def total(key: str) -> int:
        return sum(int(record["counts"][key]) for record in records)

    return Published(
        run_id,
        len(records),
        total("chunks"),
        total("embeddings"),
        total("edges"),
        is_new,
        is_validated,
    )
