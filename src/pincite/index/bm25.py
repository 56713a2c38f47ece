"""BM25 over all segments of an index, with the statistics of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Literal

import numpy as np

from pincite.index.lexical import LexicalIndex, QueryTerms
from pincite.index.postings import Array, Field

Variant = Literal["lucene", "robertson", "atire", "plus"]
PLUS_DELTA = 1.0  # (Lv and Zhai 2011)
# A term in more than one of this many rows is added as a dense array.
DENSE_SHARE = 8
# Memory for the dense arrays of frequent terms.
KEPT_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Bm25:
    """The formula and its parameters (Robertson and Zaragoza 2009; Kamphuis et al. 2020)."""

    k1: float = 1.5
    b: float = 0.75
    variant: Variant = "lucene"

    def idf(self, df: Array, n: int) -> Array:
        """Return the weight of terms that ``df`` of ``n`` chunks contain; never negative."""
        seen = np.maximum(df, 1)
        odds = (n - seen + 0.5) / (seen + 0.5)
        if self.variant == "lucene":
            ratio = 1 + odds
        elif self.variant == "robertson":
            ratio = np.maximum(1.0, odds)
        else:
            ratio = (n + (self.variant == "plus")) / seen
        return np.where(df > 0, np.log(ratio), 0.0)

    def norms(self, lengths: Array, average: float) -> Array:
        """Return k1 * (1 - b + b * length / average) of each row."""
        return np.asarray(self.k1 * (1 - self.b + self.b * lengths / max(average, 1e-9)))

    def saturated(self, counts: Array, norms: Array) -> Array:
        """Return what the counts of one term contribute, before its idf."""
        tf = counts.astype(np.float64)
        if self.variant in ("lucene", "robertson"):
            return np.asarray(tf / (tf + norms))
        scaled = tf * (self.k1 + 1) / (tf + norms)
        return np.asarray(scaled + PLUS_DELTA if self.variant == "plus" else scaled)


class Scorer:
    """Scores all rows of an index by one formula; what is the same for all queries is kept."""

    def __init__(self, index: LexicalIndex, bm25: Bm25) -> None:
        self.index = index
        self.bm25 = bm25
        self._kept: dict[tuple[bool, int, int], Array] = {}
        self._kept_bytes = 0
        self._lock = Lock()

    def terms(self, query: QueryTerms, segment: int) -> Array:
        """Return BM25 over the query's terms for every row of a segment."""
        return self._scores(query.positions[segment], query.df, segment, pairs=False)

    def pairs(self, query: QueryTerms, segment: int) -> Array:
        """Return BM25 over the query's neighbouring pairs for every row of a segment."""
        return self._scores(query.pair_positions[segment], query.pair_df, segment, pairs=True)

    def _scores(self, positions: Array, df: Array, segment: int, *, pairs: bool) -> Array:
        """Return the sum of each term's contribution to the rows that contain it.

        Rare terms come first, all at once; then the frequent ones, which most queries share, from
        kept arrays. Which is which depends on the whole index, so a row adds up its terms in the
        same order, to the same number, in whichever segment it stands.
        """
        weights = self.bm25.idf(df, self.index.size)
        wanted = (positions >= 0) & (weights > 0)
        frequent = df * DENSE_SHARE >= self.index.size
        rare = wanted & ~frequent
        scores = self._rare(positions[rare], weights[rare], segment, pairs=pairs)
        common = wanted & frequent
        for position, weight in zip(
            positions[common].tolist(), weights[common].tolist(), strict=True
        ):
            scores += self._frequent(position, weight, segment, pairs=pairs)
        return scores

    def _rare(self, positions: Array, weights: Array, segment: int, *, pairs: bool) -> Array:
        """Return the scores of all rows by terms with short lists."""
        field, norms = self._field(segment, pairs=pairs)
        if not len(positions):
            return np.zeros(len(norms))
        begins, ends = field.offsets[positions].tolist(), field.offsets[positions + 1].tolist()
        slices = [slice(begin, end) for begin, end in zip(begins, ends, strict=True)]
        rows = np.concatenate([field.rows[each] for each in slices])
        counts = np.concatenate([field.counts[each] for each in slices])
        values = self.bm25.saturated(counts, norms[rows])
        values *= np.repeat(weights, field.offsets[positions + 1] - field.offsets[positions])
        return np.bincount(rows, values, minlength=len(norms))

    def _frequent(self, position: int, weight: float, segment: int, *, pairs: bool) -> Array:
        """Return one term's contribution to all rows, from memory if there is room for it."""
        key = (pairs, segment, position)
        kept = self._kept.get(key)
        if kept is None:
            field, norms = self._field(segment, pairs=pairs)
            rows, counts = field.postings(position)
            kept = np.zeros(len(norms))
            kept[rows] = weight * self.bm25.saturated(counts, norms[rows])
            with self._lock:
                if self._kept_bytes + kept.nbytes <= KEPT_BYTES:
                    self._kept_bytes += kept.nbytes
                    self._kept[key] = kept
        return kept

    def _field(self, segment: int, *, pairs: bool) -> tuple[Field, Array]:
        """Return a field of a segment and the length norms of its rows."""
        part = self.index.segments[segment]
        if not pairs:
            return part.term, self._term_norms[segment]
        if part.pair is None:
            raise ValueError("this index has no pairs")
        return part.pair, self._pair_norms[segment]

    @cached_property
    def _term_norms(self) -> list[Array]:
        return self._norms([part.lengths for part in self.index.segments])

    @cached_property
    def _pair_norms(self) -> list[Array]:
        return self._norms([part.pair_lengths for part in self.index.segments])

    def _norms(self, lengths: list[Array]) -> list[Array]:
        total = sum(
            int(sizes[part.live].sum())
            for part, sizes in zip(self.index.segments, lengths, strict=True)
        )
        average = total / max(1, self.index.size)
        return [self.bm25.norms(sizes, average) for sizes in lengths]
