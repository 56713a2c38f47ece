"""Trials, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pincite.cluster import Cluster, WorkPiece
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.measure.grades import Measure
from pincite.measure.questions import Question
from pincite.measure.spreading import SentIndex, received, sent
from pincite.measure.tune.shared import Folds, Ground, LearnedTrials, gains, values_of
from pincite.measure.tune.space import RememberedPairs, State, Trial, Watcher
from pincite.model.settings import Settings
from pincite.search.scorers import open_scorer

# Trials of a batch share most of the work of a question, so that few questions are enough.
QUESTIONS_AT_ONCE = 4

Gains = tuple[int, list[str], Array]  # a question, trials, and what each of them brings
_GROUNDS: dict[str, Ground] = {}  # on a node: by index, while the questions are the same


@dataclass(frozen=True, slots=True)
class TrialBatch:
    """What all pieces of a batch of trials have in common."""

    index: SentIndex
    questions: Sequence[Question]
    base: Settings
    measure: Measure
    depth: int
    trials: Mapping[str, Settings]
    pairs: Mapping[bytes, float]


@dataclass
class Nodes:
    """Asks questions under some trials on a cluster; each index is sent to it once."""

    cluster: Cluster
    base: Settings
    measure: Measure
    depth: int
    sent: dict[int, SentIndex] = field(default_factory=dict)

    def gains(
        self,
        ground: Ground,
        trials: Sequence[Trial],
        missing: Mapping[str, Array],
        scorer: RememberedPairs | None,
    ) -> Iterator[Gains]:
        """Yield each question in order with what it brings under the trials that lack it."""
        if id(ground) not in self.sent:
            self.sent[id(ground)] = sent(self.cluster, ground.opened.snapshot)
        questions = [gold.question for gold in ground.golds]
        batch = TrialBatch(
            self.sent[id(ground)],
            questions,
            self.base,
            self.measure,
            self.depth,
            {trial.key: trial.settings for trial in trials},
            dict(scorer.known) if scorer else {},
        )
        shared = self.cluster.put(batch)
        wanted = [[key for key in batch.trials if missing[key][at]] for at in range(len(questions))]
        numbered = list(enumerate(wanted))
        pieces = (
            WorkPiece(None, (shared, numbered[at : at + QUESTIONS_AT_ONCE]))
            for at in range(0, len(numbered), QUESTIONS_AT_ONCE)
        )
        for _, (found, pairs) in self.cluster.distribute(try_some, pieces):
            if scorer is not None:
                scorer.add(pairs)
            yield from found


def try_some(
    batch: TrialBatch, wanted: Sequence[tuple[int, Sequence[str]]]
) -> tuple[list[Gains], dict[bytes, float]]:
    """On a node: ask some questions under their trials; the pairs that were read come along."""
    ground = _ground(batch)
    scorer = ground.scorer
    if isinstance(scorer, RememberedPairs):
        scorer.known |= batch.pairs
    plans = {key: ground.plan(settings, batch.depth) for key, settings in batch.trials.items()}
    found = [
        (at, list(keys), gains(ground, at, [plans[key] for key in keys], batch.measure))
        for at, keys in wanted
    ]
    ground.forget()
    return found, dict(scorer.taken()) if isinstance(scorer, RememberedPairs) else {}


def _ground(batch: TrialBatch) -> Ground:
    """Return the ground of this process, made with the first piece."""
    name = batch.index.name
    known = _GROUNDS.get(name)
    if known is None or [gold.question for gold in known.golds] != list(batch.questions):
        inner = open_scorer(replace(batch.base.reranking, enabled=True))
        scorer = RememberedPairs(inner, {}) if inner else None
        _GROUNDS[name] = Ground(OpenIndex.open(received(batch.index)), batch.questions, scorer)
    return _GROUNDS[name]


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
        nodes: Nodes | None = None,
    ) -> None:
        self.asking = asking
        self.nodes = nodes
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
            for at, keys, values in self._gained(ground, some, missing):
                for key, value in zip(keys, values, strict=True):
                    self._gains[key][at] = value
                self._keep([(key, at, float(self._gains[key][at])) for key in keys])
                if self.watcher:
                    self.watcher.asked(len(some))

    def _gained(
        self, ground: Ground, trials: Sequence[Trial], missing: Mapping[str, Array]
    ) -> Iterator[Gains]:
        """Yield each question with what it brings under the trials that lack it."""
        if self.nodes is not None:
            yield from self.nodes.gains(ground, trials, missing, self.scorer)
            return
        depth, measure = self.asking.depth, self.asking.measure
        plans = {each.key: ground.plan(each.settings, depth) for each in trials}
        for at in range(self.questions):
            wanted = [key for key in plans if missing[key][at]]
            yield at, wanted, gains(ground, at, [plans[key] for key in wanted], measure)
        ground.forget()

    def _values(self, ground: Ground, at: int, rankings: Sequence[Sequence[str]]) -> Array:
        """Return what rankings of one question bring."""
        return values_of(ground, at, rankings, self.asking.measure)

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
