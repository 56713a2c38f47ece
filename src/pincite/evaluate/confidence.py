"""Does a pipeline know when it is right? From the score of the first hit of each question.

A question without an answer in the documents counts too: its first hit is wrong, whatever it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pincite.evaluate.runs import Part, Run
from pincite.search.calibration import calibration_error

BINS = 10
CURVE_POINTS = 60


@dataclass(frozen=True, slots=True)
class Confidence:
    """How often first hits are right, by how well they scored."""

    questions: int
    # Share of questions that are answered, and of those the share that is wrong.
    risk_coverage: tuple[tuple[float, float], ...]
    area: float  # mean risk over all coverages; lower is better
    # Mean score and share of right ones in bins; none if scores are not between 0 and 1.
    reliability: tuple[tuple[float, float, int], ...] = ()
    error: float | None = None  # expected calibration error, where there is a reliability


def confidence(run: Run, part: Part) -> Confidence | None:
    """Return what first scores say; None if fewer than two questions have a hit."""
    firsts = [
        (answer.hits[0].score, bool(answer.hits[0].meets) and asked.state == "judged")
        for asked, answer in zip(run.asked, part.answers, strict=True)
        if answer.hits
    ]
    if len(firsts) < 2:
        return None
    scores = np.array([score for score, _ in firsts])
    right = np.array([is_right for _, is_right in firsts], dtype=float)
    curve = _risk_coverage(scores, right)
    area = float(np.mean([risk for _, risk in curve]))
    told = Confidence(len(firsts), tuple(_thinned(curve)), area)
    if scores.min() < 0 or scores.max() > 1:
        return told
    return Confidence(
        told.questions,
        told.risk_coverage,
        told.area,
        _reliability(scores, right),
        calibration_error(scores.tolist(), (right > 0).tolist(), BINS),
    )


def _risk_coverage(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]],
    right: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> list[tuple[float, float]]:
    """Return the curve from the surest question to all; equal scores are answered together."""
    order = np.argsort(-scores, kind="stable")
    ranked, ordered = right[order], scores[order]
    many = np.arange(1, len(ranked) + 1)
    wrong = np.cumsum(1 - ranked) / many
    ends = np.flatnonzero(np.append(np.diff(ordered) != 0, True))
    return [(float(many[at] / len(ranked)), float(wrong[at])) for at in ends]


def _thinned(curve: list[tuple[float, float]]) -> list[tuple[float, float]]:
    if len(curve) <= CURVE_POINTS:
        return curve
    kept = np.unique(np.linspace(0, len(curve) - 1, CURVE_POINTS).round().astype(int))
    return [curve[at] for at in kept]


def _reliability(
    scores: np.ndarray[tuple[int], np.dtype[np.float64]],
    right: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[tuple[float, float, int], ...]:
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    return tuple(
        (float(scores[here].mean()), float(right[here].mean()), int(here.sum()))
        for each in range(BINS)
        if (here := bins == each).any()
    )
