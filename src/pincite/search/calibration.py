"""From a model's own scale to probabilities, and how far those can be believed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.model.errors import MALFORMED, ModelError
from pincite.store.files import Array

ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt's: the logistic function of ``slope × logit + offset``. Never changes an order."""

    slope: float = 1.0
    offset: float = 0.0

    def probability(self, logit: float) -> float:
        """Return how probable it is that a pair with this logit belongs together.

        >>> Calibration().probability(0.0), round(Calibration(2.0, 1.0).probability(-5.0), 6)
        (0.5, 0.000123)
        """
        value = self.slope * logit + self.offset
        if not math.isfinite(value):
            raise ModelError("the model gave a score that is no number", hint="export it again")
        return 1 / (1 + math.exp(-value)) if value > -700 else 0.0

    @classmethod
    def from_plain(cls, values: Any) -> Calibration:
        """Return the calibration that model.json holds; without one, logits are as they are."""
        if values is None:
            return cls()
        try:
            found = cls(float(values["slope"]), float(values["offset"]))
        except MALFORMED as error:
            raise ModelError(
                f"calibration cannot be read: {error!r}", hint="export again"
            ) from error
        if not (found.slope > 0 and math.isfinite(found.slope) and math.isfinite(found.offset)):
            raise ModelError("calibration must keep the order of scores", hint="export again")
        return found


def fitted(logits: Sequence[float], is_right: Sequence[bool]) -> Calibration:
    """Return the calibration that makes judged pairs most likely (Newton's method).

    Labels are drawn in a little, as Platt did, so that few pairs do not give certainty.
    """
    x, right = np.asarray(logits, dtype=float), np.asarray(is_right, dtype=bool)
    yes, no = int(right.sum()), int((~right).sum())
    if not yes or not no:
        raise ModelError("calibration needs pairs that belong together and pairs that do not")
    target = np.where(right, (yes + 1) / (yes + 2), 1 / (no + 2))
    columns = np.stack([x, np.ones_like(x)], axis=1)
    best = np.array([1.0, 0.0])
    for _ in range(ROUNDS):
        p = _logistic(columns @ best)
        slope = columns.T @ (p - target)
        curve = (columns * (p * (1 - p) + 1e-9)[:, None]).T @ columns + 1e-6 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        best -= step * min(1.0, 2.0 / max(1e-9, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-9:
            break
    return Calibration(max(float(best[0]), 1e-6), float(best[1]))


def calibration_error(
    probabilities: Sequence[float], is_right: Sequence[bool], bins: int = 10
) -> float:
    """Return the expected calibration error: how far what is said is from what is, on average.

    >>> calibration_error([0.9] * 10, [True] * 9 + [False])
    0.0
    """
    p, right = np.asarray(probabilities, dtype=float), np.asarray(is_right, dtype=float)
    place = np.minimum((p * bins).astype(int), bins - 1)
    gaps = [
        (place == each).mean() * abs(p[place == each].mean() - right[place == each].mean())
        for each in range(bins)
        if (place == each).any()
    ]
    return round(float(sum(gaps)), 12)


def threshold_for(
    probabilities: Sequence[float], is_right: Sequence[bool], precision: float
) -> float:
    """Return the lowest probability above which at least this share of pairs is right; 1 if none.

    >>> threshold_for([0.9, 0.8, 0.7, 0.1], [True, True, False, False], 0.9)
    0.8
    """
    order = np.argsort(-np.asarray(probabilities, dtype=float), kind="stable")
    ranked = np.asarray(is_right, dtype=float)[order]
    share = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    good = np.flatnonzero(share >= precision)
    return float(np.asarray(probabilities)[order[good[-1]]]) if len(good) else 1.0


def _logistic(values: Array) -> Array:
    found: Array = 1 / (1 + np.exp(-np.clip(values, -500, 500)))
    return found
