"""A query, read once: its words, and the places and things that it names."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from pincite.index.filters import NOTHING, RowFilter
from pincite.index.lexical import Bm25, QueryTerms
from pincite.index.opened import OpenIndex, corrected
from pincite.index.tokens import without_asides
from pincite.model.cached import cached_property
from pincite.model.editions import years
from pincite.model.locators import Mention, in_range, locator_key, mention_spans, mentions
from pincite.model.types import Chunk, Filters, Query
from pincite.search.documents import DocumentEvidence, DocumentFactors
from pincite.search.neighbours import Neighbours

# Questions are longer than names: they are spared the look-up as a whole.
MAX_NAME_CHARS = 100
MAX_BARE_WORDS = 2
# A question names a few places. Whoever writes hundreds must not keep the index busy with them.
MAX_PLACES = 20
MAX_LEVELS = 40
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
MAX_WORDS = 60
MAX_NAME_WORDS = 5
# "TLS 1.2": capitals, or a capital inside a sentence.
_PRODUCT = re.compile(
    r"\b(?P<name>[A-Z]{2,20}\d?|(?<=[a-z,] )[A-Z][a-z]{1,20})"
    r" (?P<number>\d{1,3}(?:\.\d{1,3}){1,2}\b)"
)
# A name of more chunks than this does not narrow a search.
MAX_CHUNKS = 16


def is_bare_name(text: str) -> bool:
    """Tell whether a text that names a place can be nothing but the name."""
    return len(text.split()) <= MAX_BARE_WORDS


def named_places(
    text: str, mentions: Sequence[Mention], content_words: Sequence[str], index: OpenIndex
) -> list[Chunk]:
    """Return the chunks that a text names, in the order in which it names them.

    What holds another place that is named only says where that is, and comes behind it. A whole
    document, or a title with nothing below it, is no hit of a question that goes on.
    """
    snapshot = index.snapshot
    names: list[str] = []
    if len(text) <= MAX_NAME_CHARS:
        # The text as a name, and without question words: "what is a berth?" names berth.
        whole_texts = (text, " ".join(content_words))
        names = list(dict.fromkeys(locator_key(each.rstrip("?! ")) for each in whole_texts))
    if not mentions and not names:
        return []
    known = snapshot.documents_with([*names, *(mention.first for mention in mentions)])
    whole = next((name for name in names if name in known), None)
    if whole is not None:
        return _named(whole, text, index)
    found: list[Chunk] = []
    for mention in mentions:
        if mention.first not in known:
            continue
        if not mention.last:
            found += _named(mention.first, text, index)
            continue
        for chunk in snapshot.found_by([mention.first]):
            document = snapshot.chunks(chunk.span.doc_id)
            found += in_range(document, mention.first, mention.last)
    if any(map(_is_title, found)) and _goes_on(content_words, mentions):
        found = [chunk for chunk in found if not _is_title(chunk)]
    return _innermost_first(found)


def _without_products(text: str, index: OpenIndex) -> str:
    """Return the text without numbers behind a name that no document has: versions of it."""
    for match in reversed(list(_PRODUCT.finditer(text))):
        words = index.analyzer.word(match["name"])
        if not any(term.df for term in index.lexical.resolve(words, pairs=False).terms):
            text = f"{text[: match.start('number')]}…{text[match.end('number') :]}"
    return text


def _goes_on(content_words: Sequence[str], mentions: Sequence[Mention]) -> bool:
    """Return whether a text says more than the names of places and a word about them."""
    named = {word for mention in mentions for word in mention.first.split()}
    return len([word for word in content_words if locator_key(word) not in named]) > 1


def _innermost_first(named: Sequence[Chunk]) -> list[Chunk]:
    """Return the places in their order, those behind that hold one of another name."""
    inside: dict[str, list[Chunk]] = {}
    for chunk in named:
        inside.setdefault(chunk.span.doc_id, []).append(chunk)

    def is_around(chunk: Chunk) -> bool:
        others = inside[chunk.span.doc_id][:MAX_PLACES]
        others = [each for each in others if each.locator != chunk.locator]
        if _is_title(chunk):
            return bool(others)
        return any(chunk.span.overlap(each.span) == len(each.span) for each in others)

    return sorted(named, key=is_around)


def _is_title(chunk: Chunk) -> bool:
    """Return whether a place is a whole document, or a heading without words below it."""
    head, _, body = chunk.text.strip().partition("\n")
    return chunk.parent is None or (head.startswith("#") and not body)


def _named(key: str, text: str, index: OpenIndex) -> list[Chunk]:
    """Return the places of one name: the edition that the query names, then the newest."""
    asked = years(text)
    ordered = []
    for number, chunk in enumerate(index.snapshot.found_by([key])):
        doc_id = chunk.span.doc_id
        own = years(index.title_of(doc_id), doc_id)
        is_titled = locator_key(chunk.locator) != key  # found by its heading's words
        is_part = chunk.kind in ("text", "piece")
        edition = (not asked & own, -max(own, default=0))
        ordered.append((is_titled, is_part, *edition, chunk.span, number, chunk))
    return [each[-1] for each in sorted(ordered)]


def missing_places(
    mentions: Sequence[Mention], filters: RowFilter, allowed: Filters = NOTHING
) -> list[tuple[str, str]]:
    """Return places that are named and an index lacks, each with the nearest above it.

    A place that the filters take out is not there.
    """
    found = []
    for mention in mentions:
        parts = [mention.first]
        while parts[-1].endswith(")") and len(parts) < MAX_LEVELS:
            parts.append(parts[-1][: parts[-1].rindex("(")])
        known = set(filters.snapshot.documents_with(parts))
        if allowed != NOTHING:
            known = {key for key in known if _has_place(key, filters, allowed)}
        if mention.first not in known:
            found.append((mention.first, next((part for part in parts if part in known), "")))
    return found


def _has_place(key: str, filters: RowFilter, allowed: Filters) -> bool:
    ids = [chunk.id for chunk in filters.snapshot.found_by([key])]
    return bool(filters.satisfied(allowed, ids))


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a query and the searched chunks that have it."""

    name: str
    chunk_ids: tuple[str, ...]
    is_thing: bool = False  # a chunk describes it: a spell, an item; not only a term
    is_marked: bool = False  # has several words, or a capital inside the text


