"""Fusion: published arithmetic, and laws that every method keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.search.candidates import METHODS, RRF_K, fused

FLOORS = [0.0, -1.0]
numbers = st.floats(0, 50).map(lambda x: round(x, 3))
cosines = st.floats(-1, 1).map(lambda x: round(x, 3))
matrices = st.lists(st.tuples(numbers, cosines), min_size=1, max_size=20).map(np.array)


@pytest.mark.parametrize("method", METHODS)
@given(scores=matrices)
def test_a_weight_of_zero_removes_a_retriever(method: str, scores: np.ndarray) -> None:
    shares = fused(method, scores, [0.7, 0.0], FLOORS)
    assert not shares[:, 1].any()
    alone = fused(method, scores[:, :1], [0.7], FLOORS[:1])
    assert shares[:, :1] == pytest.approx(alone)


@pytest.mark.parametrize("method", METHODS)
@given(scores=matrices)
def test_a_better_score_is_never_a_smaller_share(method: str, scores: np.ndarray) -> None:
    shares = fused(method, scores, [0.4, 0.6], FLOORS)
    for column in range(2):
        order = np.argsort(scores[:, column], kind="stable")
        assert (np.diff(shares[order, column]) >= -1e-9).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_retriever_that_found_nothing_says_nothing(method: str) -> None:
    scores = np.array([[1.0, np.nan], [2.0, np.nan]])
    shares = fused(method, scores, [0.4, 0.6], FLOORS)
    assert np.isfinite(shares).all()
    assert not shares[:, 1].any()


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_score_is_no_better_than_the_worst(method: str) -> None:
    scores = np.array([[1.0, 0.2], [2.0, 0.9], [3.0, np.nan]])
    shares = fused(method, scores, [0.4, 0.6], FLOORS)
    assert shares[2, 1] <= shares[:2, 1].min() + 1e-9


def test_the_rulebook_assistants_arithmetic() -> None:
    """0.4 lexical + 0.6 semantic after min-max with an epsilon of 1e-9."""
    lexical, semantic = np.array([12.0, 7.0, 2.0]), np.array([0.3, 0.8, 0.5])
    expected = 0.4 * (lexical - 2) / (10 + 1e-9) + 0.6 * (semantic - 0.3) / (0.5 + 1e-9)
    shares = fused("minmax", np.stack([lexical, semantic], axis=1), [0.4, 0.6], FLOORS)
    assert shares.sum(axis=1) == pytest.approx(expected, abs=1e-12)


def test_reciprocal_ranks() -> None:
    scores = np.array([[9.0, 0.1], [5.0, 0.9], [5.0, np.nan]])
    shares = fused("rrf", scores, [1.0, 1.0], FLOORS)
    scale = RRF_K + 1
    assert shares[:, 0].tolist() == [1.0, scale / (RRF_K + 2), scale / (RRF_K + 2)]
    assert shares[:, 1].tolist() == [scale / (RRF_K + 2), 1.0, 0.0]


def test_a_poor_best_one_is_no_winner_with_theoretical_bounds() -> None:
    scores = np.array([[0.0, 0.10], [0.0, 0.11]])
    near = fused("theoretical", scores, [0.0, 1.0], FLOORS)[:, 1]
    assert near[1] - near[0] < 0.01
    far = fused("minmax", scores, [0.0, 1.0], FLOORS)[:, 1]
    assert far[1] - far[0] > 0.99
