"""BM25 as the published baseline had it: over the set of a text's words, so that counts are lost.

That is what ``BM25Retriever`` of llama-index 0.9 does: words of a text, each once, without stop
words, by Porter's stemmer; then Okapi BM25 with k1 1.5, b 0.75 and an epsilon for negative idf.
It is here to repeat published figures; the first stage of a search counts words.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
import Stemmer

from pincite.index.postings import Array
from pincite.model.languages import function_words

K1, B, EPSILON = 1.5, 0.75, 0.25
_WORD = re.compile(r"\w+")


class SetBm25:
    """Ranks texts by the words they share with a question."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._stem = Stemmer.Stemmer("porter")
        self._stop = frozenset(function_words("english"))
        counted = [Counter(self.words(text)) for text in texts]
        self.lengths = np.array([sum(each.values()) for each in counted], dtype=float)
        rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, counts in enumerate(counted):
            for word, count in counts.items():
                rows[word].append((row, count))
        self._rows = {word: np.array(pairs) for word, pairs in rows.items()}
        self._idf = self._weights(len(texts))

    def words(self, text: str) -> list[str]:
        """Return the stems of a text's distinct words without stop words."""
        plain = {word.lower() for word in _WORD.findall(text)} - self._stop
        found: list[str] = self._stem.stemWords(sorted(plain))
        return found

    def _weights(self, size: int) -> dict[str, float]:
        idf = {
            word: float(np.log(size - len(rows) + 0.5) - np.log(len(rows) + 0.5))
            for word, rows in self._rows.items()
        }
        floor = EPSILON * sum(idf.values()) / max(1, len(idf))
        return {word: weight if weight >= 0 else floor for word, weight in idf.items()}

    def best(self, question: str, k: int) -> list[int]:
        """Return the best ``k`` texts, best first."""
        scores = np.zeros(len(self.lengths))
        norms: Array = K1 * (1 - B + B * self.lengths / max(1e-9, float(self.lengths.mean())))
        for word in self.words(question):
            if word in self._rows:
                rows, counts = self._rows[word].T
                scores[rows] += self._idf[word] * counts * (K1 + 1) / (counts + norms[rows])
        order: list[int] = np.argsort(-scores, kind="stable")[:k].tolist()
        return order
