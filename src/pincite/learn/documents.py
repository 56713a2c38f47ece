"""How well whole documents answer: the words that a candidate lacks may stand on another page."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from pincite.index.bm25 import Bm25
from pincite.index.lexical import QueryTerms
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.learn.matches import share


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
