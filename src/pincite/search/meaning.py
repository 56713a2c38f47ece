"""Scores by meaning: the cosine between the question's vector and a chunk's best window."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pincite.encode.cache import RememberedVectors
from pincite.encode.models import Encoder
from pincite.index.rows import Rows, top_rows
from pincite.index.vectors import NO_VECTOR, VectorIndex
from pincite.store.files import Array

if TYPE_CHECKING:
    from pincite.search.query import ParsedQuery

# So many of the best by int8 are compared again in full precision. Fixed, so that top 10 is a
# prefix of top 100; int8 misses by about 0.002, far less than the first hundred are apart.
RESCORED = 400
# More than this are not chosen from the nearest lists: too few rows are looked at there.
MAX_RESCORED = 2000
REMEMBERED_QUESTIONS = 16


class Meaning:
    """Scores all chunks that have a vector."""

    name = "dense"
    part_names = ("meaning",)
    # The smallest score there is: cosines end at -1.
    floor = NO_VECTOR

    def __init__(self, vectors: VectorIndex, encoder: Encoder, rows: Rows) -> None:
        self.vectors = vectors
        self.encoder = encoder
        self.rows = rows
        # Several stages may ask for one question.
        self.encode: Callable[[str], Array] = lru_cache(REMEMBERED_QUESTIONS)(self._encode)
        # And answers compare the same sentences with one question after the other.
        self.texts = RememberedVectors(encoder)

    @property
    def key(self) -> str:
        """A name for all that its scores depend on."""
        return f"{self.name} {self.encoder.spec.id}"

    def _encode(self, text: str) -> Array:
        """Return the vector of a question, which is to be written as it was meant."""
        vector = self.encoder.encode_query(self.encoder.spec.query_prefix + text)
        self.vectors.check(len(vector))
        return vector.astype(np.float32)

    def cosines(self, text: str, rows: Array) -> Array:
        """Return how near rows are to a question."""
        run = MeaningScores(self.vectors, self.rows, self.encode(text), [])
        return np.asarray(run.parts(rows)[:, 0])

    def score(self, query: ParsedQuery, masks: list[Array | None]) -> MeaningScores:
        """Return the scores of one query; without words there is no meaning."""
        has_words = any(map(str.isalnum, query.corrected))
        vector = self.encode(query.corrected) if has_words else None
        return MeaningScores(self.vectors, self.rows, vector, masks)


class MeaningScores:
    """One query's vector against all others."""

    def __init__(
        self, vectors: VectorIndex, rows: Rows, vector: Array | None, masks: list[Array | None]
    ) -> None:
        self.vectors = vectors
        self.rows = rows
        self.vector = vector
        self.masks = masks
        # Rows compared in full precision, in rising order, and what came out: asked for twice.
        self._compared = (np.zeros(0, dtype=np.int64), np.zeros(0))

    def best(self, k: int, pool: int = RESCORED) -> Array:
        """Return the ``k`` rows that are nearest, nearest first."""
        rows, scores = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.float32)]
        if self.vector is None:
            return rows[0]
        pool = max(pool, 2 * k)
        # Who asks for thousands gets them from all rows.
        probed = {}
        if pool <= MAX_RESCORED:
            probed = self.vectors.nearest(self.vector, self.masks, pool)
        for number, offset in enumerate(self.rows.offsets[:-1].tolist()):
            if number in probed:
                found, near = probed[number]
            else:  # all of its vectors are looked at
                every, mask = self.vectors.approximate(number, self.vector), self.masks[number]
                if mask is not None:
                    every[~mask] = NO_VECTOR
                found = top_rows(every, pool, above=NO_VECTOR)
                near = every[found]
            rows.append(found + offset)
            scores.append(near)
        found = self.rows.best(np.concatenate(rows), np.concatenate(scores), pool)
        candidates = np.sort(found)
        exact = self._exact(candidates)
        self._compared = (candidates, exact)
        return self.rows.best(candidates, exact, k)

    def parts(self, rows: Array) -> Array:
        """Return the cosines of any rows, as one column."""
        known, scores = self._compared
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
        return np.zeros(0, dtype=np.int64)
