"""How settings are chosen from what questions say: one axis after the other, then the simplest.

The search climbs by the mean. It tries hundreds of settings on the same questions, and the best of
hundreds owes something to luck: so it is not the best that is taken, but the simplest one that is
not worse than it by more than a standard error of the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pincite.evaluate.statistics import standard_error
from pincite.index.postings import Array
from pincite.tune.space import Axis, Trial

SAME = 1e-12
# What each of some trials brings for every question, if a fold is left out.
Values = Callable[[Sequence[Trial], int | None], Sequence[Array]]


@dataclass
class Climber:
    """One way up, by some of the questions."""

    best: Trial
    kept: Array  # the questions that it may look at
    left_out: int | None = None  # the fold of the others
    visited: dict[str, Trial] = field(default_factory=dict)

    def move(self, options: Sequence[Trial], values: Values) -> None:
        """Go to the best of the options; stay if none is better: where one is comes first."""
        self.visited |= {trial.key: trial for trial in options}
        means = [float(each[self.kept].mean()) for each in values(options, self.left_out)]
        top = max(means) - SAME
        self.best = next(t for t, mean in zip(options, means, strict=True) if mean >= top)


def climb(
    climbers: Sequence[Climber], axes: Sequence[Axis], values: Values, passes: int = 1
) -> None:
    """Let all climb axis by axis, as long as something gets better.

    They go in step, so that what some of them want to know is asked for all at once.
    """
    for _ in range(passes):
        before = [each.best for each in climbers]
        for axis in axes:
            options = {each.best.key: axis.options(each.best) for each in climbers}
            values(list({t.key: t for some in options.values() for t in some}.values()), None)
            for each in climbers:
                each.move(options[each.best.key], values)
        if [each.best for each in climbers] == before:
            break


def nearest(climber: Climber, values: Values, groups: Sequence[str]) -> list[Trial]:
    """Return the visited trials within one standard error of the best."""
    trials, kept = list(climber.visited.values()), climber.kept
    found = [each[kept] for each in values(trials, climber.left_out)]
    best = max(found, key=lambda each: float(each.mean()))
    own = [group for group, keep in zip(groups, kept.tolist(), strict=True) if keep]
    return [trial for trial, each in zip(trials, found, strict=True) if is_within(best - each, own)]


def is_within(lead: Array, groups: Sequence[str]) -> bool:
    """Return whether a lead, question by question, is no more than one standard error.

    >>> is_within(np.array([0.1, -0.1, 0.1, 0.0]), ["a", "b", "c", "d"])
    True
    >>> is_within(np.array([0.1, 0.1, 0.1, 0.2]), ["a", "b", "c", "d"])
    False
    """
    mean = float(np.mean(lead))
    return mean <= SAME or mean <= standard_error(lead, groups)
