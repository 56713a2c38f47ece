"""Fitting: weights that explain the choices, and folds that never share a section."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from multiple_choice.fitting import fit, folds, groups
from multiple_choice.questions import ExamQuestion


def asked(text: str, *sections: str) -> ExamQuestion:
    return ExamQuestion(text, text, ("a", "b"), 0, sections)


def test_the_feature_that_tells_gets_the_weight() -> None:
    rng = np.random.default_rng(1)
    right = [int(each) for each in rng.integers(4, size=200)]
    tables = []
    for each in right:
        table = rng.normal(size=(4, 3))
        table[each, 1] += 2.0
        tables.append(table)
    weights = fit(tables, right)
    assert weights[1] > 1
    assert max(abs(weights[0]), abs(weights[2])) < 0.4
    hits = sum(int(np.argmax(t @ weights)) == r for t, r in zip(tables, right, strict=True))
    assert hits > 150


def test_fitting_ends_where_the_likelihood_is_flat() -> None:
    rng = np.random.default_rng(2)
    tables = [rng.normal(size=(3, 2)) for _ in range(30)]
    weights = fit(tables, [0] * 30, penalty=2.0)
    slope = -2.0 * weights
    for table in tables:
        shares = np.exp(table @ weights)
        slope += table[0] - (shares / shares.sum()) @ table
    assert np.allclose(slope, 0, atol=1e-6)


def test_groups_join_what_shares_a_section_or_its_words() -> None:
    questions = [asked("a", "1"), asked("b", "1", "2"), asked("c", "2"), asked("c"), asked("d")]
    names = groups(questions)
    assert len(set(names[:4])) == 1
    assert names[4] != names[0]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=60), st.integers(2, 12))
def test_folds_hold_every_question_once_and_groups_whole(names: list[str], count: int) -> None:
    parts = folds(names, count)
    assert sorted(at for part in parts for at in part) == list(range(len(names)))
    for name in set(names):
        assert sum(any(names[at] == name for at in part) for part in parts) == 1
