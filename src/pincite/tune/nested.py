"""Nested cross-validation: the whole choice is made again without each fold, and judged there.

The figure of a choice on the questions it was made on flatters it. So the folds give the figure of
tuning as a procedure, and the choice from all questions is what is written down; the default is
kept unless the procedure is significantly better on what it had not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pincite.core.settings import Settings
from pincite.evaluate.statistics import Comparison, adjusted, compare
from pincite.index.postings import Array
from pincite.tune.bench import Bench
from pincite.tune.costs import Cost
from pincite.tune.groups import Folds
from pincite.tune.search import Climber, climb, nearest
from pincite.tune.space import Axis, Trial, changes_between, cost_class, parts_of, undoings

DEFAULT, TUNED = "default", "tuned"
MOST_UNDOINGS = 4
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
        return dict(zip(found, adjusted(list(found.values())), strict=True))

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
    chooser = Chooser(bench, fixed[DEFAULT], costs, budget_ms)
    *by_fold, choice = chooser.chosen([*inner, outer])
    held_out = _held_out(bench, by_fold, fixed, folds)
    return Tuned(fixed[DEFAULT], choice, tuple(by_fold), fixed, held_out, folds)


class Chooser:
    """Takes the simplest of what was tried, and undoes whatever can be undone."""

    def __init__(self, bench: Bench, default: Trial, costs: CostsOf, budget_ms: float) -> None:
        self.bench = bench
        self.default = default
        self.costs = costs
        self.budget_ms = budget_ms
        self._spent: dict[str, Cost] = {}  # by class of pipelines

    def chosen(self, climbers: Sequence[Climber]) -> list[Trial]:
        """Return the choice of each climber.

        A change that was the best of its axis may be worth nothing in the end, so that the choice
        is also tried without each of its changes, until none is undone.
        """
        found = self._simplest(climbers)
        for _ in range(MOST_UNDOINGS):
            undone = [undoings(each, self.default.settings).values() for each in found]
            self.bench.values(list({t.key: t for some in undone for t in some}.values()))
            for climber, some in zip(climbers, undone, strict=True):
                climber.visited |= {trial.key: trial for trial in some}
            before, found = found, self._simplest(climbers)
            if found == before:
                break
        return found

    def _simplest(self, climbers: Sequence[Climber]) -> list[Trial]:
        """Return of each the simplest within one standard error of its best that is in time."""
        groups = self.bench.asking.folds.groups
        if self.budget_ms:
            self._leave_out_slow(climbers)
        near = [nearest(each, self.bench.values, groups) for each in climbers]
        self._time(trial for some in near for trial in some)
        return [min(some, key=self._order) for some in near]

    def _leave_out_slow(self, climbers: Sequence[Climber]) -> None:
        """Let climbers forget what takes too long; the default is left if everything does."""
        self._time(trial for each in climbers for trial in each.visited.values())
        for each in climbers:
            quick = {k: t for k, t in each.visited.items() if self._cost(t).p95 <= self.budget_ms}
            each.visited = quick or {self.default.key: self.default}

    def _time(self, trials: Iterable[Trial]) -> None:
        """Time what was not timed yet."""
        new = {cost_class(t): t for t in trials if cost_class(t) not in self._spent}
        spent = self.costs(new.values()) if new else {}
        self._spent |= {name: spent[trial.key] for name, trial in new.items()}

    def _cost(self, trial: Trial) -> Cost:
        return self._spent[cost_class(trial)]

    def _order(self, trial: Trial) -> tuple[float, float, float]:
        """Fewer parts are simpler, then less time, then fewer changes."""
        changes = changes_between(trial.settings, self.default.settings)
        return len(parts_of(trial)), self._cost(trial).p50, len(changes)


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
