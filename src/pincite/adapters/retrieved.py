"""What all adapters share: a search, and its hits as text with flat facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pincite.api import Index
from pincite.model.types import Filters


class Retrieved(NamedTuple):
    """One hit: the whole chunk to read, and the exact place to cite among its facts."""

    id: str
    text: str
    score: float
    facts: dict[str, str | int | float | None]  # flat, as most stores and filters want it


def opened(index: Index | Path | str) -> Index:
    """Return the index, opened if it is a folder."""
    return index if isinstance(index, Index) else Index.open(index)


def retrieve(index: Index, query: str, k: int | None, filters: Filters) -> Iterator[Retrieved]:
    """Yield the hits of a search, best first."""
    for passage in index.search(query, k, filters).passages:
        place, score = passage.place, passage.hit.score
        facts: dict[str, str | int | float | None] = {
            "document": place.span.doc_id,
            "title": passage.document,
            "locator": place.locator,
            "path": " > ".join(place.path),
            "page": passage.page,
            "page_label": passage.page_label,
            "kind": place.kind,
            "citation": passage.citation,
            "snippet": passage.snippet,
            "score": score,
        }
        yield Retrieved(passage.chunk.id, passage.chunk.text, score, facts)
