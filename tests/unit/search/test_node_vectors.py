"""Vectors of nodes: the same for the same graph, near for near nodes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.search.node_vectors import nearness, node_vectors

NODES = [f"chunk{i}" for i in range(12)]
PAIRS = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=30)


def cliques() -> list[tuple[str, str, float]]:
    """Two groups of six that all know each other, and one edge between the groups."""
    groups = NODES[:6], NODES[6:]
    inside = [(a, b, 1.0) for group in groups for a, b in combinations(group, 2)]
    return [*inside, (NODES[0], NODES[6], 1.0)]


def test_a_node_is_nearer_to_its_own_group() -> None:
    vectors = node_vectors(NODES, cliques())
    cosines = vectors @ vectors.T
    for row in range(12):
        own = [i for i in range(12) if i // 6 == row // 6 and i != row]
        other = [i for i in range(12) if i // 6 != row // 6]
        assert cosines[row, own].min() > cosines[row, other].max()


def test_one_step_is_the_mean_of_the_neighbours() -> None:
    """In a star the leaves see only the middle, so they are the same."""
    star = [("m", leaf, 1.0) for leaf in "abc"]
    rows = node_vectors("mabc", star, steps=(1.0,))
    assert rows[1] == pytest.approx(rows[2])
    assert rows[2] == pytest.approx(rows[3])


@settings(deadline=None, max_examples=50)
@given(PAIRS, st.permutations(NODES))
def test_the_order_of_nodes_and_edges_does_not_matter(
    pairs: list[tuple[str, str]], shuffled: list[str]
) -> None:
    edges = [(a, b, 1.0) for a, b in pairs]
    rows = dict(zip(NODES, node_vectors(NODES, edges), strict=True))
    other = dict(
        zip(
            shuffled,
            node_vectors(shuffled, [(b, a, w) for a, b, w in reversed(edges)]),
            strict=True,
        )
    )
    for node in NODES:
        assert np.array_equal(rows[node], other[node])
        length = np.linalg.norm(rows[node])
        assert length == pytest.approx(1.0) or length == 0.0


def test_strangers_loops_and_lonely_nodes_are_harmless() -> None:
    rows = node_vectors(["a", "b", "c"], [("a", "a", 1.0), ("a", "x", 1.0), ("a", "b", 0.0)])
    assert not rows.any()
    assert node_vectors([], []).shape == (0, 64)
    assert node_vectors(["a", "b"], [("a", "b", 1.0)], dimensions=100).shape == (2, 100)


def test_nearness_is_the_cosine_to_the_middle_of_the_seeds() -> None:
    vectors = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 1.0]), "c": np.array([-1.0, 0.0])}
    assert nearness(vectors, {"a": 1.0, "b": 1.0}, "a") == pytest.approx(2**-0.5)
    assert nearness(vectors, {"a": 1.0}, "c") == 0.0
    assert nearness(vectors, {"x": 1.0}, "a") == 0.0
    assert nearness(vectors, {"a": 1.0}, "x") == 0.0
