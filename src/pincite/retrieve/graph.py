"""What the best candidates lend to their neighbours in the graph of the documents.

Two ways to spread it. ``bfs`` walks a few steps from each seed and gives what it meets
``boost * decay^(steps - 1)`` times the weights of the edges; ``ppr`` takes the probability that a
walk which starts anew at the seeds now and then comes by (personalised PageRank, Haveliwala 2002).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from pincite.core.settings import GraphSettings
from pincite.core.stages import Retriever
from pincite.core.types import Filters, Hit, Query, Ranking
from pincite.retrieve.neighbours import Neighbour

Array = np.ndarray[Any, np.dtype[Any]]
Keep = Callable[[Query, Sequence[str]], set[str]]
# How many chunks are asked for their neighbours at each step, the strongest ones.
MAX_FRONTIER = 256
ITERATIONS = 300
TOLERANCE = 1e-10
_WEIGHTS = {
    "refers_to": "reference",
    "exception_to": "exception",
    "uses": "term",
    "contains": "part",
    "next": "next",
}
_PLAIN = GraphSettings(
    mode="bfs",
    scale="absolute",
    cap=1e9,
    seed_power=0.0,
    damping=0.0,
    term=1.0,
    part=1.0,
    next=1.0,
    other=1.0,
)
# The published parameter sets, with their own arithmetic: edges without types, no damping, no cap,
# scores between 0 and 1. The recommended one names no boost: it is taken from the other.
PRESETS = {
    "s1-code": replace(_PLAIN, seed_k=12, depth=1, boost=0.05, decay=0.5),
    "s1-recommended": replace(
        _PLAIN, seed_k=3, depth=2, boost=0.05, decay=0.4, pool=50, adds=False
    ),
}


class Graph(Protocol):
    """Knows the neighbours of chunks."""

    def of(self, ids: Sequence[str]) -> Mapping[str, Sequence[Neighbour]]: ...


class GraphBoost:
    """Lifts the neighbours of the best candidates, and brings in those that were not found.

    Belongs around a retriever of all chunks and inside of what puts named places first. The lift
    is the feature ``graph``, and never negative. Chunks that the first stage did not find come in
    with the score that its ``score(query, ids)`` gives; it leaves out what the filters forbid. If
    it has no such method, they come in with nothing but the lift, and only if the first stage
    found less than ``pool`` hits, which is all: otherwise their score would depend on how many
    hits were asked for.
    """

    name = "graph"

    def __init__(
        self,
        inner: Retriever,
        graph: Graph,
        settings: GraphSettings | None = None,
        keep: Keep | None = None,
    ) -> None:
        self.inner = inner
        self.graph = graph
        self.settings = settings or GraphSettings()
        self.keep = keep

    @property
    def inner_retrievers(self) -> list[Retriever]:
        """What finds the seeds, for explanations."""
        return [self.inner]

    def retrieve(self, query: Query, k: int) -> Ranking:
        settings = self.settings
        if settings.mode == "off" or not settings.boost:
            return self.inner.retrieve(query, k)
        found = self.inner.retrieve(query, max(k, settings.pool))
        pool, tail = found.hits[: settings.pool], found.hits[settings.pool :]
        if not pool:
            return found.top(k)
        scale, seeds = _seeds(pool, settings)
        lifts = self.lifts(seeds)
        is_all = len(pool) < settings.pool  # whatever k is
        added = self._added(query, pool, lifts, is_all=is_all) if settings.adds else []
        lifted = [_lifted(hit, lifts.get(hit.chunk_id, 0.0), scale) for hit in (*pool, *added)]
        ids = {hit.chunk_id for hit in added}
        rest = (hit for hit in tail if hit.chunk_id not in ids)
        return Ranking(query, (*lifted, *rest)).top(k)

    def lifts(self, seeds: Mapping[str, float]) -> dict[str, float]:
        """Return what each chunk around the seeds gets, given their weights from 0 to 1."""
        spread = personalised_pagerank if self.settings.mode == "ppr" else breadth_first
        lifts = spread(seeds, self.graph, self.settings)
        return {i: min(lift, self.settings.cap) for i, lift in lifts.items() if lift > 0}

    def _added(
        self, query: Query, pool: Sequence[Hit], lifts: Mapping[str, float], *, is_all: bool
    ) -> list[Hit]:
        """Return lifted chunks that are not in the pool, with their scores before the lift."""
        new = sorted(lifts.keys() - {hit.chunk_id for hit in pool})
        if not new:
            return []
        if self.keep is not None:
            allowed = self.keep(query, new)
            new = [chunk_id for chunk_id in new if chunk_id in allowed]
        score = getattr(self.inner, "score", None)
        if score is not None:
            return list(score(query, new))
        is_checked = self.keep is not None or query.filters == Filters()
        return [Hit(chunk_id, 0.0) for chunk_id in new] if is_all and is_checked else []


def _seeds(pool: Sequence[Hit], settings: GraphSettings) -> tuple[float, dict[str, float]]:
    """Return how much a lift of 1 is, and the weights of the seeds."""
    low = min(0.0, pool[-1].score)
    best = pool[0].score - low
    weights = {
        hit.chunk_id: ((hit.score - low) / best if best > 0 else 1.0) ** settings.seed_power
        for hit in pool[: settings.seed_k]
    }
    return (best if settings.scale == "best" else 1.0), weights


def _lifted(hit: Hit, lift: float, scale: float) -> Hit:
    if not lift:
        return hit
    return replace(
        hit,
        score=hit.score + scale * lift,
        features={**hit.features, "graph": scale * lift},
        raw={**hit.raw, "graph": lift},
    )


def edge_weight(edge: Neighbour, settings: GraphSettings) -> float:
    """Return how strongly a neighbour is tied: its relation's weight, less if crowded."""
    weight: float = getattr(settings, _WEIGHTS.get(edge.relation, "other"))
    factor = settings.backward if edge.direction == "in" else 1.0
    # Parts of a section share one reference only where hubs are damped at all.
    share = edge.share if settings.damping else 1.0
    return weight * factor * share / math.pow(edge.degree, settings.damping)


