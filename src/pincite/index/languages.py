"""Documents of several languages in one index: each is stemmed in its own, queries in all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np

from pincite.core.languages import LANGUAGES, detect_language, named_language, query_language
from pincite.core.types import Document
from pincite.index.postings import Array, term_key
from pincite.index.tokens import Analyzer
from pincite.store.segment import Segment

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


class QueryAnalyzer:
    """Reads a query in every language of an index.

    What is a function word is decided in the query's own language alone, for *die* is one in
    German and what players roll in English.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages) or ("english",)
        self._analyzers = Analyzers()
        # Several stages read one query, one after the other.
        self._own = lru_cache(maxsize=REMEMBERED_QUERIES)(self._find_own)

    def of(self, language: str) -> Analyzer:
        """Return the analyzer of one language."""
        return self._analyzers[language]

    @cached_property
    def _first(self) -> Analyzer:
        return self._analyzers[self.languages[0]]

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
            found |= {name: self._analyzers[name].terms(kept) for name in others}
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
        found = (term for name in self.languages for term in self._analyzers[name].word(word))
        return tuple(dict.fromkeys(found))

    def _find_own(self, text: str) -> Analyzer:
        if len(self.languages) == 1:
            return self._first
        return self._analyzers[query_language(text, self.languages)]
