"""Lifts from neighbours: the arithmetic on small graphs, and the laws of a retriever."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.core.settings import GraphSettings
from pincite.core.types import Filters, Hit, Query, Ranking
from pincite.search.graph import PRESETS, GraphBoost, pagerank
from pincite.search.neighbours import Neighbour
from pincite.search.node_vectors import GraphNearness

QUERY = Query("anything")
BFS = GraphSettings(mode="bfs", seed_k=12, depth=1, scale="absolute", cap=1e9, seed_power=0.0)


class Given:
    """A first stage with given scores."""

    name = "given"

    def __init__(self, scores: Mapping[str, float]) -> None:
        hits = (Hit(i, score, {"given": score}) for i, score in scores.items())
        self.all = Ranking(QUERY, tuple(hits))

    def retrieve(self, query: Query, k: int) -> Ranking:
        return Ranking(query, tuple(hit for hit in self.all.hits if hit.score > 0)).top(k)


class Scoring(Given):
    """One that can tell the score of any chunk, and forbids some."""

    forbidden: frozenset[str] = frozenset()

    def score(self, query: Query, ids: Sequence[str]) -> list[Hit]:
        known = {hit.chunk_id: hit for hit in self.all.hits}
        return [known.get(i, Hit(i, 0.0)) for i in ids if i not in self.forbidden]


class Edges:
    """A graph of pairs, each "ab" an edge out of a to b."""

    def __init__(self, *pairs: str, relation: str = "refers_to", degree: int = 1) -> None:
        self.found: dict[str, list[Neighbour]] = {}
        for a, b in pairs:
            out = Neighbour(b, relation, "out", degree=degree)
            self.found.setdefault(a, []).append(out)
            self.found.setdefault(b, []).append(replace(out, chunk_id=a, direction="in"))

    def of(self, ids: Sequence[str]) -> dict[str, list[Neighbour]]:
        return {i: self.found.get(i, []) for i in ids}


def lifts(ranking: Ranking) -> dict[str, float]:
    return {
        h.chunk_id: round(h.features["graph"], 6) for h in ranking.hits if "graph" in h.features
    }


def test_the_published_code_gives_its_published_sums() -> None:
    """Two seeds; d is beside both, c beside one; seeds lift each other; e is two steps away."""
    inner = Scoring({"a": 0.9, "b": 0.8, "c": 0.5, "d": 0.4, "e": 0.3})
    chosen = replace(PRESETS["s1-code"], seed_k=2)
    found = GraphBoost(inner, Edges("ab", "ac", "ad", "bd", "de"), chosen).retrieve(QUERY, 9)
    assert lifts(found) == {"a": 0.05, "b": 0.05, "c": 0.05, "d": 0.1}
    assert found.hits[0].score == pytest.approx(0.95)


def test_the_recommended_parameters_decay_by_step() -> None:
    """From a: b, then c; d is three steps away. From c, the third seed: b and d, then a."""
    inner = Scoring({"a": 0.9, "x": 0.8, "c": 0.7, "b": 0.2, "d": 0.1})
    graph = Edges("ab", "bc", "cd")
    found = GraphBoost(inner, graph, PRESETS["s1-recommended"]).retrieve(QUERY, 9)
    assert lifts(found) == {"a": 0.02, "b": 0.1, "c": 0.02, "d": 0.05}


def test_published_parameters_are_those_of_the_document() -> None:
    code, recommended = PRESETS["s1-code"], PRESETS["s1-recommended"]
    assert (code.seed_k, code.depth, code.boost, code.decay) == (12, 1, 0.05, 0.5)
    assert (recommended.seed_k, recommended.depth, recommended.decay) == (3, 2, 0.4)
    assert recommended.pool == 50


def test_weights_of_seed_relation_direction_and_crowd_multiply() -> None:
    inner = Scoring({"a": 10.0, "b": 5.0})
    chosen = GraphSettings(
        mode="bfs", depth=1, boost=0.1, cap=1.0, term=0.5, backward=0.2, damping=0.5, seed_power=1.0
    )
    graph = Edges("bc", "da", relation="uses", degree=4)
    found = GraphBoost(inner, graph, chosen).retrieve(QUERY, 9)
    # boost * best score * seed * relation / root of the degree, and the backward factor for d
    assert lifts(found) == {"c": 0.1 * 10 * 0.5 * 0.5 / 2, "d": 0.1 * 10 * 1.0 * 0.5 * 0.2 / 2}


def test_a_cap_bounds_what_many_seeds_give() -> None:
    inner = Scoring({i: 1.0 for i in "abcdef"})
    graph = Edges(*(f"{i}z" for i in "abcdef"))
    found = GraphBoost(inner, graph, replace(BFS, cap=0.12)).retrieve(QUERY, 9)
    assert lifts(found) == {"z": 0.12}


def test_unknown_relations_have_the_weight_of_others() -> None:
    graph = Edges("ab", relation="grants")
    chosen = replace(BFS, other=0.2)
    assert GraphBoost(Given({}), graph, chosen).lifts({"a": 1.0}) == {"b": pytest.approx(0.01)}


def test_pagerank_is_the_solution_of_its_equation() -> None:
    weights = np.array(
        [[0, 2, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 3, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]],
        dtype=float,
    )
    start = np.array([0.75, 0.0, 0.25, 0.0, 0.0])
    walk = 0.85
    steps = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)
    steps[3] = start  # a dead end starts anew
    exact = np.linalg.solve(np.eye(5) - walk * steps.T, (1 - walk) * start)
    assert pagerank(weights, start, walk) == pytest.approx(exact, abs=1e-8)
    assert exact.sum() == pytest.approx(1)


def test_pagerank_of_a_star_by_hand() -> None:
    """c in the middle of a and b, start at a, walk 0.5: c = 0.5 (a + b), b = 0.25 c."""
    weights = np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]])
    ranks = pagerank(weights, np.array([1.0, 0.0, 0.0]), 0.5)
    assert ranks == pytest.approx([7 / 12, 1 / 12, 1 / 3])


def test_ppr_lifts_what_walks_meet() -> None:
    chosen = replace(BFS, mode="ppr", boost=0.3, walk=0.5)
    found = GraphBoost(Given({}), Edges("ac", "cb"), replace(chosen, depth=2)).lifts({"a": 1.0})
    # As in the star above, without the half of all walks that starts at a.
    assert found == {
        "a": pytest.approx(0.3 * (1 / 12) / (1 / 3)),
        "b": pytest.approx(0.3 * (1 / 12) / (1 / 3)),
        "c": pytest.approx(0.3),
    }


def test_chunks_without_score_come_in_only_if_nothing_else_can() -> None:
    """With more to find, their place would depend on how many hits were asked for."""
    graph = Edges("az")
    few = GraphBoost(Given({"a": 1.0}), graph, BFS)
    assert few.retrieve(QUERY, 9).ids == ("a", "z")
    many = GraphBoost(Given({"a": 1.0, "b": 0.9}), graph, replace(BFS, pool=2))
    assert many.retrieve(QUERY, 2).ids == ("a", "b")
    none = GraphBoost(Given({"a": 1.0}), graph, replace(BFS, adds=False))
    assert none.retrieve(QUERY, 9).ids == ("a",)


def test_filtered_chunks_do_not_come_in() -> None:
    graph = Edges("ay", "az")
    asked = Query("anything", filters=Filters(kinds=("table",)))
    assert GraphBoost(Given({"a": 1.0}), graph, BFS).retrieve(asked, 9).ids == ("a",)
    kept = GraphBoost(Given({"a": 1.0}), graph, BFS, keep=lambda _, ids: set(ids) & {"z"})
    assert kept.retrieve(asked, 9).ids == ("a", "z")
    inner = Scoring({"a": 1.0})
    inner.forbidden = frozenset("y")
    assert GraphBoost(inner, graph, BFS).retrieve(asked, 9).ids == ("a", "z")


LETTERS = st.sampled_from(string.ascii_lowercase[:12])
SCORES = st.dictionaries(LETTERS, st.integers(1, 8).map(float), max_size=12)
PAIRS = st.lists(
    st.tuples(LETTERS, LETTERS).filter(lambda p: p[0] != p[1]).map("".join), max_size=20
)
SETTINGS = st.builds(
    GraphSettings,
    mode=st.sampled_from(["bfs", "ppr"]),
    seed_k=st.integers(0, 12),
    depth=st.integers(0, 3),
    pool=st.integers(0, 6),
    adds=st.booleans(),
    boost=st.sampled_from([0.01, 0.1, 0.5]),
    scale=st.sampled_from(["best", "absolute"]),
    decay=st.sampled_from([0.0, 0.5, 1.0]),
    cap=st.sampled_from([0.05, 1.0]),
    seed_power=st.sampled_from([0.0, 1.0]),
    damping=st.sampled_from([0.0, 0.5]),
    backward=st.sampled_from([0.0, 1.0]),
)


@settings(deadline=None, max_examples=300)
@given(SCORES, PAIRS, SETTINGS, st.booleans())
def test_laws(
    scores: dict[str, float], pairs: list[str], chosen: GraphSettings, can_score: bool
) -> None:
    inner = (Scoring if can_score else Given)(scores)
    boosted = GraphBoost(inner, Edges(*pairs), chosen)
    whole = boosted.retrieve(QUERY, 100)
    for hit in whole.hits:
        assert sum(hit.features.values()) == pytest.approx(hit.score)
        lift = hit.features.get("graph", 0.0)
        assert hit.score == pytest.approx(scores.get(hit.chunk_id, 0.0) + lift)
        scale = max(scores.values(), default=0.0) if chosen.scale == "best" else 1.0
        assert 0 <= lift <= chosen.cap * scale + 1e-9
    assert set(scores) <= set(whole.ids)
    for k in range(len(whole.hits) + 2):
        assert boosted.retrieve(QUERY, k).hits == whole.hits[:k]


@settings(deadline=None)
@given(SCORES, PAIRS, st.sampled_from(["bfs", "ppr"]))
def test_without_weight_nothing_is_left(
    scores: dict[str, float], pairs: list[str], mode: str
) -> None:
    inner, graph = Scoring(scores), Edges(*pairs)
    plain = inner.retrieve(QUERY, 50)
    for changes in ({"mode": "off"}, {"boost": 0.0}, {"reference": 0.0}, {"seed_k": 0}):
        chosen = GraphSettings(**{"mode": mode, **changes})  # type: ignore[arg-type]
        assert GraphBoost(inner, graph, chosen).retrieve(QUERY, 50) == plain


@settings(deadline=None)
@given(SCORES, PAIRS, st.sampled_from([0.0, 0.2]))
def test_nearness_only_lifts_and_keeps_all_hits(
    scores: dict[str, float], pairs: list[str], weight: float
) -> None:
    before = Given(scores).retrieve(QUERY, 50)
    after = GraphNearness(Edges(*pairs), weight=weight, pool=10).rerank(before)
    assert sorted(after.ids) == sorted(before.ids)
    for hit in after.hits:
        assert hit.score >= scores[hit.chunk_id]
        assert sum(hit.features.values()) == pytest.approx(hit.score)
        assert 0 <= hit.raw.get("nodes", 0.0) <= 1 + 1e-9
        assert weight or hit.score == scores[hit.chunk_id]


def test_who_shares_neighbours_with_the_best_is_near() -> None:
    before = Given({"a": 5.0, "b": 4.0, "c": 3.0}).retrieve(QUERY, 9)
    graph = Edges("ax", "ay", "cx", "cy", "bz")
    after = GraphNearness(graph, GraphSettings(seed_k=1), weight=1.0).rerank(before)
    near = {hit.chunk_id: hit.raw["nodes"] for hit in after.hits}
    assert near["c"] > 0.9 > 0.5 > near["b"]
