"""One tuning from questions to figures: what can be tried, the nested choice, times, reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pincite.cluster import connected
from pincite.core.errors import ConfigError, MissingExtra, SourceError
from pincite.core.extras import require
from pincite.core.settings import Settings
from pincite.evaluate.judgements.questions import Question, QuestionSet
from pincite.evaluate.measures import Measure
from pincite.evaluate.statistics import Comparison, compare
from pincite.learn.model import Model
from pincite.search.scorers import open_scorer
from pincite.tune.bench import Asking, Bench
from pincite.tune.costs import Cost, Costs
from pincite.tune.groups import folded
from pincite.tune.learned import FEWEST_EXAMPLES
from pincite.tune.nested import DEFAULT, Tuned, tune
from pincite.tune.sources import Sources, missing
from pincite.tune.space import (
    AXES,
    PRESETS,
    Axis,
    Trial,
    undoings,
)
from pincite.tune.spreading import Nodes
from pincite.tune.state import RememberedPairs, State
from pincite.tune.watching import Watcher

# These look at the ranks of hits alone; others need words or flags of hits.
MEASURES = ("nDCG", "Recall", "RR", "hit", "all", "P", "AP")
SHAPING = ("chunking", "tokens")  # axes that need an index of their own for every value


@dataclass(frozen=True, slots=True)
class Wish:
    """What a tuning is asked for."""

    measure: Measure
    folds: int = 5
    skipped: Sequence[str] = ()
    with_chunking: bool = False
    budget_ms: float = 0.0
    passes: int = 1


@dataclass(frozen=True, slots=True)
class Ablation:
    """What one changed setting is worth, all others being as chosen."""

    change: str
    gain: Comparison
    ms: float  # what the median search takes more because of it


@dataclass(frozen=True)
class Session:
    """A tuning that is done, with all that a report needs."""

    questions: QuestionSet
    wish: Wish
    tuned: Tuned
    bench: Bench
    axes: tuple[Axis, ...]
    untried: Mapping[str, str]  # axes with the reason why they were not tried
    costs: Mapping[str, Cost]  # of the fixed pipelines and the choice, by name
    ablations: Sequence[Ablation]
    model: Model | None = None  # the learned ranker of the choice
    held_out: Mapping[str, Any] = field(default_factory=dict)


def check(questions: QuestionSet, wish: Wish) -> list[Question]:
    """Return the questions that count; an error with a remedy if the wish cannot be met."""
    if wish.measure.name not in MEASURES:
        raise ConfigError(
            f"{wish.measure} cannot be tuned for", hint=f"one of {', '.join(MEASURES)}"
        )
    unknown = [name for name in wish.skipped if name not in {axis.name for axis in AXES}]
    if unknown:
        raise ConfigError(
            f"nothing called {unknown[0]!r} is tried",
            hint=f"known: {', '.join(axis.name for axis in AXES)}",
        )
    asked = [question for question in questions.questions if question.needs]
    if not asked:
        raise SourceError(
            f"{questions.name} has no question with an answer", hint="see docs/evaluate.md"
        )
    return asked


def about(questions: QuestionSet, sources: Sources, wish: Wish) -> dict[str, Any]:
    """Return what the state belongs to: with any other of it, its numbers mean nothing."""
    return {
        "questions": questions.hash,
        "documents": sources.identity(),
        "measure": str(wish.measure),
        "settings": sources.settings.fingerprint(),
        "folds": wish.folds,
    }


def run(
    sources: Sources, questions: QuestionSet, wish: Wish, state: State, watcher: Watcher | None
) -> Session:
    """Tune: everything that was worked out before comes from the state."""
    with connected(sources.settings.cluster) as cluster:
        asked = check(questions, wish)
        base = sources.settings
        scorer = _scorer(base, state)
        ground = sources.ground(base, asked, scorer)
        folds = folded(ground.golds, ground.corpus, wish.folds)
        asking = Asking(wish.measure, folds, lambda s: sources.ground(s, asked, scorer))
        nodes = Nodes(cluster, base, wish.measure, asking.depth) if cluster is not None else None
        bench = Bench(asking, state, scorer, watcher, nodes)
        examples = sum(gold.is_evaluable for gold in ground.golds)
        axes, untried = _axes(sources, wish, ground, examples)
        fixed = _fixed(base, axes, wish)
        costs = Costs(bench, [question.text for question in asked])
        tuned = tune(
            bench,
            _start(base),
            axes,
            fixed,
            lambda trials: costs.together(list(trials)),
            wish.budget_ms,
            wish.passes,
        )
        model = None
        if tuned.choice.learned:
            about_it = {"questions": len(asked), "settings": tuned.choice.settings.fingerprint()}
            own = asking.ground_of(tuned.choice.settings)
            model = bench.learned.model(own, tuned.choice, about_it)
        undone = undoings(tuned.choice, tuned.default.settings)
        spent = costs.together([*fixed.values(), tuned.choice, *undone.values()])
        named = {**fixed, "choice": tuned.choice}
        by_name = {name: spent[trial.key] for name, trial in named.items()}
        ablations = _ablations(bench, tuned, undone, spent)
        return Session(questions, wish, tuned, bench, axes, untried, by_name, ablations, model)


def _scorer(settings: Settings, state: State) -> RememberedPairs | None:
    inner = open_scorer(replace(settings.rerank, enabled=True))
    return RememberedPairs(inner, state.pairs()) if inner else None


def _start(base: Settings) -> Settings:
    """Return where the search begins: the settings in the pipeline that has everything."""
    return replace(base, search=replace(base.search, pipeline="default"))


def _axes(
    sources: Sources, wish: Wish, ground: Any, examples: int
) -> tuple[tuple[Axis, ...], dict[str, str]]:
    """Return the axes that can be tried, and why the others cannot."""
    untried: dict[str, str] = {}
    for axis in AXES:
        if axis.name in wish.skipped:
            untried[axis.name] = "skipped"
        elif axis.name in SHAPING and not wish.with_chunking:
            untried[axis.name] = "not asked for (--chunking)"
        elif why := missing(axis, sources, ground, examples, FEWEST_EXAMPLES):
            untried[axis.name] = why
    return tuple(map(_installed, (each for each in AXES if each.name not in untried))), untried


def _installed(axis: Axis) -> Axis:
    """Return the axis without rankers whose library is not there."""
    try:
        if "lambdamart" in axis.learned:
            require("lightgbm", extra="learn")
    except MissingExtra:
        kept = tuple(kind for kind in axis.learned if kind != "lambdamart")
        return replace(axis, learned=kept)
    return axis


def _fixed(base: Settings, axes: Sequence[Axis], wish: Wish) -> dict[str, Trial]:
    """Return the pipelines that nobody tuned: the settings as they are, and every preset."""
    names = {axis.name for axis in axes}
    needs = {"dense": "fusion", "hybrid+late": "late interaction", "hybrid+rerank": "cross-encoder"}
    found = {DEFAULT: Trial(base)}
    for preset in PRESETS:
        is_there = preset not in needs or needs[preset] in names
        if is_there and preset != base.search.pipeline:
            found[preset] = Trial(replace(base, search=replace(base.search, pipeline=preset)))
    return found


def _ablations(
    bench: Bench, tuned: Tuned, undone: Mapping[str, Trial], spent: Mapping[str, Cost]
) -> list[Ablation]:
    """Return what each change is worth: the choice beside itself without it."""
    own, *others = bench.values([tuned.choice, *undone.values()])
    found = []
    for (words, trial), values in zip(undone.items(), others, strict=True):
        more = spent[tuned.choice.key].p50 - spent[trial.key].p50
        gain = compare(values, own, tuned.folds.groups)
        found.append(Ablation(words, gain, round(more, 2)))
    return found


def state_file(folder: Path) -> Path:
    """Return where a tuning in this folder keeps what it has worked out."""
    return folder / "state.sqlite"
