"""The table that a search fills: a line for each candidate, a column for each thing known of it.

And what makes one score of several columns on different scales: fusion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntFlag

import numpy as np

from pincite.model.cached import cached_property
from pincite.model.types import Hit, Query, Ranking
from pincite.store.files import Array

# A place that is named need not be searched itself: then it has no row in the index.
NO_ROW = -1
# How far tiers are apart at least, in scores that are shown.
GAP = 1e-3


class Tier(IntFlag):
    """What a query names stands before what it means. Stages order within tiers, never across."""

    REST = 0
    IDENTIFIER = 1  # has an identifier of the query
    ENTITY = 2  # is about a thing that the query names, or one step away from it
    PLACE = 4  # is a place that the query names; nobody re-ranks it


# The part under which a tier shows in a score.
TIER_PARTS = {Tier.IDENTIFIER: "identifier", Tier.ENTITY: "entities", Tier.PLACE: "place"}


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of one query. Stages return a new table and change no array of an old one.

    NaN stands for what was not measured, or what a stage did not touch.
    """

    ids: Array  # of chunks, as bytes
    rows: Array  # in the index; NO_ROW for a named place that is not searched itself
    tier: Array
    position: Array  # of a named place in the query; 0 for all others
    parts: Mapping[str, Array] = field(default_factory=dict)  # add up to the score
    raw: Mapping[str, Array] = field(default_factory=dict)  # what stages measured, on own scales
    features: Mapping[str, Array] = field(default_factory=dict)  # for learned rankers alone
    notes: tuple[str, ...] = ()  # what a reader should know of how this was made
    limit: int = 0  # how many candidates the first stages hand on
    seconds: Mapping[str, float] = field(default_factory=dict)  # of what is inside stages
    # Returns candidates of further rows, scored as those of the table were.
    score_rows: Callable[[Array], Candidates] | None = None

    @classmethod
    def empty(cls, limit: int = 0) -> Candidates:
        """Return a table without lines, of which a search starts."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0, dtype="S16"), none, none, none, limit=limit)

    @classmethod
    def of(
        cls, ids: Sequence[str] | Array, parts: Mapping[str, Array], rows: Array | None = None
    ) -> Candidates:
        """Return a table of chunks with the parts of their scores, all in one tier."""
        zeros = np.zeros(len(ids), dtype=np.int64)
        rows = zeros + NO_ROW if rows is None else rows
        return cls(np.asarray(ids, dtype=bytes), rows, zeros, zeros, parts)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def score(self) -> Array:
        """The sum of the parts: compares candidates of one tier."""
        total = np.zeros(len(self.ids))
        for values in self.parts.values():
            total = total + np.where(np.isnan(values), 0.0, values)
        return total

    def order(self) -> Array:
        """Return the lines best first. This is the one rule of order of the whole product."""
        return np.lexsort((self.ids, -self.score, self.position, -self.tier))

    def names(self, at: Array | None = None) -> list[str]:
        """Return the chunk ids of lines, in the order of the lines."""
        return list(map(bytes.decode, (self.ids if at is None else self.ids[at]).tolist()))

    def take(self, at: Array) -> Candidates:
        """Return a table of some lines, in this order."""
        return replace(
            self,
            ids=self.ids[at],
            rows=self.rows[at],
            tier=self.tier[at],
            position=self.position[at],
            parts={name: values[at] for name, values in self.parts.items()},
            raw={name: values[at] for name, values in self.raw.items()},
            features={name: values[at] for name, values in self.features.items()},
        )

    def best(self, k: int) -> Candidates:
        """Return the best ``k`` lines in order."""
        return self.take(self.order()[:k])

    def joined(self, other: Candidates) -> Candidates:
        """Return the lines of both tables; what only one of them knows is NaN in the other's."""
        upper, lower = np.full(len(self.ids), np.nan), np.full(len(other.ids), np.nan)
        columns = [
            {
                name: np.concatenate([mine.get(name, upper), theirs.get(name, lower)])
                for name in dict.fromkeys([*mine, *theirs])
            }
            for mine, theirs in (
                (self.parts, other.parts),
                (self.raw, other.raw),
                (self.features, other.features),
            )
        ]
        return replace(
            self,
            ids=np.concatenate([self.ids, other.ids]),
            rows=np.concatenate([self.rows, other.rows]),
            tier=np.concatenate([self.tier, other.tier]),
            position=np.concatenate([self.position, other.position]),
            parts=columns[0],
            raw=columns[1],
            features=columns[2],
        )

    def with_part(self, name: str, values: Array) -> Candidates:
        """Return the table with one more part of the scores; 0 and NaN add nothing."""
        return replace(self, parts={**self.parts, name: np.where(values == 0, np.nan, values)})

    def with_raw(self, name: str, values: Array) -> Candidates:
        """Return the table with one more measurement."""
        return replace(self, raw={**self.raw, name: values})

    def with_note(self, note: str) -> Candidates:
        return replace(self, notes=(*self.notes, note))

    @property
    def is_named(self) -> Array:
        """Which lines are places that the query names."""
        return (self.tier & Tier.PLACE) > 0

    def open_to_reranking(self) -> Array:
        """Return the lines that a re-ranker may move, best first: all but named places."""
        order = self.order()
        return order[~self.is_named[order]]

    def by_tier(self, at: Array) -> list[Array]:
        """Return the lines tier by tier, each in the order given."""
        return [at[self.tier[at] == tier] for tier in np.unique(self.tier[at])[::-1].tolist()]

    def lifts(self) -> dict[str, Array]:
        """Return what tiers add to scores that are shown, so that these fall over all tiers."""
        found: dict[str, Array] = {}
        if not self.tier.any():
            return found
        named, score = self.is_named, self.score
        others = score[~named]
        step = max(float(np.ptp(others)), float(others.max()), 0.0) + GAP if len(others) else 0.0
        total = np.array(score)
        for tier, factor in ((Tier.IDENTIFIER, 1.0), (Tier.ENTITY, 2.0)):
            lift = np.where((self.tier & tier) > 0, factor * step, np.nan)
            found[TIER_PARTS[tier]] = lift
            total = total + np.nan_to_num(lift)
        if named.any():
            top = max(0.0, float(total[~named].max(initial=0.0)))
            last = int(self.position[named].max())
            place = np.where(named, top + 1 + last - self.position - total, np.nan)
            found[TIER_PARTS[Tier.PLACE]] = place
        return {name: lift for name, lift in found.items() if not np.isnan(lift).all()}

    def exported_scores(self) -> Array:
        """Return scores that fall in the order of the table, for those who sort by one number."""
        total = self.score
        for lift in self.lifts().values():
            total = total + np.nan_to_num(lift)
        return total

    def hits(self, k: int | None = None) -> list[Hit]:
        """Return the best candidates as values for a reader: parts add up to the shown score."""
        order = self.order()[:k]
        names = self.names(order)
        shown: list[list[dict[str, float]]] = []
        for columns in ({**self.lifts(), **self.parts}, self.raw):
            own: list[dict[str, float]] = [{} for _ in names]
            for name, values in columns.items():
                for line, value in zip(own, values[order].tolist(), strict=True):
                    if value == value:  # not NaN
                        line[name] = value
            shown.append(own)
        return [
            Hit(name, sum(parts.values()), parts, raw)
            for name, parts, raw in zip(names, *shown, strict=True)
        ]

    def ranking(self, query: Query, k: int | None = None) -> Ranking:
        """Return the best candidates as a ranking."""
        return Ranking(query, tuple(self.hits(k)), self.notes)


