"""What speaks for a row besides its own words: other names of what is asked for, and its kind.

Questions ask for "capex" and "quick ratio"; statements have "purchases of property" and "total
current assets". Profiles say which names belong together, and on what kind of place they stand
(``model/vocabulary.py``). A row's score depends neither on filters nor on other rows by this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from pincite.index.lexical import Bm25, Bm25Scorer, QueryTerms
from pincite.index.opened import OpenIndex
from pincite.model.errors import ConfigError
from pincite.model.tuning import LexicalTuning
from pincite.model.vocabulary import Ask, FieldVocabulary, load_vocabulary, shipped_vocabularies
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

LANGUAGE = "english"  # of the names; rows in others are left alone
# What other names are worth beside the question's own words, and how much of its score a row gains
# that is of the kind where the asked for stands.
WORDS, KIND = 0.6, 1.5
REMEMBERED = 1000  # entries, and kinds in segments

Names = Mapping[str, Sequence[tuple[tuple[str, ...], Ask]]]  # by the first term, long ones first


@dataclass(frozen=True, slots=True)
class _Field:
    """A vocabulary and the rows of each segment that it speaks of."""

    names: Names
    rows: Sequence[Array]


class FieldNames:
    """Adds what a field calls the things that are asked for to the rows of the field's documents.

    A question that names none of them, or is asked of other documents, is not changed by it.
    """

    name = "vocabulary"
    key = f"vocabulary {WORDS} {KIND}"

    def __init__(self, index: OpenIndex, settings: LexicalTuning) -> None:
        self.index = index
        self.pair_weight = settings.bigram_weight
        self.scorer = Bm25Scorer(index.lexical, Bm25(settings.k1, settings.b, settings.variant))
        self._terms_of = lru_cache(maxsize=REMEMBERED)(self._find_terms)
        self._rows_of = lru_cache(maxsize=REMEMBERED)(self._find_rows)

    def of(self, query: ParsedQuery, totals: Sequence[Array]) -> Sequence[Array] | None:
        """Return what other names and kinds add to each row; None where nothing is asked for."""
        added: list[Array] | None = None
        for field in self._fields:
            asks = self.asked(query.text, field.names)
            if asks:
                worth = self._worth(asks, field, totals)
                added = worth if added is None else list(map(np.add, added, worth))
        return added

    def asked(self, text: str, names: Names) -> list[Ask]:
        """Return what a question asks for, each once; of names within names the longest counts."""
        terms = tuple(self.index.analyzer.by_language[LANGUAGE].terms(text))
        found: dict[Ask, None] = {}
        at = 0
        while at < len(terms):
            for name, ask in names.get(terms[at], ()):
                if terms[at : at + len(name)] == name:
                    found[ask] = None
                    at += len(name) - 1
                    break
            at += 1
        return list(found)

    def _worth(self, asks: Sequence[Ask], field: _Field, totals: Sequence[Array]) -> list[Array]:
        other = [self._terms_of(ask) for ask in asks]
        terms = list(dict.fromkeys(term for each in other for term in each.terms))
        pairs = list(dict.fromkeys(pair for each in other for pair in each.pairs))
        votes = Counter(kind for ask in asks for kind in ask.kinds)
        found = []
        for number, total in enumerate(totals):
            rows = field.rows[number]
            if not rows.any():
                found.append(np.zeros(len(total)))
                continue
            scores = self.scorer.scores(terms, number)
            if self.index.lexical.segments[number].pair is not None:
                scores = scores + self.pair_weight * self.scorer.scores(pairs, number, pairs=True)
            named = WORDS * scores
            lift = KIND * self._shares(votes, number) * (total + named)
            found.append(np.where(rows, named + lift, 0.0))
        return found

    def _shares(self, votes: Counter[str], segment: int) -> Array:
        """Return how much of what is asked for stands on the kind of each row, from 0 to 1."""
        shares = np.zeros(len(self.index.lexical.segments[segment].ids))
        for kind, count in sorted(votes.items(), key=lambda vote: vote[1]):
            shares[self._rows_of(kind, segment)] = count / max(votes.values())
        return shares

    def _find_rows(self, kind: str, segment: int) -> Array:
        """Return the rows of a content kind or with a tag."""
        part = self.index.filters.parts[segment]
        is_kind = part.where("content", (each == kind for each in part.values("content")))
        has_tag = part.where("tags", (kind in each for each in part.values("tags")))
        return np.flatnonzero((is_kind | has_tag)[part.searched])

    def _find_terms(self, ask: Ask) -> QueryTerms:
        """Return the words of what is asked for; only those of one name are neighbours."""
        analyzer, resolve = self.index.analyzer.by_language[LANGUAGE], self.index.lexical.resolve
        names = [
            resolve(analyzer.content(analyzer.terms(name)), pairs=self.pair_weight > 0)
            for name in ask.words
        ]
        return QueryTerms(
            tuple(word for each in names for word in each.words),
            tuple(term for each in names for term in each.terms),
            tuple(pair for each in names for pair in each.pairs),
        )

    @cached_property
    def _fields(self) -> list[_Field]:
        """The vocabularies of the documents that are here, each with their rows."""
        parts = self.index.filters.parts
        found = []
        for vocabulary, documents in self._spoken():
            rows = [
                part.where("document", (each in documents for each in part.values("document")))
                for part in parts
            ]
            own = [
                rows[n][part.searched] & self.index.lexical.segments[n].rows_in(LANGUAGE)
                for n, part in enumerate(parts)
            ]
            found.append(_Field(self._names(vocabulary), own))
        return found

    def _spoken(self) -> Iterator[tuple[FieldVocabulary, frozenset[str]]]:
        """Yield vocabularies with the documents that they are for."""
        profile: str = self.index.snapshot.manifest.shape["ingest"]["profile"]
        if profile not in ("auto", "none"):
            try:
                own = load_vocabulary(profile)
            except ConfigError:
                return  # one that was moved or changed must not keep anybody from searching
            if own.asks:
                yield own, frozenset(self.index.snapshot.documents())
        elif profile == "auto":
            kinds = {doc: meta.get("kind") for doc, _, meta in self.index.snapshot.headers()}
            if not any(kinds.values()):
                return
            for vocabulary in shipped_vocabularies():
                documents = frozenset(doc for doc in kinds if kinds[doc] in vocabulary.cards)
                if documents:
                    yield vocabulary, documents

    def _names(self, vocabulary: FieldVocabulary) -> Names:
        analyzer = self.index.analyzer.by_language[LANGUAGE]
        names: dict[str, list[tuple[tuple[str, ...], Ask]]] = {}
        for ask in vocabulary.asks:
            for terms in map(tuple, map(analyzer.terms, ask.names)):
                if terms:
                    names.setdefault(terms[0], []).append((terms, ask))
        for named in names.values():
            named.sort(key=lambda each: -len(each[0]))
        return names
