"""Ways to make one score of several: each turns raw scores into comparable ones.

All take a matrix with a row for each candidate and a column for each retriever, NaN where a
retriever has nothing to say. Weighted sums of the results are what candidates are ranked by.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pincite.store.files import Array

EPSILON = 1e-9
RRF_K = 60


def minmax(scores: Array, _: Sequence[float]) -> Array:
    """Scale each column from its smallest to its largest value: 0 to 1."""
    low, high = np.nanmin(scores, axis=0), np.nanmax(scores, axis=0)
    scaled: Array = np.nan_to_num((scores - low) / (high - low + EPSILON))
    return scaled


def theoretical(scores: Array, floors: Sequence[float]) -> Array:
    """Scale from the smallest value that is possible, so that a poor best one is no winner."""
    low, high = np.asarray(floors), np.nanmax(scores, axis=0)
    scaled: Array = np.nan_to_num((scores - low) / (high - low + EPSILON))
    return scaled


def zscore(scores: Array, _: Sequence[float]) -> Array:
    """Count in standard deviations from the mean; what a retriever does not know is at the end."""
    spread = (scores - np.nanmean(scores, axis=0)) / (np.nanstd(scores, axis=0) + EPSILON)
    filled: Array = np.where(np.isnan(spread), np.nanmin(spread, axis=0), spread)
    return filled


def reciprocal_rank(scores: Array, _: Sequence[float]) -> Array:
    """Take 1 / (60 + rank), scaled so that the best is 1; equal scores get equal ranks."""
    fused = np.zeros_like(scores)
    for column in range(scores.shape[1]):
        values = scores[:, column]
        known = ~np.isnan(values)
        ordered = np.sort(values[known])
        ranks = 1 + len(ordered) - np.searchsorted(ordered, values[known], side="right")
        fused[known, column] = (RRF_K + 1) / (RRF_K + ranks)
    return fused


METHODS: dict[str, Callable[[Array, Sequence[float]], Array]] = {
    "minmax": minmax,
    "theoretical": theoretical,
    "zscore": zscore,
    "rrf": reciprocal_rank,
}


def fused(method: str, scores: Array, weights: Sequence[float], floors: Sequence[float]) -> Array:
    """Return each retriever's share of the fused scores; a weight of 0 removes a retriever.

    >>> fused("minmax", np.array([[2.0, 0.1], [1.0, 0.9]]), [0.4, 0.6], [0, -1]).round(6).tolist()
    [[0.4, 0.0], [0.0, 0.6]]
    """
    if not len(scores):
        return np.zeros_like(scores)
    used = np.asarray(weights) > 0
    shares = np.zeros_like(scores)
    known = ~np.isnan(scores).all(axis=0)  # a retriever that found nothing says nothing
    columns = np.flatnonzero(used & known).tolist()
    if columns:
        low = [floors[column] for column in columns]
        shares[:, columns] = METHODS[method](scores[:, columns], low)
        shares[:, columns] *= np.asarray(weights)[columns]
    return shares