EPSILON = 1e-9
RRF_K = 60


def minmax(scores: Array, _: Sequence[float]) -> Array:
    """Scale each column from its smallest to its largest value: 0 to 1."""
    low, high = np.nanmin(scores, axis=0), np.nanmax(scores, axis=0)
    scaled: Array = np.nan_to_num((scores - low) / (high - low + EPSILON))
    return scaled


def theoretical(scores: Array, floors: Sequence[float]) -> Array:
    """Scale from the smallest value that is possible, so that a poor best one is no winner."""
    low, high = np.asarray(floors), np.nanmax(scores, axis=0)
    scaled: Array = np.nan_to_num((scores - low) / (high - low + EPSILON))
    return scaled


def zscore(scores: Array, _: Sequence[float]) -> Array:
    """Count in standard deviations from the mean; what a retriever does not know is at the end."""
    spread = (scores - np.nanmean(scores, axis=0)) / (np.nanstd(scores, axis=0) + EPSILON)
    filled: Array = np.where(np.isnan(spread), np.nanmin(spread, axis=0), spread)
    return filled


def reciprocal_rank(scores: Array, _: Sequence[float]) -> Array:
    """Take 1 / (60 + rank), scaled so that the best is 1; equal scores get equal ranks."""
    fused = np.zeros_like(scores)
    for column in range(scores.shape[1]):
        values = scores[:, column]
        known = ~np.isnan(values)
        ordered = np.sort(values[known])
        ranks = 1 + len(ordered) - np.searchsorted(ordered, values[known], side="right")
        fused[known, column] = (RRF_K + 1) / (RRF_K + ranks)
    return fused


METHODS: dict[str, Callable[[Array, Sequence[float]], Array]] = {
    "minmax": minmax,
    "theoretical": theoretical,
    "zscore": zscore,
    "rrf": reciprocal_rank,
}


def fused(method: str, scores: Array, weights: Sequence[float], floors: Sequence[float]) -> Array:
    """Return each retriever's share of the fused scores; a weight of 0 removes a retriever.

    >>> fused("minmax", np.array([[2.0, 0.1], [1.0, 0.9]]), [0.4, 0.6], [0, -1]).round(6).tolist()
    [[0.4, 0.0], [0.0, 0.6]]
    """
    if not len(scores):
        return np.zeros_like(scores)
    used = np.asarray(weights) > 0
    shares = np.zeros_like(scores)
    known = ~np.isnan(scores).all(axis=0)  # a retriever that found nothing says nothing
    columns = np.flatnonzero(used & known).tolist()
    if columns:
        low = [floors[column] for column in columns]
        shares[:, columns] = METHODS[method](scores[:, columns], low)
        shares[:, columns] *= np.asarray(weights)[columns]
    return shares


@dataclass(frozen=True)
class Step:
    """What one stage of a search made, and how long it took."""

    stage: str
    table: Candidates
    seconds: float
    query: Query

    @cached_property
    def ranking(self) -> Ranking:
        """All candidates after the stage, best first."""
        return self.table.ranking(self.query)
