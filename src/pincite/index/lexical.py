"""Term statistics of all segments, BM25 over them, and the densest window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from threading import Lock
from typing import Literal, NamedTuple

import numpy as np

from pincite.index.postings import Array, pair_key, term_key
from pincite.index.tokens import ROW_LANGUAGES
from pincite.model.errors import StoreError
from pincite.model.languages import LANGUAGES
from pincite.store.segment import Field, Segment
from pincite.store.snapshot import Snapshot

# Queries share most of their words: this many terms and pairs are looked up once.
REMEMBERED_TERMS = 50_000


class SegmentFields:
    """The fields of one segment with its dead rows."""

    def __init__(self, segment: Segment) -> None:
        arrays = segment.arrays
        self.ids = arrays["ids"]
        self.stream = arrays["stream"]
        self.stream_offsets = arrays["stream_offsets"]
        self.live = segment.live_rows()
        self.all_live = bool(self.live.all())
        self.lengths = np.diff(self.stream_offsets)
        # Rows of a damaged segment must not make anybody reserve memory without a bound.
        if self.lengths.min(initial=0) < 0 or self.lengths.sum() != len(self.stream):
            raise StoreError(f"segment {segment.entry.name} is damaged", hint="run: pincite doctor")
        term = segment.field("term")
        if term is None:
            raise StoreError(f"segment {segment.entry.name} is damaged", hint="run: pincite doctor")
        self.term = term
        self.pair = segment.field("pair")
        self.pair_lengths = arrays.get("pair_lengths", np.zeros(len(self.ids), dtype=np.int32))
        self.dead_terms = self.term.dead(~self.live)
        self.dead_pairs: Mapping[int, int] = self.pair.dead(~self.live) if self.pair else {}
        self._languages = arrays.get(ROW_LANGUAGES)
        self._rows_in: dict[str, Array] = {}  # by language; an index has few

    def rows_in(self, language: str) -> Array:
        """Return which rows are in a language; all where the index has one for everything."""
        rows = self._rows_in.get(language)
        if rows is None:
            if self._languages is None:
                rows = np.ones(len(self.ids), dtype=bool)
            else:
                rows = np.asarray(self._languages == LANGUAGES.index(language))
            self._rows_in[language] = rows
        return rows


@dataclass(frozen=True, slots=True)
class Term:
    """A term, or a pair of neighbouring ones, as the index knows it."""

    positions: tuple[int, ...]  # in each segment's keys; -1 where a segment does not have it
    postings: tuple[tuple[int, int], ...]  # where its postings start and end in each segment
    df: int  # how many chunks of the index contain it
    weight: float = 1.0  # how sure we are that it is meant


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query's distinct terms and neighbouring pairs."""

    words: tuple[str, ...]
    terms: tuple[Term, ...]
    pairs: tuple[Term, ...]


