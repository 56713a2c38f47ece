"""What settings bring, question by question, and nested folds: is the best more than luck?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256

import numpy as np

from pincite.index.postings import Array
from pincite.measure.grades import Measure, tabulated
from pincite.measure.statistics import Comparison, adjusted, compare, standard_error
from pincite.measure.tune.shared import Folds, Ground, LearnedTrials
from pincite.measure.tune.space import (
    Axis,
    RememberedPairs,
    State,
    Trial,
    Watcher,
    changes_between,
    cost_class,
    parts_of,
    undoings,
)
from pincite.model.settings import Settings
from pincite.search.feature_table import Features
from pincite.search.learned import Learned
from pincite.search.pipeline import Stage
from pincite.search.reader import IndexReader

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


SAMPLE = 30  # questions that are timed
WARM_UP = "what does this say about it?"  # loads what is loaded once


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of a whole search, from so many questions."""

    p50: float
    p95: float
    n: int


class Costs:
    """Times pipelines; those that take the same time are timed as one."""

    def __init__(self, bench: TrialRunner, questions: Sequence[str]) -> None:
        self.bench = bench
        step = max(1, len(questions) // SAMPLE)
        self.questions = questions[::step][:SAMPLE]

    def together(self, trials: Sequence[Trial]) -> Mapping[str, Cost]:
        """Return by key what each trial takes, all timed in one go; known ones from the state."""
        classes = {cost_class(trial): trial for trial in trials}
        go = sha256("\n".join(sorted(classes)).encode()).hexdigest()[:16]
        state = self.bench.state
        stored = [state.cost(f"{go} {name}") for name in classes]
        known = {
            name: Cost(kept["p50"], kept["p95"], int(kept["n"]))
            for name, kept in zip(classes, stored, strict=True)
            if kept
        }
        if len(known) < len(classes):
            known = self._timed(classes)
            for name, cost in known.items():
                state.add_cost(f"{go} {name}", asdict(cost))
        return {trial.key: known[cost_class(trial)] for trial in trials}

    def _timed(self, classes: Mapping[str, Trial]) -> dict[str, Cost]:
        indexes = {name: self._index(trial) for name, trial in classes.items()}
        for index in indexes.values():
            index.warm()
            index.search(WARM_UP, budget_ms=0)
        spent: dict[str, list[float]] = {name: [] for name in indexes}
        for text in self.questions:
            for name, index in indexes.items():
                start = time.perf_counter()
                index.search(text, budget_ms=0)
                spent[name].append(1000 * (time.perf_counter() - start))
        found = {}
        for name, values in spent.items():
            p50, p95 = np.percentile(values, [50, 95])
            found[name] = Cost(round(float(p50), 2), round(float(p95), 2), len(values))
        return found

    def _index(self, trial: Trial) -> IndexReader:
        """Return the very index that a search with these settings would use."""
        ground = self.bench.asking.ground_of(trial.settings)
        index = IndexReader(ground.opened, trial.settings)
        if trial.learned:
            model = self.bench.learned.model(ground, trial, {})
            learned: Stage = Learned(model, Features(ground.opened))
            stages = [*index.searcher.stages, ("learned", learned)]
            index.searcher = replace(index.searcher, stages=stages)
        return index


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


DEFAULT, TUNED = "default", "tuned"
MAX_UNDOINGS = 4
# What trials take, by key, timed in one go.
CostsOf = Callable[[Sequence[Trial]], Mapping[str, Cost]]


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
    bench: TrialRunner,
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
    # Each question under what was chosen without its fold.
    of_folds = np.array(bench.values(by_fold))
    values = {TUNED: of_folds[folds.fold, np.arange(len(folds.groups))]}
    values |= zip(fixed, bench.values(list(fixed.values())), strict=True)
    return Tuned(fixed[DEFAULT], choice, tuple(by_fold), fixed, values, folds)


class Chooser:
    """Takes the simplest of what was tried, and undoes whatever can be undone."""

    def __init__(
        self, bench: TrialRunner, default: Trial, costs: CostsOf, budget_ms: float
    ) -> None:
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
        for _ in range(MAX_UNDOINGS):
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
        if self.budget_ms:  # what takes too long is forgotten; the default is left if all does
            self._time(trial for each in climbers for trial in each.visited.values())
            for each in climbers:
                quick = [t for t in each.visited.values() if self._cost(t).p95 <= self.budget_ms]
                each.visited = {trial.key: trial for trial in quick or [self.default]}
        near = [nearest(each, self.bench.values, groups) for each in climbers]
        self._time(trial for some in near for trial in some)
        return [min(some, key=self._order) for some in near]

    def _time(self, trials: Iterable[Trial]) -> None:
        """Time what was not timed yet."""
        new = {cost_class(t): t for t in trials if cost_class(t) not in self._spent}
        spent = self.costs(list(new.values())) if new else {}
        self._spent |= {name: spent[trial.key] for name, trial in new.items()}

    def _cost(self, trial: Trial) -> Cost:
        return self._spent[cost_class(trial)]

    def _order(self, trial: Trial) -> tuple[float, float, float]:
        """Fewer parts are simpler, then less time, then fewer changes."""
        changes = changes_between(trial.settings, self.default.settings)
        return len(parts_of(trial)), self._cost(trial).p50, len(changes)
