"""Lexical retrieval: BM25 over terms, over neighbouring pairs, and over the best window."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pincite.core.settings import LexicalSettings
from pincite.core.types import Hit, Query, Ranking
from pincite.index.bm25 import Bm25, Scorer
from pincite.index.lexical import LexicalIndex, QueryTerms
from pincite.index.postings import Array
from pincite.index.tokens import Analyzer
from pincite.index.windows import window_scores

BLOCK_ROWS = 16
# Work and memory grow with the terms of a query; questions have a few dozen.
MAX_TERMS = 1000
# In a window one occurrence is nearly as good as three: what counts is how many terms meet.
WINDOW_K1 = 0.2


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows that may be hits, best first, with the parts of their scores."""

    ids: Array
    segments: Array
    rows: Array
    parts: Array  # one column a part: terms, pairs, window

    def taken(self, order: Array) -> Candidates:
        return Candidates(
            self.ids[order], self.segments[order], self.rows[order], self.parts[order]
        )

    def best(self, k: int) -> Candidates:
        """Return the best ``k`` by (score, id)."""
        return self.taken(np.lexsort((self.ids, -self.parts.sum(axis=1)))[:k])


class Lexical:
    """Ranks all chunks by the words they share with the query.

    The parts of a score are kept as features and add up to it: ``terms`` (BM25), ``pairs`` (BM25
    of neighbouring terms) and ``window`` (the densest stretch of the chunk).
    """

    name = "lexical"
    parts = ("terms", "pairs", "window")

    def __init__(
        self, index: LexicalIndex, analyzer: Analyzer, settings: LexicalSettings | None = None
    ) -> None:
        self.settings = settings or LexicalSettings()
        self.analyzer = analyzer
        self.index = index
        bm25 = Bm25(self.settings.k1, self.settings.b, self.settings.variant)
        self.scorer = Scorer(index, bm25)

    def retrieve(self, query: Query, k: int) -> Ranking:
        """Return the best ``k`` chunks that share a term with the query."""
        words = self.analyzer.terms(query.text)
        if self.settings.content_words:
            words = self.analyzer.content(words)
        if len(words) > MAX_TERMS:
            words = words[:MAX_TERMS]  # a page pasted as a query: its beginning says enough
        terms = self.index.resolve(words, pairs=self.settings.bigram_weight > 0)
        depth = self.settings.window_depth if self.settings.window_weight else 0
        found = self._candidates(terms, max(k, depth))
        if depth and len(found.ids):
            found = self._with_windows(terms, found, depth).best(k)
        hits = (
            Hit(chunk_id.decode(), sum(parts), dict(zip(self.parts, parts, strict=True)))
            for chunk_id, parts in zip(found.ids.tolist(), found.parts.tolist(), strict=True)
        )
        return Ranking(query, tuple(hits))

    def _candidates(self, query: QueryTerms, k: int) -> Candidates:
        """Return the best ``k`` rows of all segments by terms and pairs."""
        found = []
        for number, segment in enumerate(self.index.segments):
            columns = [self.scorer.scores(query.terms, number)]
            if query.pairs and segment.pair is not None:
                pairs = self.scorer.scores(query.pairs, number, pairs=True)
                columns.append(self.settings.bigram_weight * pairs)
            total = sum(columns[1:], columns[0])
            if not segment.all_live:
                total = np.where(segment.live, total, 0.0)
            rows = _top_rows(total, k)
            parts = np.zeros((len(rows), len(self.parts)))
            for column, values in enumerate(columns):
                parts[:, column] = values[rows]
            found.append(Candidates(segment.ids[rows], np.full(len(rows), number), rows, parts))
        return _joined(found).best(k)

    def _with_windows(self, query: QueryTerms, found: Candidates, depth: int) -> Candidates:
        """Add the window part to the first ``depth`` candidates."""
        parts = found.parts.copy()
        near = np.arange(len(found.rows)) < depth
        weights = np.array(self.scorer.weights(query.terms))
        for number in np.unique(found.segments[near]):
            segment = self.index.segments[number]
            chosen = near & (found.segments == number)
            best = window_scores(
                segment.stream,
                segment.stream_offsets,
                found.rows[chosen],
                vocabulary=len(segment.term.keys),
                positions=np.array([term.positions[number] for term in query.terms]),
                weights=weights,
                width=self.settings.window_tokens,
                k1=WINDOW_K1,
            )
            parts[chosen, 2] = self.settings.window_weight * best
        return replace(found, parts=parts)


def _top_rows(scores: Array, k: int) -> Array:
    """Return rows with positive scores, among them the best ``k`` with all ties.

    The k-th best of block maxima is a lower bound of the k-th best score, and much cheaper.
    """
    blocks = len(scores) // BLOCK_ROWS
    if not 0 < k < blocks:
        return np.flatnonzero(scores > 0)
    # A block's rows stand far apart: the maximum over the first axis is the fast one.
    maxima = scores[: blocks * BLOCK_ROWS].reshape(BLOCK_ROWS, blocks).max(axis=0)
    bound = np.partition(maxima, blocks - k)[blocks - k]
    return np.flatnonzero(scores >= bound if bound > 0 else scores > 0)


def _joined(found: list[Candidates]) -> Candidates:
    if len(found) == 1:
        return found[0]
    empty = Candidates(
        np.zeros(0, dtype="S16"), np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros((0, 3))
    )
    columns = zip(*((c.ids, c.segments, c.rows, c.parts) for c in [empty, *found]), strict=True)
    return Candidates(*(np.concatenate(column) for column in columns))
