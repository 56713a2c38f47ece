"""Lifts from neighbours: the arithmetic on small graphs, and the laws of the stage."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.index.opened import Rows
from pincite.model.tuning import GraphTuning
from pincite.search.candidates import Candidates
from pincite.search.graph import PRESETS, NeighbourLift, pagerank
from pincite.search.neighbours import Neighbour
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

BFS = GraphTuning(mode="bfs", seed_k=12, depth=1, scale="absolute", cap=1e9, seed_power=0.0)
QUERY = cast(ParsedQuery, SimpleNamespace(text="anything", is_bare_number=False))
NUMBER = cast(ParsedQuery, SimpleNamespace(text="210.8", is_bare_number=True))


class Letters:
    """Rows of an index whose chunks are letters."""

    def find(self, ids: Sequence[str]) -> Array:
        return np.array([ord(each) for each in ids], dtype=np.int64)


def given_table(
    scores: Mapping[str, float], limit: int = 100, forbidden: str = "", *, can_score: bool = True
) -> Candidates:
    """Return a first stage's table of given scores, which can score any letter but some."""

    def table(names: Sequence[str]) -> Candidates:
        own = np.array([scores.get(name, 0.0) for name in names])
        return Candidates.of(names, {"given": own}, Letters().find(names))

    def score_rows(rows: Array) -> Candidates:
        return table([chr(row) for row in rows.tolist() if chr(row) not in forbidden])

    first = table(list(scores))
    return replace(first, limit=limit, score_rows=score_rows if can_score else None)


def boosted(
    graph: Edges, settings: GraphTuning, table: Candidates, query: ParsedQuery = QUERY
) -> Candidates:
    return NeighbourLift(graph, settings, cast(Rows, Letters()))(query, table)


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


def lifts(table: Candidates) -> dict[str, float]:
    return {
        h.chunk_id: round(h.features["graph"], 6) for h in table.hits() if "graph" in h.features
    }


def test_behind_a_bare_number_nothing_is_lifted_and_nothing_comes_in() -> None:
    inner = given_table({"a": 0.9, "b": 0.8})
    assert boosted(Edges("ab", "ac"), BFS, inner, NUMBER).names() == ["a", "b"]
    assert lifts(boosted(Edges("ab", "ac"), BFS, inner, NUMBER)) == {}
    assert boosted(Edges("ab", "ac"), BFS, inner).names() == ["a", "b", "c"]


def test_the_published_code_gives_its_published_sums() -> None:
    """Two seeds; d is beside both, c beside one; seeds lift each other; e is two steps away."""
    inner = given_table({"a": 0.9, "b": 0.8, "c": 0.5, "d": 0.4, "e": 0.3})
    chosen = replace(PRESETS["s1-code"], seed_k=2)
    found = boosted(Edges("ab", "ac", "ad", "bd", "de"), chosen, inner)
    assert lifts(found) == {"a": 0.05, "b": 0.05, "c": 0.05, "d": 0.1}
    assert found.hits()[0].score == pytest.approx(0.95)


def test_the_recommended_parameters_decay_by_step() -> None:
    """From a: b, then c; d is three steps away. From c, the third seed: b and d, then a."""
    inner = given_table({"a": 0.9, "x": 0.8, "c": 0.7, "b": 0.2, "d": 0.1})
    graph = Edges("ab", "bc", "cd")
    found = boosted(graph, PRESETS["s1-recommended"], inner)
    assert lifts(found) == {"a": 0.02, "b": 0.1, "c": 0.02, "d": 0.05}


def test_published_parameters_are_those_of_the_document() -> None:
    code, recommended = PRESETS["s1-code"], PRESETS["s1-recommended"]
    assert (code.seed_k, code.depth, code.boost, code.decay) == (12, 1, 0.05, 0.5)
    assert (recommended.seed_k, recommended.depth, recommended.decay) == (3, 2, 0.4)
    assert recommended.pool == 50