def breadth_first(
    seeds: Mapping[str, float], graph: Graph, settings: GraphSettings
) -> dict[str, float]:
    """Return boost * decay^(steps-1) * edges on the way * seed, added up over the seeds.

    A chunk counts once for a seed, at its nearest step and there by its strongest way.
    """
    lifts: dict[str, float] = {}
    visited = {seed: {seed} for seed in seeds}
    frontiers = {seed: {seed: 1.0} for seed in seeds}
    for step in range(settings.depth):
        known = graph.of(_strongest(frontiers.values()))
        for seed, weight in seeds.items():
            met: dict[str, float] = {}
            for node, strength in frontiers[seed].items():
                for edge in known.get(node, ()):
                    reached = strength * edge_weight(edge, settings)
                    if edge.chunk_id not in visited[seed] and reached > met.get(edge.chunk_id, 0):
                        met[edge.chunk_id] = reached
            visited[seed].update(met)
            frontiers[seed] = met
            share = settings.boost * settings.decay**step * weight
            for node, strength in met.items():
                lifts[node] = lifts.get(node, 0.0) + share * strength
    return lifts


def _strongest(frontiers: Iterable[Mapping[str, float]]) -> list[str]:
    best: dict[str, float] = {}
    for frontier in frontiers:
        for node, strength in frontier.items():
            best[node] = max(strength, best.get(node, 0.0))
    return sorted(best, key=lambda node: (-best[node], node))[:MAX_FRONTIER]


def personalised_pagerank(
    seeds: Mapping[str, float], graph: Graph, settings: GraphSettings
) -> dict[str, float]:
    """Return boost times how often a walk from the seeds comes by, the most visited having 1.

    Only what comes along edges counts, not that walks start at a seed: its own score says that.
    The graph is what lies within ``depth`` steps of the seeds.
    """
    edges: dict[tuple[str, str], float] = {}
    frontier, seen = dict(seeds), set(seeds)
    for _ in range(settings.depth):
        known = graph.of(_strongest([frontier]))
        frontier = {}
        for node in sorted(known):
            for edge in known[node]:
                there = edge_weight(edge, settings)
                back = replace(edge, direction="in" if edge.direction == "out" else "out")
                pair = (node, edge.chunk_id)
                edges[pair] = max(edges.get(pair, 0.0), there)
                pair = (edge.chunk_id, node)
                edges[pair] = max(edges.get(pair, 0.0), edge_weight(back, settings))
                if edge.chunk_id not in seen:
                    frontier[edge.chunk_id] = max(there, frontier.get(edge.chunk_id, 0.0))
        seen.update(frontier)
    nodes = sorted(seen)
    rows = {node: row for row, node in enumerate(nodes)}
    weights = np.zeros((len(nodes), len(nodes)))
    for (source, target), weight in edges.items():
        weights[rows[source], rows[target]] = weight
    start = np.array([seeds.get(node, 0.0) for node in nodes])
    if not start.sum() > 0:
        return {}
    start /= start.sum()
    arrived = pagerank(weights, start, settings.walk) @ _steps(weights)
    most = arrived.max()
    if not most > TOLERANCE:
        return {}
    shares = np.where(arrived > TOLERANCE, arrived / most, 0.0)
    return dict(zip(nodes, (settings.boost * shares).tolist(), strict=True))


def pagerank(weights: Array, start: Array, walk: float) -> Array:
    """Return the stationary share of each node; ``start`` sums to 1, dead ends start anew.

    >>> pagerank(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]), 0.5).round(4).tolist()
    [0.6667, 0.3333]
    """
    steps = _steps(weights)
    is_dead = steps.sum(axis=1) == 0
    ranks = start
    for _ in range(ITERATIONS):
        previous = ranks
        ranks = walk * (previous @ steps + previous[is_dead].sum() * start) + (1 - walk) * start
        if np.abs(ranks - previous).sum() < TOLERANCE:
            break
    return ranks


def _steps(weights: Array) -> Array:
    """Return the probability of each step from a node to another."""
    sums = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0))
