"""Hits as plain values, for whoever writes JSON: the command line, the service, agents."""

from __future__ import annotations

from typing import Any

from pincite.answer.passage import Passage
from pincite.core.types import Chunk
from pincite.search.related import Companion


def passage_values(passage: Passage) -> dict[str, Any]:
    """Return a passage as plain values."""
    chunk, place = passage.chunk, passage.place
    return {
        "rank": passage.rank,
        "citation": passage.citation,
        "locator": place.locator,
        "document": chunk.span.doc_id,
        "title": passage.document,
        "path": list(place.path),
        "page": place.page,
        "kind": place.kind,
        "span": [place.span.start, place.span.end],
        "snippet": passage.snippet,
        "marks": [list(mark) for mark in passage.marks],
        "score": passage.hit.score,
        "why": dict(passage.hit.features),
        "raw": dict(passage.hit.raw),
        "chunk": {
            "id": chunk.id,
            "locator": chunk.locator,
            "kind": chunk.kind,
            "span": [chunk.span.start, chunk.span.end],
            "text": chunk.text,
        },
    }


def companion_values(companion: Companion, chunk: Chunk) -> dict[str, Any]:
    """Return what belongs beside hits as plain values."""
    return {
        "locator": chunk.locator,
        "document": chunk.span.doc_id,
        "relation": companion.relation,
        "evidence": companion.evidence,
        "of": companion.of,
        "chunk": chunk.id,
    }
