"""The nested choice on made values: what it may look at, what it keeps, what it claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.measure.learning import folds_by_group
from pincite.measure.tune.nested import DEFAULT, TUNED, Cost, Tuned, tune
from pincite.measure.tune.shared import Folds, tied
from pincite.measure.tune.space import (
    AXES,
    Axis,
    Trial,
    changes_between,
    cost_class,
    parts_of,
    said,
)
from pincite.model.settings import Settings, merged

QUESTIONS = 120
GROUPS = tuple(f"document {n // 4}" for n in range(QUESTIONS))
FOLDS = Folds(GROUPS, folds_by_group(GROUPS, 5), "document")
BASE = Settings()
SOME = tuple(axis for axis in AXES if axis.name in ("fusion", "spread"))
Made = Callable[[Trial], np.ndarray[Any, Any]]


class MadeBench:
    """A table of trials by questions that is made up."""

    def __init__(self, made: Made) -> None:
        self.made = made
        self.asking = SimpleNamespace(folds=FOLDS)

    def values(self, trials: Sequence[Trial], left_out: int | None = None) -> list[Any]:
        return [self.made(trial) for trial in trials]


def same_cost(trials: Iterable[Trial]) -> Mapping[str, Cost]:
    return {trial.key: Cost(10.0, 20.0, 30) for trial in trials}


def tuned(made: Made, axes: Sequence[Axis] = SOME, **wishes: Any) -> Tuned:
    bench: Any = MadeBench(made)
    fixed = {DEFAULT: Trial(BASE)}
    costs = wishes.pop("costs", same_cost)
    return tune(bench, BASE, axes, fixed, costs, **wishes)


def noise(trial: Trial, seed: int, size: float) -> np.ndarray[Any, Any]:
    """Return what is hard for all, and some luck of the trial's own that documents share."""
    shared = np.random.default_rng(seed).normal(0.5, 0.3, QUESTIONS)
    own = np.random.default_rng([seed, int(trial.key[:8], 16)])
    by_document = np.repeat(own.normal(0, size, QUESTIONS // 4), 4)
    return np.asarray(shared + by_document + own.normal(0, size, QUESTIONS))


def test_of_equal_pipelines_the_default_is_kept() -> None:
    values = np.random.default_rng(1).random(QUESTIONS)
    found = tuned(lambda _: values)
    assert found.gain.verdict == "no significant difference" and found.gain.p == 1.0
    assert found.kept == Trial(BASE)


def test_a_clear_winner_is_chosen_in_every_fold() -> None:
    found = tuned(lambda t: noise(t, 2, 0.02) + 0.1 * (t.settings.tuning.spread == 0.0))
    assert all(each.settings.tuning.spread == 0.0 for each in (*found.by_fold, found.choice))
    assert found.is_better and found.kept == found.choice
    assert found.gain.difference == pytest.approx(0.1, abs=0.03)


def test_luck_is_seldom_called_a_gain() -> None:
    """All trials are equally good; choosing among them may not be sold as progress."""
    claims = [tuned(lambda t, s=seed: noise(t, s, 0.1)).is_better for seed in range(12)]
    assert sum(claims) <= 2


def test_the_figure_of_tuning_is_not_that_of_the_luckiest() -> None:
    found = tuned(lambda t: noise(t, 5, 0.2))
    best = max(noise(t, 5, 0.2).mean() for axis in SOME for t in axis.options(Trial(BASE)))
    assert found.values[TUNED].mean() < best


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 4), st.integers(0, 1000))
def test_a_fold_has_no_say_in_what_is_chosen_without_it(fold: int, seed: int) -> None:
    is_own = FOLDS.fold == fold

    def other(trial: Trial) -> np.ndarray[Any, Any]:
        return np.where(is_own, noise(trial, seed + 1, 0.9), noise(trial, seed, 0.1))

    first = tuned(lambda t: noise(t, seed, 0.1))
    assert tuned(other).by_fold[fold] == first.by_fold[fold]


def test_the_simplest_within_a_standard_error_is_taken() -> None:
    """Without spread there is a part less, and what it loses is within the noise."""
    luck = np.random.default_rng(3).normal(0, 0.2, QUESTIONS)
    luck -= luck.mean() - 0.005

    def made(trial: Trial) -> np.ndarray[Any, Any]:
        return 0.5 + luck * (trial.settings.tuning.spread == 0.12)

    found = tuned(made, [axis for axis in SOME if axis.name == "spread"])
    assert found.choice.settings.tuning.spread == 0.0
    assert "spread" not in parts_of(found.choice)


