"""Which documents a question is about, as a factor of every score of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pincite.model.types import Filters
from pincite.store.files import Array

DOCUMENT = "document"  # the column with the factors
LIKELY = 0.5  # documents with such a factor may be meant


def weigh(scores: Array, factors: Array, floor: float | Array) -> Array:
    """Return scores with their part above the floor multiplied.

    >>> weigh(np.array([4.0, 1.0]), np.array([0.5, 1.0]), 0.0).tolist()
    [2.0, 1.0]
    """
    return np.asarray(floor + (scores - floor) * factors)


@dataclass(frozen=True, slots=True)
class DocumentFactors:
    """What the scores of rows are multiplied by for their documents: 1 for those that fit best."""

    values: Array  # of each document
    documents: Array  # the number of each row's document, over all segments
    offsets: Sequence[int]  # where each segment's rows begin

    def of_rows(self, rows: Array | slice) -> Array:
        """Return the factors of some rows of the index."""
        return np.asarray(self.values[self.documents[rows]])

    def of_segment(self, number: int) -> Array:
        """Return the factors of all rows of a segment."""
        return self.of_rows(slice(self.offsets[number], self.offsets[number + 1]))

    def likely(self, masks: Sequence[Array | None]) -> list[Array | None]:
        """Return masks of rows with those alone whose documents may be meant."""
        found: list[Array | None] = []
        for number, mask in enumerate(masks):
            own = self.of_segment(number) >= LIKELY
            found.append(own if mask is None else own & mask)
        return found


class DocumentEvidence(Protocol):
    """Tells which documents of an index a question is about."""

    def factors(self, text: str, filters: Filters) -> DocumentFactors | None:
        """Return what each document is worth for a question; None if it names none of them."""
        ...
