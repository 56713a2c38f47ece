"""Vectors of nodes: the same for the same graph, near for near nodes."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from node_vectors import NodeNearness, nearness, node_vectors
from pincite.model.tuning import GraphTuning
from pincite.search.candidates import Candidates
from pincite.search.neighbours import Neighbour
from pincite.search.query import ParsedQuery

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


QUERY = cast(ParsedQuery, SimpleNamespace(text="anything"))
LETTERS = st.sampled_from(string.ascii_lowercase[:12])
SCORES = st.dictionaries(LETTERS, st.integers(1, 8).map(float), max_size=12)
EDGES = st.lists(st.tuples(LETTERS, LETTERS).map("".join), max_size=20)


class Edges:
    """A graph of pairs, each "ab" an edge out of a to b."""

    def __init__(self, *pairs: str) -> None:
        self.found: dict[str, list[Neighbour]] = {}
        for a, b in pairs:
            out = Neighbour(b, "refers_to", "out")
            self.found.setdefault(a, []).append(out)
            self.found.setdefault(b, []).append(replace(out, chunk_id=a, direction="in"))

    def of(self, ids: Sequence[str]) -> dict[str, list[Neighbour]]:
        return {i: self.found.get(i, []) for i in ids}


def given_table(scores: Mapping[str, float]) -> Candidates:
    return Candidates.of(list(scores), {"given": np.array(list(scores.values()))})


@settings(deadline=None)
@given(SCORES, EDGES, st.sampled_from([0.0, 0.2]))
def test_nearness_only_lifts_and_keeps_all_hits(
    scores: dict[str, float], pairs: list[str], weight: float
) -> None:
    before = given_table(scores)
    after = NodeNearness(Edges(*pairs), weight=weight, pool=10)(QUERY, before)
    assert sorted(after.names()) == sorted(before.names())
    for hit in after.hits():
        assert hit.score >= scores[hit.chunk_id]
        assert sum(hit.features.values()) == pytest.approx(hit.score)
        assert 0 <= hit.raw.get("nodes", 0.0) <= 1 + 1e-9
        assert weight or hit.score == scores[hit.chunk_id]


def test_who_shares_neighbours_with_the_best_is_near() -> None:
    before = given_table({"a": 5.0, "b": 4.0, "c": 3.0})
    graph = Edges("ax", "ay", "cx", "cy", "bz")
    after = NodeNearness(graph, GraphTuning(seed_k=1), weight=1.0)(QUERY, before)
    near = {hit.chunk_id: hit.raw["nodes"] for hit in after.hits()}
    assert near["c"] > 0.9 > 0.5 > near["b"]
