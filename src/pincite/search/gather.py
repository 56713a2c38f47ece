"""The first stages: candidates of every scorer as one fused table; what is named, in tiers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from pincite.index.opened import Rows
from pincite.index.vectors import NO_VECTOR
from pincite.search.candidates import NO_ROW, Candidates, Tier
from pincite.search.query import ParsedQuery
from pincite.search.routing import Route, Router
from pincite.store.files import Array

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


# Something is always nearest in meaning; who asked should know that it is nothing but that.
NO_WORD = "no word of the query is in what was searched: this is what is nearest in meaning"
HYBRID = "hybrid"  # several scorers, fused
NO_ROWS = np.zeros(0, dtype=np.int64)


class Scores(Protocol):
    """The scores of one query by one scorer."""

    def best(self, k: int) -> Array:
        """Return the best ``k`` rows, best first."""
        ...

    def parts(self, rows: Array) -> Array:
        """Return the parts of the scores of any rows, one column a part."""
        ...

    def identified(self) -> Array:
        """Return the rows that have an identifier of the query."""
        ...


class RowScorer(Protocol):
    """Scores any row of an index for a query."""

    @property
    def name(self) -> str: ...

    @property
    def key(self) -> str:
        """A name for all that its scores depend on."""
        ...

    @property
    def part_names(self) -> Sequence[str]: ...

    @property
    def floor(self) -> float:
        """The smallest score there is."""
        ...

    def score(self, query: ParsedQuery, masks: list[Array | None]) -> Scores: ...


@dataclass(frozen=True)
class Gather:
    """Collects what its scorers find: each scores the candidates of all.

    One scorer alone keeps its scale; of several, each has a share of a fused score. What has an
    identifier of the query cannot lose to a paraphrase, and what a named thing says, or what is
    one step away from it, comes before everything else: both are tiers.

    Args:
        weights: of the scorers.
        depth: how many each scorer proposes at least.
        keep: how many candidates the next stage wants at least.
    """

    rows: Rows
    scorers: Sequence[RowScorer]
    weights: Sequence[float] = (1.0,)
    method: str = "theoretical"
    depth: int = 0
    keep: int = 0
    router: Router | None = None

    @property
    def name(self) -> str:
        return HYBRID if len(self.scorers) > 1 else self.scorers[0].name

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        # Behind a place that was asked for by its bare number, words say enough.
        scorers = self.scorers[:1] if query.is_bare_number else self.scorers
        wanted = NO_ROWS
        if not query.is_bare_number and query.entities:
            wanted = self.rows.allowed(self.rows.find(query.entities), query.filters)
        route = self.router.route(query) if self.router and not query.is_bare_number else None
        filters = route.narrowed(query.filters) if route else query.filters
        masks = self.rows.masks(filters)
        limit = max(table.limit, self.keep)
        runs, best, seconds = [], [], dict[str, float]()
        for scorer in scorers:
            start = time.perf_counter()
            runs.append(scorer.score(query, masks))
            best.append(runs[-1].best(max(limit, self.depth) if len(scorers) > 1 else limit))
            seconds[scorer.name] = time.perf_counter() - start
        named = runs[0].identified() if len(scorers) > 1 else NO_ROWS
        proposed = np.concatenate([*best, named])
        found = _union(proposed, wanted)
        pool = self._scored(scorers, runs, named, found)

        def score_rows(rows: Array) -> Candidates:
            rows = self.rows.allowed(rows, query.filters)
            whole = self._scored(scorers, runs, named, _union(found, rows))
            more = whole.take(np.flatnonzero(np.isin(whole.rows, rows)))
            return self._routed(more, route) if route else more

        is_first = np.isin(pool.rows, wanted) & (pool.score > 0)
        pool = replace(pool, tier=pool.tier | np.where(is_first, Tier.ENTITY, 0))
        if len(wanted):  # a link from a named thing alone makes no hit
            pool = pool.take(np.flatnonzero(is_first | np.isin(pool.rows, proposed)))
        pool = replace(pool, limit=table.limit, score_rows=score_rows, seconds=seconds)
        if len(scorers) > 1 and len(pool) and not pool.raw[scorers[0].name].any():
            pool = pool.with_note(NO_WORD)
        pool = pool.best(limit)
        return self._routed(pool, route) if route else pool

    def _scored(
        self, scorers: Sequence[RowScorer], runs: Sequence[Scores], named: Array, found: Array
    ) -> Candidates:
        """Return rows as candidates: alone a scorer's parts, of several their shares."""
        measured = [run.parts(found) for run in runs]
        ids, zeros = self.rows.ids[found], np.zeros(len(found), dtype=np.int64)
        if len(scorers) == 1:
            columns = dict(zip(scorers[0].part_names, measured[0].T, strict=True))
            return Candidates(ids, found, zeros, zeros, columns)
        totals = [columns.sum(axis=1) for columns in measured]
        raw = dict(zip((scorer.name for scorer in scorers), totals, strict=True))
        scores = np.stack(totals, axis=1)
        scores[scores == NO_VECTOR] = np.nan
        floors = [scorer.floor for scorer in scorers]
        shares = fused(self.method, scores, self.weights, floors)
        parts: dict[str, Array] = {}
        features: dict[str, Array] = {}
        for scorer, own, total, share in zip(scorers, measured, totals, shares.T, strict=True):
            if len(scorer.part_names) == 1:
                parts[scorer.part_names[0]] = share
                continue
            features |= zip(scorer.part_names, own.T, strict=True)
            parts |= zip(scorer.part_names, _split(share, own, total).T, strict=True)
        tier = np.where(np.isin(found, named), Tier.IDENTIFIER, Tier.REST)
        return Candidates(ids, found, tier, zeros, parts, raw, features)

    def _routed(self, table: Candidates, route: Route) -> Candidates:
        """Return the table with each group's share of the evidence."""
        assert self.router is not None
        return table.with_raw("route", self.router.shares(route, table.rows))


