"""The features of a ranking: the same code for training and for search.

Words come from the index as it was written: a candidate's text is not analysed again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np

from pincite.core.types import Chunk, Hit, Query, Ranking
from pincite.index.bm25 import Bm25
from pincite.index.lexical import QueryTerms
from pincite.index.opened import OpenIndex
from pincite.index.places import Places
from pincite.index.postings import Array
from pincite.index.windows import window_scores
from pincite.learn.documents import DocumentScores
from pincite.learn.matches import Matches, match_streams
from pincite.learn.pool_features import NOWHERE, OF_POOL, Pool
from pincite.learn.text_features import OF_TEXT, Texts
from pincite.learn.word_features import OF_WORDS, PUBLISHED, bm25_rank, rank_confidence_ratio
from pincite.retrieve.dense import Dense
from pincite.retrieve.lexical import MAX_TERMS, Lexical
from pincite.retrieve.rows import Rows

# Best windows of so many words, beside the one that the first stage looks at.
WINDOWS = {"window_25": 25, "window_50": 50, "window_200": 200}
WINDOW_K1 = 0.2
# What stages before have written on a hit, each on its own scale; 0 where one did not run.
PARTS = {"bm25_terms": "terms", "bm25_pairs": "pairs", "bm25_window": "window"}
SCORES = {"late_score": "late", "cross_score": "rerank"}
# Whether the query names it, and its score before this stage / the best one.
NAMED = {"named_place": "place", "named_entity": "entities"}
OF_DOCUMENT = ("document_bm25", "document_bm25_share", "document_coverage")
INSIDE = ("inside_bm25", "inside_share", "inside_coverage")
OF_WHOLE = (*OF_DOCUMENT, *INSIDE)
OURS = ("bm25", *PARTS, "stage_share", *NAMED, *WINDOWS, *OF_WHOLE, *OF_POOL, *OF_TEXT, *SCORES)
NAMES = (*PUBLISHED, *OURS)
# How well each of some chunks matches a question word by word; NaN where it is not known.
WordMatches = Callable[[str, Sequence[str]], Array]
_SPLIT_NAME = re.compile(r"[\W_]+|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


class Features:
    """Works out the features of candidates in one index.

    Args:
        dense: says how near candidates are in meaning, where no stage before has.
        late: says how well chunks match a question word by word (MaxSim), in the same way.
    """

    names = NAMES

    def __init__(
        self,
        index: OpenIndex,
        rows: Rows | None = None,
        dense: Dense | None = None,
        late: WordMatches | None = None,
    ) -> None:
        self.index = index
        self.rows = rows or Rows(index)
        self.dense = dense
        self.late = late
        self.bm25 = Bm25()
        self._words_of = lru_cache(maxsize=20_000)(self._look_up_words)

    def of(self, ranking: Ranking, k: int) -> Array:
        """Return a line of features for each of the first ``k`` hits; all hits are the pool."""
        hits = ranking.hits[:k]
        table = dict.fromkeys(NAMES, np.zeros(len(hits)))
        if not hits:
            return np.zeros((0, len(NAMES)))
        rows = self._rows_of(ranking.ids)
        rank = np.arange(len(hits))
        table["bm25_rank"], table["rank_confidence_ratio"] = (
            bm25_rank(rank),
            rank_confidence_ratio(rank),
        )
        table |= _stage_scores(hits)
        table["semantic_similarity"] = self._similarity(ranking.query, hits, rows[:k])
        if self.late is not None and not any("late" in hit.raw for hit in hits):
            matches = self.late(ranking.query.text, [hit.chunk_id for hit in hits])
            table["late_score"] = np.nan_to_num(matches)
        pool = self._pool(ranking, rows, len(hits))
        table |= {name: feature(pool) for name, feature in OF_POOL.items()}
        chunks = self.index.snapshot.get([hit.chunk_id for hit in hits])
        for name, values in self._of_words(ranking.query, chunks, rows[:k]).items():
            table[name] = values
        return np.stack([table[name] for name in NAMES], axis=1)

    def _rows_of(self, ids: Sequence[str]) -> Array:
        found = self.rows.find(ids)
        names = [name.decode() for name in self.rows.ids(found).tolist()]
        row_of = dict(zip(names, found.tolist(), strict=True))
        return np.array([row_of.get(chunk_id, NOWHERE) for chunk_id in ids], dtype=np.int64)

    def _similarity(self, query: Query, hits: Sequence[Hit], rows: Array) -> Array:
        """Return the cosine of each hit's best window with the question; 0 without vectors."""
        known = np.array([hit.raw.get("dense", np.nan) for hit in hits])
        if self.dense is not None and np.isnan(known).any():
            at = np.flatnonzero(rows != NOWHERE)
            known[at] = self.dense.begin(query).parts(rows[at])[:, 0]
        return np.asarray(np.nan_to_num(known))

    def _pool(self, ranking: Ranking, rows: Array, k: int) -> Pool:
        home = np.where(rows == NOWHERE, NOWHERE, self._documents[rows])
        edge = np.append(self._documents, [NOWHERE, NOWHERE])  # at -1 and behind the last
        return Pool(
            k=k,
            scores=np.array([words_score(hit) for hit in ranking.hits]),
            rows=rows,
            documents=home,
            pages=np.where(rows == NOWHERE, NOWHERE, self._pages[rows]),
            before=np.where((home != NOWHERE) & (edge[rows - 1] == home), rows - 1, NOWHERE),
            after=np.where((home != NOWHERE) & (edge[rows + 1] == home), rows + 1, NOWHERE),
        )

    @cached_property
    def _places(self) -> list[Places]:
        return [Places(segment) for segment in self.index.snapshot.segments]

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

    def _matches(self, words: Sequence[str], asked: QueryTerms, rows: Array) -> Matches:
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

    def _window(self, asked: QueryTerms, matches: Matches, rows: Array, width: int) -> Array:
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


def words_score(hit: Hit) -> float:
    """Return what the first stage gave for words alone, on its own scale.

    >>> words_score(Hit("a", 3.0, {"terms": 1.5, "pairs": 0.5, "place": 1.0}))
    2.0
    """
    parts = (hit.features.get(name, 0.0) for name in Lexical.part_names)
    return hit.raw.get(Lexical.name, sum(parts))


def _stage_scores(hits: Sequence[Hit]) -> Mapping[str, Array]:
    """Return what stages wrote on the hits; a hybrid's shares are turned back into scores."""
    totals = np.array([words_score(hit) for hit in hits])
    shares = np.array(
        [sum(hit.features.get(name, 0.0) for name in Lexical.part_names) for hit in hits]
    )
    scale = np.divide(totals, shares, out=np.zeros(len(hits)), where=shares != 0)
    table = {"bm25": totals}
    for name, part in PARTS.items():
        table[name] = scale * np.array([hit.features.get(part, 0.0) for hit in hits])
    best = hits[0].score
    table["stage_share"] = np.array([hit.score / best if best > 0 else 0.0 for hit in hits])
    for name, stage in NAMED.items():
        table[name] = np.array([float(hit.features.get(stage, 0.0) > 0) for hit in hits])
    for name, stage in SCORES.items():
        table[name] = np.array([hit.raw.get(stage, 0.0) for hit in hits])
    return table
