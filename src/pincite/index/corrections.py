"""What a query's unknown words were probably meant to be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from pincite.core.function_words import everyday_words
from pincite.index.languages import QueryAnalyzer
from pincite.index.lexical import LexicalIndex
from pincite.index.tokens import EDGES
from pincite.index.vocabulary import LONGEST, SHORTEST, Vocabulary

# Looking a word up costs milliseconds; a page pasted as a query has many unknown ones.
MAX_WORDS = 8
REMEMBERED_WORDS = 1_000
REMEMBERED_FREQUENCIES = 20_000


class Corrections:
    """Replaces words that the index does not have by the nearest that it has.

    Only words of letters are looked at: a number or an identifier that is not there may mean
    anything, and an abbreviation in capitals is too short to guess.
    """

    def __init__(
        self, index: LexicalIndex, analyzer: QueryAnalyzer, vocabulary: Vocabulary
    ) -> None:
        self._index = index
        self._analyzer = analyzer
        self._vocabulary = vocabulary
        self._everyday = everyday_words()
        self._nearest = lru_cache(maxsize=REMEMBERED_WORDS)(self._find)
        self._frequency = lru_cache(maxsize=REMEMBERED_FREQUENCIES)(self._find_frequency)

    def of(self, text: str) -> dict[str, str]:
        """Return the unknown words of a query, as written, with what they are taken for."""
        found: dict[str, str] = {}
        for word in dict.fromkeys(each.strip(EDGES) for each in text.split()):
            is_name = word.isupper() and not text.isupper()
            if not word.isalpha() or is_name or not SHORTEST <= len(word) <= LONGEST:
                continue
            if self._frequency(word) or word.lower() in self._everyday:
                continue
            if near := self._nearest(word.lower()):
                found[word] = near
            if len(found) == MAX_WORDS:
                break
        return found

    def _find(self, word: str) -> str:
        """Return the nearest word of the index, the most frequent of equally near ones."""
        near = [
            (slips, each[0] != word[0], -frequency, each)
            for slips, each in self._vocabulary.near(word)
            if (frequency := self._frequency(each))
        ]
        return min(near)[-1] if near else ""

    def _find_frequency(self, word: str) -> int:
        """Return in how many chunks a word is, whatever its language."""
        terms = self._index.resolve(self._analyzer.word(word)).terms
        return max((term.df for term in terms), default=0)


def corrected(text: str, words: Mapping[str, str]) -> str:
    """Return a query with some of its words replaced.

    >>> corrected("What is a fierball?", {"fierball": "fireball"})
    'What is a fireball?'
    """
    return " ".join(_replaced(each, words) for each in text.split()) if words else text


def _replaced(written: str, words: Mapping[str, str]) -> str:
    word = written.strip(EDGES)
    return written.replace(word, words[word]) if word in words else written
