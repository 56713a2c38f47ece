"""Choosing settings on questions with known answers, and saying honestly what that buys.

A setting that was chosen on questions looks better on these than on others. So the choice is made
again and again without some of the documents, and judged on those (cross-validation). The default
is kept unless another setting is better by more than a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from experiments.collection import Collection, places_of, scored
from experiments.indexes import opened
from figures import Figures
from pincite.api import Index
from pincite.measure.statistics import Array, standard_error
from pincite.model.errors import SourceError
from pincite.model.settings import Settings

FOLDS = 5
SEED = 7
DENSE_WEIGHTS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9)
METHODS = ("theoretical", "minmax", "rrf")
DEFAULT = "default"
Change = Callable[[Settings], Settings]
# Parts of a search, each with how to turn it on and off.
PARTS: dict[str, tuple[Change, Change]] = {
    "graph": (
        lambda s: s.changed({"tuning.graph.mode": "bfs"}),
        lambda s: s.changed({"tuning.graph.mode": "off"}),
    ),
    "names": (
        lambda s: s.taking_in("names"),
        lambda s: s.leaving_out("names"),
    ),
    "aliases": (
        lambda s: s.taking_in("aliases"),
        lambda s: s.leaving_out("aliases"),
    ),
    "spread": (
        lambda s: s.changed({"tuning.spread": s.tuning.spread or 0.08}),
        lambda s: s.changed({"tuning.spread": 0.0}),
    ),
}


@dataclass(frozen=True, slots=True)
class Table:
    """What one measure gave each question under each of several settings."""

    values: Mapping[str, Array]  # by name of the settings, in the order simplest first
    groups: tuple[str, ...]  # of the questions

    def figures(self, name: str) -> Figures:
        figures = Figures()
        figures.add(name, self.values[name].tolist(), self.groups)
        return figures


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, and how well choosing does on documents that it did not see."""

    name: str
    folds: tuple[str, ...]  # what was chosen without each part of the documents
    held_out: Figures  # "chosen" and "default", each judged on the documents left out
    gain: tuple[float, float, float]  # chosen less default there: mean, and its 95 % interval

    @property
    def is_shown(self) -> bool:
        """Whether choosing is better than the default on documents that it did not see."""
        return self.gain[1] > 0


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a search is worth on the questions."""

    name: str
    gain: float  # with it less without it
    interval: tuple[float, float]

    @property
    def verdict(self) -> str:
        """Whether it helps, in words; what lies around zero says nothing."""
        if self.interval[0] > 0:
            return "helps"
        return "harms" if self.interval[1] < 0 else "no difference shown"


def fusions(settings: Settings) -> dict[str, Settings]:
    """Return the settings with other ways to fuse words and meaning, the given one first."""
    found = {DEFAULT: settings}
    for method in METHODS:
        for weight in DENSE_WEIGHTS:
            made = settings.changed({"tuning.fusion": method, "search.meaning_weight": weight})
            # Without meaning there is nothing to fuse: one method stands for all.
            if made != settings and (weight or method == METHODS[0]):
                found[f"{method} {weight:g}"] = made
    return found


def measured(collection: Collection, pipelines: Mapping[str, Settings], measure: str) -> Table:
    """Ask every question that can be judged under all settings."""
    asked = [question for question in collection.questions if question.gold]
    if not asked:
        raise SourceError("no question has a known answer", hint="give questions with answers")
    judged = replace(collection, measures=(measure,), name="")
    fitted = [judged.fitted(settings) for settings in pipelines.values()]
    values: dict[str, list[float]] = {name: [] for name in pipelines}
    with opened(judged.files, fitted) as indexes:
        _share_encoder(indexes)
        places = [places_of(index, judged) for index in indexes]
        for question in asked:
            for name, index, known in zip(pipelines, indexes, places, strict=True):
                values[name].append(scored(index, known, question, judged).values[measure])
    return Table(
        {name: np.array(some) for name, some in values.items()},
        tuple(question.group for question in asked),
    )


def choose(table: Table, *, default: str = DEFAULT, folds: int = FOLDS) -> Choice:
    """Return the settings to take, with held-out figures of choosing and of the default."""
    _, group = np.unique(np.asarray(table.groups), return_inverse=True)
    order = np.random.default_rng(SEED).permutation(int(group.max()) + 1)
    fold = (order % min(folds, len(order)))[group]
    chosen = np.zeros(len(group))
    names = []
    for number in range(int(fold.max()) + 1):
        left_out = fold == number
        # With a single document there is nothing to leave out, and nothing to learn from.
        kept = ~left_out
        name = _best(table, kept, default) if kept.any() else default
        names.append(name)
        chosen[left_out] = table.values[name][left_out]
    held_out, difference = Figures(), Figures()
    held_out.add("chosen", chosen.tolist(), table.groups)
    held_out.add("default", table.values[default].tolist(), table.groups)
    difference.add("gain", (chosen - table.values[default]).tolist(), table.groups)
    gain = (difference.values["gain"], *difference.intervals["gain"])
    every = np.ones(len(group), dtype=bool)
    name = _best(table, every, default) if len(order) > 1 else default
    return Choice(name, tuple(names), held_out, gain)


def _best(table: Table, kept: Array, default: str) -> str:
    """Return the default, unless the best is better by more than a standard error."""
    means = {name: float(values[kept].mean()) for name, values in table.values.items()}
    best = max(means, key=lambda name: means[name])
    groups = [each for each, is_kept in zip(table.groups, kept.tolist(), strict=True) if is_kept]
    difference = (table.values[best] - table.values[default])[kept]
    return best if difference.mean() > standard_error(difference, groups) else default


def parts(
    collection: Collection, settings: Settings, measure: str, names: Sequence[str] = tuple(PARTS)
) -> list[Part]:
    """Return what parts of a search are worth: each alone turned on and off."""
    switched = {
        f"{name} {state}": change(settings)
        for name in names
        for state, change in zip(("on", "off"), PARTS[name], strict=True)
    }
    table = measured(collection, switched, measure)
    found = []
    for name in names:
        gain = Figures()
        gain.add(
            name,
            (table.values[f"{name} on"] - table.values[f"{name} off"]).tolist(),
            table.groups,
        )
        found.append(Part(name, gain.values[name], gain.intervals[name]))
    return found


def _share_encoder(indexes: Sequence[Index]) -> None:
    """Let all pipelines share what they know of a question: its vector is the same for all."""
    found = [index.searcher.meaning for index in indexes if index.searcher.meaning]
    for meaning in found[1:]:
        meaning.encode = found[0].encode
