"""Room for several sections and documents among the first hits."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from pincite.model.editions import years
from pincite.search.candidates import Candidates, Tier
from pincite.search.metrics import log
from pincite.search.query import ParsedQuery
from pincite.store.snapshot import Snapshot

# Chunks whose sections are remembered: those that searches find are found again.
REMEMBERED = 20_000


class Spread:
    """Lowers a candidate a little for every better one of the same section.

    Ten hits of one section are one answer, and so are the same section of two editions. With the
    small penalty a section that is clearly the best keeps its places, and close calls go to
    sections not seen yet. Of two editions that score the same, the newer comes first. Named places
    count, and lose nothing.
    """

    name = "spread"

    def __init__(self, snapshot: Snapshot, penalty: float) -> None:
        self.snapshot = snapshot
        self.penalty = penalty
        self._work = lru_cache(maxsize=10_000)(self._look_up)
        self._known: dict[bytes, tuple[tuple[str, str], int]] = {}

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        if not len(table):
            return table
        score, is_named = table.score, table.is_named
        # Scales differ between pipelines.
        penalty = self.penalty * float(score.max(where=~is_named, initial=0.0))
        places = self._sections(table.ids.tolist())
        year = np.array([each[1] for each in places])
        order = np.lexsort((table.ids, -year, -score, table.position, -table.tier))
        seen: dict[tuple[str, str], int] = {}
        before = np.zeros(len(table))
        for at in order.tolist():
            section = places[at][0]
            before[at] = seen.get(section, 0)
            seen[section] = seen.get(section, 0) + 1
        return table.with_part(self.name, np.where(is_named, 0.0, -penalty * before))

    def _sections(self, ids: Sequence[bytes]) -> list[tuple[tuple[str, str], int]]:
        """Return the section and the edition's year of each chunk; what was asked before is known.

        Threads may look the same up twice, which is harmless.
        """
        known = self._known
        missing = [chunk_id for chunk_id in ids if chunk_id not in known]
        if missing:
            if len(known) > REMEMBERED:
                missing, known = list(ids), {}
            places = self.snapshot.places(list(map(bytes.decode, missing)))
            for chunk_id, place in zip(missing, places, strict=True):
                work, year = self._work(place[0])
                known[chunk_id] = ((work, section_of(place[1])), year)
            self._known = known
        return [known[chunk_id] for chunk_id in ids]

    def _look_up(self, doc_id: str) -> tuple[str, int]:
        """Return the work that a document is an edition of, and its year."""
        own = years(self.snapshot.title(doc_id), doc_id)
        return self.snapshot.work(doc_id), max(own, default=0)


class Diversify:
    """Puts hits beyond the first few of a group behind all others; nothing is left out.

    So a search for ten hits gets ten wherever there are ten, also in a collection of one document.
    Both parts keep their order. Places that the query names count, and stay where they are.
    """

    name = "diversify"

    def __init__(self, snapshot: Snapshot, by: str, per_group: int) -> None:
        self.snapshot = snapshot
        self.by = by
        self.per_group = max(1, per_group)

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        order = table.order()
        seen: Counter[tuple[str, str]] = Counter()
        is_late = np.zeros(len(table), dtype=bool)
        places = self.snapshot.places(table.names(order))
        for at, (doc_id, locator) in zip(order.tolist(), places, strict=True):
            group = (doc_id, section_of(locator) if self.by == "section" else "")
            is_late[at] = seen[group] >= self.per_group
            seen[group] += 1
        is_late &= ~table.is_named
        late = int(is_late.sum())
        kept = len(table) - late
        log("rerank_step_3_diversify", logging.DEBUG, by=self.by, kept=kept, late=late)
        if not late:
            return table
        # No tier lifts what is late. It goes just below the others, tier by tier as it was.
        scores = table.score
        apart = np.ptp(scores) + 1e-6 * max(1.0, float(np.abs(scores).max()))
        shown = scores - apart * np.where(is_late, table.tier.max() - table.tier, 0)
        others = scores[~is_late & (table.tier == Tier.REST)]
        worst = float(others.min()) if len(others) else float(scores.min())
        below = worst - 1e-6 * max(1.0, abs(worst))
        lift = min(0.0, below - float(shown[is_late].max()))
        moved = table.with_part(self.name, np.where(is_late, shown + lift - scores, 0.0))
        return replace(moved, tier=np.where(is_late, Tier.REST, table.tier))


def section_of(locator: str) -> str:
    """Return the section of a clause's, an exception's or a table row's locator.

    >>> [section_of(name) for name in ("97.113(a)(4)", "240.6 Exception", "Table 8-2 > 5 to 8")]
    ['97.113', '240.6', 'Table 8-2']
    """
    if locator.startswith("“"):  # no section is known to hold it
        return locator
    base = locator.split(" > ")[0].split("(")[0].strip()
    return base.split()[0] if base[:1].isdigit() else base
