"""Where a query's words stand in a text, and how much of the query a stretch of it holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from pincite.index.tokens import Analyzer
from pincite.store.files import Array

# The last character that is white space to Python.
LAST_SPACE = 0x3000


class Match(NamedTuple):
    """One word of the text that is a term of the query."""

    start: int
    end: int
    term: str


class Matches:
    """All matches of a query in one text, in order; a stretch is looked up, not searched."""

    def __init__(self, text: str, weights: Mapping[str, float], analyzer: Analyzer) -> None:
        self._weights = weights
        words = text.split()
        wanted = analyzer.with_terms(set(words), weights.keys())
        found = [
            (n, word, t) for n, word in enumerate(words) if word in wanted for t in wanted[word]
        ]
        self._words = [word for _, word, _ in found]
        self._terms = [term for _, _, term in found]
        self._starts: list[int] = word_starts(text)[[n for n, _, _ in found]].tolist()

    def between(self, start: int, end: int) -> Iterator[Match]:
        """Yield the matches that start in this stretch."""
        for n in self._within(start, end):
            yield Match(self._starts[n], self._starts[n] + len(self._words[n]), self._terms[n])

    def worth(self, start: int, end: int) -> float:
        """Return the summed weight of the distinct terms in this stretch."""
        terms = {self._terms[n] for n in self._within(start, end)}
        # In one order, whatever the order they stand in: equal terms are worth the same.
        return sum(sorted(self._weights[term] for term in terms))

    def best_start(self, low: int, high: int, width: int, before: int) -> int:
        """Return where the stretch of a width begins that holds most, the first of equal ones.

        Stretches begin so many characters before a match, or at ``low``; all lie within the bounds.
        """
        inside = self._within(low, high)
        if not inside:
            return low
        at = np.array(self._starts[inside.start : inside.stop])
        begins = np.concatenate(([low], np.maximum(low, at - before)))
        ends = np.minimum(high, begins + width)
        # How often each term stands before a match, and so whether it stands between two.
        number = {term: n for n, term in enumerate(self._weights)}
        seen = np.zeros((len(inside) + 1, len(number)), dtype=np.int32)
        seen[np.arange(1, len(seen)), [number[self._terms[n]] for n in inside]] = 1
        np.cumsum(seen, axis=0, out=seen)
        held = seen[np.searchsorted(at, ends)] > seen[np.searchsorted(at, begins)]
        worth = (held * np.array(list(self._weights.values()))).sum(axis=1)
        return int(begins[worth.argmax()])

    def _within(self, start: int, end: int) -> range:
        return range(bisect_left(self._starts, start), bisect_left(self._starts, end))


def word_starts(text: str) -> Array:
    """Return where the words of a text begin that ``split`` gives.

    >>> word_starts(" to  be ").tolist()
    [1, 5]
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    is_space = _spaces()[np.minimum(codes, LAST_SPACE + 1)]
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    return np.flatnonzero(begins)


@cache
def _spaces() -> Array:
    """Return which characters are white space; the last one stands for all behind them."""
    return np.array([chr(code).isspace() for code in range(LAST_SPACE + 2)])
