"""The best window: how well the densest stretch of a chunk answers, whatever else it says."""

from __future__ import annotations

import numpy as np

from pincite.index.postings import Array


def window_scores(
    stream: Array,
    offsets: Array,
    rows: Array,
    *,
    vocabulary: int,
    positions: Array,
    weights: Array,
    width: int,
    k1: float,
) -> Array:
    """Return for each row the best sum of ``weight * tf / (tf + k1)`` over its windows.

    Windows are two neighbouring half-windows, so each overlaps the next by half. The cost is that
    of looking at the rows' terms once.

    Args:
        stream, offsets: the terms of all rows, and where each row starts.
        rows: the rows to score.
        vocabulary: how many distinct terms the stream has.
        positions: the query's terms as the stream writes them, -1 for unknown ones.
        weights: what each query term is worth.
    """
    known = np.flatnonzero(positions >= 0)
    number = np.full(vocabulary + 1, -1, dtype=np.int32)  # -1: not a query term
    number[positions[known]] = known

    # Each row starts a new block, so a term's block is its place divided by the block's size.
    half = max(1, width // 2)
    begins, ends = offsets[rows], offsets[rows + 1]
    lengths = ends - begins
    blocks = np.maximum(1, -(-lengths // half))
    first_block = np.cumsum(blocks) - blocks
    total = int(blocks.sum())
    spread = np.full(total * half, vocabulary, dtype=np.uint32)
    # All at once: a store that keeps the stream elsewhere is asked a single time.
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    places = np.repeat(first_block * half, lengths) + steps
    spread[places] = stream[np.repeat(begins, lengths) + steps]

    matched = number.take(spread)
    hit = np.flatnonzero(matched >= 0)
    cells = (hit // half) * len(weights) + matched[hit]
    counts = np.bincount(cells, minlength=total * len(weights)).astype(np.float64)
    counts = counts.reshape(total, len(weights))

    windows = counts.copy()
    windows[:-1] += counts[1:]
    last_block = first_block + blocks - 1
    windows[last_block] = counts[last_block]  # a row's last block has no neighbour of its own
    # Unknown terms have their column too: the order of a sum depends on how many there are, and
    # must not depend on what a segment knows.
    values = (windows / (windows + k1) * weights).sum(axis=1)
    return np.maximum.reduceat(values, first_block)
