"""Hits as ``search_result`` blocks of Anthropic's Messages, and their citations as places.

Needs nothing of Anthropic's: blocks are plain values. A model that reads them cites them by their
``source``, which is the id of a place: ``rules.md#4.2(b)``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pincite.adapters.retrieved import opened
from pincite.api import Index
from pincite.index.filters import NOTHING
from pincite.model.errors import StoreError
from pincite.model.types import Chunk, Filters
from pincite.search.lookup import PlaceReader
from pincite.search.passages import result_blocks


def search_results(
    index: Index | Path | str, query: str, k: int | None = None, filters: Filters = NOTHING
) -> list[dict[str, Any]]:
    """Return the hits of a search as blocks, one a clause, with citations on."""
    return result_blocks(opened(index).search(query, k, filters).passages)


def cited_place(index: PlaceReader, citation: Any) -> Chunk:
    """Return the place that a citation of such a block means; StoreError if it is of another kind.

    ``citation`` is Anthropic's value, or its fields as a mapping.
    """
    found = citation if isinstance(citation, dict) else vars(citation)
    kind, source = found.get("type"), str(found.get("source", ""))
    if kind != "search_result_location":
        raise StoreError(f"no citation of a search result: {kind!r}")
    known = set(index.documents())
    for at in (n for n, letter in enumerate(source) if letter == "#"):
        if source[:at] in known:
            return index.show(source[at + 1 :], source[:at])[0]
    raise StoreError(f"no place {source!r} in the index", hint="was it cited from another index?")
