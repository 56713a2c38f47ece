"""Comparing all vectors here, for servers that do not, or not exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pincite.store.array_files import Array


def nearest_of_all(
    matrix_of: Callable[[str], Array],
    names: Sequence[str],
    vector: Array,
    wanted: int,
    allowed: Mapping[str, Array],
) -> list[tuple[str, int, float]]:
    """Return name, number and inner product of the nearest rows of some matrices (float32)."""
    best: list[tuple[str, int, float]] = []
    for name in names:
        matrix = matrix_of(name)
        numbers = allowed.get(name)
        some = matrix if numbers is None else matrix[numbers]
        scores = np.vecdot(some, vector.astype(np.float32))
        top = _best(scores, wanted)
        found = top if numbers is None else numbers[top]
        best += zip([name] * len(top), found.tolist(), scores[top].tolist(), strict=True)
    return sorted(best, key=lambda each: -each[2])[:wanted]


def _best(scores: Array, wanted: int) -> Array:
    """Return the places of the highest scores, highest first, ties in order."""
    near = np.arange(len(scores))
    if wanted < len(scores):
        least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
        near = np.flatnonzero(scores >= least)
    return near[np.argsort(-scores[near], kind="stable")][:wanted]
