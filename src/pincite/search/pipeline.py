"""A search on one screen: a list of stages, run one after the other over one table.

A stage is anything that takes a query and a table and returns a table. It holds what it needs and
knows no other stage: a preset is a list, an ablation leaves one out, and whoever wants to try a
stage calls it.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from pincite.index.filters import NOTHING
from pincite.index.opened import Rows
from pincite.index.vectors import NO_VECTOR
from pincite.model.editions import years
from pincite.model.errors import ConfigError
from pincite.model.types import Query, section_of
from pincite.search.candidates import NO_ROW, Candidates, Step, Tier, fused
from pincite.search.documents import DOCUMENT, DocumentFactors, weigh
from pincite.search.late import LateInteraction
from pincite.search.metrics import log
from pincite.search.query import ParsedQuery, QueryReader
from pincite.search.rerank import CrossEncode
from pincite.search.routing import Route, Router
from pincite.search.row_scorers import NO_ROWS, Meaning, WordScorer
from pincite.store.files import Array
from pincite.store.snapshot import Snapshot

Stage = Callable[[ParsedQuery, Candidates], Candidates]
# Something is always nearest in meaning; who asked should know that it is nothing but that.
NO_WORD = "no word of the query is in what was searched: this is what is nearest in meaning"
HYBRID = "hybrid"  # several scorers, fused


@dataclass(frozen=True)
class Searcher:
    """Runs queries through named stages; keeps nothing between queries.

    ``first`` is how many stages find candidates; those behind it order them. The parts that some
    stages share are at hand for others: the words, the meaning, the matches word by word.
    """

    reader: QueryReader
    stages: Sequence[tuple[str, Stage]]
    first: int = 1
    depth: int = 100
    notes: tuple[str, ...] = ()  # what the reader of every result should know, in plain words
    words: WordScorer | None = None
    meaning: Meaning | None = None
    late: LateInteraction | None = None
    reranker: CrossEncode | None = None
    router: Router | None = None

    def limit(self, k: int) -> int:
        """Return how many candidates are found: those beyond ``k`` are for re-rankers."""
        return max(k, self.depth) if len(self.stages) > self.first else k

    def steps(self, query: ParsedQuery, k: int, limit: int | None = None) -> Iterator[Step]:
        """Yield the table after each stage with the time that the stage took."""
        table = Candidates.empty(self.limit(k) if limit is None else limit)
        for number, (name, run) in enumerate(self.stages):
            start = time.perf_counter()
            table = run(query, table)
            if not number and self.notes:
                table = replace(table, notes=(*table.notes, *self.notes))
            yield Step(name, table, time.perf_counter() - start, query.query)

    def run(self, query: ParsedQuery, k: int) -> Candidates:
        """Return all candidates after the last stage of a search for ``k``."""
        *_, last = self.steps(query, k)
        return last.table

    def search(self, query: Query, k: int) -> Candidates:
        """Return the best ``k`` candidates in order."""
        return self.run(ParsedQuery(query, self.reader), k).best(k)

    def find(self, query: Query, k: int) -> Candidates:
        """Return the best ``k`` candidates of the first stages in order, before any re-ranking."""
        parsed, table = ParsedQuery(query, self.reader), Candidates.empty(k)
        for _, run in self.stages[: self.first]:
            table = run(parsed, table)
        return table.best(k)

    @property
    def rerankers(self) -> list[str]:
        """The names of the stages that order what the first ones found."""
        return [name for name, _ in self.stages[self.first :]]

    def without(self, stage: str) -> Searcher:
        """Return the search without one of the stages that order, for ablations."""
        if stage not in self.rerankers:
            names = ", ".join(self.rerankers) or "none"
            raise ConfigError(f"no stage {stage!r} to leave out", hint=f"stages: {names}")
        kept = [each for each in self.stages[self.first :] if each[0] != stage]
        return replace(self, stages=[*self.stages[: self.first], *kept])


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


class Scores(Protocol):
    """The scores of one query by one scorer."""

    @property
    def part_names(self) -> Sequence[str]: ...

    def best(self, k: int) -> Array:
        """Return the best ``k`` rows, best first."""
        ...

    def parts(self, rows: Array) -> Array:
        """Return the parts of the scores of any rows, one column a part, before any factor."""
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
    def floor(self) -> float:
        """The score from which a share of the fused score is counted."""
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
        factors = query.factors
        pool = self._scored(scorers, runs, named, found, factors)

        def score_rows(rows: Array) -> Candidates:
            rows = self.rows.allowed(rows, query.filters)
            whole = self._scored(scorers, runs, named, _union(found, rows), factors)
            more = whole.take(np.flatnonzero(np.isin(whole.rows, rows)))
            return self._routed(more, route) if route else more

        if len(wanted):
            is_first = np.isin(pool.rows, wanted) & (pool.score > 0)
            pool = replace(pool, tier=pool.tier | np.where(is_first, Tier.ENTITY, 0))
            # A link from a named thing alone makes no hit.
            pool = pool.take(np.flatnonzero(is_first | np.isin(pool.rows, proposed)))
        pool = replace(pool, limit=table.limit, score_rows=score_rows, seconds=seconds)
        if len(scorers) > 1 and len(pool) and not pool.raw[scorers[0].name].any():
            pool = pool.with_note(NO_WORD)
        if factors is not None and factors.note:
            pool = pool.with_note(factors.note)
        pool = pool.best(limit)
        return self._routed(pool, route) if route else pool

    def _scored(
        self,
        scorers: Sequence[RowScorer],
        runs: Sequence[Scores],
        named: Array,
        found: Array,
        factors: DocumentFactors | None,
    ) -> Candidates:
        """Return rows as candidates: alone a scorer's parts, of several their shares.

        What a document is worth multiplies what was measured, above the least there is.
        """
        measured = [run.parts(found) for run in runs]
        ids, zeros = self.rows.ids[found], np.zeros(len(found), dtype=np.int64)
        worth = {} if factors is None else {DOCUMENT: factors.of_rows(found)}
        floors = [scorer.floor for scorer in scorers]
        if len(scorers) == 1:
            own = measured[0]
            if worth:
                own = weigh(own, worth[DOCUMENT][:, None], floors[0])
            columns = dict(zip(runs[0].part_names, own.T, strict=True))
            return Candidates(ids, found, zeros, zeros, columns, worth)
        totals = [columns.sum(axis=1) for columns in measured]
        raw = dict(zip((scorer.name for scorer in scorers), totals, strict=True)) | worth
        scores = np.stack(totals, axis=1)
        scores[scores == NO_VECTOR] = np.nan
        if worth:
            scores = weigh(scores, worth[DOCUMENT][:, None], np.array(floors))
        shares = fused(self.method, scores, self.weights, floors)
        parts: dict[str, Array] = {}
        features: dict[str, Array] = {}
        for run, own, total, share in zip(runs, measured, totals, shares.T, strict=True):
            if len(run.part_names) == 1:
                parts[run.part_names[0]] = share
                continue
            features |= zip(run.part_names, own.T, strict=True)
            parts |= zip(run.part_names, _split(share, own, total).T, strict=True)
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
    if named and query.filters != NOTHING:
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
