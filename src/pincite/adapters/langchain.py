"""A retriever for LangChain: ``LangChainRetriever(index="pincite-index") | prompt | model``."""

from __future__ import annotations

from pathlib import Path

from pincite.adapters.retrieved import opened, retrieve
from pincite.api import Index
from pincite.index.filters import NOTHING
from pincite.model.errors import require
from pincite.model.types import Filters

require("langchain_core", extra="langchain")

from langchain_core.callbacks import CallbackManagerForRetrieverRun  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from pydantic import field_validator  # noqa: E402


class LangChainRetriever(BaseRetriever):
    """Finds passages in an index; each document's metadata says where it stands."""

    index: Index
    k: int | None = None
    filters: Filters = NOTHING

    @field_validator("index", mode="before")
    @classmethod
    def _opened(cls, index: Index | Path | str) -> Index:
        return opened(index)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [
            Document(id=each.id, page_content=each.text, metadata=each.facts)
            for each in retrieve(self.index, query, self.k, self.filters)
        ]