class LexicalIndex:
    """The terms and pairs of all segments; opened on first use."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._term = lru_cache(maxsize=REMEMBERED_TERMS)(self._find_term)
        self._pair = lru_cache(maxsize=REMEMBERED_TERMS)(self._find_pair)

    @cached_property
    def segments(self) -> list[SegmentFields]:
        return [SegmentFields(segment) for segment in self.snapshot.segments]

    @cached_property
    def size(self) -> int:
        """How many chunks are searched."""
        return sum(int(part.live.sum()) for part in self.segments)

    def resolve(
        self,
        words: Sequence[str],
        *,
        pairs: bool = False,
        weights: Mapping[str, float] | None = None,
    ) -> QueryTerms:
        """Return the distinct terms, and pairs of neighbours if asked, as the index has them.

        Args:
            weights: of terms that count for less than others, and so do their pairs.
        """
        distinct = tuple(dict.fromkeys(words))
        neighbours = dict.fromkeys(pairwise(words)) if pairs else ()
        # Which postings a whole query needs: a server is asked for all of them at once.
        expect = self.snapshot.expect_keys
        expect((part.term, map(term_key, distinct)) for part in self.segments)
        expect(
            (part.pair, [key])
            for left, right in neighbours
            for part, key in zip(self.segments, self._pair_keys(left, right), strict=True)
            if part.pair is not None and key is not None
        )
        terms = [self._term(word) for word in distinct]
        couples = [self._pair(left, right) for left, right in neighbours]
        if weights:
            sure = {word: weights.get(word, 1.0) for word in distinct}
            terms = [
                replace(term, weight=sure[word]) for word, term in zip(distinct, terms, strict=True)
            ]
            couples = [
                replace(couple, weight=sure[left] * sure[right])
                for (left, right), couple in zip(neighbours, couples, strict=True)
            ]
        return QueryTerms(distinct, tuple(terms), tuple(couples))

    def _find_term(self, word: str) -> Term:
        key = term_key(word)
        fields = [(part.term, part.dead_terms) for part in self.segments]
        return _found(fields, [key] * len(fields))

    def _find_pair(self, left: str, right: str) -> Term:
        fields = [(part.pair, part.dead_pairs) for part in self.segments]
        return _found(fields, self._pair_keys(left, right))

    def _pair_keys(self, left: str, right: str) -> list[int | None]:
        """Return the key of a pair in each segment; None where it cannot have it."""
        places = zip(self._term(left).positions, self._term(right).positions, strict=True)
        fields = (part.pair for part in self.segments)
        return [
            pair_key(a, b, field.keys) if field is not None and a >= 0 and b >= 0 else None
            for field, (a, b) in zip(fields, places, strict=True)
        ]


def _found(
    fields: Sequence[tuple[Field | None, Mapping[int, int]]], keys: Sequence[int | None]
) -> Term:
    """Return a key's positions, postings and live frequency over all segments."""
    positions, postings, df = [], [], 0
    for (field, dead), key in zip(fields, keys, strict=True):
        position = -1 if field is None or key is None else field.position(key)
        positions.append(position)
        if field is None or position < 0:
            postings.append((0, 0))
            continue
        start, end = field.span(position)
        postings.append((start, end))
        df += end - start - dead.get(position, 0)
    return Term(tuple(positions), tuple(postings), df)


Variant = Literal["lucene", "robertson", "atire", "plus"]
PLUS_DELTA = 1.0  # (Lv and Zhai 2011)
# A term in more than one of this many rows is added as a dense array.
DENSE_SHARE = 16
# Memory for the dense arrays of frequent terms.
SCORER_CACHE_BYTES = 64_000_000
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


class ScoredField(NamedTuple):
    """A field of a segment, and what is the same for all queries."""

    field: Field
    norms: Array  # of the lengths of its rows
    worth: Array | None  # of all postings before their idf; None if they are too many to keep


