"""Nested cross-validation: the whole choice is made again without each fold, and judged there.

The figure of a choice on the questions it was made on flatters it. So the folds give the figure of
tuning as a procedure, and the choice from all questions is what is written down; the default is
kept unless the procedure is significantly better on what it had not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pincite.core.settings import Settings
from pincite.evaluate.statistics import Comparison, compare, holm
from pincite.index.postings import Array
from pincite.tune.bench import Bench
from pincite.tune.costs import Cost
from pincite.tune.groups import Folds
from pincite.tune.search import Climber, climb, nearest
from pincite.tune.space import Axis, Trial, changes_between, parts_of

DEFAULT, TUNED = "default", "tuned"
# What trials take, by key, timed in one go.
CostsOf = Callable[[Iterable[Trial]], Mapping[str, Cost]]


@dataclass(frozen=True)
class Tuned:
    """What tuning came to."""

    default: Trial
    choice: Trial  # from all questions
    by_fold: tuple[Trial, ...]  # chosen without each fold
    fixed: Mapping[str, Trial]  # pipelines that nobody tuned, the default first
    values: Mapping[str, Array]  # "tuned", each question by its fold's choice, and the fixed ones
    folds: Folds

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        """What tuning gains over every fixed pipeline on folds not seen, adjusted for all."""
        found = {
            name: compare(self.values[name], self.values[TUNED], self.folds.groups)
            for name in self.fixed
        }
        adjusted = holm([each.p for each in found.values()])
        return {
            name: replace(each, adjusted_p=p)
            for (name, each), p in zip(found.items(), adjusted, strict=True)
        }

    @property
    def gain(self) -> Comparison:
        """Tuned beside the default: one question asked of the data, so p is as it is."""
        return compare(self.values[DEFAULT], self.values[TUNED], self.folds.groups)

    @property
    def is_better(self) -> bool:
        return self.gain.verdict == "better"

    @property
    def kept(self) -> Trial:
        """What is written down: the choice if tuning is significantly better, else the default."""
        return self.choice if self.is_better else self.default


def tune(
    bench: Bench,
    start: Settings,
    axes: Sequence[Axis],
    fixed: Mapping[str, Trial],
    costs: CostsOf,
    budget_ms: float = 0.0,
    passes: int = 1,
) -> Tuned:
    """Choose settings without each fold and from all questions.

    Args:
        start: where the search begins.
        fixed: pipelines to be as good as, the default first; they may be chosen too.
        costs: times pipelines.
        budget_ms: what takes longer (95th percentile) is not chosen; 0 allows everything.
        passes: how often all axes are gone through, as long as something gets better.
    """
    folds = bench.asking.folds
    known = {trial.key: trial for trial in fixed.values()}
    every = np.ones(len(folds.groups), dtype=bool)
    inner = [
        Climber(Trial(start), folds.left_out(number), number, dict(known))
        for number in range(folds.count)
    ]
    outer = Climber(Trial(start), every, None, dict(known))
    bench.values(list(known.values()))
    climb([*inner, outer], axes, bench.values, passes)
    if budget_ms:
        _leave_out_slow([*inner, outer], fixed[DEFAULT], costs, budget_ms)
    near = [nearest(each, bench.values, folds.groups) for each in (*inner, outer)]
    spent = costs({t.key: t for some in near for t in some}.values())
    order = order_of(fixed[DEFAULT], spent)
    *by_fold, choice = (min(some, key=order) for some in near)
    held_out = _held_out(bench, by_fold, fixed, folds)
    return Tuned(fixed[DEFAULT], choice, tuple(by_fold), fixed, held_out, folds)


def _leave_out_slow(
    climbers: Sequence[Climber], default: Trial, costs: CostsOf, budget_ms: float
) -> None:
    """Let climbers forget what takes too long; the default is left if everything does."""
    spent = costs({k: t for each in climbers for k, t in each.visited.items()}.values())
    for each in climbers:
        quick = {k: t for k, t in each.visited.items() if spent[k].p95 <= budget_ms}
        each.visited = quick or {default.key: default}


def order_of(
    default: Trial, spent: Mapping[str, Cost]
) -> Callable[[Trial], tuple[float, float, float]]:
    """Return the order of simplicity: fewer parts, then less time, then fewer changes."""

    def order(trial: Trial) -> tuple[float, float, float]:
        changes = changes_between(trial.settings, default.settings)
        return len(parts_of(trial)), spent[trial.key].p50, len(changes)

    return order


def _held_out(
    bench: Bench, by_fold: Sequence[Trial], fixed: Mapping[str, Trial], folds: Folds
) -> dict[str, Array]:
    """Return the values of each question under what was chosen without its fold."""
    tuned = np.zeros(len(folds.groups))
    for number, values in enumerate(bench.values(by_fold)):
        is_own = folds.fold == number
        tuned[is_own] = values[is_own]
    own = dict(zip(fixed, bench.values(list(fixed.values())), strict=True))
    return {TUNED: tuned, **own}
