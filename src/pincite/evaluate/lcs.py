"""The LCS measure: how much of the evidence is in the retrieved text, as a common subsequence."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class Words:
    """Turns texts into lists of word numbers, so that sequences compare fast."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> list[int]:
        """Return the words of a text: lower-case, without punctuation and articles."""
        plain = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
        numbers = self._numbers
        return [numbers.setdefault(word, len(numbers)) for word in plain.split()]


def lcs_score(evidence: Sequence[int], retrieved: Sequence[int]) -> float:
    """Return the longest common subsequence as a share of the evidence, 0 to 1.

    >>> words = Words()
    >>> lcs_score(words.of("the red fox jumps"), words.of("A red dog, a fox."))
    0.6666666666666666
    """
    if not evidence:
        return 0.0
    # Bit-parallel (Hyyrö 2004): equals the textbook's table, about a hundred times faster.
    return LCSseq.similarity(evidence, retrieved) / len(evidence)
