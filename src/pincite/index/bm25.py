"""BM25 over all segments of an index, with the statistics of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock
from typing import Literal

import numpy as np

from pincite.index.lexical import LexicalIndex, Term
from pincite.index.postings import Array
from pincite.store.segment import Field

Variant = Literal["lucene", "robertson", "atire", "plus"]
PLUS_DELTA = 1.0  # (Lv and Zhai 2011)
# A term in more than one of this many rows is added as a dense array.
DENSE_SHARE = 16
# Memory for the dense arrays of frequent terms.
KEPT_BYTES = 64_000_000
# Postings of small segments whose worth is worked out once, eight bytes each.
KEPT_POSTINGS = 2_000_000
REMEMBERED_IDFS = 4096


@dataclass(frozen=True, slots=True)
class Bm25:
    """The formula and its parameters (Robertson and Zaragoza 2009; Kamphuis et al. 2020)."""

    k1: float = 1.5
    b: float = 0.75
    variant: Variant = "lucene"

    def idf(self, df: int, n: int) -> float:
        """Return the weight of a term that ``df`` of ``n`` chunks contain; never negative."""
        if df == 0:
            return 0.0
        if self.variant in ("atire", "plus"):
            return math.log((n + (self.variant == "plus")) / df)
        odds = (n - df + 0.5) / (df + 0.5)
        return math.log(1 + odds if self.variant == "lucene" else max(1.0, odds))

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
        self._kept: dict[tuple[bool, int, int, float], Array] = {}
        self._kept_bytes = 0
        self._worths: dict[tuple[bool, int], Array | None] = {}
        self._worths_left = KEPT_POSTINGS
        self._idf = lru_cache(maxsize=REMEMBERED_IDFS)(self._find_idf)
        self._lock = Lock()

    def weights(self, terms: Sequence[Term]) -> list[float]:
        """Return what each term is worth: its idf, less if it is uncertain."""
        return [term.weight * self._idf(term.df) for term in terms]

    def _find_idf(self, df: int) -> float:
        return self.bm25.idf(df, self.index.size)

    def scores(self, terms: Sequence[Term], segment: int, *, pairs: bool = False) -> Array:
        """Return the BM25 score of every row of a segment.

        Rare terms come first, all at once; then the frequent ones, which most queries share, from
        kept arrays. Which is which depends on the whole index, so a row adds up its terms in the
        same order, to the same number, in whichever segment it stands.
        """
        rare: list[tuple[Term, float]] = []
        frequent: list[tuple[Term, float]] = []
        for term, weight in zip(terms, self.weights(terms), strict=True):
            if weight > 0:
                is_rare = term.df * DENSE_SHARE < self.index.size
                (rare if is_rare else frequent).append((term, weight))
        scores = self._rare(rare, segment, pairs=pairs)
        for term, weight in frequent:
            if term.positions[segment] >= 0:
                scores += self._frequent(term, weight, segment, pairs=pairs)
        return scores

    def _rare(self, weighted: Sequence[tuple[Term, float]], segment: int, *, pairs: bool) -> Array:
        """Return the scores of all rows by terms with short lists."""
        field, norms = self._field(segment, pairs=pairs)
        if not weighted:
            return np.zeros(len(norms))
        spans = [(*term.postings[segment], weight) for term, weight in weighted]
        rows = np.concatenate([field.rows[start:end] for start, end, _ in spans])
        worth = self._worth(segment, pairs=pairs)
        if worth is not None:
            values = np.concatenate([weight * worth[start:end] for start, end, weight in spans])
        else:
            counts = np.concatenate([field.counts[start:end] for start, end, _ in spans])
            values = self.bm25.saturated(counts, norms[rows])
            values *= np.repeat([w for *_, w in spans], [end - start for start, end, _ in spans])
        # Of nothing, bincount makes integers, whatever the values are.
        return np.bincount(rows, values, minlength=len(norms)).astype(np.float64, copy=False)

    def _worth(self, segment: int, *, pairs: bool) -> Array | None:
        """Return what all postings of a small segment are worth before their idf, from memory."""
        key = (pairs, segment)
        if key not in self._worths:
            field, norms = self._field(segment, pairs=pairs)
            with self._lock:
                # Postings in a server are not at hand as a whole.
                is_small = isinstance(field.counts, np.ndarray)
                is_small = is_small and len(field.counts) <= self._worths_left
                if key not in self._worths:
                    self._worths_left -= len(field.counts) if is_small else 0
                    self._worths[key] = (
                        self.bm25.saturated(field.counts, norms[field.rows]) if is_small else None
                    )
        return self._worths[key]

    def _frequent(self, term: Term, weight: float, segment: int, *, pairs: bool) -> Array:
        """Return one term's contribution to all rows, from memory if there is room for it."""
        key = (pairs, segment, term.positions[segment], term.weight)
        kept = self._kept.get(key)
        if kept is None:
            field, norms = self._field(segment, pairs=pairs)
            start, end = term.postings[segment]
            rows = field.rows[start:end]
            kept = np.zeros(len(norms))
            kept[rows] = weight * self.bm25.saturated(field.counts[start:end], norms[rows])
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
