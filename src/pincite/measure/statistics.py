"""Intervals, paired comparisons, calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pincite.measure.runs import PipelineRun, Run
from pincite.search.calibration import calibration_error

RESAMPLES = 2000
SEED = 13
Array = NDArray[np.float64]


def bootstrap_interval(values: ArrayLike, groups: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean under resampling of whole groups.

    Questions about one document are alike, so resampling questions alone would promise too much.
    """
    numbers = np.asarray(values, dtype=float)
    _, member = np.unique(np.asarray(groups), return_inverse=True)
    sums = np.bincount(member, weights=numbers)
    sizes = np.bincount(member)
    draws = np.random.default_rng(SEED).integers(len(sums), size=(RESAMPLES, len(sums)))
    means = sums[draws].sum(axis=1) / sizes[draws].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


FLIPS = 10_000
EXACT_GROUPS = 14  # 16,384 ways to flip the signs: all of them are tried
LEVEL = 0.05
SAME = 1e-12  # sums of the same numbers in another order differ by less
Verdict = Literal["better", "worse", "no significant difference"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of two pipelines on the same questions."""

    difference: float  # mean of the second less mean of the first
    interval: tuple[float, float]  # 95 %, of the difference
    p: float  # of the paired randomisation test
    wins: int
    ties: int
    losses: int
    # A difference smaller than this is found in fewer than 80 % of such question sets.
    detectable: float
    adjusted_p: float | None = None  # after Holm, once it is one of several

    @property
    def verdict(self) -> Verdict:
        """What may be claimed, at the 5 % level."""
        p = self.p if self.adjusted_p is None else self.adjusted_p
        if p > LEVEL or not self.difference:
            return "no significant difference"
        return "better" if self.difference > 0 else "worse"

    def plain(self) -> dict[str, Any]:
        """Return all of it with the verdict, for reports; None for what JSON has no word for."""
        detectable = self.detectable if math.isfinite(self.detectable) else None
        return {**asdict(self), "detectable": detectable, "verdict": self.verdict}


def compare(first: ArrayLike, second: ArrayLike, groups: Sequence[str]) -> Comparison:
    """Return what the second gains over the first; both have a value for every question."""
    changes = np.asarray(second, dtype=float) - np.asarray(first, dtype=float)
    if not len(changes) or len(groups) != len(changes):
        raise ValueError(f"{len(changes)} differences in {len(groups)} groups")
    return Comparison(
        float(changes.mean()),
        bootstrap_interval(changes, groups),
        randomisation_p(changes, groups),
        int((changes > SAME).sum()),
        int((abs(changes) <= SAME).sum()),
        int((changes < -SAME).sum()),
        detectable_difference(changes, groups),
    )


def randomisation_p(changes: ArrayLike, groups: Sequence[str]) -> float:
    """Return how often chance alone gives a mean change as large: two-sided p (Smucker 2007).

    If the pipelines did not differ, the two values of a question could be swapped; here those of a
    whole group are. All ways are tried where they are few, else 10,000 with a fixed seed.
    """
    sums = _group_sums(np.asarray(changes, dtype=float), groups)
    sums = sums[abs(sums) > SAME]  # a group without a change is the same either way
    if not len(sums):
        return 1.0
    observed = abs(sums.sum()) - SAME * len(sums)
    if len(sums) <= EXACT_GROUPS:
        ways = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
        return float((abs((1 - 2 * ways) @ sums) >= observed).mean())
    signs = np.random.default_rng(SEED).integers(2, size=(FLIPS, len(sums)), dtype=np.int8)
    extreme = abs((1 - 2 * signs) @ sums) >= observed
    # The order that was seen is one of the ways (Phipson 2010): p is never 0.
    return float((extreme.sum() + 1) / (FLIPS + 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values that allow for having asked several questions (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, worst = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        worst = max(worst, min(1.0, p_values[at] * (len(p_values) - rank)))
        adjusted[at] = worst
    return adjusted


def adjusted(found: Sequence[Comparison]) -> list[Comparison]:
    """Return comparisons that were made together, each with its p value after Holm."""
    p_values = holm([each.p for each in found])
    return [replace(each, adjusted_p=p) for each, p in zip(found, p_values, strict=True)]


def mean_with_interval(values: Array, groups: Sequence[str]) -> dict[str, float]:
    """Return a mean with its 95 % interval and of how many values it is, for reports."""
    low, high = bootstrap_interval(values, groups)
    return {"value": float(np.mean(values)), "low": low, "high": high, "n": len(values)}


def detectable_difference(changes: ArrayLike, groups: Sequence[str]) -> float:
    """Return the true difference that a set like this one would show in 80 % of cases.

    (z of 0.975 + z of 0.8) standard errors of the mean, whose variance is that of group sums.
    """
    numbers = np.asarray(changes, dtype=float)
    sums = _group_sums(numbers - numbers.mean(), groups)
    many = len(sums)
    if many < 2:
        return float("inf")
    error = np.sqrt((sums**2).sum() * many / (many - 1)) / len(numbers)
    return float((1.959964 + 0.841621) * error)


def _group_sums(values: Array, groups: Sequence[str]) -> Array:
    _, member = np.unique(np.asarray(groups), return_inverse=True)
    return np.asarray(np.bincount(member, weights=values), dtype=float)


def standard_error(values: Array, groups: Sequence[str]) -> float:
    """Return that of the mean, questions of one group taken as one observation.

    >>> round(standard_error(np.array([1.0, 1.0, 0.0, 0.0]), ["a", "a", "b", "b"]), 3)
    0.354
    """
    sums = _group_sums(values - values.mean(), groups)
    return float(np.sqrt((sums**2).sum()) / len(values))


BINS = 10
CURVE_POINTS = 60


@dataclass(frozen=True, slots=True)
class Confidence:
    """How often first hits or answers are right, by how well they scored."""

    questions: int
    # Share of questions that are answered, and of those the share that is wrong.
    risk_coverage: tuple[tuple[float, float], ...]
    area: float  # mean risk over all coverages; lower is better
    # Mean score and share of right ones in bins; none if scores are not between 0 and 1.
    reliability: tuple[tuple[float, float, int], ...] = ()
    error: float | None = None  # expected calibration error, where there is a reliability


def confidence(run: Run, part: PipelineRun) -> Confidence | None:
    """Return what first scores say; None if fewer than two questions have a hit."""
    firsts = [
        (answer.hits[0].score, bool(answer.hits[0].meets) and asked.state == "judged")
        for asked, answer in zip(run.asked, part.answers, strict=True)
        if answer.hits
    ]
    return confidence_of(*zip(*firsts, strict=True)) if len(firsts) > 1 else None


def confidence_of(said: Sequence[float], is_right: Sequence[bool]) -> Confidence:
    """Return what scores say of right and wrong."""
    scores, right = np.asarray(said, dtype=float), np.asarray(is_right, dtype=float)
    curve = _risk_coverage(scores, right)
    area = float(np.mean([risk for _, risk in curve]))
    few = min(len(curve), CURVE_POINTS)
    shown = np.unique(np.linspace(0, len(curve) - 1, few).round().astype(int))
    told = Confidence(len(scores), tuple(curve[at] for at in shown), area)
    if scores.min() < 0 or scores.max() > 1:
        return told
    error = calibration_error(scores.tolist(), (right > 0).tolist(), BINS)
    return replace(told, reliability=_reliability(scores, right), error=error)


def _risk_coverage(scores: Array, right: Array) -> list[tuple[float, float]]:
    """Return the curve from the surest question to all; equal scores are answered together."""
    order = np.argsort(-scores, kind="stable")
    many = np.arange(1, len(order) + 1)
    wrong = np.cumsum(1 - right[order]) / many
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    return [(float(many[at] / len(order)), float(wrong[at])) for at in ends]


def _reliability(scores: Array, right: Array) -> tuple[tuple[float, float, int], ...]:
    bins = np.minimum((scores * BINS).astype(int), BINS - 1)
    return tuple(
        (float(scores[here].mean()), float(right[here].mean()), int(here.sum()))
        for each in range(BINS)
        if (here := bins == each).any()
    )
