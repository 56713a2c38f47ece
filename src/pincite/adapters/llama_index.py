"""A retriever for LlamaIndex: ``RetrieverQueryEngine.from_args(LlamaIndexRetriever("folder"))``."""

from __future__ import annotations

import asyncio
from pathlib import Path

from pincite.adapters.retrieved import opened, retrieve
from pincite.api import Index
from pincite.index.filters import NOTHING
from pincite.model.errors import require
from pincite.model.types import Filters

require("llama_index.core", extra="llama-index")

from llama_index.core.base.base_retriever import BaseRetriever  # noqa: E402
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode  # noqa: E402


class LlamaIndexRetriever(BaseRetriever):
    """Finds passages in an index; each node's metadata says where it stands."""

    def __init__(
        self, index: Index | Path | str, k: int | None = None, filters: Filters = NOTHING
    ) -> None:
        super().__init__()
        self.index = opened(index)
        self.k = k
        self.filters = filters

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = retrieve(self.index, query_bundle.query_str, self.k, self.filters)
        return [
            NodeWithScore(
                node=TextNode(
                    id_=each.id,
                    text=each.text,
                    metadata=each.facts,
                    # A model is told where a text stands, not how it was found.
                    excluded_llm_metadata_keys=["score", "snippet", "kind"],
                ),
                score=each.score,
            )
            for each in found
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
