"""Where a query's words stand in a text, and how much of the query a stretch of it holds."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pincite.index.tokens import Analyzer

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Match:
    """One word of the text that is a term of the query."""

    start: int
    end: int
    term: str


class Matches:
    """All matches of a query in one text, in order; a stretch is looked up, not searched."""

    def __init__(
        self,
        text: str,
        weights: Mapping[str, float],
        analyzer: Analyzer,
        known: dict[str, tuple[str, ...]],
    ) -> None:
        """Find the matches; ``known`` remembers words over the texts of one query and analyzer."""
        self._weights = weights
        self._all: list[Match] = []
        for word in _WORD.finditer(text):
            written = word.group()
            terms = known.get(written)
            if terms is None:
                terms = tuple(term for term in analyzer.word(written) if term in weights)
                known[written] = terms
            for term in terms:
                self._all.append(Match(word.start(), word.end(), term))
        self._starts = [match.start for match in self._all]

    def between(self, start: int, end: int) -> Sequence[Match]:
        """Return the matches that start in this stretch."""
        return self._all[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def worth(self, start: int, end: int) -> float:
        """Return the summed weight of the distinct terms in this stretch."""
        terms = dict.fromkeys(match.term for match in self.between(start, end))
        return sum(self._weights[term] for term in terms)
