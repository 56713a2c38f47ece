"""Clauses of other sections that say nearly the same as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pincite.encode.models import SHIPPED
from pincite.index.filters import NOTHING
from pincite.index.opened import OpenIndex, Rows
from pincite.index.vectors import VectorIndex
from pincite.model.types import section_of
from pincite.search.row_scorers import MeaningScores
from pincite.store.files import Array

MAX_SIMILAR = 5
# Below this cosine two clauses share a subject, not what they say of it.
MIN_COSINE = 0.7
# So many of the nearest are looked at: those of the same section are not wanted.
LOOKED_AT = 64


class Similar:
    """Finds the nearest chunks of other sections; nothing is stored for it."""

    def __init__(self, index: OpenIndex, model: str) -> None:
        self.snapshot = index.snapshot
        self.rows = Rows(index)
        # What stands in for missing vectors is in their space.
        models = (SHIPPED.id, SHIPPED.stand_in)
        self.vectors = VectorIndex(index.snapshot, *(models if model in models else (model,)))

    def of(
        self, ids: Sequence[str], k: int = MAX_SIMILAR, least: float = MIN_COSINE
    ) -> list[tuple[str, float]]:
        """Return at most ``k`` chunks near one of these, with their cosines, nearest first.

        Two chunks are as near as their nearest windows. Those of the sections of ``ids`` are left
        out, in whichever edition of the work they stand.
        """
        own = self.rows.find(ids)
        nearest: dict[int, float] = {}
        for vector in self._windows(own):
            run = MeaningScores(self.vectors, self.rows, vector, self.rows.masks(NOTHING))
            found = run.best(LOOKED_AT, pool=LOOKED_AT)
            for row, cosine in zip(found.tolist(), run.parts(found)[:, 0].tolist(), strict=True):
                nearest[row] = max(cosine, nearest.get(row, -1.0))
        near = np.array([row for row, cosine in nearest.items() if cosine >= least], dtype=np.int64)
        names = self.rows.ids[near].astype(str).tolist()
        mine = set(self._sections(ids))
        found_at = zip(names, near.tolist(), self._sections(names), strict=True)
        others = [(name, nearest[row]) for name, row, section in found_at if section not in mine]
        return sorted(others, key=lambda each: (-each[1], each[0]))[:k]

    def _windows(self, rows: Array) -> list[Array]:
        """Return the vectors of rows."""
        found: list[Array] = []
        for number, (_, inner) in self.rows.by_segment(rows):
            part = self.vectors.segments[number]
            if part is not None:
                chosen = np.flatnonzero(np.isin(part.rows, inner))
                found += list(part.exact[chosen].astype(np.float32))
        return found

    def _sections(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        places = self.snapshot.places(ids)
        works = {doc_id: self.snapshot.work(doc_id) for doc_id, _ in places}
        return [(works[doc_id], section_of(locator)) for doc_id, locator in places]


def model_of(index: OpenIndex) -> str:
    """Return the model of which an index has most vectors; empty if it has none."""
    windows: dict[str, int] = {}
    for each in index.snapshot.vectors:
        windows[each.entry.model] = windows.get(each.entry.model, 0) + each.entry.windows
    return max(sorted(windows), key=lambda model: windows[model], default="")
