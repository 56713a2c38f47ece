"""Trials with a ranker that is learned: each question is judged by models that never saw its fold.

To choose without a fold, a question of another fold needs a model that saw neither. Two folds left
out make one model for both ways round, so that five folds take fifteen models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pincite.evaluate.judgements.coverage import Gold
from pincite.index.postings import Array
from pincite.learn.examples import Examples
from pincite.learn.features import NAMES, Features
from pincite.learn.model import Model
from pincite.learn.train import fit, fit_calibrated
from pincite.search.candidates import Candidates
from pincite.search.learned import feature_lines, judged
from pincite.tune.ground import Ground
from pincite.tune.groups import Folds
from pincite.tune.space import LEARNED_K, Trial
from pincite.tune.watching import Watcher

# With fewer questions that a candidate answers there is nothing to learn that would hold.
FEWEST_EXAMPLES = 100


class LearnedTrials:
    """Learns rankers on folds; rankings and features of one set of settings serve all kinds."""

    def __init__(
        self,
        folds: Folds,
        depth: int,
        value: Callable[[Ground, int, Sequence[Sequence[str]]], Array],
    ) -> None:
        self.folds = folds
        self.depth = depth
        self._value = value
        self._last: tuple[str, list[Candidates], Examples] | None = None

    def values(self, ground: Ground, trial: Trial, watcher: Watcher | None) -> list[Array]:
        """Return for each fold that is left out what the trial brings for every question."""
        tables, examples = self._examples(ground, trial, watcher)
        count = self.folds.count
        models = {
            (one, other): self._model(trial.learned, examples, one, other)
            for one in range(count)
            for other in range(one, count)
        }
        found = np.zeros((count, len(tables)))
        starts, sizes = examples.starts.tolist(), examples.sizes.tolist()
        for at, table in enumerate(tables):
            lines = examples.table[starts[at] : starts[at] + sizes[at]]
            own = int(self.folds.fold[at])
            pairs = [(min(own, other), max(own, other)) for other in range(count)]
            ordered = [judged(models[pair], table, lines).best(self.depth) for pair in pairs]
            found[:, at] = self._value(ground, at, [each.names() for each in ordered])
        return list(found)

    def model(self, ground: Ground, trial: Trial, about: dict[str, Any]) -> Model:
        """Return the ranker of all questions, to be used from now on."""
        _, examples = self._examples(ground, trial, None)
        some = examples.of(examples.sizes > 0)
        return fit_calibrated(trial.learned, some, NAMES, about)[0]

    def _model(self, kind: str, examples: Examples, one: int, other: int) -> Model:
        fold = self.folds.fold
        kept = (fold != one) & (fold != other) & (examples.sizes > 0)
        return fit(kind, examples.of(kept), NAMES)

    def _examples(
        self, ground: Ground, trial: Trial, watcher: Watcher | None
    ) -> tuple[list[Candidates], Examples]:
        """Return the candidates of every question, with features and grades."""
        name = trial.settings.fingerprint()
        if self._last is None or self._last[0] != name:
            features = Features(ground.opened)
            plan = ground.plan(trial.settings, max(self.depth, trial.settings.search.depth))
            tables, lines, grades, sizes = [], [], [], []
            for at, gold in enumerate(ground.golds):
                table = ground.table(at, plan)
                query = ground.query(gold.question.text, plan)
                own = feature_lines(features, query, table, LEARNED_K)
                lines.append(own)
                grades += [_grade(chunk_id, gold) for chunk_id in table.names()[: len(own)]]
                sizes.append(len(own))
                tables.append(table.best(max(self.depth, LEARNED_K)))
                if watcher:
                    watcher.asked(1)
            ground.forget()
            examples = Examples(
                np.concatenate(lines),
                np.array(grades, float),
                np.array(sizes),
                self.folds.groups,
                LEARNED_K,
            )
            self._last = name, tables, examples
        return self._last[1], self._last[2]


def _grade(chunk_id: str, gold: Gold) -> float:
    return max(gold.chunks.get(chunk_id, {}).values(), default=0.0)
