"""Laws of features, folds, trees and calibrations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pincite.measure.learning import (
    RIDGE,
    Examples,
    calibration,
    fit,
    folds_by_group,
    out_of_fold,
    train_booster,
    train_forest,
    with_inputs,
)
from pincite.search.features import OF_WORDS, match_words
from pincite.search.learned import RankerModel, joined, load_model, prepared, save_model, trees_from

WORDS = st.lists(st.sampled_from("abcdefg"), max_size=30)
UNBOUNDED = ("avg_idf_matched_terms", "max_idf_term_presence")


@given(WORDS, st.lists(WORDS, max_size=4))
@settings(deadline=None)
def test_a_feature_depends_on_its_text_alone(question: list[str], texts: list[list[str]]) -> None:
    idf = [1.0 + number for number in range(len(set(question)))]
    together = match_words(question, idf, texts)
    for name, feature in OF_WORDS.items():
        found = feature(together)
        alone = [feature(match_words(question, idf, [text]))[0] for text in texts]
        assert found.tolist() == pytest.approx(alone), name
        assert np.isfinite(found).all() and (found >= 0).all(), name
        if name not in UNBOUNDED:
            assert (found <= 1).all(), name


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.integers(2, 5))
@settings(deadline=None)
def test_a_group_is_in_one_fold(groups: list[str], count: int) -> None:
    folds = folds_by_group(groups, count)
    for group in set(groups):
        assert len({int(f) for f, g in zip(folds, groups, strict=True) if g == group}) == 1


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=20))
@settings(deadline=None)
def test_a_model_never_sees_a_document_that_it_scores(groups: list[str]) -> None:
    number = {name: float(i) for i, name in enumerate("abcd")}
    table = np.array([[number[group]] for group in groups])
    sizes = np.ones(len(groups), dtype=int)
    examples = Examples(table, np.ones(len(groups)), sizes, tuple(groups), 1)

    def remembers(seen: Examples):  # type: ignore[no-untyped-def]
        return lambda lines: np.isin(lines[:, 0], seen.table[:, 0]).astype(float)

    assert not out_of_fold(examples, remembers, folds_by_group(groups, 3)).any()


@st.composite
def tree(draw: st.DrawFn) -> dict[str, np.ndarray]:
    """Return a tree over three features, grown at random."""
    columns: dict[str, list[float]] = {k: [] for k in ("feature", "threshold", "left", "right")}
    values: list[float] = []
    open_ends: list[tuple[int, str]] = [(-1, "")]
    while open_ends:
        parent, side = open_ends.pop()
        me = len(values)
        if parent >= 0:
            columns[side][parent] = me
        columns["feature"].append(draw(st.integers(0, 2)))
        columns["threshold"].append(draw(st.sampled_from([-1.0, 0.0, 0.5, 2.0])))
        columns["left"].append(me)
        columns["right"].append(me)
        values.append(draw(st.integers(-5, 5)) / 4)
        if me + 2 * len(open_ends) < 12 and draw(st.booleans()):
            open_ends += [(me, "left"), (me, "right")]
    return {name: np.array(c) for name, c in {**columns, "value": values}.items()}


def walked(tree: dict[str, np.ndarray], line: np.ndarray) -> float:
    node = 0
    while tree["left"][node] != node:
        goes_left = line[int(tree["feature"][node])] <= tree["threshold"][node]
        node = int(tree["left" if goes_left else "right"][node])
    return float(tree["value"][node])


@given(
    st.lists(tree(), min_size=1, max_size=4),
    arrays(float, (3, 3), elements=st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0])),
)
@settings(deadline=None)
def test_trees_are_walked_as_by_hand(trees: list[dict[str, np.ndarray]], lines: np.ndarray) -> None:
    together = trees_from(joined(trees), features=3, single=False)
    expected = [sum(walked(each, line) for each in trees) for line in lines]
    assert together.scores(lines).tolist() == pytest.approx(expected)


def _examples(seed: int, questions: int = 40, k: int = 6) -> Examples:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(questions * k, 4)).round(2)
    grades = (table[:, 0] + 0.5 * table[:, 1] + rng.normal(size=len(table)) > 1).astype(float)
    groups = tuple(f"d{number % 7}" for number in range(questions))
    return Examples(table, grades, np.full(questions, k), groups, k)


NAMES = ("a", "b", "c", "d")


@pytest.mark.parametrize("seed", range(3))
def test_lambdamart_is_served_as_lightgbm_predicts(seed: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("lightgbm", reason="needs the extra learn")
    examples = _examples(seed)
    mine = fit("lambdamart", examples, NAMES)
    theirs = train_booster(with_inputs(examples, mine.inputs))
    lines = np.random.default_rng(seed).normal(size=(500, 4)) * 2
    lines[:100] = examples.table[:100]  # also on the thresholds themselves
    save_model(mine, tmp_path / "m.json")
    served = load_model(tmp_path / "m.json").scores(lines, NAMES)
    assert np.abs(served - theirs.predict(prepared(lines, mine.inputs))).max() < 1e-6


@pytest.mark.parametrize("seed", range(2))
def test_a_forest_is_served_as_scikit_learn_predicts(seed: int) -> None:
    pytest.importorskip("sklearn", reason="needs the extra learn")
    examples = _examples(seed)
    theirs = train_forest(examples).predict_proba(examples.table)[:, 1]
    mine = fit("forest", examples, NAMES).scores(examples.table, NAMES)
    assert np.abs(mine - theirs).max() < 1e-6


def test_the_linear_model_finds_what_decides() -> None:
    examples = _examples(1, questions=300)
    model = fit("logistic", examples, NAMES)
    scores = np.concatenate(
        [model.scores(examples.table[i : i + 6], NAMES) for i in range(0, len(examples.table), 6)]
    )
    best = scores.reshape(-1, 6).argmax(axis=1)
    right = examples.grades.reshape(-1, 6)[np.arange(300), best].mean()
    assert right > 1.5 * examples.grades.mean()


@given(st.integers(0, 10_000), st.floats(0.01, 100))
@settings(deadline=None, max_examples=30)
def test_the_linear_model_is_at_the_minimum(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(60, 3)) * [1.0, size, 1e-3]
    grades = (rng.random(60) < 0.3).astype(float)
    grades[0] = 1.0
    examples = Examples(table, grades, np.full(12, 5), tuple("abcdefghijkl"), 5)
    weights = fit("logistic", examples, NAMES[:3]).scorer.weights  # type: ignore[union-attr]
    lines = with_inputs(examples, ("relative",)).table
    scale = lines.std(axis=0)

    def loss(weights: np.ndarray) -> float:
        scores = (lines @ weights).reshape(12, 5)
        chance = np.exp(scores - scores.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        right = grades.reshape(12, 5)
        known = right.sum(axis=1) > 0
        target = right[known] / right[known].sum(axis=1, keepdims=True)
        missed = -(target * np.log(chance[known])).sum() / known.sum()
        return float(missed + RIDGE / 2 * ((weights * scale) ** 2).sum())

    best = loss(weights)
    for _ in range(20):
        assert loss(weights + rng.normal(size=3) * 0.05 / scale) > best


@given(st.floats(0.2, 3), st.floats(-2, 2))
@settings(deadline=None, max_examples=20)
def test_a_calibration_finds_the_curve(slope: float, offset: float) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    right = rng.random(20_000) < 1 / (1 + np.exp(-(slope * scores + offset)))
    found = calibration(scores, right)
    assert found == pytest.approx((slope, offset), abs=0.15)
    chances = RankerModel("x", (), 1, None, (), *found).probabilities(scores)  # type: ignore[arg-type]
    assert chances.mean() == pytest.approx(right.mean(), abs=0.01)
