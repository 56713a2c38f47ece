"""Spreading: the parts of one section take turns with other sections."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from pincite.core.editions import years
from pincite.core.types import Ranking
from pincite.store.snapshot import Snapshot


class Spread:
    """Lowers a hit a little for every better one of the same section.

    Ten hits of one section are one answer, and so are the same section of two editions. With the
    small penalty a section that is clearly the best keeps its places, and close calls go to
    sections not seen yet. Of two editions that score the same, the newer comes first.
    """

    name = "spread"

    def __init__(self, snapshot: Snapshot, penalty: float) -> None:
        self.snapshot = snapshot
        self.penalty = penalty
        self._work = lru_cache(maxsize=10_000)(self._look_up)

    def rerank(self, ranking: Ranking) -> Ranking:
        if not ranking.hits:
            return ranking
        penalty = self.penalty * ranking.hits[0].score  # scales differ between pipelines
        places = self.snapshot.places(ranking.ids)
        order = sorted(
            range(len(places)),
            key=lambda i: (-ranking.hits[i].score, -self._work(places[i][0])[1], i),
        )
        seen: Counter[tuple[str, str]] = Counter()
        lifts = [0.0] * len(places)
        for i in order:
            doc_id, locator = places[i]
            section = (self._work(doc_id)[0], section_of(locator))
            lifts[i] = 0.0 - penalty * seen[section]
            seen[section] += 1
        return ranking.lifted(self.name, lifts)

    def _look_up(self, doc_id: str) -> tuple[str, int]:
        """Return the work that a document is an edition of, and its year."""
        own = years(self.snapshot.title(doc_id), doc_id)
        return self.snapshot.work(doc_id), max(own, default=0)


def section_of(locator: str) -> str:
    """Return the section of a clause's, an exception's or a table row's locator.

    >>> [section_of(name) for name in ("97.113(a)(4)", "240.6 Exception", "Table 8-2 > 5 to 8")]
    ['97.113', '240.6', 'Table 8-2']
    """
    base = locator.split(" > ")[0].split("(")[0].strip()
    return base.split()[0] if base[:1].isdigit() else base
