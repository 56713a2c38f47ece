"""The common currency of scorers: rows of the whole index, numbered through.

A row is a searched chunk. Working on numbers and turning only the winners into hits keeps a query
fast, and lets a scorer say what it thinks of a row that another one found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from pincite.index.opened import OpenIndex
from pincite.model.types import Filters
from pincite.store.files import Array

BLOCK_ROWS = 16


class Rows:
    """The rows of an open index, and which of them may be found."""

    def __init__(self, index: OpenIndex) -> None:
        self.index = index
        self.segments = index.lexical.segments
        sizes = [len(segment.ids) for segment in self.segments]
        self.offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    def ids(self, rows: Array) -> Array:
        """Return the chunk ids of rows, as bytes."""
        return self._ids[rows]

    @cached_property
    def _ids(self) -> Array:
        """The chunk ids of all rows in one array: every stage asks for some, again and again."""
        if len(self.segments) == 1:
            return self.segments[0].ids
        parts = [np.asarray(segment.ids, dtype="S16") for segment in self.segments]
        return np.concatenate([np.zeros(0, dtype="S16"), *parts])

    def find(self, ids: Sequence[str]) -> Array:
        """Return the rows of chunks; those that are not searched have none."""
        wanted = np.array([chunk_id.encode() for chunk_id in ids], dtype="S16")
        found = []
        for offset, (order, ordered) in zip(self.offsets[:-1], self._by_id, strict=True):
            at = np.searchsorted(ordered, wanted)
            at[at == len(ordered)] = 0
            inner = order[at[ordered[at] == wanted]] if len(ordered) else order[:0]
            found.append(inner + offset)
        return np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def numbers(self, ids: Sequence[str]) -> Array:
        """Return the row of each chunk; -1 for one that is not searched."""
        found = self.find(ids)
        row_of = dict(zip(self.ids(found).tolist(), found.tolist(), strict=True))
        return np.array([row_of.get(chunk_id.encode(), -1) for chunk_id in ids], dtype=np.int64)

    @cached_property
    def _by_id(self) -> list[tuple[Array, Array]]:
        orders = [np.argsort(part.ids, kind="stable") for part in self.segments]
        return [(o, part.ids[o]) for o, part in zip(orders, self.segments, strict=True)]

    def allowed(self, rows: Array, filters: Filters) -> Array:
        """Return those of the rows that may be found."""
        kept = np.ones(len(rows), dtype=bool)
        masks = self.masks(filters)
        for number, (chosen, inner) in self.by_segment(rows):
            mask = masks[number]
            if mask is not None:
                kept[chosen] = mask[inner]
        return rows[kept]

    def by_segment(self, rows: Array) -> list[tuple[int, tuple[Array, Array]]]:
        """Return for each segment which of the rows are in it, and their numbers there."""
        if len(self.segments) == 1:
            return [(0, (np.arange(len(rows)), rows))]
        home = np.searchsorted(self.offsets, rows, side="right") - 1
        found = []
        for number in np.flatnonzero(np.bincount(home, minlength=1)).tolist():
            chosen = np.flatnonzero(home == number)
            found.append((number, (chosen, rows[chosen] - self.offsets[number])))
        return found

    def masks(self, filters: Filters) -> list[Array | None]:
        """Return which rows of each segment may be found; None where all may.

        A filter takes rows out, it does not change what a word is worth: idf and lengths stay those
        of the whole index, so a chunk has the same score with and without filters.
        """
        allowed = self.index.filters.rows(filters)
        if allowed is not None:
            return list(allowed)
        return [None if part.all_live else part.live for part in self.segments]

    def best(self, rows: Array, scores: Array, k: int, names: Array | None = None) -> Array:
        """Return the best ``k`` of rows by (score, chunk id), best first.

        ``names`` are the rows of the index that ``rows`` are numbers into.
        """
        if 0 < k < len(rows):
            bound = np.partition(scores, len(scores) - k)[len(scores) - k]
            kept = scores >= bound
            rows, scores = rows[kept], scores[kept]
        ids = self.ids(rows if names is None else names[rows])
        return rows[np.lexsort((ids, -scores))[:k]]


def top_rows(scores: Array, k: int, *, above: float = 0.0) -> Array:
    """Return rows with scores above a bound, among them the best ``k`` with all ties.

    The k-th best of block maxima is a lower bound of the k-th best score, and much cheaper where
    there are many rows for each that is wanted.
    """
    blocks = len(scores) // BLOCK_ROWS
    if not 0 < 4 * k < blocks:
        return np.flatnonzero(scores > above)
    # A block's rows stand far apart: the maximum over the first axis is the fast one.
    maxima = scores[: blocks * BLOCK_ROWS].reshape(BLOCK_ROWS, blocks).max(axis=0)
    bound = np.partition(maxima, blocks - k)[blocks - k]
    return np.flatnonzero(scores >= bound if bound > above else scores > above)