def entity_chunks(text: str, content_words: Sequence[str], neighbours: Neighbours) -> list[str]:
    """Return what a named thing says and what is one step away; nothing unless one is for sure.

    Sure are things that a chunk describes; terms that a text only defines are used all over it,
    and say little about where the answer stands.
    """
    if not neighbours.rows.describes:
        return []
    words = [(m.start(), m.end()) for m in _WORD.finditer(text)][:MAX_WORDS]
    spans = {
        (start, start + length): locator_key(text[words[start][0] : words[start + length - 1][1]])
        for length in range(MAX_NAME_WORDS, 0, -1)
        for start in range(len(words) - length + 1)
    }
    content = set(map(locator_key, content_words))
    names = {at: key for at, key in spans.items() if at[1] - at[0] > 1 or key in content}
    # Most queries name no thing, and end here.
    things = neighbours.rows.described(sorted(set(names.values())))
    if not things:
        return []
    marked = {
        at for at in names if at[1] - at[0] > 1 or (at[0] > 0 and text[words[at[0]][0]].isupper())
    }
    named = find_entities(names, marked, things, neighbours)
    sure = [i for each in named if each.is_thing and each.is_marked for i in each.chunk_ids]
    edges = (edge for group in neighbours.of(sure).values() for edge in group)
    # What stands next is about another thing as often as not.
    return sorted({*sure, *(edge.chunk_id for edge in edges if edge.relation != "next")})


def find_entities(
    names: Mapping[tuple[int, int], str],
    marked: Container[tuple[int, int]],
    things: Container[str],
    neighbours: Neighbours,
) -> list[Entity]:
    """Return the headings, defined terms and aliases among names, the longest ones.

    Names come by their first and last word, the longest first. One lies within no longer one, and
    what too many chunks are called names nothing.
    """
    homes = neighbours.searched(sorted(set(names.values())))
    found: list[Entity] = []
    taken: list[tuple[int, int]] = []
    for at, key in names.items():
        ids = tuple(dict.fromkeys(chunk_id for chunk_id, _ in homes[key]))
        is_inside = any(first <= at[0] and at[1] <= last for first, last in taken)
        if 0 < len(ids) <= MAX_CHUNKS and not is_inside:
            taken.append(at)
            found.append(Entity(key, ids, key in things, at in marked))
    return list(dict.fromkeys(found))


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
        documents: tells which documents a query is about; None: all are worth the same.
    """

    index: OpenIndex
    neighbours: Neighbours = field(compare=False)
    content_only: bool = True
    has_pairs: bool = True
    has_typos: bool = False
    has_aliases: bool = False
    has_places: bool = True
    has_entities: bool = True
    documents: DocumentEvidence | None = None


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
            self._content_terms = {language: index.analyzer.by_language[language].content(terms)}
        self.content_words = index.analyzer.content_words(text)
        named = dict.fromkeys(mentions(_without_products(text, index)))
        self.mentions: tuple[Mention, ...] = tuple(named)[:MAX_PLACES]
        self.places: tuple[str, ...] = ()
        if reader.has_places:
            places = named_places(text, self.mentions, self.content_words, index)
            self.places = tuple(dict.fromkeys(chunk.id for chunk in places))
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
    def factors(self) -> DocumentFactors | None:
        """What scores are multiplied by for their documents; None if the query names none."""
        documents = self._reader.documents
        return documents.factors(self.text, self.filters) if documents else None

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each term is worth in this index, in all of its languages: rare ones more."""
        lexical, bm25 = self._index.lexical, Bm25()
        found = lexical.resolve([term for terms in self._terms.values() for term in terms])
        idf = [bm25.idf(term.df, lexical.size) for term in found.terms]
        return dict(zip(found.words, idf, strict=True))

    @cached_property
    def content_weights(self) -> dict[str, float]:
        """What each term is worth that says what the query is about."""
        about = (term for terms in self._content_terms.values() for term in terms)
        return {term: self.weights[term] for term in about}

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
