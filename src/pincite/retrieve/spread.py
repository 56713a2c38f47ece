"""Spreading: the parts of one section take turns with other sections."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pincite.core.editions import years
from pincite.core.types import Ranking
from pincite.store.snapshot import Snapshot

# Chunks whose sections are remembered: those that searches find are found again.
REMEMBERED = 20_000


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
        self._known: dict[str, tuple[tuple[str, str], int]] = {}

    def rerank(self, ranking: Ranking) -> Ranking:
        if not ranking.hits:
            return ranking
        # A named place keeps what it has, and its lift says nothing of the scale of the others.
        open_scores = [hit.score for hit in ranking.hits if "place" not in hit.features]
        penalty = self.penalty * max(open_scores, default=0.0)  # scales differ between pipelines
        places = self._sections(ranking.ids)
        order = sorted(
            (-hit.score, -year, i)
            for i, (hit, (_, year)) in enumerate(zip(ranking.hits, places, strict=True))
        )
        seen: dict[tuple[str, str], int] = {}
        lifts = [0.0] * len(places)
        for _, _, i in order:
            section = places[i][0]
            before = seen.get(section, 0)
            lifts[i] = 0.0 if "place" in ranking.hits[i].features else 0.0 - penalty * before
            seen[section] = before + 1
        return ranking.lifted(self.name, lifts)

    def _sections(self, ids: Sequence[str]) -> list[tuple[tuple[str, str], int]]:
        """Return the section and the edition's year of each chunk; what was asked before is known.

        Threads may look the same up twice, which is harmless.
        """
        known = self._known
        missing = [chunk_id for chunk_id in ids if chunk_id not in known]
        if missing:
            if len(known) > REMEMBERED:
                missing, known = list(ids), {}
            for chunk_id, place in zip(missing, self.snapshot.places(missing), strict=True):
                work, year = self._work(place[0])
                known[chunk_id] = ((work, section_of(place[1])), year)
            self._known = known
        return [known[chunk_id] for chunk_id in ids]

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
