"""Vectors in lists of neighbours, so that a search looks at some of them instead of all.

Centres are found by k-means on a sample; every vector stands in the list of its nearest centre
(an inverted file). A query looks at the lists with the nearest centres. How many there are, and
what that costs in recall: docs/decisions/0009-approximate-search.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pincite.store.files import Array

# Segments with more windows get lists: many middling segments would otherwise add up.
LISTED_FROM = 20_000
# An index with fewer windows is looked at as a whole: a few milliseconds, and nothing is missed.
EXACT_UP_TO = 50_000
# At least so many windows are looked at, and in large indexes so many for the root of their number.
LEAST_LOOKED_AT = 16_000
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
    return max(LEAST_LOOKED_AT, int(LOOKED_AT_PER_ROOT * windows**0.5))


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
