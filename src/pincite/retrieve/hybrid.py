"""Several first-stage retrievers as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pincite.core.stages import Retriever
from pincite.core.trace import stage
from pincite.core.types import Hit, Query, Ranking
from pincite.index.vectors import NO_VECTOR
from pincite.retrieve.fusion import fused
from pincite.retrieve.lexical import LexicalRun
from pincite.retrieve.rows import Rows, RowScorer
from pincite.store.array_files import Array


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
        # The smallest score there is: words may have nothing in common, cosines end at -1.
        self.floors = [NO_VECTOR if part.name == "dense" else 0.0 for part, _ in self.parts]

    @property
    def inner_retrievers(self) -> list[Retriever]:
        """The parts, for explanations."""
        return [part for part, _ in self.parts]

    def retrieve(self, query: Query, k: int) -> Ranking:
        """Return the best ``k`` of all candidates; a prefix law holds up to ``depth``."""
        runs, best = [], []
        for part, _ in self.parts:
            with stage(part.name):
                run = part.begin(query)
                best.append(run.best(max(k, self.depth)))
            runs.append(run)
        named = runs[0].identified() if isinstance(runs[0], LexicalRun) else best[0][:0]
        found = np.unique(np.concatenate([*best, named]))
        raw = [run.parts(found) for run in runs]
        scores = np.stack([columns.sum(axis=1) for columns in raw], axis=1)
        scores[scores == NO_VECTOR] = np.nan
        shares = fused(self.method, scores, [w for _, w in self.parts], self.floors)
        total = shares.sum(axis=1)
        # What has the query's very identifier cannot lose to a paraphrase.
        floor = np.where(np.isin(found, named), total.max(initial=0.0), 0.0)
        winners = self.rows.best(np.arange(len(found)), total + floor, k, names=found)
        ids = self.rows.ids(found[winners]).tolist()
        hits = (
            self._hit(chunk_id.decode(), [columns[row] for columns in raw], shares[row], floor[row])
            for chunk_id, row in zip(ids, winners.tolist(), strict=True)
        )
        return Ranking(query, tuple(hits))

    def _hit(self, chunk_id: str, raw: Sequence[Array], shares: Array, floor: float) -> Hit:
        features: dict[str, float] = {"identifier": float(floor)} if floor else {}
        own: dict[str, float] = {}
        for (part, _), values, share in zip(self.parts, raw, shares.tolist(), strict=True):
            total = float(values.sum())
            own[part.name] = total
            if len(values) == 1 or total <= 0:
                features[part.part_names[0]] = share
                continue
            for name, value in zip(part.part_names, values.tolist(), strict=True):
                features[name] = share * value / total
        return Hit(chunk_id, sum(features.values()), features, own)
