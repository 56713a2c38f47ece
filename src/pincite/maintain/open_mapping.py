"""An index as one of OpenSearch that other programs of the cluster search with their own tools.

Words are ranked by the cluster, vectors by its k-NN, both by its hybrid query: what Pincite adds
(pairs, windows, named places, corrections, reasons) is not there.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pincite.maintain.publish import SegmentVectors, content_kind, name_of, published
from pincite.model.settings import Settings
from pincite.model.tuning import LexicalTuning
from pincite.model.types import Chunk, Enrichment, ParsedDocument
from pincite.store.location import open_snapshot
from pincite.store.opensearch.client import Answer, OpenSearchClient
from pincite.store.snapshot import Snapshot

HNSW = {"m": 16, "ef_construction": 128}
_TEXT = {"type": "text"}
_WORD = {"type": "keyword"}
FIELDS: dict[str, dict[str, Any]] = {
    "id": _WORD,
    "content": _TEXT,  # of the chunk, as it stands in the document
    "title": _TEXT,  # of the document
    "heading": _TEXT,  # of the chunk
    "path": {"type": "text", "fields": {"exact": _WORD}},  # the headings above it
    "document": _WORD,
    "locator": _WORD,
    "kind": _WORD,
    "content_kind": _WORD,
    "tags": _WORD,
    "traits": _WORD,
    "access": _WORD,  # tags of those who may see it
    "open": {"type": "boolean"},  # everybody may
    "work": _WORD,  # what editions have in common
    "valid_from": {"type": "date", "format": "strict_date"},
    "valid_to": {"type": "date", "format": "strict_date"},
    "page": {"type": "integer"},
    "start": {"type": "integer"},  # characters of the document
    "end": {"type": "integer"},
}
# Search pipelines that make one score of words' and of vectors'.
PIPELINES: dict[str, Answer] = {
    "minmax": {
        "normalization-processor": {
            "normalization": {"technique": "min_max"},
            "combination": {"technique": "arithmetic_mean"},
        }
    },
    "rrf": {"score-ranker-processor": {"combination": {"technique": "rrf"}}},
}


@dataclass(frozen=True, slots=True)
class PublishedIndex:
    """What a publication did."""

    index: str  # what programs search: an alias
    run_id: str
    documents: int
    chunks: int
    without_vectors: int
    model: str  # that made the vectors; empty if there are none
    is_new: bool  # False: this generation was there already


def publish_index(
    location: str | Path, url: str, settings: Settings | None = None
) -> PublishedIndex:
    """Write the current generation of an index for other programs; they see all of it or nothing.

    The alias ``<name>-open`` leads to the newest publication. The one before stays until the next.
    """
    settings = settings or Settings()
    client = OpenSearchClient(url, settings.store)
    try:
        with open_snapshot(location, settings.store) as snapshot:
            snapshot.verify()
            return _Publication(client, snapshot, settings.tuning.lexical).run()
    finally:
        client.close()


class _Publication:
    """One generation on its way into an index of its own."""

    def __init__(self, client: OpenSearchClient, snapshot: Snapshot, words: LexicalTuning) -> None:
        self.client = client
        self.snapshot = snapshot
        self.words = words
        self.alias = f"{client.address.name}-open"
        self.run_id = name_of(snapshot)
        self.model, self.dimension = _model_of(snapshot)
        self.documents = self.chunks = self.without_vectors = 0

    def run(self) -> PublishedIndex:
        for name, processor in PIPELINES.items():
            path = f"/_search/pipeline/{self.client.address.name}-{name}"
            self.client.ask("PUT", path, {"phase_results_processors": [processor]})
        current = self.client.behind(self.alias)
        for about in current.values():
            if about.get("run_id") == self.run_id:
                return PublishedIndex(**about, index=self.alias, is_new=False)
        for name in self.client.names(f"{self.alias}-"):
            if name not in current:  # older, or given up
                self.client.drop(name)
        name = f"{self.alias}-{self.run_id}-{secrets.token_hex(3)}"
        about = self._load(name)
        self.client.point(self.alias, name)
        return PublishedIndex(**about, index=self.alias, is_new=True)

    def _load(self, name: str) -> dict[str, Any]:
        """Fill an index without copies or refreshes, then give it both."""
        address = self.client.address
        language = str(self.snapshot.manifest.shape["tokens"]["language"])
        # It has analyzers of these names for all languages that we stem.
        analyzer = {"auto": "english", "none": "standard"}.get(language, language)
        analysis = {"default": {"type": analyzer}}
        bm25 = {"type": "BM25", "k1": self.words.k1, "b": self.words.b}
        loading = {
            "number_of_shards": address.shards,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "knn": True,
            "analysis": {"analyzer": analysis},
            "similarity": {"default": bm25},
        }
        mappings = {"dynamic": "strict", "properties": self._fields()}
        self.client.create(name, {"settings": loading, "mappings": mappings}, f"{name}-written")
        self.client.put_many(f"{name}-written", self._records())
        self.client.refresh(name)
        copies = {"auto_expand_replicas": "0-1"}
        if address.replicas is not None:
            copies = {"number_of_replicas": str(address.replicas)}
        self.client.ask("PUT", f"/{name}/_settings", {"refresh_interval": None, **copies})
        about = {
            "run_id": self.run_id,
            "documents": self.documents,
            "chunks": self.chunks,
            "without_vectors": self.without_vectors,
            "model": self.model,
        }
        self.client.ask("PUT", f"/{name}/_mapping", {"_meta": {"pincite": about}})
        return about

    def _fields(self) -> Answer:
        if not self.dimension:
            return FIELDS
        method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
        vector = {"type": "knn_vector", "dimension": self.dimension}
        return {**FIELDS, "embedding": {**vector, "method": {**method, "parameters": HNSW}}}

    def _records(self) -> Iterator[tuple[str, Answer]]:
        for segment in self.snapshot.segments:
            vectors = SegmentVectors.of(self.snapshot, segment)
            for entry in segment.entries():
                self.documents += 1
                about = _document(self.snapshot, entry.loaded)
                for chunk in published(entry.loaded.chunks):
                    facts = entry.loaded.facts.get(chunk.id, Enrichment())
                    record = {**about, **_chunk(chunk, facts), **self._vector(chunk, vectors)}
                    self.chunks += 1
                    yield chunk.id, {k: v for k, v in record.items() if v not in (None, [])}

    def _vector(self, chunk: Chunk, vectors: SegmentVectors) -> Answer:
        windows = vectors.windows(chunk.id, self.model) if self.model else None
        if windows is None:
            self.without_vectors += 1
            return {}
        # A long chunk has a vector for each of its windows; those programs expect one.
        mean = windows.mean(axis=0)
        return {"embedding": (mean / max(float(np.linalg.norm(mean)), 1e-12)).tolist()}


def _model_of(snapshot: Snapshot) -> tuple[str, int]:
    """Return the model that made most vectors and how long they are; none if there are none."""
    windows: Counter[str] = Counter()
    for each in snapshot.vectors:
        windows[each.entry.model] += each.entry.windows
    if not windows:
        return "", 0
    model = windows.most_common(1)[0][0]
    part = next(each for each in snapshot.vectors if each.entry.model == model)
    return model, int(part.exact.shape[1])


def _document(snapshot: Snapshot, loaded: ParsedDocument) -> dict[str, Any]:
    """Return what all chunks of a document have in common."""
    edition = snapshot.edition(loaded.document.id)
    needed = loaded.document.meta.get("access", "")
    tags = sorted({tag.strip().casefold() for tag in needed.split(",") if tag.strip()})
    return {
        "document": loaded.document.id,
        "title": loaded.document.title,
        "access": tags,
        "open": not tags,
        "work": edition.work,
        "valid_from": edition.effective and edition.effective.isoformat(),
        "valid_to": edition.until and edition.until.isoformat(),
    }


def _chunk(chunk: Chunk, facts: Enrichment) -> dict[str, Any]:
    return {
        "id": chunk.id,
        "content": chunk.text,
        "heading": chunk.title,
        "path": list(chunk.path),
        "locator": chunk.locator,
        "kind": chunk.kind,
        "content_kind": content_kind(chunk, facts),
        "tags": list(facts.tags),
        "traits": list(facts.traits),
        "page": chunk.page,
        "start": chunk.span.start,
        "end": chunk.span.end,
    }
