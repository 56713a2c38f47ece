"""Which windows of a long chunk are read with a question: those that hold most of its words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pincite.index.opened import OpenIndex


class Promise:
    """Tells promising windows from others by the words of a question, rare ones before common."""

    def __init__(self, index: OpenIndex) -> None:
        self._analyzer = index.analyzer
        self._index = index.lexical

    def best(self, question: str, windows: Sequence[str], most: int) -> list[str]:
        """Return the ``most`` windows that hold most of a question, in the order of the text."""
        if len(windows) <= most:
            return list(windows)
        weights = self._weights(question)
        worth = [
            math.fsum(weights[term] for term in weights.keys() & set(self._analyzer.terms(text)))
            for text in windows
        ]
        best = sorted(range(len(windows)), key=lambda at: (-worth[at], at))[:most]
        return [windows[at] for at in sorted(best)]

    def _weights(self, question: str) -> dict[str, float]:
        """Return the question's terms in all languages of the index, with what each tells."""
        readings = self._analyzer.readings(question).values()
        words = list(dict.fromkeys(term for reading in readings for term in reading))
        found = self._index.resolve(words)
        size = self._index.size
        return {
            word: math.log(1 + size / (1 + term.df))
            for word, term in zip(found.words, found.terms, strict=True)
        }
