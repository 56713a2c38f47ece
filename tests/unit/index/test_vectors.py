"""Packed vectors: nearly right in int8, right after re-scoring, the same after a merge."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.index.vectors import NO_VECTOR, VectorIndex, merged, packed


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def index_of(arrays: dict[str, np.ndarray], size: int) -> VectorIndex:
    """Return an index of one segment without files."""
    part = SimpleNamespace(
        **{"centres": None, "tokens": None, **arrays}, entry=SimpleNamespace(model="m")
    )
    segment = SimpleNamespace(entry=SimpleNamespace(name="s", chunks=size))
    snapshot: Any = SimpleNamespace(vectors_of=lambda model: [part], segments=[segment])
    return VectorIndex(snapshot, "m")


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_the_best_window_counts(seed: int, size: int) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(0, size, 3 * size)
    vectors = unit(random.normal(size=(3 * size, 16))).astype(np.float32)
    query = unit(random.normal(size=(1, 16)))[0].astype(np.float32)
    index = index_of(packed(rows, vectors), size)
    expected = np.full(size, NO_VECTOR)
    np.maximum.at(expected, rows, vectors @ query)
    asked = random.permutation(size)
    assert index.exact(0, asked, query) == pytest.approx(expected[asked], abs=2e-3)
    assert index.approximate(0, query) == pytest.approx(expected, abs=0.02)


def test_a_row_without_a_vector_is_left_out() -> None:
    arrays = packed(np.array([2, 0]), np.array([[0.0, 0.0], [0.6, 0.8]]))
    assert arrays["rows"].tolist() == [0]
    index = index_of(arrays, 3)
    assert index.approximate(0, np.array([1, 0], np.float32))[1:].tolist() == [NO_VECTOR] * 2


def test_a_merge_keeps_the_vectors_of_live_rows() -> None:
    first = SimpleNamespace(tokens=None, **packed(np.array([0, 1, 1, 3]), np.eye(4)))
    second = SimpleNamespace(tokens=None, **packed(np.array([0, 1]), np.eye(4)[:2]))
    live = np.array([True, True, False, True])
    arrays = merged(
        [(first, live), (None, np.array([True, False])), (second, np.array([False, True]))]
    )  # type: ignore[list-item]
    assert arrays["rows"].tolist() == [0, 1, 1, 2, 4]
    assert arrays["exact"].argmax(axis=1).tolist() == [0, 1, 2, 3, 1]


def test_scores_do_not_depend_on_which_rows_are_asked_for(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    index = index_of(packed(np.arange(500), unit(random.normal(size=(500, 384)))), 500)
    query = unit(random.normal(size=(1, 384)))[0].astype(np.float32)
    every = index.exact(0, np.arange(500), query)
    for some in (np.array([7]), np.array([499, 3, 7]), np.arange(0, 500, 7)):
        assert (index.exact(0, some, query) == every[some]).all()
