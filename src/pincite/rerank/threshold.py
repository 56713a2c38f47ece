"""Leaving out what is probably no answer."""

from __future__ import annotations

from dataclasses import replace

from pincite.core.settings import RerankSettings
from pincite.core.types import Hit, Ranking
from pincite.rerank.combine import NAME, is_named


class Threshold:
    """Keeps hits that are at least so probable; an empty ranking with a note is a fine result.

    It compares probabilities alone, never scores of another stage on another scale. Places that
    the query names stay. What nobody judged lies behind the pool, or was not reached in time: the
    former is left out if the whole pool was judged (it is less promising than what failed), the
    latter cannot be held against a hit, so then all of it stays, behind what was judged.
    """

    name = "threshold"

    def __init__(self, settings: RerankSettings) -> None:
        self.threshold = settings.threshold
        self.pool = settings.pool
        self.unjudged = settings.unjudged

    def rerank(self, ranking: Ranking) -> Ranking:
        judged = [hit.raw[NAME] for hit in ranking.hits if NAME in hit.raw]
        asked = sum(not is_named(hit) for hit in ranking.hits)
        is_whole = bool(judged) and len(judged) >= min(self.pool, asked)
        keeps = self.unjudged == "keep" or (self.unjudged == "auto" and not is_whole)
        kept = tuple(hit for hit in ranking.hits if self._keeps(hit, keeps))
        if kept or not judged:
            return replace(ranking, hits=kept)
        note = (
            f"nothing relevant: the best of {len(judged)} candidates is an answer with a "
            f"probability of {max(judged):.2f}, and rerank.threshold is {self.threshold:g}"
        )
        return replace(ranking, hits=(), notes=(*ranking.notes, note))

    def _keeps(self, hit: Hit, unjudged: bool) -> bool:
        if is_named(hit):
            return True
        return hit.raw[NAME] >= self.threshold if NAME in hit.raw else unjudged
