"""A query, read once: every stage, every snippet and every answer takes what it needs from here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from pincite.index.corrections import corrected
from pincite.index.lexical import QueryTerms
from pincite.index.opened import OpenIndex
from pincite.model.languages import without_asides
from pincite.model.locators import Mention, mention_spans, mentions
from pincite.model.types import Filters, Query
from pincite.search.neighbours import Neighbours
from pincite.search.places import (
    MAX_PLACES,
    entity_chunks,
    is_bare_name,
    missing_places,
    named_places,
)

# Work and memory grow with the terms of a query; questions have a few dozen.
MAX_TERMS = 1000
# What a word is worth that was put in the place of an unknown one.
GUESS_WEIGHT = 0.8


@dataclass(frozen=True, slots=True)
class QueryReading:
    """A query in one language: only rows in that language are scored by it."""

    language: str
    terms: QueryTerms
    aliases: tuple[QueryTerms, ...] = ()  # other names of what the query names


@dataclass(frozen=True)
class QueryReader:
    """Reads queries for one index. Equal readers read alike.

    Args:
        content_only: function words are not looked for.
        has_pairs: neighbouring words are looked for as well.
        has_typos: words that the index does not have are taken for the nearest that it has.
        has_aliases: other names that documents give are looked for.
        has_places: places that a query names are looked up.
        has_entities: things that a query names are looked up.
    """

    index: OpenIndex
    neighbours: Neighbours = field(compare=False)
    content_only: bool = True
    has_pairs: bool = True
    has_typos: bool = False
    has_aliases: bool = False
    has_places: bool = True
    has_entities: bool = True

    def read(self, query: Query) -> ParsedQuery:
        """Return the query with all that is known of it."""
        return ParsedQuery(query, self)


class ParsedQuery:
    """A query with all that is known of it. What few searches need is worked out when asked for.

    Attributes:
        corrections: words that the index does not have, each with what it is taken for.
        corrected: the text as it was probably meant to be written.
        content_words: the words, as written, that are more than function words.
        mentions: the first places that the text names, each once.
        places: the chunks that the query names, in its order, whatever the filters say.
        is_bare_number: it is the number of a place and says nothing more. A term is no number: it
            is asked for with all that is said about it.
    """

    def __init__(self, query: Query, reader: QueryReader) -> None:
        index, text = reader.index, query.text
        self._index = index
        self._reader = reader
        self.query = query
        self.text = text
        self.filters: Filters = query.filters
        self.corrections = index.corrections.of(text) if reader.has_typos else {}
        self.corrected = corrected(text, self.corrections) if self.corrections else text
        # All terms in each language of the index.
        self._terms = index.analyzer.readings(self.corrected, content=False)
        # Those that say what the query is about.
        if len(self._terms) > 1:
            self._content_terms = index.analyzer.readings(self.corrected)
        else:
            ((language, terms),) = self._terms.items()
            self._content_terms = {language: index.analyzer.of(language).content(terms)}
        self.content_words = index.analyzer.content_words(text)
        self.mentions: tuple[Mention, ...] = tuple(dict.fromkeys(mentions(text)))[:MAX_PLACES]
        self.places: tuple[str, ...] = ()
        if reader.has_places:
            named = named_places(text, self.mentions, self.content_words, index.snapshot)
            self.places = tuple(dict.fromkeys(chunk.id for chunk in named))
        has_digit = any(map(str.isdigit, text))
        self.is_bare_number = bool(self.places) and has_digit and is_bare_name(text)

    @cached_property
    def readings(self) -> tuple[QueryReading, ...]:
        """What is looked for by words, in each language of the index."""
        analyzer, reader = self._index.analyzer, self._reader
        guessed = self.corrections.values()
        doubtful = {term: GUESS_WEIGHT for word in guessed for term in analyzer.word(word)}
        names = self._index.aliases.of(self.corrected) if reader.has_aliases else ()
        others = [analyzer.readings(name) for name in names]
        searched = self._terms
        if reader.content_only:
            asked = without_asides(self.corrected)
            is_whole = asked == self.corrected
            searched = self._content_terms if is_whole else analyzer.readings(asked)
        resolve = self._index.lexical.resolve
        return tuple(
            QueryReading(
                language,
                # Of a page pasted as a query, the beginning says enough.
                resolve(words[:MAX_TERMS], pairs=reader.has_pairs, weights=doubtful),
                tuple(resolve(other[language], pairs=reader.has_pairs) for other in others),
            )
            for language, words in searched.items()
        )

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each term is worth in this index, in all of its languages."""
        return self._index.weights_of(term for terms in self._terms.values() for term in terms)

    @cached_property
    def content_weights(self) -> dict[str, float]:
        """What each term is worth that says what the query is about."""
        return self._index.weights_of(t for terms in self._content_terms.values() for t in terms)

    @cached_property
    def mention_spans(self) -> list[tuple[str, int, int]]:
        """The key of every place that the text names, with where it does."""
        return mention_spans(self.text)

    @cached_property
    def entities(self) -> list[str]:
        """The chunks about things that the query names."""
        if not self._reader.has_entities:
            return []
        return entity_chunks(self.text, self.content_words, self._reader.neighbours)

    @cached_property
    def missing(self) -> list[tuple[str, str]]:
        """Places that the query names and the index lacks, each with the nearest above it."""
        return missing_places(self.mentions, self._index.filters, self.filters)
