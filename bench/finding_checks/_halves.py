"""The two halves of a set: one to look at while the search is written, one for figures alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from checks import Figure

HALVES = ("looked at", "not looked at")


def is_open(key: str) -> bool:
    """Return whether what has this key (a question, a contract) may be looked at."""
    return hashlib.sha256(key.encode()).digest()[0] % 2 == 0


def by_half(
    name: str, values: Sequence[float], keys: Sequence[str], asked: str = "", note: str = ""
) -> list[Figure]:
    """Return the mean of a measure over all questions, and over each half."""
    figures = [Figure(name, float(np.mean(values)), asked, len(values), note)]
    for half, wanted in zip(HALVES, (True, False), strict=True):
        own = [value for value, key in zip(values, keys, strict=True) if is_open(key) == wanted]
        if own:
            figures.append(Figure(f"  {half}", float(np.mean(own)), "", len(own)))
    return figures
