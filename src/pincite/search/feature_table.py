"""The table of features that a learned ranker reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from pincite.index.filters import SegmentPlaces
from pincite.index.lexical import Bm25, QueryTerms, Term, window_scores
from pincite.index.opened import OpenIndex, Rows
from pincite.index.postings import Array
from pincite.model.cached import cached_property
from pincite.model.types import Chunk, Query
from pincite.search.features import (
    NOWHERE,
    OF_POOL,
    OF_TEXT,
    OF_WORDS,
    PUBLISHED,
    FeaturePool,
    TermPlaces,
    Texts,
    bm25_rank,
    match_streams,
    rank_confidence_ratio,
    share,
)

# Saturation of a word's count inside a document: a page repeats what it is about.
INSIDE_K1 = 0.6


class DocumentScores:
    """BM25 with documents as units, from the postings of chunks."""

    def __init__(self, index: OpenIndex, documents: Array, offsets: Array) -> None:
        self.index = index
        self.documents = documents  # of each row
        self.offsets = offsets  # where the rows of each segment begin
        self.size = int(documents.max(initial=-1)) + 1
        self.bm25 = Bm25(k1=1.2, b=0.5)

    @cached_property
    def _norms(self) -> Array:
        lengths = np.concatenate(
            [np.zeros(0), *(part.lengths for part in self.index.lexical.segments)]
        )
        total = np.bincount(self.documents, lengths, minlength=self.size)
        return self.bm25.norms(total, float(total.mean()) if self.size else 0.0)

    def of(self, asked: QueryTerms, documents: Array) -> tuple[Array, Array, Array]:
        """Return BM25, its share of the best document's, and idf-weighted coverage."""
        scores, covered, total = np.zeros(self.size), np.zeros(self.size), 0.0
        for term in asked.terms:
            counts = np.zeros(self.size)
            for number, (start, end) in enumerate(term.postings):
                field = self.index.lexical.segments[number].term
                home = self.documents[field.rows[start:end] + self.offsets[number]]
                counts += np.bincount(home, field.counts[start:end], minlength=self.size)
            idf = self.bm25.idf(int(np.count_nonzero(counts)), self.size)
            scores += idf * self.bm25.saturated(counts, self._norms)
            covered += idf * (counts > 0)
            total += idf
        known = documents >= 0
        inner = np.where(known, documents, 0)
        picked = scores[inner] * known if self.size else np.zeros(len(documents))
        whole = covered[inner] * known if self.size else np.zeros(len(documents))
        return picked, share(picked, float(scores.max(initial=0.0))), share(whole, total)

    @cached_property
    def _chunks(self) -> Array:
        """How many chunks each document has."""
        return np.bincount(self.documents, minlength=self.size)

    def _rows_with(self, term: Term, documents: Array) -> tuple[Array, Array]:
        """Return the rows of some documents that have a term, and how often."""
        rows, counts = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for number, (start, end) in enumerate(term.postings):
            field = self.index.lexical.segments[number].term
            found = field.rows[start:end] + self.offsets[number]
            wanted = np.isin(self.documents[found], documents)
            rows.append(found[wanted])
            counts.append(field.counts[start:end][wanted])
        return np.concatenate(rows), np.concatenate(counts)

    def inside(self, asked: QueryTerms, rows: Array) -> tuple[Array, Array, Array]:
        """Return how a chunk answers among those of its own document.

        Words that stand all over a document (its title, its maker) tell documents apart, not
        places in one: here a word weighs what it tells inside the document. The score, its share
        of the document's best chunk, and the share of the question's weight that the chunk has.
        """
        known = rows >= 0
        home = np.where(known, self.documents[np.where(known, rows, 0)], -1)
        ours = np.unique(home[known])
        at, gained, weights = [rows[:0]], [np.zeros(0)], np.zeros(self.size)
        for term in asked.terms:
            found, counts = self._rows_with(term, ours)
            of_document = np.bincount(self.documents[found], minlength=self.size)
            odds = (self._chunks - of_document + 0.5) / (of_document + 0.5)
            weight = np.log1p(odds)
            weights[ours] += weight[ours] * (of_document[ours] > 0)
            at.append(found)
            gained.append(weight[self.documents[found]] * counts / (counts + INSIDE_K1))
        chunk, number = np.unique(np.concatenate(at), return_inverse=True)
        scores = np.bincount(number, np.concatenate(gained), minlength=len(chunk))
        best = np.zeros(self.size)
        np.maximum.at(best, self.documents[chunk], scores)
        place = np.minimum(np.searchsorted(chunk, rows), max(0, len(chunk) - 1))
        is_there = known & (chunk[place] == rows) if len(chunk) else np.zeros(len(rows), dtype=bool)
        own = np.where(is_there, scores[place], 0.0) if len(chunk) else np.zeros(len(rows))
        inner = np.where(known, home, 0)
        return own, share(own, best[inner]), share(own, weights[inner])


