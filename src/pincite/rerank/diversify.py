"""Room for several documents or sections among the first hits."""

from __future__ import annotations

import logging
from collections import Counter

from pincite.core.types import Ranking
from pincite.rerank.combine import is_named
from pincite.rerank.metrics import log
from pincite.retrieve.spread import section_of
from pincite.store.snapshot import Snapshot


class Diversify:
    """Puts hits beyond the first few of a group behind all others; nothing is left out.

    So a search for ten hits gets ten wherever there are ten, also in a collection of one document.
    Both parts keep their order. Places that the query names count, and stay where they are.
    """

    name = "diversify"

    def __init__(self, snapshot: Snapshot, by: str, most: int) -> None:
        self.snapshot = snapshot
        self.by = by
        self.most = max(1, most)

    def rerank(self, ranking: Ranking) -> Ranking:
        if not ranking.hits:
            return ranking
        seen: Counter[tuple[str, str]] = Counter()
        is_late = []
        for hit, place in zip(ranking.hits, self.snapshot.places(ranking.ids), strict=True):
            group = (place[0], section_of(place[1]) if self.by == "section" else "")
            is_late.append(seen[group] >= self.most and not is_named(hit))
            seen[group] += 1
        late = [hit.score for hit, late in zip(ranking.hits, is_late, strict=True) if late]
        kept = [hit.score for hit, late in zip(ranking.hits, is_late, strict=True) if not late]
        log("rerank_step_3_diversify", logging.DEBUG, by=self.by, kept=len(kept), late=len(late))
        if not late:
            return ranking
        # The best of the late ones goes just below the worst of the others, by less than shows.
        below = min(kept) - 1e-6 * max(1.0, abs(min(kept)))
        lift = min(0.0, below - max(late))
        return ranking.lifted(self.name, [lift if late else 0.0 for late in is_late])
