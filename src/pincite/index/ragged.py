"""Arrays of arrays, and lists of nearest centroids (IVF)."""

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


# Segments with more windows get lists: many middling segments would otherwise add up.
LISTED_FROM = 20_000
# An index with fewer windows is looked at as a whole: a few milliseconds, and nothing is missed.
EXACT_UP_TO = 50_000
# At least so many windows are looked at, and in large indexes so many for the root of their number.
MIN_PROBED = 16_000
LOOKED_AT_PER_ROOT = 64
# Short lists hug their centres, so fewer windows are looked at in vain; but centres cost a scan.
LISTS_PER_ROOT = 4
SAMPLED_PER_LIST = 32
ROUNDS = 6
SAMPLE_BYTES = 256_000_000
# Vectors compared with all centres at a time.
BLOCK = 2048


def lists_of(exact: Array) -> dict[str, Array]:
    """Return the arrays that put vectors into lists; none if there are few.

    ``order`` names the vector at each place, list after list; ``starts`` where each list begins.
    """
    count = len(exact)
    if count <= LISTED_FROM:
        return {}
    centres = _centres(exact, round(LISTS_PER_ROOT * count**0.5))
    home = _nearest(exact, centres)
    order = np.argsort(home, kind="stable")
    starts = np.searchsorted(home[order], np.arange(len(centres) + 1))
    return {
        "centres": centres,
        "order": order.astype(np.uint32),
        "starts": starts.astype(np.uint32),
    }


def _centres(exact: Array, wanted: int) -> Array:
    """Return the centres of k-means by cosine; the same vectors always give the same ones."""
    random = np.random.default_rng(0)
    size = min(len(exact), SAMPLED_PER_LIST * wanted, SAMPLE_BYTES // (4 * exact.shape[1]))
    chosen = np.sort(random.choice(len(exact), size, replace=False))
    sample = exact[chosen].astype(np.float32)
    centres: Array = sample[np.sort(random.choice(size, wanted, replace=False))]
    for _ in range(ROUNDS):
        home = _nearest(sample, centres)
        order = np.argsort(home, kind="stable")
        sorted_home = home[order]
        starts = np.flatnonzero(np.concatenate(([True], sorted_home[1:] != sorted_home[:-1])))
        sums = np.add.reduceat(sample[order], starts, axis=0)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # A centre that nobody is near stays where it is: it may be needed outside the sample.
        centres[sorted_home[starts]] = sums / np.maximum(lengths, 1e-9)
    return centres


def _nearest(vectors: Array, centres: Array) -> Array:
    """Return the number of the nearest centre of each vector."""
    found = np.empty(len(vectors), dtype=np.int64)
    for at in range(0, len(vectors), BLOCK):
        block = vectors[at : at + BLOCK].astype(np.float32)
        found[at : at + BLOCK] = (block @ centres.T).argmax(axis=1)
    return found


def looked_at(windows: int) -> int:
    """Return how many of so many windows to look at.

    >>> looked_at(1_000), looked_at(1_000_000)
    (16000, 64000)
    """
    return max(MIN_PROBED, int(LOOKED_AT_PER_ROOT * windows**0.5))


def nearest_lists(nearness: Sequence[Array], sizes: Sequence[Array], enough: int) -> list[Array]:
    """Return which lists of each segment to look at: the nearest of all, with enough in them.

    Segments compete: four of them cost no more than one.

    >>> near = [np.array([0.9, 0.1]), np.array([0.5])]
    >>> sizes = [np.array([9000, 1]), np.array([8000])]
    >>> [each.tolist() for each in nearest_lists(near, sizes, 10_000)]
    [[0], [0]]
    """
    order = np.argsort(-np.concatenate(nearness), kind="stable")
    count = np.searchsorted(np.cumsum(np.concatenate(sizes)[order]), enough) + 1
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[:count]] = True
    ends = np.cumsum([len(each) for each in nearness])[:-1]
    return [np.flatnonzero(part) for part in np.split(chosen, ends)]