class Bm25Scorer:
    """Scores all rows of an index by one formula; what is the same for all queries is kept."""

    def __init__(self, index: LexicalIndex, bm25: Bm25) -> None:
        self.index = index
        self.bm25 = bm25
        self._kept: dict[tuple[bool, int, int, float], Array] = {}
        self._kept_bytes = 0
        self._worths_left = KEPT_POSTINGS
        self._idf = lru_cache(maxsize=REMEMBERED_IDFS)(self._find_idf)
        self._fields = cache(self._find_fields)
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
        field, norms, worth = self._fields(pairs)[segment]
        if not weighted:
            return np.zeros(len(norms))
        spans = [(*term.postings[segment], weight) for term, weight in weighted]
        rows = np.concatenate([field.rows[start:end] for start, end, _ in spans])
        if worth is not None:
            values = np.concatenate([weight * worth[start:end] for start, end, weight in spans])
        else:
            counts = np.concatenate([field.counts[start:end] for start, end, _ in spans])
            values = self.bm25.saturated(counts, norms[rows])
            values *= np.repeat([w for *_, w in spans], [end - start for start, end, _ in spans])
        # Of nothing, bincount makes integers, whatever the values are.
        return np.bincount(rows, values, minlength=len(norms)).astype(np.float64, copy=False)

    def _frequent(self, term: Term, weight: float, segment: int, *, pairs: bool) -> Array:
        """Return one term's contribution to all rows, from memory if there is room for it."""
        key = (pairs, segment, term.positions[segment], term.weight)
        kept = self._kept.get(key)
        if kept is None:
            field, norms, _ = self._fields(pairs)[segment]
            start, end = term.postings[segment]
            rows = field.rows[start:end]
            kept = np.zeros(len(norms))
            kept[rows] = weight * self.bm25.saturated(field.counts[start:end], norms[rows])
            with self._lock:
                if self._kept_bytes + kept.nbytes <= SCORER_CACHE_BYTES:
                    self._kept_bytes += kept.nbytes
                    self._kept[key] = kept
        return kept

    def _find_fields(self, pairs: bool) -> dict[int, ScoredField]:
        """Return what is known of the field of each segment that has it."""
        parts = self.index.segments
        lengths = [part.pair_lengths if pairs else part.lengths for part in parts]
        live = zip(parts, lengths, strict=True)
        average = sum(int(sizes[part.live].sum()) for part, sizes in live) / max(1, self.index.size)
        found = {}
        for number, (part, sizes) in enumerate(zip(parts, lengths, strict=True)):
            field, worth = part.pair if pairs else part.term, None
            if field is None:
                continue
            norms = self.bm25.norms(sizes, average)
            # Postings in a server are not at hand as a whole.
            if isinstance(field.counts, np.ndarray) and len(field.counts) <= self._worths_left:
                self._worths_left -= len(field.counts)
                worth = self.bm25.saturated(field.counts, norms[field.rows])
            found[number] = ScoredField(field, norms, worth)
        return found


def window_scores(
    stream: Array,
    offsets: Array,
    rows: Array,
    *,
    vocabulary: int,
    positions: Array,
    weights: Array,
    width: int,
    k1: float,
) -> Array:
    """Return for each row the best sum of ``weight * tf / (tf + k1)`` over its windows.

    Windows are two neighbouring half-windows, so each overlaps the next by half. The cost is that
    of looking at the rows' terms once.

    Args:
        stream, offsets: the terms of all rows, and where each row starts.
        rows: the rows to score.
        vocabulary: how many distinct terms the stream has.
        positions: the query's terms as the stream writes them, -1 for unknown ones.
        weights: what each query term is worth.
    """
    known = np.flatnonzero(positions >= 0)
    number = np.full(vocabulary + 1, -1, dtype=np.int32)  # -1: not a query term
    number[positions[known]] = known

    # Each row starts a new block, so a term's block is its place divided by the block's size.
    half = max(1, width // 2)
    begins, ends = offsets[rows], offsets[rows + 1]
    lengths = ends - begins
    blocks = np.maximum(1, -(-lengths // half))
    first_block = np.cumsum(blocks) - blocks
    total = int(blocks.sum())
    spread = np.full(total * half, vocabulary, dtype=np.uint32)
    # All at once: a store that keeps the stream elsewhere is asked a single time.
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(first_block * half, lengths) + steps
    spread[places] = stream[np.repeat(begins, lengths) + steps]

    matched = number.take(spread)
    hit = np.flatnonzero(matched >= 0)
    cells = (hit // half) * len(weights) + matched[hit]
    counts = np.bincount(cells, minlength=total * len(weights)).astype(np.float64)
    counts = counts.reshape(total, len(weights))

    windows = counts.copy()
    windows[:-1] += counts[1:]
    last_block = first_block + blocks - 1
    windows[last_block] = counts[last_block]  # a row's last block has no neighbour of its own
    # Unknown terms have their column too: the order of a sum depends on how many there are, and
    # must not depend on what a segment knows.
    values = (windows / (windows + k1) * weights).sum(axis=1)
    return np.maximum.reduceat(values, first_block)
