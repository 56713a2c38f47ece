"""Lexical retrieval: BM25 over terms, over neighbouring pairs, and over the best window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import repeat

import numpy as np

from pincite.core.function_words import without_asides
from pincite.core.settings import LexicalSettings
from pincite.core.types import Hit, Query, Ranking
from pincite.index.bm25 import Bm25, Scorer
from pincite.index.corrections import corrected
from pincite.index.lexical import QueryTerms, SegmentFields
from pincite.index.opened import OpenIndex
from pincite.index.windows import window_scores
from pincite.retrieve.rows import Rows, Run, top_rows
from pincite.store.files import Array

# Work and memory grow with the terms of a query; questions have a few dozen.
MAX_TERMS = 1000
# In a window one occurrence is nearly as good as three: what counts is how many terms meet.
WINDOW_K1 = 0.2
# What a word is worth that was put in the place of an unknown one.
GUESS_WEIGHT = 0.8
# An identifier that more chunks have is a name for something, not for a place.
MAX_IDENTIFIED = 20


@dataclass(frozen=True, slots=True)
class Reading:
    """A query in one language: only rows in that language are scored by it."""

    language: str
    terms: QueryTerms
    aliases: tuple[QueryTerms, ...] = ()  # other names of what the query names


class Lexical:
    """Ranks all chunks by the words they share with the query.

    The parts of a score are kept as features and add up to it: ``terms`` (BM25), ``pairs`` (BM25
    of neighbouring terms), ``window`` (the densest stretch of the chunk) and ``aliases`` (BM25 of
    other names, for less).

    Args:
        alias_weight: what other names are worth that documents give; 0 looks for none.
        typos: take words that the index does not have for the nearest that it has.
    """

    name = "lexical"
    part_names = ("terms", "pairs", "window", "aliases")

    def __init__(
        self,
        index: OpenIndex,
        settings: LexicalSettings | None = None,
        rows: Rows | None = None,
        *,
        alias_weight: float = 0.0,
        typos: bool = False,
    ) -> None:
        self.settings = settings or LexicalSettings()
        self.opened = index
        self.analyzer = index.analyzer
        self.index = index.lexical
        self.alias_weight = alias_weight
        self.typos = typos
        self.rows = rows or Rows(index)
        bm25 = Bm25(self.settings.k1, self.settings.b, self.settings.variant)
        self.scorer = Scorer(self.index, bm25)

    def begin(self, query: Query) -> LexicalRun:
        """Score all rows for a query."""
        return LexicalRun(self, self.readings(query.text), self.rows.masks(query.filters))

    def readings(self, text: str) -> list[Reading]:
        """Return a query in each language of the index."""
        guessed = self.opened.corrections.of(text) if self.typos else {}
        text = corrected(text, guessed)
        doubtful = {
            term: GUESS_WEIGHT for word in guessed.values() for term in self.analyzer.word(word)
        }
        names = self.opened.aliases.of(text) if self.alias_weight else ()
        others = [self.analyzer.readings(name) for name in names]
        content = self.settings.content_words
        if content:
            text = without_asides(text)
        found = []
        for language, words in self.analyzer.readings(text, content=content).items():
            # Of a page pasted as a query, the beginning says enough.
            terms = self._resolved(words[:MAX_TERMS], doubtful)
            aliases = tuple(self._resolved(other[language]) for other in others)
            found.append(Reading(language, terms, aliases))
        return found

    def _resolved(
        self, words: Sequence[str], weights: Mapping[str, float] | None = None
    ) -> QueryTerms:
        return self.index.resolve(words, pairs=self.settings.bigram_weight > 0, weights=weights)

    def words(self, text: str) -> list[str]:
        """Return the terms of a query that are searched for, in all languages of the index."""
        content = self.settings.content_words
        readings = self.analyzer.readings(
            without_asides(text) if content else text, content=content
        )
        return list(dict.fromkeys(word for words in readings.values() for word in words))

    def retrieve(self, query: Query, k: int) -> Ranking:
        """Return the best ``k`` chunks that share a term with the query."""
        run = self.begin(query)
        found = run.best(k)
        return Ranking(query, tuple(hits_of(self.rows, found, run, self.part_names)))

    def score(self, query: Query, ids: Sequence[str]) -> list[Hit]:
        """Return these chunks as hits, but for those that the filters forbid."""
        rows = self.rows.allowed(self.rows.find(ids), query.filters)
        return hits_of(self.rows, rows, self.begin(query), self.part_names)


class LexicalRun:
    """The scores of one query."""

    def __init__(
        self, owner: Lexical, readings: Sequence[Reading], masks: list[Array | None]
    ) -> None:
        self.owner = owner
        self.readings = readings
        settings = owner.settings
        self.columns: list[dict[str, Array]] = []  # of each segment: parts but windows, by name
        self.totals: list[Array] = []
        for number, segment in enumerate(owner.index.segments):
            columns = self._columns(number, segment)
            total = reduce(np.add, columns.values()) if columns else np.zeros(len(segment.ids))
            mask = masks[number]
            self.columns.append(columns)
            self.totals.append(total if mask is None else np.where(mask, total, 0.0))
        # Rows whose parts were asked for, in rising order, and these.
        self._known_parts: tuple[Array, Array] = (np.zeros(0, dtype=np.int64), np.zeros((0, 0)))
        self.window_depth = settings.window_depth if settings.window_weight else 0

    @cached_property
    def near(self) -> Array:
        """The rows that get a window score, in rising order."""
        if not self.window_depth:
            return np.zeros(0, dtype=np.int64)
        return np.sort(self._by_columns(self.window_depth)[: self.window_depth])

    @cached_property
    def windows(self) -> Array:
        """The window part of the rows that are near the top."""
        return self._windows()

    def best(self, k: int) -> Array:
        found = self._by_columns(max(k, self.window_depth))
        if not self.window_depth:  # then terms and pairs are all that there is
            return found
        if "near" not in self.__dict__:  # the first of these are the nearest: ask once for both
            self.near = np.sort(found[: self.window_depth])
        found = np.sort(found)
        self._known_parts = found, self.parts(found)
        return self.owner.rows.best(found, self._known_parts[1].sum(axis=1), k)

    def parts(self, rows: Array) -> Array:
        known, its_parts = self._known_parts
        if len(known):  # who asks for the best asks for their parts next
            at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
            if (known[at] == rows).all():
                return np.asarray(its_parts[at])
        found = np.zeros((len(rows), len(self.owner.part_names)))
        for number, (chosen, inner) in self.owner.rows.by_segment(rows):
            for name, values in self.columns[number].items():
                found[chosen, self.owner.part_names.index(name)] = values[inner]
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
        }
        for word, term in words.items():
            if not is_identifier(word) or not 0 < term.df <= MAX_IDENTIFIED:
                continue
            for number, (start, end) in enumerate(term.postings):
                inner = self.owner.index.segments[number].term.rows[start:end]
                inner = inner[self.totals[number][inner] > 0]  # neither dropped nor filtered
                found.append(inner + self.owner.rows.offsets[number])
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def _by_columns(self, k: int) -> Array:
        """Return the best ``k`` rows by terms and pairs, best first."""
        rows, scores = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for total, offset in zip(self.totals, self.owner.rows.offsets[:-1], strict=True):
            found = top_rows(total, k)
            if len(self.totals) == 1:
                return self.owner.rows.best(found, total[found], k)
            rows.append(found + offset)
            scores.append(total[found])
        return self.owner.rows.best(np.concatenate(rows), np.concatenate(scores), k)

    def _columns(self, number: int, segment: SegmentFields) -> dict[str, Array]:
        """Return the parts of the score of every row of a segment, each by its own language."""
        columns: dict[str, Array] = {}
        for reading in self.readings:
            rows = segment.rows_in(reading.language) if len(self.readings) > 1 else None
            if rows is not None and not rows.any():
                continue
            for name, values in self._scored(reading, number).items():
                values = values if rows is None else np.where(rows, values, 0.0)
                columns[name] = columns[name] + values if name in columns else values
        return columns

    def _scored(self, reading: Reading, number: int) -> dict[str, Array]:
        """Return the parts of the score of every row by one reading."""
        owner = self.owner
        columns = {"terms": owner.scorer.scores(reading.terms.terms, number)}
        if (pairs := self._pairs(reading.terms, number)) is not None:
            columns["pairs"] = pairs
        for alias in reading.aliases:
            scores = owner.scorer.scores(alias.terms, number)
            if (pairs := self._pairs(alias, number)) is not None:
                scores = scores + pairs
            columns["aliases"] = columns.get("aliases", 0.0) + owner.alias_weight * scores
        return columns

    def _pairs(self, terms: QueryTerms, number: int) -> Array | None:
        if not terms.pairs or self.owner.index.segments[number].pair is None:
            return None
        scores = self.owner.scorer.scores(terms.pairs, number, pairs=True)
        return self.owner.settings.bigram_weight * scores

    def _windows(self) -> Array:
        """Return the window part of the rows that are near the top."""
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


def hits_of(rows: Rows, found: Array, run: Run, names: tuple[str, ...]) -> list[Hit]:
    """Return rows as hits, with the parts of their scores as features."""
    ids = map(bytes.decode, rows.ids(found).tolist())
    parts = run.parts(found).tolist()
    # A hundred hits a search: functions of C make their features in half the time.
    features = map(dict, map(zip, repeat(names), parts))
    return list(map(Hit, ids, map(sum, parts), features))


def is_identifier(term: str) -> bool:
    """Return whether a term names one thing: it has letters and digits, or numbers in parts.

    >>> [is_identifier(term) for term in ("rg-58", "gc200", "314.23(f)", "2.5", "1984", "wire")]
    [True, True, True, False, False, False]
    """
    has_digit = any(character.isdigit() for character in term)
    has_letter = any(character.isalpha() for character in term)
    return has_digit and (has_letter or sum(not c.isalnum() for c in term) > 1)