def test_weights_of_seed_relation_direction_and_crowd_multiply() -> None:
    inner = given_table({"a": 10.0, "b": 5.0})
    chosen = GraphTuning(
        mode="bfs", depth=1, boost=0.1, cap=1.0, term=0.5, backward=0.2, damping=0.5, seed_power=1.0
    )
    graph = Edges("bc", "da", relation="uses", degree=4)
    found = boosted(graph, chosen, inner)
    # boost * best score * seed * relation / root of the degree, and the backward factor for d
    assert lifts(found) == {"c": 0.1 * 10 * 0.5 * 0.5 / 2, "d": 0.1 * 10 * 1.0 * 0.5 * 0.2 / 2}


def test_a_cap_bounds_what_many_seeds_give() -> None:
    inner = given_table({i: 1.0 for i in "abcdef"})
    graph = Edges(*(f"{i}z" for i in "abcdef"))
    found = boosted(graph, replace(BFS, cap=0.12), inner)
    assert lifts(found) == {"z": 0.12}


def test_unknown_relations_have_the_weight_of_others() -> None:
    graph = Edges("ab", relation="grants")
    chosen = replace(BFS, other=0.2)
    stage = NeighbourLift(graph, chosen, cast(Rows, Letters()))
    assert stage.lifts({"a": 1.0}) == {"b": pytest.approx(0.01)}


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
    stage = NeighbourLift(Edges("ac", "cb"), replace(chosen, depth=2), cast(Rows, Letters()))
    found = stage.lifts({"a": 1.0})
    # As in the star above, without the half of all walks that starts at a.
    assert found == {
        "a": pytest.approx(0.3 * (1 / 12) / (1 / 3)),
        "b": pytest.approx(0.3 * (1 / 12) / (1 / 3)),
        "c": pytest.approx(0.3),
    }


def test_chunks_that_nobody_scores_do_not_come_in() -> None:
    graph, table = Edges("az"), given_table({"a": 1.0}, can_score=False)
    assert boosted(graph, BFS, table).names() == ["a"]
    assert boosted(graph, BFS, given_table({"a": 1.0})).names() == ["a", "z"]
    assert boosted(graph, replace(BFS, adds=False), given_table({"a": 1.0})).names() == ["a"]


def test_filtered_chunks_do_not_come_in() -> None:
    table = given_table({"a": 1.0}, forbidden="y")
    assert boosted(Edges("ay", "az"), BFS, table).names() == ["a", "z"]


LETTERS = st.sampled_from(string.ascii_lowercase[:12])
SCORES = st.dictionaries(LETTERS, st.integers(1, 8).map(float), max_size=12)
PAIRS = st.lists(
    st.tuples(LETTERS, LETTERS).filter(lambda p: p[0] != p[1]).map("".join), max_size=20
)
SETTINGS = st.builds(
    GraphTuning,
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
    scores: dict[str, float], pairs: list[str], chosen: GraphTuning, can_score: bool
) -> None:
    graph = Edges(*pairs)
    whole = boosted(graph, chosen, given_table(scores, can_score=can_score))
    hits = whole.hits()
    for hit in hits:
        assert sum(hit.features.values()) == pytest.approx(hit.score)
        lift = hit.features.get("graph", 0.0)
        assert hit.score == pytest.approx(scores.get(hit.chunk_id, 0.0) + lift)
        scale = max(scores.values(), default=0.0) if chosen.scale == "best" else 1.0
        assert 0 <= lift <= chosen.cap * scale + 1e-9
    assert set(scores) <= set(whole.names())
    for k in range(len(hits) + 2):
        assert (
            boosted(graph, chosen, given_table(scores, k, can_score=can_score)).hits() == hits[:k]
        )


@settings(deadline=None)
@given(SCORES, PAIRS, st.sampled_from(["bfs", "ppr"]))
def test_without_weight_nothing_is_left(
    scores: dict[str, float], pairs: list[str], mode: str
) -> None:
    plain = given_table(scores).hits()
    for changes in ({"boost": 0.0}, {"reference": 0.0}, {"seed_k": 0}):
        chosen = GraphTuning(**{"mode": mode, **changes})  # type: ignore[arg-type]
        assert boosted(Edges(*pairs), chosen, given_table(scores)).hits() == plain
