"""The protocols that everything pluggable keeps. Whatever has one method is a function type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from pincite.core.types import Chunk, Document

Load = Callable[[Path], Document]
Split = Callable[[Document], Iterator[Chunk]]


class PairScorer(Protocol):
    """Says how well texts answer a query: a cross-encoder, or a service that has one."""

    @property
    def id(self) -> str:
        """Its name and revision: scores of two revisions never meet."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return for each text how probable it is that it answers the query, 0 to 1.

        Raises ModelError when it cannot. Any number of threads may ask at once.
        """
        ...


class Store(Protocol):
    """Keeps documents and chunks; a snapshot for reading."""

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        """Return the chunks in the order of the ids; StoreError if one is missing."""
        ...

    def document(self, doc_id: str) -> Document: ...

    def documents(self) -> list[str]:
        """Return the ids of all documents, sorted."""
        ...

    def chunks(self, doc_id: str) -> list[Chunk]:
        """Return the chunks of a document in document order."""
        ...

    def __len__(self) -> int:
        """Return how many chunks are searched."""
        ...
