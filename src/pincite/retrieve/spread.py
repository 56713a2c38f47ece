"""Spreading: the parts of one section take turns with other sections."""

from __future__ import annotations

from collections import Counter

from pincite.core.types import Chunk, Ranking
from pincite.store.snapshot import Snapshot


class Spread:
    """Lowers a hit a little for every better one of the same section.

    Ten hits of one section are one answer. With the small penalty a section that is clearly the
    best keeps its places, and close calls go to sections not seen yet.
    """

    name = "spread"

    def __init__(self, snapshot: Snapshot, penalty: float) -> None:
        self.snapshot = snapshot
        self.penalty = penalty

    def rerank(self, ranking: Ranking) -> Ranking:
        if not ranking.hits:
            return ranking
        penalty = self.penalty * ranking.hits[0].score  # scales differ between pipelines
        chunks = self.snapshot.get(ranking.ids)
        seen: Counter[tuple[str, str]] = Counter()
        lifts = []
        for chunk in chunks:
            section = section_of(chunk)
            lifts.append(-penalty * seen[section])
            seen[section] += 1
        return ranking.lifted(self.name, lifts)


def section_of(chunk: Chunk) -> tuple[str, str]:
    """Return the section that a chunk belongs to: its number, or its nearest heading."""
    number = chunk.locator.split("(")[0].strip()
    return chunk.span.doc_id, number
