"""A component for Haystack: ``add_component("retriever", HaystackRetriever("folder"))``."""

from __future__ import annotations

from typing import Any

from pincite.adapters.retrieved import retrieve
from pincite.api import Index
from pincite.index.filters import NOTHING
from pincite.model.errors import require
from pincite.model.types import Filters

require("haystack", extra="haystack")

from haystack import Document, component, default_to_dict  # noqa: E402


@component
class HaystackRetriever:
    """Finds passages in an index; each document's meta says where it stands.

    It takes a folder, not an open index, so that a pipeline can be written to a file.
    """

    def __init__(self, index: str, k: int | None = None) -> None:
        self.index = index
        self.k = k
        self._opened: Index | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what is needed to make it again."""
        plain: dict[str, Any] = default_to_dict(self, index=self.index, k=self.k)
        return plain

    def warm_up(self) -> None:
        """Open the index."""
        self._index()

    def _index(self) -> Index:
        if self._opened is None:
            self._opened = Index.open(self.index)
        return self._opened

    @component.output_types(documents=list[Document])
    def run(self, query: str, k: int | None = None, filters: Filters = NOTHING) -> dict[str, Any]:
        """Return the documents of a search, best first."""
        found = retrieve(self._index(), query, k or self.k, filters)
        documents = [
            Document(id=each.id, content=each.text, meta=each.facts, score=each.score)
            for each in found
        ]
        return {"documents": documents}
