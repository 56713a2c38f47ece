"""Do people who judge agree, beyond what chance would give?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from pincite.evaluate.grades import Array

Level = Literal["nominal", "ordinal", "interval"]
# A judgement of each annotator on each item; None where there is none.
Ratings = Sequence[Sequence[float | None]]


def krippendorff_alpha(ratings: Ratings, level: Level = "nominal") -> float:
    """Return Krippendorff's alpha: 1 is perfect agreement, 0 is chance (Krippendorff 2004, 11.3).

    A row is an annotator, a column an item; items that fewer than two people judged say nothing.
    ``ordinal`` is for grades: to confuse 0 and 3 is worse than to confuse 2 and 3. It is nan where
    nothing can be compared, and 1 where all judgements are the same.

    >>> krippendorff_alpha([[1, 1, 0, 0], [1, 1, 0, None]])
    1.0
    """
    items = [
        [value for value in column if value is not None] for column in zip(*ratings, strict=True)
    ]
    paired = [values for values in items if len(values) > 1]
    if not paired:
        return float("nan")
    levels = sorted({value for values in paired for value in values})
    if len(levels) == 1:
        return 1.0
    seen = _coincidences(paired, {value: at for at, value in enumerate(levels)})
    totals = seen.sum(axis=0)
    distance = _distances(np.array(levels, dtype=float), totals, level)
    expected = float((np.outer(totals, totals) * distance).sum()) / (float(totals.sum()) - 1)
    return 1.0 - float((seen * distance).sum()) / expected


def _coincidences(paired: Sequence[Sequence[Hashable]], at: dict[Hashable, int]) -> Array:
    """Return how often each pair of values stands on one item, each item weighing its values."""
    seen = np.zeros((len(at), len(at)))
    for values in paired:
        counts = Counter(values)
        for one, times in counts.items():
            for other, others in counts.items():
                pairs = times * (others - (one == other))
                seen[at[one], at[other]] += pairs / (len(values) - 1)
    return seen


def _distances(levels: Array, totals: Array, level: Level) -> Array:
    """Return the squared distance of every two values."""
    if level == "nominal":
        return np.asarray(1.0 - np.eye(len(levels)))
    if level == "interval":
        return np.asarray((levels[:, None] - levels[None, :]) ** 2)
    # What lies between two values, counting half of each end.
    middle = np.cumsum(totals) - totals / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)
