"""An index opened for searching: the snapshot and what its arrays mean."""

from __future__ import annotations

from pathlib import Path

from pincite.index.filters import RowFilter
from pincite.index.lexical import LexicalIndex
from pincite.index.tokens import Analyzer
from pincite.store.snapshot import Snapshot


class OpenIndex:
    """One generation with its searchable sides; shared by all pipelines and threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        # Queries are read as the index was written, whatever the present settings say.
        self.analyzer = Analyzer(snapshot.manifest.shape["tokens"]["language"])
        self.lexical = LexicalIndex(snapshot)
        self.filters = RowFilter(snapshot)

    @classmethod
    def open(cls, folder: Path) -> OpenIndex:
        return cls(Snapshot.open(folder))

    def has_vectors(self, model: str) -> bool:
        """Return whether any chunk has a vector of this model."""
        return any(each.entry.model == model for each in self.snapshot.vectors)
