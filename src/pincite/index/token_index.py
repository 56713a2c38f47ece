"""The tokens of chunks: which codes stand for a chunk, window by window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pincite.index.ragged import token_places
from pincite.store.files import Array
from pincite.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class TokenWindows:
    """The tokens of some rows of one segment, window by window."""

    chosen: Array  # of each window: which of the rows that were asked for it is of
    codes: Array
    starts: Array  # where each window's codes begin, with the end at the end


class TokenIndex:
    """One model's token codes of a whole snapshot."""

    def __init__(self, snapshot: Snapshot, model: str) -> None:
        self.segments = snapshot.vectors_of(model)

    @property
    def is_empty(self) -> bool:
        return not any(part is not None and part.tokens is not None for part in self.segments)

    def windows(
        self, by_segment: Sequence[tuple[int, tuple[Array, Array]]]
    ) -> Iterator[TokenWindows]:
        """Yield the windows of rows, segment by segment, as ``Rows.by_segment`` gives them."""
        for number, (chosen, rows) in by_segment:
            part = self.segments[number]
            if part is None or part.tokens is None:
                continue
            first = np.searchsorted(part.rows, rows)
            counts = np.searchsorted(part.rows, rows, side="right") - first
            before = np.cumsum(counts) - counts
            windows = np.repeat(first - before, counts) + np.arange(counts.sum())
            codes, token_starts = part.tokens
            places, starts = token_places(token_starts, windows)
            yield TokenWindows(np.repeat(chosen, counts), codes[places], starts)
