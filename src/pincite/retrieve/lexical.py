"""Lexical retrieval: BM25 over terms, over neighbouring pairs, and over the best window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pincite.core.settings import LexicalSettings
from pincite.core.types import Hit, Query, Ranking
from pincite.index.bm25 import Bm25, Scorer
from pincite.index.function_words import without_asides
from pincite.index.lexical import QueryTerms
from pincite.index.opened import OpenIndex
from pincite.index.windows import window_scores
from pincite.retrieve.rows import Rows, Run, top_rows
from pincite.store.array_files import Array

# Work and memory grow with the terms of a query; questions have a few dozen.
MAX_TERMS = 1000
# In a window one occurrence is nearly as good as three: what counts is how many terms meet.
WINDOW_K1 = 0.2
# An identifier that more chunks have is a name for something, not for a place.
MAX_IDENTIFIED = 20


class Lexical:
    """Ranks all chunks by the words they share with the query.

    The parts of a score are kept as features and add up to it: ``terms`` (BM25), ``pairs`` (BM25
    of neighbouring terms) and ``window`` (the densest stretch of the chunk).
    """

    name = "lexical"
    part_names = ("terms", "pairs", "window")

    def __init__(
        self, index: OpenIndex, settings: LexicalSettings | None = None, rows: Rows | None = None
    ) -> None:
        self.settings = settings or LexicalSettings()
        self.analyzer = index.analyzer
        self.index = index.lexical
        self.rows = rows or Rows(index)
        bm25 = Bm25(self.settings.k1, self.settings.b, self.settings.variant)
        self.scorer = Scorer(self.index, bm25)

    def begin(self, query: Query) -> LexicalRun:
        """Score all rows for a query."""
        words = self.words(query.text)
        if len(words) > MAX_TERMS:
            words = words[:MAX_TERMS]  # a page pasted as a query: its beginning says enough
        terms = self.index.resolve(words, pairs=self.settings.bigram_weight > 0)
        return LexicalRun(self, terms, self.rows.masks(query.filters))

    def words(self, text: str) -> list[str]:
        """Return the terms of a query that are searched for."""
        if not self.settings.content_words:
            return self.analyzer.terms(text)
        return self.analyzer.content(self.analyzer.terms(without_asides(text)))

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

    def __init__(self, owner: Lexical, query: QueryTerms, masks: list[Array | None]) -> None:
        self.owner = owner
        self.query = query
        settings = owner.settings
        self.columns: list[list[Array]] = []  # of each segment: terms, and pairs where there are
        self.totals: list[Array] = []
        for number, segment in enumerate(owner.index.segments):
            columns = [owner.scorer.scores(query.terms, number)]
            if query.pairs and segment.pair is not None:
                pairs = owner.scorer.scores(query.pairs, number, pairs=True)
                columns.append(settings.bigram_weight * pairs)
            total = sum(columns[1:], columns[0])
            mask = masks[number]
            self.columns.append(columns)
            self.totals.append(total if mask is None else np.where(mask, total, 0.0))
        depth = settings.window_depth if settings.window_weight else 0
        self.near = self._by_columns(depth) if depth else np.zeros(0, dtype=np.int64)
        self.windows = self._windows()

    def best(self, k: int) -> Array:
        found = self._by_columns(max(k, len(self.near)))
        return self.owner.rows.best(found, self.parts(found).sum(axis=1), k)

    def parts(self, rows: Array) -> Array:
        found = np.zeros((len(rows), len(self.owner.part_names)))
        for number, (chosen, inner) in self.owner.rows.by_segment(rows):
            for column, values in enumerate(self.columns[number]):
                found[chosen, column] = values[inner]
        if len(self.near):
            at = np.searchsorted(self.near, rows)
            at[at == len(self.near)] = 0
            found[:, 2] = np.where(self.near[at] == rows, self.windows[at], 0.0)
        return found

    def identified(self) -> Array:
        """Return the rows that have an identifier of the query: few, or it identifies nothing."""
        found = []
        for word, term in zip(self.query.words, self.query.terms, strict=True):
            if not is_identifier(word) or not 0 < term.df <= MAX_IDENTIFIED:
                continue
            for number, (start, end) in enumerate(term.postings):
                inner = self.owner.index.segments[number].term.rows[start:end]
                inner = inner[self.totals[number][inner] > 0]  # neither dropped nor filtered
                found.append(inner + self.owner.rows.offsets[number])
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def _by_columns(self, k: int) -> Array:
        """Return the best ``k`` rows by terms and pairs, in rising order."""
        rows, scores = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for total, offset in zip(self.totals, self.owner.rows.offsets[:-1], strict=True):
            found = top_rows(total, k)
            rows.append(found + offset)
            scores.append(total[found])
        return np.sort(self.owner.rows.best(np.concatenate(rows), np.concatenate(scores), k))

    def _windows(self) -> Array:
        """Return the window part of the rows that are near the top."""
        owner, query = self.owner, self.query
        best = np.zeros(len(self.near))
        weights = np.array(owner.scorer.weights(query.terms))
        for number, (chosen, inner) in owner.rows.by_segment(self.near):
            segment = owner.index.segments[number]
            best[chosen] = window_scores(
                segment.stream,
                segment.stream_offsets,
                inner,
                vocabulary=len(segment.term.keys),
                positions=np.array([term.positions[number] for term in query.terms], dtype=int),
                weights=weights,
                width=owner.settings.window_tokens,
                k1=WINDOW_K1,
            )
        return owner.settings.window_weight * best


def hits_of(rows: Rows, found: Array, run: Run, names: tuple[str, ...]) -> list[Hit]:
    """Return rows as hits, with the parts of their scores as features."""
    parts = run.parts(found)
    return [
        Hit(chunk_id.decode(), sum(values), dict(zip(names, values, strict=True)))
        for chunk_id, values in zip(rows.ids(found).tolist(), parts.tolist(), strict=True)
    ]


def is_identifier(term: str) -> bool:
    """Return whether a term names one thing: it has letters and digits, or numbers in parts.

    >>> [is_identifier(term) for term in ("rg-58", "gc200", "314.23(f)", "2.5", "1984", "wire")]
    [True, True, True, False, False, False]
    """
    has_digit = any(character.isdigit() for character in term)
    has_letter = any(character.isalpha() for character in term)
    return has_digit and (has_letter or sum(not c.isalnum() for c in term) > 1)
