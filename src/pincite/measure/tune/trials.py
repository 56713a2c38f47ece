"""What settings bring, question by question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pincite.index.postings import Array
from pincite.measure.grades import Measure, tabulated
from pincite.measure.tune.shared import Folds, Ground, LearnedTrials
from pincite.measure.tune.space import RememberedPairs, State, Trial, Watcher
from pincite.model.settings import Settings

WHOLE_RANKING = 50  # hits that a measure without a depth looks at


@dataclass(frozen=True)
class TrialOptions:
    """What is asked, and what counts."""

    measure: Measure
    folds: Folds
    ground_of: Callable[[Settings], Ground]  # the index that the settings shape

    @property
    def depth(self) -> int:
        return self.measure.depth or WHOLE_RANKING


class TrialRunner:
    """Knows what every trial brings for every question; asks for what it does not know yet."""

    def __init__(
        self,
        asking: TrialOptions,
        state: State,
        scorer: RememberedPairs | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.asking = asking
        self.state = state
        self.scorer = scorer
        self.watcher = watcher
        self.questions = len(asking.folds.groups)
        self.tried: dict[str, Trial] = {}  # by key, in the order of trying
        self._gains: dict[str, Array] = {}
        self.learned = LearnedTrials(asking.folds, asking.depth, self._values)

    def values(self, trials: Sequence[Trial], left_out: int | None = None) -> list[Array]:
        """Return what each trial brings for every question.

        Settings bring the same whatever is left out. A ranker that is learned does not: it never
        saw the question's own fold, nor the one that is left out.
        """
        for trial in trials:
            self.tried.setdefault(trial.key, trial)
        plain = [trial for trial in trials if not trial.learned]
        self._ask([trial for trial in plain if self._missing(trial).any()])
        return [
            self._learned(trial, left_out) if trial.learned else self._gains[trial.key]
            for trial in trials
        ]

    def _missing(self, trial: Trial) -> Array:
        if trial.key not in self._gains:
            self._gains[trial.key] = self.state.gains(trial.key, self.questions)
        return np.isnan(self._gains[trial.key])

    def _ask(self, trials: Sequence[Trial]) -> None:
        """Ask all questions under some trials, question by question: so they share most work."""
        by_ground: dict[int, tuple[Ground, list[Trial]]] = {}
        for trial in trials:
            ground = self.asking.ground_of(trial.settings)
            by_ground.setdefault(id(ground), (ground, []))[1].append(trial)
        for ground, some in by_ground.values():
            if self.watcher:
                self.watcher.begin(len(some), self.questions)
            missing = {each.key: self._missing(each) for each in some}
            plans = {each.key: ground.plan(each.settings, self.asking.depth) for each in some}
            for at in range(self.questions):
                keys = [key for key in plans if missing[key][at]]
                found = [ground.table(at, plans[key]).names() for key in keys]
                values = self._values(ground, at, found).tolist()
                for key, value in zip(keys, values, strict=True):
                    self._gains[key][at] = value
                self._keep([(key, at, value) for key, value in zip(keys, values, strict=True)])
                if self.watcher:
                    self.watcher.asked(len(some))
            ground.forget()

    def _values(self, ground: Ground, at: int, rankings: Sequence[Sequence[str]]) -> Array:
        """Return what rankings of one question bring."""
        if not rankings:
            return np.zeros(0)
        lines = [ground.line(at, ids) for ids in rankings]
        return self.asking.measure.of(tabulated(lines))

    def _keep(self, rows: Sequence[tuple[str, int, float]]) -> None:
        self.state.add_gains(rows)
        if self.scorer is not None:
            self.state.add_pairs(self.scorer.taken())

    def _learned(self, trial: Trial, left_out: int | None) -> Array:
        """Return the values of a trial with a ranker, learned now if they are not known."""
        folds = self.asking.folds
        keys = [f"{trial.key}/{number}" for number in range(folds.count)]
        if keys[0] not in self._gains:
            known = [self.state.gains(key, self.questions) for key in keys]
            if np.isnan(known).any():
                if self.watcher:
                    self.watcher.begin(1, self.questions)
                ground = self.asking.ground_of(trial.settings)
                known = self.learned.values(ground, trial, self.watcher)
                for key, values in zip(keys, known, strict=True):
                    self._keep([(key, at, float(each)) for at, each in enumerate(values)])
            self._gains |= dict(zip(keys, known, strict=True))
        table = np.array([self._gains[key] for key in keys])
        if left_out is not None:
            return np.asarray(table[left_out])
        return np.asarray(table[folds.fold, np.arange(self.questions)])
