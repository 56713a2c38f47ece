"""From text to terms: numbers and identifiers are kept whole, words are stemmed.

Analysis works on one white-space separated word at a time and is remembered per distinct word, so
a corpus costs its vocabulary, not its length.

    314.23(F)   → 314.23(f)  314.23  f          12,345 → 12345        $1.5 → $  1.5
    AC-12       → ac-12  ac  12                 long-term → long  term
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np
import Stemmer

from pincite.core.errors import ConfigError
from pincite.core.function_words import elisions, function_words
from pincite.index.postings import Array, term_key

# Queries share most of their words, and so do the texts that they find; this many are analysed
# once, which takes about 20 MB.
REMEMBERED_WORDS = 50_000
MAX_REMEMBERED_CHARS = 40

# Signs mean something beside a number; alone they are layout, or mathematics.
SIGNS = "$%€£§"
# Thousands in groups of three, so that "31,2022" is a day and a year.
_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?)"
_ATOM = rf"(?:{_NUMBER}(?![^\W\d_])|[^\W_]+(?:'[^\W\d_]+)?)"
_ATOMS = re.compile(_ATOM)
# Atoms that an identifier joins: 314.23(F), AC-12, 47/1910, A&B.
_PIECES = re.compile(rf"{_ATOM}(?:[-./&:()]{{1,2}}{_ATOM})*\)?|[{SIGNS}](?=\d)|(?<=\d)[{SIGNS}]")
EDGES = ".,;:!?\"'()[]{}<>*_`“”‘’«»…–—|#"


class Analyzer:
    """Turns text into terms, always in the same way for one language."""

    def __init__(self, language: str = "english") -> None:
        self.language = language
        self._stem = _stemmer(language)
        self._elisions = elisions(language)
        self._remembered: dict[str, tuple[str, ...]] = {}
        self._written: dict[str, list[str]] = {}  # remembered words by their terms

    @cached_property
    def function_terms(self) -> frozenset[str]:
        """The terms of the language's function words, and the signs that stand beside numbers."""
        words = function_words(self.language)
        return frozenset(SIGNS) | {term for word in words for term in self.word(word)}

    def content(self, terms: Iterable[str]) -> list[str]:
        """Return the terms that say what a query is about; all of them if none does.

        >>> analyzer = Analyzer()
        >>> analyzer.content(analyzer.terms("What is the ampacity?"))
        ['ampac']
        """
        every = list(terms)
        return [term for term in every if term not in self.function_terms] or every

    def content_words(self, text: str) -> list[str]:
        """Return the words of a text, as written, that are more than function words."""
        function_terms = self.function_terms
        return [
            word for word in text.split() if not function_terms.issuperset(self.remembered(word))
        ]

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order.

        >>> Analyzer().terms("Conductors of Table 310.16 carry 12,345 A")
        ['conductor', 'of', 'tabl', '310.16', 'carri', '12345', 'a']
        """
        found: list[str] = []
        for word in text.split():
            found += self.remembered(word)
        return found

    def remembered(self, word: str) -> tuple[str, ...]:
        """Return the terms of one word, from memory if it was asked for before."""
        terms = self._remembered.get(word)
        if terms is None:
            terms = self.word(word)
            if len(self._remembered) < REMEMBERED_WORDS and len(word) <= MAX_REMEMBERED_CHARS:
                for term in set(terms):
                    self._written.setdefault(term, []).append(word)
                self._remembered[word] = terms  # last: what is here is found by its terms
        return terms

    def with_terms(self, words: set[str], wanted: AbstractSet[str]) -> dict[str, tuple[str, ...]]:
        """Return those of the words that have a wanted term, each with these terms.

        Few words of a text are wanted: they are looked up by their terms, not the other way round.
        """
        new = {word: self.remembered(word) for word in words.difference(self._remembered)}
        old = (word for term in wanted for word in self._written.get(term, ()) if word in words)
        new |= {word: self._remembered[word] for word in old}
        chosen = {word: tuple(t for t in terms if t in wanted) for word, terms in new.items()}
        return {word: terms for word, terms in chosen.items() if terms}

    def word(self, word: str) -> tuple[str, ...]:
        """Return the terms of one word.

        >>> Analyzer().word("314.23(F),")
        ('314.23(f)', '314.23', 'f')
        """
        plain = word.strip(EDGES)
        if plain.isascii():  # most words, by a short way to the same result
            if plain.isalpha():
                return (self._stem(plain.lower()),)
            folded = word.lower()
        else:
            folded = unicodedata.normalize("NFKC", word).lower().replace("’", "'")
        found: list[str] = []
        for piece in _PIECES.findall(folded):
            if piece.isalnum():
                found.append(self._atom(piece))
            else:
                found += self._piece(piece)
        return tuple(found)

    def _piece(self, piece: str) -> list[str]:
        atoms = _ATOMS.findall(piece)
        if not atoms:
            return [piece]  # a sign
        terms = [self._atom(atom) for atom in atoms]
        if len(atoms) > 1 and any(character.isdigit() for character in piece):
            return [piece.replace(",", ""), *terms]
        return terms

    def _atom(self, atom: str) -> str:
        if atom[0].isdigit() and atom[-1].isdigit():
            return atom.replace(",", "")
        if self._elisions and "'" in atom:
            before, _, after = atom.partition("'")
            atom = after if before in self._elisions else atom  # l'acqua is acqua
        plain = atom.removesuffix("'s").replace("'", "")
        return self._stem(plain) if plain.isalpha() else plain


class StreamBuilder:
    """Collects the terms of rows for :func:`~pincite.index.postings.build_postings`.

    Args:
        analyzers: by name of language; a row is added in one of them.
    """

    def __init__(self, analyzers: Mapping[str, Analyzer]) -> None:
        self._analyzers = analyzers
        self._distinct: list[tuple[str, str]] = []  # (language, word), as numbered
        self._words: dict[str, _Words] = {}
        self._rows: list[Array] = []
        self._total = 0

    def __len__(self) -> int:
        """Return how many words were collected."""
        return self._total

    def add(self, text: str, language: str) -> None:
        """Append a row with the words of the text."""
        words = self._words.get(language)
        if words is None:
            words = self._words[language] = _Words(language, self._distinct)
        row = np.fromiter(map(words.__getitem__, text.split()), dtype=np.uint32)
        self._rows.append(row)
        self._total += len(row)

    def words(self) -> list[str]:
        """Return the distinct words as they were written."""
        return [word for _, word in self._distinct]

    def finish(self) -> tuple[Array, Array, Array]:
        """Return keys, stream and offsets: each distinct word is analysed here, once."""
        terms = _Numbers()
        analysed = [
            [terms[term] for term in self._analyzers[language].word(word)]
            for language, word in self._distinct
        ]
        sizes = np.array([len(each) for each in analysed], dtype=np.int64)
        flat = np.array([number for each in analysed for number in each], dtype=np.uint32)
        begins = np.cumsum(sizes) - sizes

        words = np.concatenate([np.zeros(0, dtype=np.uint32), *self._rows])
        counts = sizes[words]
        ends = np.concatenate(([0], np.cumsum(counts)))
        # Expand every word to its terms: position inside the word is a running number.
        inside = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
        stream = flat[np.repeat(begins[words], counts) + inside]
        row_ends = np.cumsum([0, *(len(row) for row in self._rows)])
        keys = np.array([term_key(term) for term in terms], dtype=np.uint64)
        return keys, stream, ends[row_ends]


class _Numbers(dict[str, int]):
    """Numbers strings in the order in which they are first asked for."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


class _Words(dict[str, int]):
    """Numbers the words of one language; all languages share one list of numbers."""

    def __init__(self, language: str, distinct: list[tuple[str, str]]) -> None:
        self._language = language
        self._distinct = distinct

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self._distinct)
        self._distinct.append((self._language, key))
        return number


def _stemmer(language: str) -> Callable[[str], str]:
    if language == "none":
        return lambda word: word
    try:
        stemmer = Stemmer.Stemmer(language)
    except KeyError as error:
        known = ", ".join(Stemmer.algorithms())
        raise ConfigError(
            f"no stemmer for language {language!r}", hint=f"known: {known}"
        ) from error
    stemmer.maxCacheSize = 0  # words are remembered above; a second cache only costs
    stem: Callable[[str], str] = stemmer.stemWord
    return stem
