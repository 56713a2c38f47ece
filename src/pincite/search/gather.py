"""The first stages: rows scored by words and by meaning as one table; what is named, in tiers.

By words: BM25 over terms, pairs and the best window. By meaning: see ``search/meaning.py``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from pincite.index.lexical import Bm25, Bm25Scorer, SegmentFields, window_scores
from pincite.index.opened import OpenIndex, Rows, top_rows
from pincite.index.vectors import NO_VECTOR
from pincite.model.tuning import LexicalTuning
from pincite.model.types import Filters
from pincite.search.candidates import NO_ROW, Candidates, Tier, fused
from pincite.search.documents import DOCUMENT, DocumentFactors, weigh
from pincite.search.meaning import NO_ROWS
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

# Something is always nearest in meaning; who asked should know that it is nothing but that.
NO_WORD = "no word of the query is in what was searched: this is what is nearest in meaning"
HYBRID = "hybrid"  # several scorers, fused
# In a window one occurrence is nearly as good as three: what counts is how many terms meet.
WINDOW_K1 = 0.2
# An identifier that more chunks have is a name for something, not for a place.
MAX_IDENTIFIED = 20
# Who writes no more terms than these looks a number up: "14.313 MHz", "1500 watts". In a question
# numbers are as often an example, and what has them first was worse (decision 35).
LOOKED_UP = 3
MIN_DIGITS = 3


class RowEvidence(Protocol):
    """What speaks for rows besides their own words: a part of their scores by words."""

    @property
    def name(self) -> str:
        """Of the part."""
        ...

    @property
    def key(self) -> str:
        """A name for all that it depends on."""
        ...

    def of(self, query: ParsedQuery, totals: Sequence[Array]) -> Sequence[Array] | None:
        """Return what is added to each row of each segment, on the scale of the totals so far.

        None if the query is about nothing of the kind: then nothing is added, and nothing changes.
        """
        ...


class WordScorer:
    """Scores all chunks by the words they share with a query.

    The parts of a score add up to it: ``terms`` (BM25), ``pairs`` (BM25 of neighbouring terms),
    ``window`` (the densest stretch of the chunk), ``aliases`` (BM25 of other names, for less), and
    one for each evidence that has to say something of the query.

    Args:
        alias_weight: what other names are worth that documents give.
        evidence: what else speaks for rows.
    """

    name = "lexical"
    part_names = ("terms", "pairs", "window", "aliases")
    floor = 0.0  # texts may have nothing in common

    def __init__(
        self,
        index: OpenIndex,
        settings: LexicalTuning | None = None,
        rows: Rows | None = None,
        *,
        alias_weight: float = 0.0,
        evidence: Sequence[RowEvidence] = (),
    ) -> None:
        self.settings = settings or LexicalTuning()
        self.index = index.lexical
        self.rows = rows or Rows(index)
        self.alias_weight = alias_weight
        self.evidence = evidence
        bm25 = Bm25(self.settings.k1, self.settings.b, self.settings.variant)
        self.scorer = Bm25Scorer(self.index, bm25)

    @property
    def key(self) -> str:
        """A name for all that its scores depend on."""
        others = " ".join(each.key for each in self.evidence)
        return f"{self.name} {self.settings} {self.alias_weight} {others}"

    def score(self, query: ParsedQuery, masks: list[Array | None]) -> WordScores:
        """Return the scores of all rows for a query."""
        return WordScores(self, query, masks)


class WordScores:
    """The scores of one query."""

    def __init__(self, owner: WordScorer, query: ParsedQuery, masks: list[Array | None]):
        self.owner = owner
        self.readings = query.readings
        self.factors = query.factors
        settings = owner.settings
        self.part_names: tuple[str, ...] = WordScorer.part_names
        self.columns: list[dict[str, Array]] = []  # of each segment: parts but windows, by name
        self.totals: list[Array] = []  # with what documents are worth, and without hidden rows
        for number, segment in enumerate(owner.index.segments):
            columns = self._columns(number, segment)
            total = reduce(np.add, columns.values()) if columns else np.zeros(len(segment.ids))
            self.columns.append(columns)
            self.totals.append(total)
        for evidence in owner.evidence:
            added = evidence.of(query, self.totals)
            if added is not None:
                self.part_names = (*self.part_names, evidence.name)
                self.totals = list(map(np.add, self.totals, added))
                for columns, values in zip(self.columns, added, strict=True):
                    columns[evidence.name] = values
        for number, mask in enumerate(masks):
            if self.factors is not None:
                self.totals[number] = self.totals[number] * self.factors.of_segment(number)
            if mask is not None:
                self.totals[number] = np.where(mask, self.totals[number], 0.0)
        # Rows whose parts were asked for, in rising order, and these.
        self._known_parts: tuple[Array, Array] = (NO_ROWS, np.zeros((0, 0)))
        self.window_depth = settings.window_depth if settings.window_weight else 0

    @cached_property
    def near(self) -> Array:
        """The rows that get a window score, in rising order."""
        if not self.window_depth:
            return NO_ROWS
        return np.sort(self._by_columns(self.window_depth)[: self.window_depth])

    @cached_property
    def windows(self) -> Array:
        """The window part of the rows that are near the top."""
        owner = self.owner
        best = np.zeros(len(self.near))
        for number, (chosen, inner) in owner.rows.by_segment(self.near):
            segment = owner.index.segments[number]
            for reading in self.readings:
                terms = reading.terms.terms
                own = np.ones(len(inner), dtype=bool)
                if len(self.readings) > 1:
                    own = segment.rows_in(reading.language)[inner]
                if not own.any() or not terms:
                    continue
                best[chosen[own]] = window_scores(
                    segment.stream,
                    segment.stream_offsets,
                    inner[own],
                    vocabulary=len(segment.term.keys),
                    positions=np.array([term.positions[number] for term in terms], dtype=int),
                    weights=np.array(owner.scorer.weights(terms)),
                    width=owner.settings.window_tokens,
                    k1=WINDOW_K1,
                )
        return owner.settings.window_weight * best

    def best(self, k: int) -> Array:
        """Return the best ``k`` rows that share a term with the query, best first."""
        found = self._by_columns(max(k, self.window_depth))
        if not self.window_depth:  # then terms and pairs are all that there is
            return found[:k]
        if "near" not in self.__dict__:  # the first of these are the nearest: ask once for both
            self.near = np.sort(found[: self.window_depth])
        found = np.sort(found)
        self._known_parts = found, self.parts(found)
        scores = self._known_parts[1].sum(axis=1)
        if self.factors is not None:
            scores = scores * self.factors.of_rows(found)
        return self.owner.rows.best(found, scores, k)

    def parts(self, rows: Array) -> Array:
        """Return the parts of the scores of any rows, one column a part, before any factor."""
        known, its_parts = self._known_parts
        if len(known):  # who asks for the best asks for their parts next
            at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
            if (known[at] == rows).all():
                return np.asarray(its_parts[at])
        found = np.zeros((len(rows), len(self.part_names)))
        for number, (chosen, inner) in self.owner.rows.by_segment(rows):
            for name, values in self.columns[number].items():
                found[chosen, self.part_names.index(name)] = values[inner]
        if self.window_depth and len(self.near):
            at = np.searchsorted(self.near, rows)
            at[at == len(self.near)] = 0
            found[:, 2] = np.where(self.near[at] == rows, self.windows[at], 0.0)
        return found

    def identified(self) -> Array:
        """Return the rows that have an identifier of the query: few, or it identifies nothing."""
        found = []
        words = {
            word: term
            for reading in self.readings
            for word, term in zip(reading.terms.words, reading.terms.terms, strict=True)
            if 0 < term.df <= MAX_IDENTIFIED
            and (is_identifier(word) or (is_number(word) and len(reading.terms.words) <= LOOKED_UP))
        }
        asked = {word for reading in self.readings for word in reading.terms.words}
        is_timed = any(map(_YEAR.fullmatch, asked))  # "Q2 of 2024" is a time, "Q2" a part
        for word, term in words.items():
            if is_timed and _QUARTER.fullmatch(word):
                continue
            for number, (start, end) in enumerate(term.postings):
                inner = self.owner.index.segments[number].term.rows[start:end]
                inner = inner[self.totals[number][inner] > 0]  # neither dropped nor filtered
                found.append(inner + self.owner.rows.offsets[number])
        return np.unique(np.concatenate(found)) if found else NO_ROWS

    def _by_columns(self, k: int) -> Array:
        """Return the best ``k`` rows by terms and pairs, best first."""
        rows, scores = [NO_ROWS], [np.zeros(0)]
        for total, offset in zip(self.totals, self.owner.rows.offsets[:-1], strict=True):
            found = top_rows(total, k)
            rows.append(found + offset)
            scores.append(total[found])
        return self.owner.rows.best(np.concatenate(rows), np.concatenate(scores), k)

    def _columns(self, number: int, segment: SegmentFields) -> dict[str, Array]:
        """Return the parts of the score of every row of a segment, each by its own language."""
        owner, columns = self.owner, dict[str, Array]()
        weight = owner.settings.bigram_weight
        for reading in self.readings:
            rows = segment.rows_in(reading.language) if len(self.readings) > 1 else None
            if rows is not None and not rows.any():
                continue
            scored = {"terms": owner.scorer.scores(reading.terms.terms, number)}
            if reading.terms.pairs and segment.pair is not None:
                pairs = owner.scorer.scores(reading.terms.pairs, number, pairs=True)
                scored["pairs"] = weight * pairs
            for alias in reading.aliases:
                scores = owner.scorer.scores(alias.terms, number)
                if alias.pairs and segment.pair is not None:
                    pairs = owner.scorer.scores(alias.pairs, number, pairs=True)
                    scores = scores + weight * pairs
                scored["aliases"] = scored.get("aliases", 0.0) + owner.alias_weight * scores
            for name, values in scored.items():
                values = values if rows is None else np.where(rows, values, 0.0)
                columns[name] = columns[name] + values if name in columns else values
        return columns


# Times and forms of reports: "fy2024", "2024q2", "2q24", "10-k".
_OF_REPORTS = re.compile(
    r"fy'?(?:\d\d){1,2}(?:q[1-4])?|(?:\d\d){1,2}q[1-4]|(?:q[1-4]|[1-4]q)(?:\d\d){1,2}"
    r"|(?:10|20|40|8|6)-?[kqf](?:/a)?"
)
_QUARTER = re.compile(r"q[1-4]|[1-4]q")
_YEAR = re.compile(r"(?:fy)?(?:19|20)\d\d|fy\d\d")


def is_number(term: str) -> bool:
    """Return whether a term is a number of three digits at least, and no year.

    >>> [is_number(term) for term in ("14.313", "1,500", "902", "60", "2024", "rg-58", "wire")]
    [True, True, True, False, False, False, False]
    """
    is_long = sum(map(str.isdigit, term)) >= MIN_DIGITS
    return is_long and not any(map(str.isalpha, term)) and not _YEAR.fullmatch(term)


def is_identifier(term: str) -> bool:
    """Return whether a term names one thing: it has letters and digits, or numbers in parts.

    Times and forms of reports name documents, not places.

    >>> [is_identifier(term) for term in ("rg-58", "gc200", "314.23(f)", "2.5", "1984", "wire")]
    [True, True, True, False, False, False]
    >>> [is_identifier(term) for term in ("fy2024", "2q24", "2024q2", "10-k")]
    [False, False, False, False]
    """
    has_digit = any(map(str.isdigit, term))
    is_part = any(map(str.isalpha, term)) or sum(not c.isalnum() for c in term) > 1
    return has_digit and is_part and not _OF_REPORTS.fullmatch(term)


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


@dataclass(frozen=True, slots=True)
class Route:
    """Groups with their shares of the evidence, best first, and how clear the choice is."""

    names: tuple[str, ...]
    shares: tuple[float, ...]
    confidence: float  # 1: all evidence in one group; 0: the same in all
    chosen: tuple[str, ...] = ()  # to be searched alone; none: search everything

    def top(self, n: int) -> tuple[str, ...]:
        return self.names[:n]

    def narrowed(self, filters: Filters) -> Filters:
        """Return filters for the chosen groups; those that name groups themselves stay."""
        if not self.chosen or filters.groups:
            return filters
        return replace(filters, groups=tuple(sorted(self.chosen)))


class Routes(Protocol):
    """Guesses which part of a collection a question is about; see ``search/routing.py``."""

    def route(self, query: ParsedQuery) -> Route: ...

    def shares(self, route: Route, rows: Array) -> Array: ...


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
    router: Routes | None = None

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

        is_first = np.isin(pool.rows, wanted) & (pool.score > 0)
        pool = replace(pool, tier=pool.tier | np.where(is_first, Tier.ENTITY, 0))
        if len(wanted):  # a link from a named thing alone makes no hit
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
