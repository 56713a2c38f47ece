"""How well whole documents answer: the words that a candidate lacks may stand on another page."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pincite.index.bm25 import Bm25
from pincite.index.lexical import QueryTerms, Term
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.learn.matches import share

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
