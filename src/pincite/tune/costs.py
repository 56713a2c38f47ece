"""What a search takes in milliseconds: whole searches, nothing remembered, pipelines in turn.

Every question is asked of one pipeline after the other, so that whatever else the machine does
slows them all alike.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256

import numpy as np

from pincite.learn.features import Features
from pincite.search.learned import Learned
from pincite.search.pipeline import Stage
from pincite.search.reader import IndexReader
from pincite.tune.bench import Bench
from pincite.tune.space import Trial, cost_class

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

    def __init__(self, bench: Bench, questions: Sequence[str]) -> None:
        self.bench = bench
        step = max(1, len(questions) // SAMPLE)
        self.questions = questions[::step][:SAMPLE]

    def together(self, trials: Sequence[Trial]) -> Mapping[str, Cost]:
        """Return by key what each trial takes, all timed in one go; known ones from the state."""
        classes = {cost_class(trial): trial for trial in trials}
        go = sha256("\n".join(sorted(classes)).encode()).hexdigest()[:16]
        state = self.bench.state
        known = {name: state.cost(f"{go} {name}") for name in classes}
        if None in known.values():
            known = {name: asdict(cost) for name, cost in self._timed(classes).items()}
            for name, cost in known.items():
                state.add_cost(f"{go} {name}", cost or {})
        found = {name: cost or {} for name, cost in known.items()}
        return {
            trial.key: Cost(own["p50"], own["p95"], int(own["n"]))
            for trial in trials
            if (own := found[cost_class(trial)])
        }

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
        return {name: _cost(values) for name, values in spent.items()}

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


def _cost(milliseconds: Sequence[float]) -> Cost:
    low, high = np.percentile(milliseconds, [50, 95])
    return Cost(round(float(low), 2), round(float(high), 2), len(milliseconds))
