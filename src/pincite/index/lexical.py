"""The lexical side of a snapshot: a query's terms and pairs, and how often they occur.

Frequencies are summed over the live rows of all segments, so they do not depend on how documents
are spread over segments or in which order they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from pincite.index.postings import Array, Field, dead_counts, pair_keys, term_key
from pincite.store.segment import Segment
from pincite.store.snapshot import Snapshot


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
        self.term = Field("term", arrays)
        self.pair = Field("pair", arrays) if "pair_keys" in arrays else None
        self.pair_lengths = arrays.get("pair_lengths", np.zeros(len(self.ids), dtype=np.int32))
        self._dead_terms = dead_counts(self.term, ~self.live)
        self._dead_pairs = dead_counts(self.pair, ~self.live) if self.pair else {}

    def term_frequencies(self, positions: Array) -> Array:
        """Return in how many live rows each term occurs."""
        return _frequencies(self.term, positions, self._dead_terms)

    def pair_frequencies(self, positions: Array) -> Array:
        """Return in how many live rows each pair occurs."""
        if self.pair is None:
            return np.zeros(len(positions), dtype=np.int64)
        return _frequencies(self.pair, positions, self._dead_pairs)

    def pair_positions(self, positions: Array, pairs: Sequence[tuple[int, int]]) -> Array:
        """Return where pairs of terms stand, -1 where this segment does not have them.

        Args:
            positions: of the terms in this segment.
            pairs: numbers of the terms in ``positions``.
        """
        found = np.full(len(pairs), -1, dtype=np.int64)
        if self.pair is not None:
            at = positions.tolist()
            known = [i for i, (a, b) in enumerate(pairs) if at[a] >= 0 and at[b] >= 0]
            keys = pair_keys([(at[pairs[i][0]], at[pairs[i][1]]) for i in known])
            found[known] = self.pair.positions(keys)
        return found


def _frequencies(field: Field, positions: Array, dead: dict[int, int]) -> Array:
    counts = np.where(positions >= 0, field.offsets[positions + 1] - field.offsets[positions], 0)
    if dead:
        gone = [dead.get(position, 0) for position in positions.tolist()]
        counts -= np.array(gone, dtype=np.int64)
    return counts


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """A query's distinct terms and neighbouring pairs as the index knows them."""

    terms: tuple[str, ...]
    positions: tuple[Array, ...]  # of the terms, per segment; -1 for an unknown one
    pair_positions: tuple[Array, ...]  # of the pairs, per segment
    df: Array  # in how many chunks of the index each term occurs
    pair_df: Array


class LexicalIndex:
    """The terms and pairs of all segments; opened on first use."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._key = lru_cache(maxsize=20_000)(term_key)

    @cached_property
    def segments(self) -> list[SegmentFields]:
        return [SegmentFields(segment) for segment in self.snapshot.segments]

    @cached_property
    def size(self) -> int:
        """How many chunks are searched."""
        return sum(int(part.live.sum()) for part in self.segments)

    def resolve(self, terms: Sequence[str], *, pairs: bool = False) -> QueryTerms:
        """Return the distinct terms, and pairs if asked for, with positions and frequencies."""
        distinct = tuple(dict.fromkeys(terms))
        keys = np.array([self._key(term) for term in distinct], dtype=np.uint64)
        positions = tuple(part.term.positions(keys) for part in self.segments)
        df = np.zeros(len(distinct), dtype=np.int64)
        for part, at in zip(self.segments, positions, strict=True):
            df += part.term_frequencies(at)

        number = {term: i for i, term in enumerate(distinct)}
        neighbours = pairwise(terms) if pairs else ()
        wanted = list(dict.fromkeys((number[a], number[b]) for a, b in neighbours))
        pair_positions = tuple(
            part.pair_positions(at, wanted)
            for part, at in zip(self.segments, positions, strict=True)
        )
        pair_df = np.zeros(len(wanted), dtype=np.int64)
        for part, at in zip(self.segments, pair_positions, strict=True):
            pair_df += part.pair_frequencies(at)
        return QueryTerms(distinct, positions, pair_positions, df, pair_df)