def test_of_equally_simple_ones_the_quicker_is_taken() -> None:
    axis = Axis("pool", ({"tuning.depth": 50}, {"tuning.depth": 200}))

    def costs(trials: Iterable[Trial]) -> Mapping[str, Cost]:
        return {t.key: Cost(t.settings.tuning.depth / 10, 50.0, 9) for t in trials}

    found = tuned(lambda _: np.full(QUESTIONS, 0.5), (axis,), costs=costs)
    assert found.choice.settings.tuning.depth == 50


def test_what_is_too_slow_is_not_chosen() -> None:
    def costs(trials: Iterable[Trial]) -> Mapping[str, Cost]:
        return {t.key: Cost(1.0, 500.0 if not t.settings.tuning.spread else 5.0, 9) for t in trials}

    def made(trial: Trial) -> np.ndarray[Any, Any]:
        return noise(trial, 2, 0.02) + 0.1 * (trial.settings.tuning.spread == 0.0)

    assert tuned(made, costs=costs, budget_ms=100).choice.settings.tuning.spread > 0
    everything = tuned(made, costs=costs, budget_ms=1)
    assert everything.choice == Trial(BASE) and not everything.is_better


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=3), min_size=1))
def test_questions_that_share_a_document_share_a_fold(documents: list[list[str]]) -> None:
    groups = tied(documents)
    fold = folds_by_group(groups, 3)
    for one, mine in enumerate(documents):
        for other, theirs in enumerate(documents):
            if set(mine) & set(theirs):
                assert groups[one] == groups[other] and fold[one] == fold[other]


def test_options_keep_the_trial_first_and_none_twice() -> None:
    for axis in AXES:
        for start in (Trial(BASE), Trial(BASE, "logistic")):
            options = axis.options(start)
            assert options[0] == start and len(set(options)) == len(options)
            assert not any(t.learned and t.settings.rerank.enabled for t in options)


def test_reading_deeper_is_tried_only_where_reading_is_on() -> None:
    (axis,) = (each for each in AXES if each.name == "reading deeper")
    assert axis.options(Trial(BASE)) == [Trial(BASE)]
    reads = Trial(replace(BASE, rerank=replace(BASE.rerank, enabled=True, pool=10)))
    assert [t.settings.rerank.pool for t in axis.options(reads)] == [10, 20, 40]


def test_weights_cost_nothing_and_stages_do() -> None:
    heavier = merged(BASE, {"search": {"meaning_weight": 0.5}}, origin="test")
    assert cost_class(Trial(heavier)) == cost_class(Trial(BASE))
    words = merged(BASE, {"search": {"meaning_weight": 0.0}}, origin="test")
    reads = merged(BASE, {"rerank": {"enabled": True}}, origin="test")
    deeper = merged(reads, {"rerank": {"pool": 5}}, origin="test")
    assert len({cost_class(Trial(s)) for s in (BASE, words, reads, deeper)}) == 4
    assert len(parts_of(Trial(words))) < len(parts_of(Trial(BASE))) < len(parts_of(Trial(reads)))


def test_changes_are_told_as_settings_are_written() -> None:
    changed = BASE.changed({"tuning.spread": 0.0, "tuning.lexical.k1": 1.5})
    assert changes_between(changed, BASE) == {"tuning.lexical.k1": 1.5, "tuning.spread": 0.0}
    assert said(Trial(changed), BASE) == "tuning.spread=0.0, tuning.lexical.k1=1.5"
    assert said(Trial(BASE), BASE) == "default"


def test_a_change_that_buys_nothing_is_undone() -> None:
    """One axis is best by luck before another one makes up for it."""
    first = Axis("first", ({"tuning.lexical.k1": 1.5},))
    second = Axis("second", ({"tuning.lexical.b": 0.9},))

    def made(trial: Trial) -> np.ndarray[Any, Any]:
        words = trial.settings.tuning.lexical
        gain = 0.2 if words.b == 0.9 else 0.1 if words.k1 == 1.5 else 0.0
        return np.asarray(np.full(QUESTIONS, 0.5) + gain)

    found = tuned(made, (first, second))
    assert changes_between(found.choice.settings, BASE) == {"tuning.lexical.b": 0.9}
    assert all(each == found.choice for each in found.by_fold)
