"""Vectors of a segment's rows: how they are packed, merged and compared with a question's.

A chunk has a vector for each of its windows and counts with the best of them. All rows are looked
at in int8, which is fast and nearly right; the best of them are then compared in full precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pincite.store.array_files import Array
from pincite.store.snapshot import Snapshot
from pincite.store.vectors import Vectors

# Rows turned into floats at a time: as many as stay in the processor's cache.
BLOCK = 2048
# Below this a cosine means nothing: rows without a vector get it.
NO_VECTOR = -1.0


def packed(rows: Array, exact: Array) -> dict[str, Array]:
    """Return the arrays of a vector folder; rows without a vector are left out."""
    has_vector = exact.any(axis=1)
    rows, exact = rows[has_vector], exact[has_vector].astype(np.float16)
    order = np.argsort(rows, kind="stable")
    rows, exact = rows[order].astype(np.uint32), exact[order]
    largest = np.abs(exact).max(axis=1, initial=0).astype(np.float32)
    scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    codes = np.rint(exact / scales[:, None]).astype(np.int8)
    return {"rows": rows, "exact": exact, "codes": codes, "scales": scales}


def merged(parts: Sequence[tuple[Vectors | None, Array]]) -> dict[str, Array]:
    """Return the arrays for segments that become one: each with which of its rows live on."""
    rows, exact, offset = [], [], 0
    for vectors, live in parts:
        if vectors is not None:
            kept = live[vectors.rows]
            new_row = np.cumsum(live) - 1 + offset
            rows.append(new_row[vectors.rows[kept]])
            exact.append(vectors.exact[kept])
        offset += int(live.sum())
    return packed(np.concatenate(rows), np.concatenate(exact))


class VectorIndex:
    """One model's vectors of a whole snapshot."""

    def __init__(self, snapshot: Snapshot, model: str) -> None:
        of_segment: Mapping[str, Vectors] = {
            each.entry.segment: each for each in snapshot.vectors if each.entry.model == model
        }
        self.segments = [of_segment.get(segment.entry.name) for segment in snapshot.segments]
        self.sizes = [segment.entry.chunks for segment in snapshot.segments]

    @property
    def windows(self) -> int:
        """How many vectors there are."""
        return sum(part.entry.windows for part in self.segments if part is not None)

    def approximate(self, number: int, query: Array) -> Array:
        """Return every row's best cosine in a segment, from the int8 codes."""
        best = np.full(self.sizes[number], NO_VECTOR, dtype=np.float32)
        part = self.segments[number]
        if part is None:
            return best
        scores = np.empty(len(part.rows), dtype=np.float32)
        for at in range(0, len(scores), BLOCK):
            block = part.codes[at : at + BLOCK].astype(np.float32)
            np.dot(block, query, out=scores[at : at + BLOCK])
        scores *= part.scales
        starts = _starts(part.rows)
        best[part.rows[starts]] = np.maximum.reduceat(scores, starts) if len(starts) else 0
        return best

    def exact(self, number: int, rows: Array, query: Array) -> Array:
        """Return the best cosine of each of these rows of a segment, in full precision."""
        found = np.full(len(rows), NO_VECTOR, dtype=np.float64)
        part = self.segments[number]
        if part is None or not len(rows):
            return found
        first = np.searchsorted(part.rows, rows)
        last = np.searchsorted(part.rows, rows, side="right")
        counts = last - first
        known = np.flatnonzero(counts)
        if not len(known):
            return found
        starts = np.cumsum(counts[known]) - counts[known]
        windows = np.repeat(first[known] - starts, counts[known]) + np.arange(counts.sum())
        # Row by row, so that a score never depends on which other rows are asked for.
        scores = np.einsum("ij,j->i", part.exact[windows].astype(np.float32), query)
        found[known] = np.maximum.reduceat(scores, starts)
        return found


def _starts(rows: Array) -> Array:
    """Return where each row's windows begin."""
    if not len(rows):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1])))
