"""Words to terms, by language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache

import numpy as np
import Stemmer

from pincite.index.postings import Array, term_key
from pincite.model.errors import ConfigError
from pincite.model.languages import (
    LANGUAGES,
    detect_language,
    elisions,
    function_words,
    named_language,
    query_language,
)
from pincite.model.types import Document
from pincite.store.segment import Segment

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
        old = (words.intersection(self._written.get(term, ())) for term in wanted)
        new |= {word: self._remembered[word] for some in old for word in some}
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


AUTO = "auto"
# A segment's array with the language of each row.
ROW_LANGUAGES = "languages"
REMEMBERED_QUERIES = 16


class Analyzers(dict[str, Analyzer]):
    """Analyzers by language, made when they are first asked for."""

    def __missing__(self, language: str) -> Analyzer:
        self[language] = analyzer = Analyzer(language)
        return analyzer


def language_of(document: Document) -> str:
    """Return the language that is known of a document, or that its words tell."""
    return named_language(document.meta.get("language", "")) or detect_language(document.text)


def language_codes(languages: Iterable[str]) -> Array:
    """Return the languages as a segment keeps them."""
    return np.array([LANGUAGES.index(language) for language in languages], dtype=np.uint8)


def languages_of(segments: Sequence[Segment]) -> list[str]:
    """Return the languages of the live rows, that of the most rows first."""
    counts = np.zeros(len(LANGUAGES), dtype=np.int64)
    for segment in segments:
        codes = segment.arrays[ROW_LANGUAGES][segment.live_rows()]
        counts += np.bincount(codes, minlength=len(LANGUAGES))[: len(LANGUAGES)]
    order = sorted(range(len(LANGUAGES)), key=lambda code: (-counts[code], code))
    return [LANGUAGES[code] for code in order if counts[code]]


def function_places(
    keys: Array, stream: Array, offsets: Array, rows: Mapping[str, Array], analyzers: Analyzers
) -> Array:
    """Return which places of a stream hold function words of their own row's language.

    Args:
        keys, stream, offsets: the terms of all rows, as in :func:`build_postings`.
        rows: for each language which rows are in it.
    """
    found = np.zeros(len(stream), dtype=bool)
    sizes = np.diff(offsets)
    for language, chosen in rows.items():
        function_keys = [term_key(term) for term in analyzers[language].function_terms]
        is_function = np.isin(keys, np.array(sorted(function_keys), dtype=np.uint64))[stream]
        found |= is_function if chosen.all() else is_function & np.repeat(chosen, sizes)
    return found


# What a question says of the source itself: "as mentioned in the document". Such words are rarely
# on the page that answers, and often on the title pages and in the boilerplate of others.
_ASIDE = re.compile(
    r"\b(?:(?:as |(?:is|are|was|were) )?(?:mentioned|listed|described|stated|specified|provided|"
    r"outlined|given|shown|presented|discussed|referenced|named|indicated) (?:in|by|within|from)|"
    r"in|within|according to) the (?:context of the )?(?:(?:provided|given) )?"
    r"(?:document|text|passage|excerpt)\b",
    re.IGNORECASE,
)
# What it ends with: to look for these is a tenth of the work, and most questions have none.
_SOURCES = ("document", "text", "passage", "excerpt")


def without_asides(question: str) -> str:
    """Return a question without what it says of its source; the question if nothing else is in it.

    >>> without_asides("How many entities listed in the document are based in Chile?")
    'How many entities are based in Chile?'
    """
    plain = " ".join(question.split())
    folded = plain.lower()
    if not any(word in folded for word in _SOURCES):
        return plain
    return " ".join(_ASIDE.sub("", plain).split()) or plain


class QueryAnalyzer:
    """Reads a query in every language of an index.

    What is a function word is decided in the query's own language alone, for *die* is one in
    German and what players roll in English.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages) or ("english",)
        self.by_language = Analyzers()
        # Several stages read one query, one after the other.
        self._own = lru_cache(maxsize=REMEMBERED_QUERIES)(self._find_own)

    @cached_property
    def _first(self) -> Analyzer:
        return self.by_language[self.languages[0]]

    def readings(self, text: str, *, content: bool = True) -> dict[str, list[str]]:
        """Return the terms of a text in each language.

        >>> QueryAnalyzer(["english", "french"]).readings("the installations")
        {'english': ['instal'], 'french': ['install']}
        """
        own = self._own(text)
        terms = own.terms(text)
        found = {own.language: own.content(terms) if content else terms}
        if len(self.languages) > 1:
            kept = " ".join(own.content_words(text) or text.split()) if content else text
            others = (name for name in self.languages if name != own.language)
            found |= {name: self.by_language[name].terms(kept) for name in others}
        return found

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in all languages, one language after the other."""
        readings = self.readings(text, content=False).values()
        return [term for reading in readings for term in reading]

    def content_words(self, text: str) -> list[str]:
        """Return the words of a text, as written, that are more than function words."""
        return self._own(text).content_words(text)

    def word(self, word: str) -> tuple[str, ...]:
        """Return the terms of one word in all languages, each once."""
        found = (term for name in self.languages for term in self.by_language[name].word(word))
        return tuple(dict.fromkeys(found))

    def _find_own(self, text: str) -> Analyzer:
        if len(self.languages) == 1:
            return self._first
        return self.by_language[query_language(text, self.languages)]
