"""Vectors that a server keeps and searches: it names the nearest, they are compared again here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pincite.index.vectors import NO_VECTOR, Pairs, VectorIndex, starts_of
from pincite.store.array_files import Array
from pincite.store.server.segment import ServerVectors
from pincite.store.server.snapshot import ServerSnapshot
from pincite.store.snapshot import Snapshot


class ServerVectorIndex(VectorIndex):
    """One model's vectors of an index in a server."""

    def __init__(self, snapshot: ServerSnapshot, model: str) -> None:
        super().__init__(snapshot, model)
        self.engine = snapshot.engine
        self.parts = {
            number: part for number, part in enumerate(self.segments) if self._has_any(part)
        }

    @staticmethod
    def _has_any(part: object) -> bool:
        return isinstance(part, ServerVectors) and part.entry.windows > 0

    def nearest(self, query: Array, masks: Sequence[Array | None], wanted: int) -> dict[int, Pairs]:
        """Return for every segment the best rows that the server names, and their scores."""
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        found: dict[int, Pairs] = {number: nothing for number in range(len(self.segments))}
        numbers = {part.entry.name: n for n, part in self.parts.items() if part is not None}
        allowed, left = self._allowed_windows(masks)
        if not left:
            return found
        names = [name for name in numbers if name not in allowed or len(allowed[name])]
        limit = min(3 * wanted // 4, left)  # a server's scores are nearly exact: fewer will do
        # Long chunks have many windows: as many chunks as somebody may want have to be there.
        while True:
            windows: dict[int, list[tuple[int, float]]] = {}
            near = self.engine.nearest(names, query, limit, allowed)
            for name, window, score in near:
                windows.setdefault(numbers[name], []).append((window, score))
            best = {number: self._rows_of(number, some) for number, some in windows.items()}
            rows = sum(len(found_rows) for found_rows, _ in best.values())
            if 2 * rows >= wanted or len(near) < limit or limit == left:
                return found | best
            limit = min(4 * limit, left)

    def _allowed_windows(self, masks: Sequence[Array | None]) -> tuple[dict[str, Array], int]:
        """Return of each segment that is filtered which windows may be found, and how many may."""
        allowed, left = {}, 0
        for number, part in self.parts.items():
            assert part is not None
            mask = masks[number]
            if mask is None or mask.all():
                left += part.entry.windows
                continue
            allowed[part.entry.name] = np.flatnonzero(mask[part.rows])
            left += len(allowed[part.entry.name])
        return allowed, left

    def _rows_of(self, number: int, windows: Sequence[tuple[int, float]]) -> Pairs:
        """Return the rows of windows, each with its best score."""
        part = self.segments[number]
        assert part is not None
        rows = part.rows[np.array([window for window, _ in windows])].astype(np.int64)
        scores = np.array([score for _, score in windows], dtype=np.float32)
        order = np.argsort(rows, kind="stable")
        rows, scores = rows[order], scores[order]
        starts = starts_of(rows)
        return rows[starts], np.maximum.reduceat(scores, starts)

    def approximate(self, number: int, query: Array) -> Array:
        """Return every row's best cosine in a segment; only those who ask for very many do."""
        best = np.full(self.sizes[number], NO_VECTOR, dtype=np.float32)
        rows = np.arange(self.sizes[number])
        best[:] = self.exact(number, rows, query)
        return best


def vector_index(snapshot: Snapshot, model: str) -> VectorIndex:
    """Return one model's vectors of a snapshot, wherever they are."""
    if isinstance(snapshot, ServerSnapshot):
        return ServerVectorIndex(snapshot, model)
    return VectorIndex(snapshot, model)
