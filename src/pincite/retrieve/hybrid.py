"""Several first-stage retrievers as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pincite.core.stages import Retriever
from pincite.core.trace import stage
from pincite.core.types import Hit, Query, Ranking
from pincite.index.vectors import NO_VECTOR
from pincite.retrieve.fusion import fused
from pincite.retrieve.lexical import LexicalRun
from pincite.retrieve.rows import Rows, RowScorer
from pincite.store.files import Array


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of one query."""

    found: Array  # rows
    raw: Sequence[Array]  # of each retriever: the parts of its scores
    totals: Sequence[Array]  # of each retriever: its scores
    shares: Array  # one column a retriever
    floor: Array  # what an identifier of the query gives

    @property
    def scores(self) -> Array:
        total: Array = self.shares.sum(axis=1) + self.floor
        return total


# Something is always nearest in meaning; who asked should know that it is nothing but that.
NO_WORD = "no word of the query is in what was searched: this is what is nearest in meaning"


class Hybrid:
    """Fuses what its parts find: each scores the candidates of all.

    The features of a hit are its parts' shares of the fused score; ``raw`` keeps each retriever's
    own score. With a weight of 0 a part is not even asked.
    """

    name = "hybrid"

    def __init__(
        self,
        parts: Sequence[tuple[RowScorer, float]],
        rows: Rows,
        *,
        method: str,
        depth: int,
    ) -> None:
        self.parts = [(part, weight) for part, weight in parts if weight > 0]
        self.rows = rows
        self.method = method
        self.depth = depth
        self.part_names = [part.name for part, _ in self.parts]
        # The smallest score there is: words may have nothing in common, cosines end at -1.
        self.floors = [NO_VECTOR if part.name == "dense" else 0.0 for part, _ in self.parts]

    @property
    def inner_retrievers(self) -> list[Retriever]:
        """The parts, for explanations."""
        return [part for part, _ in self.parts]

    def retrieve(self, query: Query, k: int) -> Ranking:
        """Return the best ``k`` of all candidates; a prefix law holds up to ``depth``."""
        pool = self._pool(query, k)
        total = pool.scores
        winners = self.rows.best(np.arange(len(total)), total, k, names=pool.found)
        notes = (NO_WORD,) if len(winners) and self._has_no_word(pool) else ()
        return Ranking(query, tuple(self._hits(pool, winners)), notes)

    def _has_no_word(self, pool: Pool) -> bool:
        """Tell whether words were looked for and nothing has one."""
        return any(
            part.name == "lexical" and not own.any()
            for (part, _), own in zip(self.parts, pool.totals, strict=True)
        )

    def score(self, query: Query, ids: Sequence[str]) -> list[Hit]:
        """Return these chunks as hits, but for those that the filters forbid."""
        wanted = self.rows.allowed(self.rows.find(ids), query.filters)
        pool = self._pool(query, 0, wanted)
        return list(self._hits(pool, np.flatnonzero(np.isin(pool.found, wanted))))

    def _pool(self, query: Query, k: int, more: Array | None = None) -> Pool:
        """Return the candidates of all parts, each scored by all."""
        runs, best = [], [np.zeros(0, dtype=np.int64) if more is None else more]
        for part, _ in self.parts:
            with stage(part.name):
                run = part.begin(query)
                best.append(run.best(max(k, self.depth)))
            runs.append(run)
        named = runs[0].identified() if isinstance(runs[0], LexicalRun) else best[0][:0]
        found = np.unique(np.concatenate([*best, named]))
        raw = [run.parts(found) for run in runs]
        totals = [columns.sum(axis=1) for columns in raw]
        scores = np.stack(totals, axis=1)
        scores[scores == NO_VECTOR] = np.nan
        shares = fused(self.method, scores, [w for _, w in self.parts], self.floors)
        # What has the query's very identifier cannot lose to a paraphrase.
        top = shares.sum(axis=1).max(initial=0.0)
        return Pool(found, raw, totals, shares, np.where(np.isin(found, named), top, 0.0))

    def _hits(self, pool: Pool, chosen: Array) -> Iterator[Hit]:
        """Yield chosen candidates; numbers leave their arrays all at once, which is faster."""
        ids = self.rows.ids(pool.found[chosen]).astype(str).tolist()
        shares, floors = pool.shares[chosen].tolist(), pool.floor[chosen].tolist()
        raw = [columns[chosen].tolist() for columns in pool.raw]
        totals = [column[chosen].tolist() for column in pool.totals]
        columns = zip(
            ids, shares, floors, zip(*raw, strict=True), zip(*totals, strict=True), strict=True
        )
        for chunk_id, its_shares, floor, values, own in columns:
            features = {"identifier": floor} if floor else {}
            for (part, _), parts, total, share in zip(
                self.parts, values, own, its_shares, strict=True
            ):
                if len(parts) == 1 or total <= 0:
                    features[part.part_names[0]] = share
                    continue
                for name, value in zip(part.part_names, parts, strict=True):
                    features[name] = share * value / total
            raw_scores = dict(zip(self.part_names, own, strict=True))
            yield Hit(chunk_id, sum(features.values()), features, raw_scores)
