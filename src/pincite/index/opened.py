"""An index opened for reading: its rows, its words and their corrections, cells by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from pincite.index.cards import CardIndex
from pincite.index.filters import NOTHING, RowFilter
from pincite.index.lexical import LexicalIndex
from pincite.index.postings import LONGEST, SHORTEST, Vocabulary
from pincite.index.tokens import AUTO, EDGES, Analyzer, QueryAnalyzer, languages_of
from pincite.model.errors import ConfigError
from pincite.model.languages import everyday_words
from pincite.model.locators import locator_key
from pincite.model.profiles import TomlReader, profile_text, profile_values
from pincite.model.settings import StoreSettings
from pincite.model.types import Filters, Link
from pincite.model.vocabulary import field_words
from pincite.store.files import Array
from pincite.store.location import Location, open_snapshot
from pincite.store.snapshot import Snapshot

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
        """Return the nearest word of the index, the most frequent of equally near ones.

        None for the word of a field ("capex"): it is as it was meant.
        """
        if word in field_words():
            return ""
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


MAX_ALIAS_WORDS = 5  # of a name
MAX_QUERY_WORDS = 60
MAX_PLACES = 200  # a name that more places have is no short form
ALIAS = "alias_of"
OTHER_RELATIONS = ("uses", "refers_to", "defines", "describes", "has_trait", "refers_outside")
PER_NAME = 2
MAX_REMEMBERED = 5_000  # links; to remember more would take longer than to look names up
MAX_NAMES = 8
_WORD = re.compile(r"\w+(?:['’&-]\w+)*")


class _KnownNames(NamedTuple):
    """The names of one index that have others."""

    aliases: frozenset[str]  # keys of other names
    terms: frozenset[str]  # what they are other names of


class Aliases:
    """Finds other names in one index.

    Args:
        synonyms: names with other names for them, besides those of the documents.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        analyzer: QueryAnalyzer,
        synonyms: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._rows = snapshot.graph_rows()
        self._analyzer = analyzer
        self._synonyms = _both_ways(synonyms or {})

    def of(self, text: str) -> list[str]:
        """Return other names of what the text names, those that most places give first."""
        if not self._has_any:
            return []
        named, known = self._named(text), self._known
        if known is not None:  # most queries name nothing that has another name, and end here
            named = [
                name
                for name in named
                if name in known.terms
                or name in self._synonyms
                or locator_key(name) in known.aliases
            ]
        if not named:
            return []
        votes: dict[str, Counter[str]] = {}
        for name, other in self._given(sorted(named)):
            votes.setdefault(name, Counter())[other] += 1
        named = [name for name in named if name in votes or name in self._synonyms]
        said = set(self._analyzer.terms(text)) if named else set()
        found = [
            other
            for name in named
            for other in [
                *self._synonyms.get(name, ()),
                *(o for o, _ in sorted(votes.get(name, {}).items(), key=_by_votes)[:PER_NAME]),
            ]
            if not said.issuperset(self._analyzer.terms(other))
        ]
        return list(dict.fromkeys(found))[:MAX_NAMES]

    def _named(self, text: str) -> list[str]:
        """Return the stretches of a query that may be names, the longest first."""
        words = _WORD.findall(text)[:MAX_QUERY_WORDS]
        content = {word.casefold() for word in self._analyzer.content_words(" ".join(words))}
        found = []
        for size in range(min(MAX_ALIAS_WORDS, len(words)), 0, -1):
            for at in range(len(words) - size + 1):
                name = " ".join(words[at : at + size]).casefold()
                if size > 1 or (name in content and len(name) > 1):
                    found.append(name)
        return list(dict.fromkeys(found))

    def _given(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield each of the names with another that a document gives for it."""
        keys = {locator_key(name): name for name in names}
        known = self._known
        if known is None or not known.aliases.isdisjoint(keys):
            yield from self._long_forms(keys)
        terms = names if known is None else [name for name in names if name in known.terms]
        for link in self._rows.links_to(terms, OTHER_RELATIONS):
            if link.relation == ALIAS:
                yield link.target, self._words(link)

    def _long_forms(self, keys: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield names that are aliases, each with what it stands for at a place of the names."""
        counts = self._rows.name_counts(sorted(keys))
        few = sorted(key for key, count in counts.items() if count <= MAX_PLACES)
        places = {place.id for found in self._rows.named(few).values() for place in found}
        for link in self._rows.links_from(sorted(places), OTHER_RELATIONS):
            if link.relation == ALIAS:
                alias = locator_key(self._words(link))
                if alias in keys:
                    yield keys[alias], link.target

    @cached_property
    def _known(self) -> _KnownNames | None:
        """All names that have others; None if they are too many to remember."""
        links = self._rows.links_with(ALIAS, MAX_REMEMBERED + 1)
        if len(links) > MAX_REMEMBERED:
            return None
        aliases = frozenset(locator_key(self._words(link)) for link in links)
        return _KnownNames(aliases, frozenset(link.target for link in links))

    @cached_property
    def _has_any(self) -> bool:
        known = self._known
        return bool(self._synonyms) or known is None or bool(known.aliases)

    def _words(self, link: Link) -> str:
        return self._snapshot.text(link.span.doc_id)[link.span.start : link.span.end]


def _both_ways(synonyms: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, others in synonyms.items():
        for other in others:
            found.setdefault(name.casefold(), []).append(other)
            found.setdefault(other.casefold(), []).append(name)
    return found


def _by_votes(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


REMEMBERED_DOCUMENTS = 10_000


class OpenIndex:
    """One generation with its searchable sides; shared by all pipelines and threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        # Queries are read as the index was written, whatever the present settings say.
        self._language: str = snapshot.manifest.shape["tokens"]["language"]
        self.lexical = LexicalIndex(snapshot)
        self.filters = RowFilter(snapshot)
        self._language_of = lru_cache(maxsize=REMEMBERED_DOCUMENTS)(self._find_language)
        self.title_of = lru_cache(maxsize=REMEMBERED_DOCUMENTS)(snapshot.title)

    def seen_by(self, access: Iterable[str]) -> OpenIndex:
        """Return the index as one sees it who has these access tags.

        Documents that need others are not filtered but absent: no count, no statistic, no
        suggestion and no error tells of them. See ``docs/decisions/0015-service.md``.
        """
        allowed = self.filters.documents(Filters(access=tuple(access))) or frozenset()
        hidden = frozenset(self.snapshot.documents()) - allowed
        return OpenIndex(self.snapshot.hiding(hidden)) if hidden else self

    @cached_property
    def analyzer(self) -> QueryAnalyzer:
        """Reads queries in the languages of the index."""
        if self._language != AUTO:
            return QueryAnalyzer([self._language])
        return QueryAnalyzer(languages_of(self.snapshot.segments))

    @cached_property
    def corrections(self) -> Corrections:
        """Guesses what unknown words of a query were meant to be."""
        return Corrections(self.lexical, self.analyzer, Vocabulary(self.snapshot.segments))

    @cached_property
    def aliases(self) -> Aliases:
        """Finds other names of what a query names."""
        return Aliases(self.snapshot, self.analyzer, self._synonyms())

    @cached_property
    def cards(self) -> CardIndex:
        """What all documents are called, and of which time and kind they are."""
        return CardIndex(self.snapshot)

    def _synonyms(self) -> dict[str, tuple[str, ...]]:
        """Return the other names that the index's own profile gives, if it is still there."""
        name: str = self.snapshot.manifest.shape["ingest"]["profile"]
        if not name.endswith(".toml"):
            return {}
        try:
            values, _ = profile_values(profile_text(name), origin=name)
            table = TomlReader(values, name).table("synonyms")
            return {word: table.texts(word) for word in table.values}
        except ConfigError:
            return {}  # a profile that was moved or changed must not keep anybody from searching

    def analyzer_of(self, doc_id: str) -> Analyzer:
        """Return the analyzer that read a document."""
        languages = self.analyzer.languages
        if len(languages) == 1:
            return self.analyzer.by_language[languages[0]]
        return self.analyzer.by_language[self._language_of(doc_id)]

    def _find_language(self, doc_id: str) -> str:
        meta = self.snapshot.meta(doc_id) or {}
        return meta.get("language", self.analyzer.languages[0])

    @classmethod
    def open(cls, location: Location, store: StoreSettings | None = None) -> OpenIndex:
        """Return the current generation of the index in a folder, or in the server of a URL."""
        return cls(open_snapshot(location, store))

    def has_vectors(self, *models: str) -> bool:
        """Return whether any chunk has a vector of one of these models."""
        return any(each.entry.model in models for each in self.snapshot.vectors)


BLOCK_ROWS = 16


class Rows:
    """The rows of an open index, and which of them may be found."""

    def __init__(self, index: OpenIndex) -> None:
        self.index = index
        self.segments = index.lexical.segments
        sizes = [len(segment.ids) for segment in self.segments]
        self.offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    @cached_property
    def ids(self) -> Array:
        """The chunk ids of all rows, as bytes: every stage asks for some, again and again."""
        if len(self.segments) == 1:
            return self.segments[0].ids
        parts = [np.asarray(segment.ids, dtype="S16") for segment in self.segments]
        return np.concatenate([np.zeros(0, dtype="S16"), *parts])

    def find(self, ids: Sequence[str]) -> Array:
        """Return the rows of chunks; those that are not searched have none."""
        wanted = np.array([chunk_id.encode() for chunk_id in ids], dtype="S16")
        found = []
        for offset, (order, ordered) in zip(self.offsets[:-1], self._by_id, strict=True):
            at = np.searchsorted(ordered, wanted)
            at[at == len(ordered)] = 0
            inner = order[at[ordered[at] == wanted]] if len(ordered) else order[:0]
            found.append(inner + offset)
        return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    @cached_property
    def _by_id(self) -> list[tuple[Array, Array]]:
        orders = [np.argsort(part.ids, kind="stable") for part in self.segments]
        return [(o, part.ids[o]) for o, part in zip(orders, self.segments, strict=True)]

    def allowed(self, rows: Array, filters: Filters) -> Array:
        """Return those of the rows that may be found."""
        kept = np.ones(len(rows), dtype=bool)
        masks = self.masks(filters)
        for number, (chosen, inner) in self.by_segment(rows):
            mask = masks[number]
            if mask is not None:
                kept[chosen] = mask[inner]
        return rows[kept]

    def by_segment(self, rows: Array) -> list[tuple[int, tuple[Array, Array]]]:
        """Return for each segment which of the rows are in it, and their numbers there."""
        if len(self.segments) == 1:
            return [(0, (np.arange(len(rows)), rows))]
        home = np.searchsorted(self.offsets, rows, side="right") - 1
        found = []
        for number in np.flatnonzero(np.bincount(home, minlength=1)).tolist():
            chosen = np.flatnonzero(home == number)
            found.append((number, (chosen, rows[chosen] - self.offsets[number])))
        return found

    def masks(self, filters: Filters) -> list[Array | None]:
        """Return which rows of each segment may be found; None where all may.

        A filter takes rows out, it does not change what a word is worth: idf and lengths stay those
        of the whole index, so a chunk has the same score with and without filters.
        """
        if filters == NOTHING:
            return [None if part.all_live else part.live for part in self.segments]
        return [masks.rows for masks in self.index.filters.masks(filters)]

    def best(self, rows: Array, scores: Array, k: int, names: Array | None = None) -> Array:
        """Return the best ``k`` of rows by (score, chunk id), best first.

        ``names`` are the rows of the index that ``rows`` are numbers into.
        """
        if 0 < k < len(rows):
            bound = np.partition(scores, len(scores) - k)[len(scores) - k]
            kept = scores >= bound
            rows, scores = rows[kept], scores[kept]
        ids = self.ids[rows if names is None else names[rows]]
        return rows[np.lexsort((ids, -scores))[:k]]


def top_rows(scores: Array, k: int, *, above: float = 0.0) -> Array:
    """Return rows with scores above a bound, among them the best ``k`` with all ties.

    The k-th best of block maxima is a lower bound of the k-th best score, and much cheaper where
    there are many rows for each that is wanted.
    """
    blocks = len(scores) // BLOCK_ROWS
    if not 0 < 4 * k < blocks:
        return np.flatnonzero(scores > above)
    # A block's rows stand far apart: the maximum over the first axis is the fast one.
    maxima = scores[: blocks * BLOCK_ROWS].reshape(BLOCK_ROWS, blocks).max(axis=0)
    bound = np.partition(maxima, blocks - k)[blocks - k]
    return np.flatnonzero(scores >= bound if bound > above else scores > above)
