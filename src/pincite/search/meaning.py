"""Rows scored by meaning: the cosine of their vectors and the question's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache

import numpy as np

from pincite.encode.cache import RememberedVectors
from pincite.encode.encoders import unrelated_cosine
from pincite.encode.models import STATIC, Encoder
from pincite.index.opened import Rows, top_rows
from pincite.index.vectors import NO_VECTOR, Pairs, VectorIndex
from pincite.search.adapter import QueryAdapter
from pincite.search.documents import DocumentFactors, weigh
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

NO_ROWS = np.zeros(0, dtype=np.int64)
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


class MeaningScores:
    """One query's vector against all others."""

    part_names = ("meaning",)

    def __init__(
        self,
        vectors: VectorIndex,
        rows: Rows,
        vector: Array | None,
        masks: list[Array | None],
        factors: DocumentFactors | None = None,
    ) -> None:
        self.vectors = vectors
        self.rows = rows
        self.vector = vector
        self.masks = masks
        self.factors = factors
        # Rows compared in full precision, in rising order, and what came out: asked for twice.
        self._compared = (NO_ROWS, np.zeros(0))

    def best(self, k: int, pool: int = RESCORED) -> Array:
        """Return the ``k`` rows that are nearest, nearest first."""
        if self.vector is None:
            return NO_ROWS
        pool = max(pool, 2 * k)
        rows, scores = self._near(self.vector, pool)
        candidates = np.sort(self.rows.best(rows, self._weighed(rows, scores), pool))
        exact = self._exact(candidates)
        self._compared = (candidates, exact)
        return self.rows.best(candidates, self._weighed(candidates, exact), k)

    def _near(self, vector: Array, pool: int) -> tuple[Array, Array]:
        """Return rows among which the nearest are, and about how near they are."""
        rows, scores = [NO_ROWS], [np.zeros(0, dtype=np.float32)]
        # Who asks for thousands gets them from all rows.
        probed = self._probed(vector, pool) if pool <= MAX_RESCORED else []
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

    def _probed(self, vector: Array, pool: int) -> list[dict[int, Pairs]]:
        """Return the nearest rows of those segments that have lists to find them by.

        Who is looked for among all would be lost among the many of other documents: the documents
        that fit best are also looked at alone.
        """
        found = [self.vectors.nearest(vector, self.masks, pool)]
        if found[0] and self.factors is not None:
            found.append(self.vectors.nearest(vector, self.factors.likely(self.masks), pool))
        return found

    def _weighed(self, rows: Array, scores: Array) -> Array:
        """Return scores with what the documents of rows are worth."""
        if self.factors is None:
            return scores
        return weigh(scores, self.factors.of_rows(rows), NO_VECTOR)

    def parts(self, rows: Array) -> Array:
        """Return the cosines of any rows, as one column, before any factor."""
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
        return NO_ROWS
