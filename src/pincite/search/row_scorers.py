"""What scores rows for a query: their words, the names that their field uses, their meaning.

By words: BM25 over terms, pairs and the best window. By meaning: the cosine of vectors. Questions
ask for "capex", and statements have "purchases of property": profiles say which names belong
together, and on what kind of place they stand (``model/vocabulary.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from pincite.encode.cache import RememberedVectors
from pincite.encode.encoders import unrelated_cosine
from pincite.encode.models import STATIC, Encoder
from pincite.index.lexical import Bm25, Bm25Scorer, QueryTerms, SegmentFields, window_scores
from pincite.index.opened import OpenIndex, Rows, top_rows
from pincite.index.vectors import NO_VECTOR, Pairs, VectorIndex
from pincite.model.cached import cached_property
from pincite.model.errors import ConfigError
from pincite.model.tuning import LexicalTuning
from pincite.model.vocabulary import Ask, FieldVocabulary, load_vocabulary, shipped_vocabularies
from pincite.search.adapter import QueryAdapter
from pincite.search.documents import DocumentFactors, weigh
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

NO_ROWS = np.zeros(0, dtype=np.int64)
# In a window one occurrence is nearly as good as three: what counts is how many terms meet.
WINDOW_K1 = 0.2
# An identifier that more chunks have is a name for something, not for a place.
MAX_IDENTIFIED = 20
# Who writes no more terms than these looks a number up: "14.313 MHz", "1500 watts". In a question
# numbers are as often an example, and what has them first was worse (decision 35).
LOOKED_UP = 3
MIN_DIGITS = 3


class WordScorer:
    """Scores all chunks by the words they share with a query.

    The parts of a score add up to it: ``terms`` (BM25), ``pairs`` (BM25 of neighbouring terms),
    ``window`` (the densest stretch of the chunk), ``aliases`` (BM25 of other names, for less), and
    one for each evidence that has to say something of the query.

    Args:
        alias_weight: what other names are worth that documents give.
        evidence: what else speaks for rows.
    """

    name = "lexical"
    part_names = ("terms", "pairs", "window", "aliases")
    floor = 0.0  # texts may have nothing in common

    def __init__(
        self,
        index: OpenIndex,
        settings: LexicalTuning | None = None,
        rows: Rows | None = None,
        *,
        alias_weight: float = 0.0,
        evidence: Sequence[FieldNames] = (),
    ) -> None:
        self.settings = settings or LexicalTuning()
        self.index = index.lexical
        self.rows = rows or Rows(index)
        self.alias_weight = alias_weight
        self.evidence = evidence
        bm25 = Bm25(self.settings.k1, self.settings.b, self.settings.variant)
        self.scorer = Bm25Scorer(self.index, bm25)

    @property
    def key(self) -> str:
        """A name for all that its scores depend on."""
        others = " ".join(each.key for each in self.evidence)
        return f"{self.name} {self.settings} {self.alias_weight} {others}"

    def score(self, query: ParsedQuery, masks: list[Array | None]) -> WordScores:
        """Return the scores of all rows for a query."""
        return WordScores(self, query, masks)


class WordScores:
    """The scores of one query."""

    def __init__(self, owner: WordScorer, query: ParsedQuery, masks: list[Array | None]):
        self.owner = owner
        self.readings = query.readings
        self.factors = query.factors
        settings = owner.settings
        self.part_names: tuple[str, ...] = WordScorer.part_names
        self.columns: list[dict[str, Array]] = []  # of each segment: parts but windows, by name
        self.totals: list[Array] = []  # with what documents are worth, and without hidden rows
        for number, segment in enumerate(owner.index.segments):
            columns = self._columns(number, segment)
            total = reduce(np.add, columns.values()) if columns else np.zeros(len(segment.ids))
            self.columns.append(columns)
            self.totals.append(total)
        for evidence in owner.evidence:
            added = evidence.of(query, self.totals)
            if added is not None:
                self.part_names = (*self.part_names, evidence.name)
                self.totals = list(map(np.add, self.totals, added))
                for columns, values in zip(self.columns, added, strict=True):
                    columns[evidence.name] = values
        for number, mask in enumerate(masks):
            if self.factors is not None:
                self.totals[number] = self.totals[number] * self.factors.of_segment(number)
            if mask is not None:
                self.totals[number] = np.where(mask, self.totals[number], 0.0)
        # Rows whose parts were asked for, in rising order, and these.
        self._known_parts: tuple[Array, Array] = (NO_ROWS, np.zeros((0, 0)))
        self.window_depth = settings.window_depth if settings.window_weight else 0

    @cached_property
    def near(self) -> Array:
        """The rows that get a window score, in rising order."""
        if not self.window_depth:
            return NO_ROWS
        return np.sort(self._by_columns(self.window_depth)[: self.window_depth])

    @cached_property
    def windows(self) -> Array:
        """The window part of the rows that are near the top."""
        owner = self.owner
        best = np.zeros(len(self.near))
        for number, (chosen, inner) in owner.rows.by_segment(self.near):
            segment = owner.index.segments[number]
            for reading in self.readings:
                terms = reading.terms.terms
                own = np.ones(len(inner), dtype=bool)
                if len(self.readings) > 1:
                    own = segment.rows_in(reading.language)[inner]
                if not own.any() or not terms:
                    continue
                best[chosen[own]] = window_scores(
                    segment.stream,
                    segment.stream_offsets,
                    inner[own],
                    vocabulary=len(segment.term.keys),
                    positions=np.array([term.positions[number] for term in terms], dtype=int),
                    weights=np.array(owner.scorer.weights(terms)),
                    width=owner.settings.window_tokens,
                    k1=WINDOW_K1,
                )
        return owner.settings.window_weight * best

    def best(self, k: int) -> Array:
        """Return the best ``k`` rows that share a term with the query, best first."""
        found = self._by_columns(max(k, self.window_depth))
        if not self.window_depth:  # then terms and pairs are all that there is
            return found[:k]
        if "near" not in self.__dict__:  # the first of these are the nearest: ask once for both
            self.near = np.sort(found[: self.window_depth])
        found = np.sort(found)
        self._known_parts = found, self.parts(found)
        scores = self._known_parts[1].sum(axis=1)
        if self.factors is not None:
            scores = scores * self.factors.of_rows(found)
        return self.owner.rows.best(found, scores, k)

    def parts(self, rows: Array) -> Array:
        """Return the parts of the scores of any rows, one column a part, before any factor."""
        known, its_parts = self._known_parts
        if len(known):  # who asks for the best asks for their parts next
            at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
            if (known[at] == rows).all():
                return np.asarray(its_parts[at])
        found = np.zeros((len(rows), len(self.part_names)))
        for number, (chosen, inner) in self.owner.rows.by_segment(rows):
            for name, values in self.columns[number].items():
                found[chosen, self.part_names.index(name)] = values[inner]
        if self.window_depth and len(self.near):
            at = np.searchsorted(self.near, rows)
            at[at == len(self.near)] = 0
            found[:, 2] = np.where(self.near[at] == rows, self.windows[at], 0.0)
        return found

    def identified(self) -> Array:
        """Return the rows that have an identifier of the query: few, or it identifies nothing."""
        found = []
        words = {
            word: term
            for reading in self.readings
            for word, term in zip(reading.terms.words, reading.terms.terms, strict=True)
            if 0 < term.df <= MAX_IDENTIFIED
            and (is_identifier(word) or (is_number(word) and len(reading.terms.words) <= LOOKED_UP))
        }
        asked = {word for reading in self.readings for word in reading.terms.words}
        is_timed = any(map(_YEAR.fullmatch, asked))  # "Q2 of 2024" is a time, "Q2" a part
        for word, term in words.items():
            if is_timed and _QUARTER.fullmatch(word):
                continue
            for number, (start, end) in enumerate(term.postings):
                inner = self.owner.index.segments[number].term.rows[start:end]
                inner = inner[self.totals[number][inner] > 0]  # neither dropped nor filtered
                found.append(inner + self.owner.rows.offsets[number])
        return np.unique(np.concatenate(found)) if found else NO_ROWS

    def _by_columns(self, k: int) -> Array:
        """Return the best ``k`` rows by terms and pairs, best first."""
        rows, scores = [NO_ROWS], [np.zeros(0)]
        for total, offset in zip(self.totals, self.owner.rows.offsets[:-1], strict=True):
            found = top_rows(total, k)
            rows.append(found + offset)
            scores.append(total[found])
        return self.owner.rows.best(np.concatenate(rows), np.concatenate(scores), k)

    def _columns(self, number: int, segment: SegmentFields) -> dict[str, Array]:
        """Return the parts of the score of every row of a segment, each by its own language."""
        owner, columns = self.owner, dict[str, Array]()
        weight = owner.settings.bigram_weight
        for reading in self.readings:
            rows = segment.rows_in(reading.language) if len(self.readings) > 1 else None
            if rows is not None and not rows.any():
                continue
            scored = {"terms": owner.scorer.scores(reading.terms.terms, number)}
            if reading.terms.pairs and segment.pair is not None:
                pairs = owner.scorer.scores(reading.terms.pairs, number, pairs=True)
                scored["pairs"] = weight * pairs
            for alias in reading.aliases:
                scores = owner.scorer.scores(alias.terms, number)
                if alias.pairs and segment.pair is not None:
                    pairs = owner.scorer.scores(alias.pairs, number, pairs=True)
                    scores = scores + weight * pairs
                scored["aliases"] = scored.get("aliases", 0.0) + owner.alias_weight * scores
            for name, values in scored.items():
                values = values if rows is None else np.where(rows, values, 0.0)
                columns[name] = columns[name] + values if name in columns else values
        return columns


# Times and forms of reports: "fy2024", "2024q2", "2q24", "10-k".
_OF_REPORTS = re.compile(
    r"fy'?(?:\d\d){1,2}(?:q[1-4])?|(?:\d\d){1,2}q[1-4]|(?:q[1-4]|[1-4]q)(?:\d\d){1,2}"
    r"|(?:10|20|40|8|6)-?[kqf](?:/a)?"
)
_QUARTER = re.compile(r"q[1-4]|[1-4]q")
_YEAR = re.compile(r"(?:fy)?(?:19|20)\d\d|fy\d\d")


def is_number(term: str) -> bool:
    """Return whether a term is a number of three digits at least, and no year.

    >>> [is_number(term) for term in ("14.313", "1,500", "902", "60", "2024", "rg-58", "wire")]
    [True, True, True, False, False, False, False]
    """
    is_long = sum(map(str.isdigit, term)) >= MIN_DIGITS
    return is_long and not any(map(str.isalpha, term)) and not _YEAR.fullmatch(term)


def is_identifier(term: str) -> bool:
    """Return whether a term names one thing: it has letters and digits, or numbers in parts.

    Times and forms of reports name documents, not places.

    >>> [is_identifier(term) for term in ("rg-58", "gc200", "314.23(f)", "2.5", "1984", "wire")]
    [True, True, True, False, False, False]
    >>> [is_identifier(term) for term in ("fy2024", "2q24", "2024q2", "10-k")]
    [False, False, False, False]
    """
    has_digit = any(map(str.isdigit, term))
    is_part = any(map(str.isalpha, term)) or sum(not c.isalnum() for c in term) > 1
    return has_digit and is_part and not _OF_REPORTS.fullmatch(term)


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
        """Return what other names and kinds add to each row, on the scale of the totals so far.

        None where nothing of the kind is asked for: then nothing is added, and nothing changes.
        """
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


# So many of the best by int8 are compared again in full precision. Fixed, so that top 10 is a
# prefix of top 100; int8 misses by about 0.002, far less than the first hundred are apart.
RESCORED = 400
# More than this are not chosen from the nearest lists: too few rows are looked at there.
MAX_RESCORED = 2000
REMEMBERED_QUESTIONS = 16


class Meaning:
    """Scores all chunks that have a vector."""

    name = "dense"

    def __init__(
        self,
        vectors: VectorIndex,
        encoder: Encoder,
        rows: Rows,
        adapter: QueryAdapter | None = None,
    ) -> None:
        self.vectors = vectors
        self.encoder = encoder
        self.rows = rows
        self.adapter = adapter
        # Several stages may ask for one question.
        self.encode: Callable[[str], Array] = lru_cache(REMEMBERED_QUESTIONS)(self._encode)
        # And answers compare the same sentences with one question after the other.
        self.texts = RememberedVectors(encoder)

    @property
    def key(self) -> str:
        """A name for all that its scores depend on."""
        return f"{self.name} {self.encoder.spec.id}{' adapted' if self.adapter else ''}"

    @cached_property
    def floor(self) -> float:
        """As far below what is unrelated as the same text is above it.

        Some encoders put all texts within a narrow cone: from -1, their cosines would hardly
        differ, and words would decide alone.
        """
        return 2 * unrelated_cosine(self.encoder) - 1

    def share(self, weight: float) -> float:
        """Return the share of meaning for vectors as they are, of what full ones would have."""
        spec = self.encoder.spec
        worth = spec.worth + self.vectors.stood_in * (STATIC.worth - spec.worth)
        return weight if worth == 1 else weight * worth / (weight * worth + 1 - weight)

    def _encode(self, text: str) -> Array:
        """Return the vector of a question, which is to be written as it was meant."""
        vector = self.encoder.encode_query(self.encoder.spec.query_prefix + text)
        self.vectors.check(len(vector))
        return vector.astype(np.float32) if self.adapter is None else self.adapter(vector)

    def cosines(self, text: str, rows: Array) -> Array:
        """Return how near rows are to a question."""
        run = MeaningScores(self.vectors, self.rows, self.encode(text), [])
        return np.asarray(run.parts(rows)[:, 0])

    def score(self, query: ParsedQuery, masks: list[Array | None]) -> MeaningScores:
        """Return the scores of one query; without words there is no meaning."""
        has_words = any(map(str.isalnum, query.corrected))
        vector = self.encode(query.corrected) if has_words else None
        return MeaningScores(self.vectors, self.rows, vector, masks, query.factors)


@dataclass
class MeaningScores:
    """One query's vector against all others."""

    vectors: VectorIndex
    rows: Rows
    vector: Array | None
    masks: list[Array | None]
    factors: DocumentFactors | None = None
    # Rows compared in full precision, in rising order, and what came out: asked for twice.
    compared: tuple[Array, Array] = (NO_ROWS, np.zeros(0))
    part_names = ("meaning",)

    def best(self, k: int, pool: int = RESCORED) -> Array:
        """Return the ``k`` rows that are nearest, nearest first."""
        if self.vector is None:
            return NO_ROWS
        pool = max(pool, 2 * k)
        rows, scores = self._near(self.vector, pool)
        candidates = np.sort(self.rows.best(rows, self._weighed(rows, scores), pool))
        exact = self._exact(candidates)
        self.compared = (candidates, exact)
        return self.rows.best(candidates, self._weighed(candidates, exact), k)

    def _near(self, vector: Array, pool: int) -> tuple[Array, Array]:
        """Return rows among which the nearest are, and about how near they are."""
        rows, scores = [NO_ROWS], [np.zeros(0, dtype=np.float32)]
        probed: list[dict[int, Pairs]] = []
        if pool <= MAX_RESCORED:  # who asks for thousands gets them from all rows
            probed.append(self.vectors.nearest(vector, self.masks, pool))
            if probed[0] and self.factors is not None:
                # Who is looked for among all would be lost among the many of other documents: the
                # documents that fit best are also looked at alone.
                probed.append(self.vectors.nearest(vector, self.factors.likely(self.masks), pool))
        for number, offset in enumerate(self.rows.offsets[:-1].tolist()):
            found = [each[number] for each in probed if number in each]
            if not found:  # all of its vectors are looked at
                every, mask = self.vectors.approximate(number, vector), self.masks[number]
                if mask is not None:
                    every[~mask] = NO_VECTOR
                weighed = every
                if self.factors is not None:
                    weighed = weigh(every, self.factors.of_segment(number), NO_VECTOR)
                top = top_rows(weighed, pool, above=NO_VECTOR)
                found = [(top, every[top])]
            rows += [inner + offset for inner, _ in found]
            scores += [near for _, near in found]
        if len(probed) < 2:
            return np.concatenate(rows), np.concatenate(scores)
        both, first = np.unique(np.concatenate(rows), return_index=True)
        return both, np.concatenate(scores)[first]

    def _weighed(self, rows: Array, scores: Array) -> Array:
        """Return scores with what the documents of rows are worth."""
        if self.factors is None:
            return scores
        return weigh(scores, self.factors.of_rows(rows), NO_VECTOR)

    def parts(self, rows: Array) -> Array:
        """Return the cosines of any rows, as one column, before any factor."""
        known, scores = self.compared
        found = np.full((len(rows), 1), NO_VECTOR)
        at = np.searchsorted(known, rows)
        at[at == len(known)] = 0
        is_known = known[at] == rows if len(known) else np.zeros(len(rows), dtype=bool)
        found[is_known, 0] = scores[at[is_known]]
        found[~is_known, 0] = self._exact(rows[~is_known])
        return found

    def _exact(self, rows: Array) -> Array:
        """Return the cosines of rows in full precision."""
        found = np.full(len(rows), NO_VECTOR)
        if self.vector is None:
            return found
        for number, (chosen, inner) in self.rows.by_segment(rows):
            found[chosen] = self.vectors.exact(number, inner, self.vector)
        return found

    def identified(self) -> Array:
        """Return no rows: a meaning is no identifier."""
        return NO_ROWS
