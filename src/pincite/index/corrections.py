"""Words that the index does not have, and other names of what a query names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from pincite.index.lexical import LexicalIndex
from pincite.index.postings import LONGEST, SHORTEST, Vocabulary
from pincite.index.tokens import EDGES, QueryAnalyzer
from pincite.model.languages import everyday_words
from pincite.model.locators import locator_key
from pincite.model.types import Link
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
