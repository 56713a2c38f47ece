"""What the best candidates lend to their neighbours in the graph of the documents.

Two ways to spread it. ``bfs`` walks a few steps from each seed and gives what it meets
``boost * decay^(steps - 1)`` times the weights of the edges; ``ppr`` takes the probability that a
walk which starts anew at the seeds now and then comes by (personalised PageRank, Haveliwala 2002).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from pincite.index.opened import Rows
from pincite.model.tuning import GraphTuning
from pincite.search.candidates import Candidates
from pincite.search.neighbours import Neighbour
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

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
_PLAIN = GraphTuning(
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


class NeighbourLift:
    """Lifts the neighbours of the best candidates, and brings in those that were not found.

    The lift is the part ``graph``, and never negative. Chunks that the first stage did not find
    come in with the score that it would have given them; what the filters forbid stays out.
    """

    name = "graph"

    def __init__(self, graph: Graph, settings: GraphTuning, rows: Rows) -> None:
        self.graph = graph
        self.settings = settings
        self.rows = rows

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        settings = self.settings
        table = table.take(table.order())
        pool = table.score[: settings.pool]
        # Behind a place that was asked for by its bare number, words say enough.
        if query.is_bare_number or not settings.boost or not len(pool):
            return table.take(np.arange(min(len(table), table.limit)))
        low = min(0.0, float(pool.min()))
        best = float(pool.max()) - low
        weights = ((pool - low) / best if best > 0 else np.ones(len(pool))) ** settings.seed_power
        names = table.names()
        seeds = zip(names[: settings.seed_k], weights[: settings.seed_k].tolist(), strict=False)
        lifts = self.lifts(dict(seeds))
        if settings.adds:
            table = self._added(table, lifts.keys() - names)
        else:
            lifts = {name: lifts[name] for name in names[: settings.pool] if name in lifts}
        lift = np.array([lifts.get(name, 0.0) for name in table.names()])
        scale = best if settings.scale == "best" else 1.0
        lifted = table.with_part(self.name, scale * lift)
        return lifted.with_raw(self.name, np.where(lift == 0, np.nan, lift)).best(table.limit)

    def lifts(self, seeds: Mapping[str, float]) -> dict[str, float]:
        """Return what each chunk around the seeds gets, given their weights from 0 to 1."""
        spread = personalised_pagerank if self.settings.mode == "ppr" else breadth_first
        lifts = spread(seeds, self.graph, self.settings)
        return {i: min(lift, self.settings.cap) for i, lift in lifts.items() if lift > 0}

    def _added(self, table: Candidates, ids: Iterable[str]) -> Candidates:
        """Return the table with more chunks, scored as the others were."""
        rows = self.rows.find(sorted(ids))
        if not len(rows) or table.score_rows is None:
            return table
        return table.joined(table.score_rows(rows))


def edge_weight(edge: Neighbour, settings: GraphTuning) -> float:
    """Return how strongly a neighbour is tied: its relation's weight, less if crowded."""
    weight: float = getattr(settings, _WEIGHTS.get(edge.relation, "other"))
    factor = settings.backward if edge.direction == "in" else 1.0
    # Parts of a section share one reference only where hubs are damped at all.
    share = edge.share if settings.damping else 1.0
    return weight * factor * share / math.pow(edge.degree, settings.damping)


def breadth_first(
    seeds: Mapping[str, float], graph: Graph, settings: GraphTuning
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
    seeds: Mapping[str, float], graph: Graph, settings: GraphTuning
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
