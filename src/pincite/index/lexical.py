"""The lexical side of a snapshot: a query's terms and pairs, and how often they occur.

Frequencies are summed over the live rows of all segments, so they do not depend on how documents
are spread over segments or in which order they came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from pincite.core.errors import StoreError
from pincite.core.languages import LANGUAGES
from pincite.index.languages import ROW_LANGUAGES
from pincite.index.postings import Array, pair_key, term_key
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
        self._fetch(distinct, neighbours)
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

    def _fetch(self, words: Iterable[str], pairs: Iterable[tuple[str, str]]) -> None:
        """Say which postings a whole query needs: a server is asked for all of them at once."""
        expect = self.snapshot.expect_keys
        expect((part.term, (term_key(word) for word in words)) for part in self.segments)
        expect(
            (part.pair, [key])
            for left, right in pairs
            for part, key in zip(self.segments, self._pair_keys(left, right), strict=True)
            if part.pair is not None and key is not None
        )

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
