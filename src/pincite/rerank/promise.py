"""Which windows of a long chunk are read with a question: those that hold most of its words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pincite.index.opened import OpenIndex


class Promise:
    """Tells promising windows from others by the words of a question, rare ones before common."""

    def __init__(self, index: OpenIndex) -> None:
        self._index = index

    def best(
        self, question: str, windows: Mapping[str, Sequence[str]], most: int
    ) -> dict[str, list[str]]:
        """Return of each chunk's windows the ``most`` that hold most of a question, in order."""
        weights = self._index.term_weights(question, content=True)
        return {name: self._best(weights, texts, most) for name, texts in windows.items()}

    def _best(self, weights: Mapping[str, float], texts: Sequence[str], most: int) -> list[str]:
        if len(texts) <= most:
            return list(texts)
        terms = (set(self._index.analyzer.terms(text)) for text in texts)
        worth = [math.fsum(weights[term] for term in weights.keys() & has) for has in terms]
        best = sorted(range(len(texts)), key=lambda at: (-worth[at], at))[:most]
        return [texts[at] for at in sorted(best)]
