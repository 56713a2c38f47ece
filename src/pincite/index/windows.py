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
    known = positions >= 0
    weights = weights[known]
    number = np.zeros(vocabulary, dtype=np.int32)  # 0: not a query term
    number[positions[known]] = np.arange(1, len(weights) + 1)

    # Each row starts a new block, so a term's block is its place divided by the block's size.
    half = max(1, width // 2)
    begins, ends = offsets[rows], offsets[rows + 1]
    blocks = np.maximum(1, -(-(ends - begins) // half))
    first_block = np.cumsum(blocks) - blocks
    matched = np.zeros(int(blocks.sum()) * half, dtype=np.int32)
    places = (first_block * half).tolist()
    for place, begin, end in zip(places, begins.tolist(), ends.tolist(), strict=True):
        matched[place : place + end - begin] = number[stream[begin:end]]

    hit = np.flatnonzero(matched)
    block, term = hit // half, matched[hit]
    last_block = first_block + blocks - 1
    values = np.zeros(int(blocks.sum()))
    # Summed term by term in the query's order: the same number whatever the segment knows of it.
    for each in np.unique(term):
        counts = np.bincount(block[term == each], minlength=len(values))
        windows = counts.astype(np.float64)
        windows[:-1] += counts[1:]
        windows[last_block] = counts[last_block]  # a row's last block has no neighbour of its own
        values += windows / (windows + k1) * weights[each - 1]
    return np.maximum.reduceat(values, first_block)