# Best windows of so many words, beside the one that the first stage looks at.
WINDOWS = {"window_25": 25, "window_50": 50, "window_200": 200}
WINDOW_K1 = 0.2
# What stages before have written on a hit, each on its own scale; 0 where one did not run.
PARTS = {"bm25_terms": "terms", "bm25_pairs": "pairs", "bm25_window": "window"}
SCORES = {"late_score": "late", "cross_score": "rerank", "document_fit": "document"}
# Whether the query names it, and its score before this stage / the best one.
NAMED = ("named_place", "named_entity")
OF_DOCUMENT = ("document_bm25", "document_bm25_share", "document_coverage")
INSIDE = ("inside_bm25", "inside_share", "inside_coverage")
OF_WHOLE = (*OF_DOCUMENT, *INSIDE)
OURS = ("bm25", *PARTS, "stage_share", *NAMED, *WINDOWS, *OF_WHOLE, *OF_POOL, *OF_TEXT, *SCORES)
NAMES = (*PUBLISHED, *OURS)
# How well each of some chunks matches a question word by word; NaN where it is not known.
WordMatches = Callable[[str, Sequence[str]], Array]
# The cosines of a question with rows.
Cosines = Callable[[str, Array], Array]
# Of a page pasted as a query, the beginning says enough.
MAX_TERMS = 1000
_SPLIT_NAME = re.compile(r"[\W_]+|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


@dataclass(frozen=True)
class Columns:
    """What stages know of the candidates of a question, best first; NaN where they know nothing."""

    ids: Sequence[str]
    rows: Array  # of the index; NOWHERE for a place that is not searched itself
    words: Array  # scores by words, on their own scale
    stage: Array  # the score before this stage / the best one
    is_place: Array  # the query names it
    is_entity: Array
    measured: Mapping[str, Array] = field(default_factory=dict)  # by the names that stages gave


class Features:
    """Works out the features of candidates in one index.

    Args:
        meaning: says how near rows are in meaning, where no stage before has.
        late: says how well chunks match a question word by word (MaxSim), in the same way.
    """

    names = NAMES

    def __init__(
        self,
        index: OpenIndex,
        rows: Rows | None = None,
        meaning: Cosines | None = None,
        late: WordMatches | None = None,
    ) -> None:
        self.index = index
        self.rows = rows or Rows(index)
        self.meaning = meaning
        self.late = late
        self.bm25 = Bm25()
        self._words_of = lru_cache(maxsize=20_000)(self._look_up_words)

    def of(self, query: Query, columns: Columns, k: int) -> Array:
        """Return a line of features for each of the first ``k``; all candidates are the pool."""
        ids, rows = columns.ids[:k], columns.rows[:k]
        if not ids:
            return np.zeros((0, len(NAMES)))
        count = len(ids)
        table = dict.fromkeys(NAMES, np.zeros(count))
        rank = np.arange(count)
        table["bm25_rank"], table["rank_confidence_ratio"] = (
            bm25_rank(rank),
            rank_confidence_ratio(rank),
        )
        table |= _of_stages(columns, count)
        table["semantic_similarity"] = self._similarity(query, columns, count)
        if self.late is not None and "late" not in columns.measured:
            table["late_score"] = np.nan_to_num(self.late(query.text, ids))
        pool = self._pool(columns, count)
        table |= {name: feature(pool) for name, feature in OF_POOL.items()}
        chunks = self.index.snapshot.get(ids)
        for name, values in self._of_words(query, chunks, rows).items():
            table[name] = values
        return np.stack([table[name] for name in NAMES], axis=1)

    def _similarity(self, query: Query, columns: Columns, count: int) -> Array:
        """Return the cosine of each candidate's best window; 0 without vectors."""
        known = columns.measured.get("dense", np.full(count, np.nan))[:count].copy()
        if self.meaning is not None and np.isnan(known).any():
            at = np.flatnonzero(columns.rows[:count] != NOWHERE)
            known[at] = self.meaning(query.text, columns.rows[at])
        return np.asarray(np.nan_to_num(known))

    def _pool(self, columns: Columns, k: int) -> FeaturePool:
        rows = columns.rows
        home = np.where(rows == NOWHERE, NOWHERE, self._documents[rows])
        edge = np.append(self._documents, [NOWHERE, NOWHERE])  # at -1 and behind the last
        return FeaturePool(
            k=k,
            scores=np.nan_to_num(columns.words),
            rows=rows,
            documents=home,
            pages=np.where(rows == NOWHERE, NOWHERE, self._pages[rows]),
            before=np.where((home != NOWHERE) & (edge[rows - 1] == home), rows - 1, NOWHERE),
            after=np.where((home != NOWHERE) & (edge[rows + 1] == home), rows + 1, NOWHERE),
        )

    @cached_property
    def _places(self) -> list[SegmentPlaces]:
        return [SegmentPlaces(segment) for segment in self.index.snapshot.segments]

    @cached_property
    def _documents(self) -> Array:
        """The number of each row's document; those of two segments differ."""
        found, offset = [np.zeros(0, dtype=np.int64)], 0
        for part in self._places:
            codes = part.column("document")[part.searched].astype(np.int64)
            found.append(codes + offset)
            offset += len(part.values("document"))
        return np.concatenate(found)

    @cached_property
    def _pages(self) -> Array:
        pages = [part.column("page")[part.searched].astype(np.int64) for part in self._places]
        return np.concatenate([np.zeros(0, dtype=np.int64), *pages])

    @cached_property
    def _document_scores(self) -> DocumentScores:
        return DocumentScores(self.index, self._documents, self.rows.offsets)

    def _of_words(self, query: Query, chunks: Sequence[Chunk], rows: Array) -> dict[str, Array]:
        """Return the features that compare words, each text's by a reading in its language."""
        table: dict[str, Array] = {}
        readings = self.index.analyzer.readings(query.text, content=True)
        for language, words in readings.items():
            chosen = np.flatnonzero(self._in_language(rows, language, alone=len(readings) == 1))
            if not len(chosen):
                continue
            asked = self.index.lexical.resolve(words[:MAX_TERMS])
            some = [chunks[i] for i in chosen.tolist()]
            for name, values in self._of_reading(words[:MAX_TERMS], asked, some, rows[chosen]):
                table.setdefault(name, np.zeros(len(rows)))[chosen] = values
        return table

    def _in_language(self, rows: Array, language: str, *, alone: bool) -> Array:
        if alone:
            return np.ones(len(rows), dtype=bool)
        found = np.zeros(len(rows), dtype=bool)
        known = np.flatnonzero(rows != NOWHERE)
        for number, (chosen, inner) in self.rows.by_segment(rows[known]):
            found[known[chosen]] = self.rows.segments[number].rows_in(language)[inner]
        return found

    def _of_reading(
        self, words: Sequence[str], asked: QueryTerms, chunks: Sequence[Chunk], rows: Array
    ) -> list[tuple[str, Array]]:
        matches = self._matches(words, asked, rows)
        heading, document = self._headings(asked, chunks)
        is_number = np.array([any(map(str.isdigit, word)) for word in asked.words], dtype=float)
        texts = Texts(chunks, matches, is_number, heading, document)
        found = [(name, feature(matches)) for name, feature in OF_WORDS.items()]
        found += [(name, feature(texts)) for name, feature in OF_TEXT.items()]
        found += [(name, self._window(asked, matches, rows, w)) for name, w in WINDOWS.items()]
        home = np.where(rows == NOWHERE, NOWHERE, self._documents[rows])
        of_document = self._document_scores.of(asked, home)
        inside = self._document_scores.inside(asked, rows)
        return [*found, *zip(OF_WHOLE, (*of_document, *inside), strict=True)]

    def _matches(self, words: Sequence[str], asked: QueryTerms, rows: Array) -> TermPlaces:
        """Return where a question's words stand in rows, from the terms that the index keeps."""
        numbers = {word: number for number, word in enumerate(asked.words)}
        weights = [self.bm25.idf(term.df, self.index.lexical.size) for term in asked.terms]
        streams: list[Array] = [np.zeros(0, dtype=np.int64)] * len(rows)
        distinct = [0] * len(rows)
        known = np.flatnonzero(rows != NOWHERE)
        for number, (chosen, inner) in self.rows.by_segment(rows[known]):
            part = self.rows.segments[number]
            of_term = np.full(len(part.term.keys), -1, dtype=np.int64)
            for word, term in enumerate(asked.terms):
                if term.positions[number] >= 0:
                    of_term[term.positions[number]] = word
            for at, row in zip(known[chosen].tolist(), inner.tolist(), strict=True):
                terms = part.stream[part.stream_offsets[row] : part.stream_offsets[row + 1]]
                streams[at] = of_term[terms]
                distinct[at] = len(np.unique(terms))
        question = np.array([numbers[word] for word in words], dtype=np.int64)
        return match_streams(question, np.array(weights), streams, distinct)

    def _window(self, asked: QueryTerms, matches: TermPlaces, rows: Array, width: int) -> Array:
        """Best sum of idf x tf / (tf + 0.2) over windows of so many words. 0 and up; 0."""
        found = np.zeros(len(rows))
        known = np.flatnonzero(rows != NOWHERE)
        if not asked.terms:
            return found
        for number, (chosen, inner) in self.rows.by_segment(rows[known]):
            part = self.rows.segments[number]
            found[known[chosen]] = window_scores(
                part.stream,
                part.stream_offsets,
                inner,
                vocabulary=len(part.term.keys),
                positions=np.array([term.positions[number] for term in asked.terms], dtype=int),
                weights=matches.weights,
                width=width,
                k1=WINDOW_K1,
            )
        return found

    def _headings(self, asked: QueryTerms, chunks: Sequence[Chunk]) -> tuple[Array, Array]:
        """Return which words of the question the headings and the documents' names have."""
        heading = np.zeros((len(chunks), len(asked.words)))
        document = np.zeros_like(heading)
        for line, chunk in enumerate(chunks):
            doc_id = chunk.span.doc_id
            above = self._words_of(doc_id, " ".join((chunk.locator, chunk.title, *chunk.path)))
            name = self._words_of(doc_id, _SPLIT_NAME.sub(" ", doc_id))
            heading[line] = [word in above for word in asked.words]
            document[line] = [word in name for word in asked.words]
        return heading, document

    def _look_up_words(self, doc_id: str, text: str) -> frozenset[str]:
        return frozenset(self.index.analyzer_of(doc_id).terms(text))


def _of_stages(columns: Columns, count: int) -> dict[str, Array]:
    """Return what stages wrote on the first candidates; 0 where one did not run."""
    zeros = np.zeros(count)
    table = {
        name: np.nan_to_num(columns.measured.get(own, zeros)[:count])
        for name, own in (PARTS | SCORES).items()
    }
    return table | {
        "bm25": np.nan_to_num(columns.words[:count]),
        "stage_share": columns.stage[:count],
        "named_place": columns.is_place[:count].astype(float),
        "named_entity": columns.is_entity[:count].astype(float),
    }
