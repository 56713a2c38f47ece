"""Measures of a ranking against the places that answer a question.

Each is a pure function of ``gains``: whether the place at each rank is one that answers, credited
the first time it comes. Rankings are ordered, so there are no ties to break.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set


def gains(found: Sequence[str], gold: Set[str]) -> list[bool]:
    """Return which ranks bring a new place that answers.

    >>> gains(["b", "a", "a"], {"a", "c"})
    [False, True, False]
    """
    left, gained = set(gold), []
    for place in found:
        gained.append(place in left)
        left.discard(place)
    return gained


def value(measure: str, found: Sequence[str], gold: Set[str]) -> float:
    """Return a measure by its name: ``mrr``, or ``hit``, ``recall``, ``ndcg`` at a depth.

    >>> value("recall@2", ["b", "a", "c"], {"a", "c"})
    0.5
    """
    name, _, depth = measure.partition("@")
    gained = gains(found, gold)
    if name == "mrr":
        return reciprocal_rank(gained)
    if name == "hit":
        return hit(gained, int(depth))
    if name == "recall":
        return recall(gained, int(depth), len(gold))
    if name == "ndcg":
        return ndcg(gained, int(depth), len(gold))
    raise ValueError(f"no measure {measure!r}")


def hit(gained: Sequence[bool], k: int) -> float:
    """Return 1 if anything among the first ``k`` answers."""
    return float(any(gained[:k]))


def recall(gained: Sequence[bool], k: int, total: int) -> float:
    """Return the share of all places that answer which is among the first ``k``."""
    return sum(gained[:k]) / total


def reciprocal_rank(gained: Sequence[bool]) -> float:
    """Return 1 / rank of the first place that answers; 0 if none does."""
    return next((1 / rank for rank, gain in enumerate(gained, 1) if gain), 0.0)


def ndcg(gained: Sequence[bool], k: int, total: int) -> float:
    """Return the discounted gain of the first ``k`` as a share of the best there could be.

    The discount is log2(rank + 1) and a place answers or does not (Järvelin and Kekäläinen 2002,
    as trec_eval computes it).
    """
    best = sum(_discounted(rank) for rank in range(1, min(k, total) + 1))
    return sum(_discounted(rank) for rank, gain in enumerate(gained[:k], 1) if gain) / best


def _discounted(rank: int) -> float:
    return 1 / math.log2(rank + 1)