def _union(some: Array, others: Array) -> Array:
    """Return the rows of both in rising order; ``np.union1d`` loads masked arrays for it."""
    rows = np.sort(np.concatenate([some, others]))
    return rows[np.diff(rows, prepend=-1) > 0]


def put_places_first(rows: Rows, query: ParsedQuery, table: Candidates) -> Candidates:
    """Return the table with the places that a query names before all others.

    Pieces of a named place that were found otherwise are left in: they say where in it the rest of
    the query stands.
    """
    named = list(query.places)
    if named:
        allowed = rows.index.filters.satisfied(query.filters, named)
        named = [chunk_id for chunk_id in named if chunk_id in allowed]
    if not named:
        return table.best(table.limit) if len(table) > table.limit else table
    position = {chunk_id.encode(): at for at, chunk_id in enumerate(named)}
    known = set(table.ids.tolist())
    new = [chunk_id for chunk_id in named if chunk_id.encode() not in known]
    found = rows.find(new)
    row_of = dict(zip(rows.ids[found].tolist(), found.tolist(), strict=True))
    own = np.array([row_of.get(each.encode(), NO_ROW) for each in new], dtype=np.int64)
    whole = table.joined(Candidates.of(new, {}, own))
    places = np.array([position.get(each, -1) for each in whole.ids.tolist()], dtype=np.int64)
    is_named = places >= 0
    tier = np.where(is_named, Tier.PLACE, whole.tier)
    whole = replace(whole, tier=tier, position=np.where(is_named, places, 0))
    return whole.best(table.limit)


def _split(share: Array, parts: Array, total: Array) -> Array:
    """Return a share divided among parts in their proportion; the first gets what has none."""
    has_parts = total > 0
    found = np.full(parts.shape, np.nan)
    found[~has_parts, 0] = share[~has_parts]
    found[has_parts] = share[has_parts, None] * parts[has_parts] / total[has_parts, None]
    return found
