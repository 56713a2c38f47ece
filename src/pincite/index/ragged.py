"""Codes of tokens, window after window: taking some windows, in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pincite.store.files import Array

# The codes of windows behind each other, and where each window's begin, with the end at the end.
Tokens = tuple[Array, Array]


def regrouped(codes: Array, starts: Array, order: Array) -> Tokens:
    """Return the codes of some windows in a given order, and where each window's begin.

    >>> codes, starts = regrouped(np.arange(6), np.array([0, 1, 3, 6]), np.array([2, 0]))
    >>> codes.tolist(), starts.tolist()
    ([3, 4, 5, 0], [0, 3, 4])
    """
    places, new_starts = token_places(starts, order)
    return codes[places], new_starts


def token_places(starts: Array, windows: Array) -> tuple[Array, Array]:
    """Return which codes belong to some windows, and where each window's begin among them."""
    begins = starts[windows].astype(np.int64)
    counts = starts[windows + 1].astype(np.int64) - begins
    ends = np.cumsum(counts)
    new_starts = np.concatenate(([0], ends)).astype(np.int64)
    places: Array = np.repeat(begins - new_starts[:-1], counts) + np.arange(new_starts[-1])
    return places, new_starts


def joined(windows: Sequence[Array]) -> Tokens:
    """Return the codes of all windows behind each other, and where each window's begin."""
    starts = np.concatenate(([0], np.cumsum([len(each) for each in windows], dtype=np.int64)))
    return np.concatenate(windows), starts


def following(parts: Sequence[Tokens]) -> Tokens:
    """Return the windows of several parts as one.

    >>> one, two = (np.arange(3), np.array([0, 1, 3])), (np.arange(2), np.array([0, 2]))
    >>> codes, starts = following([one, two])
    >>> codes.tolist(), starts.tolist()
    ([0, 1, 2, 0, 1], [0, 1, 3, 5])
    """
    sizes = np.cumsum([0, *(len(codes) for codes, _ in parts)])
    starts = [s[:-1] + size for (_, s), size in zip(parts, sizes, strict=False)]
    return (
        np.concatenate([codes for codes, _ in parts]),
        np.concatenate([*starts, sizes[-1:]]).astype(np.int64),
    )
