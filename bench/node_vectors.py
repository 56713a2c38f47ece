"""How near candidates stand to the best ones in the graph, by vectors of its nodes.

Near in the graph is near in space.

Fast random projection (Chen et al. 2019): every node starts with a few signs that its id gives,
and takes the mean of its neighbours some times over. No training, no walks, no random state: the
same graph gives the same vectors, in whichever order its nodes and edges come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from pincite.model.tuning import GraphTuning
from pincite.search.candidates import Candidates
from pincite.search.graph import Graph, edge_weight
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

DIMENSIONS = 64
# How much the mean over one, two, three steps counts; a node's own signs do not.
STEPS = (0.5, 1.0, 1.0)
# Nodes with many edges start weaker, or all would be near to them.
DEGREE_POWER = -0.5


class NodeNearness:
    """Adds ``weight`` of the best score times the cosine between a candidate and the first ones.

    The vectors are those of the graph around the first ``pool`` candidates. The cosine is kept as
    raw ``nodes``, for learned rankers, also where the weight is 0.
    """

    name = "nodes"

    def __init__(
        self,
        graph: Graph,
        settings: GraphTuning | None = None,
        *,
        weight: float = 0.0,
        pool: int = 30,
    ) -> None:
        self.graph = graph
        self.settings = settings or GraphTuning()
        self.weight = weight
        self.pool = pool

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        near = table.order()[: self.pool]
        if not len(near):
            return table
        cosines = np.full(len(table), np.nan)
        cosines[near] = self._cosines(table.names(near))
        scale = self.weight * max(0.0, float(table.score[near[0]]))
        return table.with_raw(self.name, cosines).with_part(self.name, scale * cosines)

    def _cosines(self, ids: Sequence[str]) -> list[float]:
        known = self.graph.of(ids)
        edges = [
            (source, edge.chunk_id, edge_weight(edge, self.settings))
            for source, group in known.items()
            for edge in group
        ]
        nodes = sorted({end for source, target, _ in edges for end in (source, target)})
        vectors = dict(zip(nodes, node_vectors(nodes, edges), strict=True))
        seeds = dict.fromkeys(ids[: self.settings.seed_k], 1.0)
        # A seed is near to itself: for its own cosine, the others count.
        return [
            nearness(vectors, {i: w for i, w in seeds.items() if i != each}, each) for each in ids
        ]


def node_vectors(
    nodes: Sequence[str],
    edges: Iterable[tuple[str, str, float]],
    *,
    dimensions: int = DIMENSIONS,
    steps: Sequence[float] = STEPS,
) -> Array:
    """Return a row of length 1 for each node, 0 for one without edges; edges go both ways.

    >>> rows = node_vectors("abcd", [("a", "b", 1.0), ("c", "d", 1.0)])
    >>> round(float(np.abs(rows[0] @ rows[2:].T).max()), 3) < 0.5
    True
    """
    numbers = {node: number for number, node in enumerate(nodes)}
    sources, targets, weights = _both_ways(numbers, edges)
    degrees = np.bincount(sources, weights, minlength=len(nodes))
    has_edges = degrees > 0
    power = np.where(has_edges, np.where(has_edges, degrees, 1.0) ** DEGREE_POWER, 0.0)
    now = _signs(nodes, dimensions) * power[:, None]
    shares = weights / degrees[sources] if len(sources) else weights
    total = np.zeros((len(nodes), dimensions))
    for weight in steps:
        spread = np.zeros_like(now)
        np.add.at(spread, sources, shares[:, None] * now[targets])
        now = _unit(spread)
        total += weight * now
    return _unit(total)


def nearness(vectors: Mapping[str, Array], seeds: Mapping[str, float], chunk_id: str) -> float:
    """Return the cosine, 0 to 1, between a chunk and the weighted mean of the seeds."""
    known = [weight * vectors[seed] for seed, weight in seeds.items() if seed in vectors]
    if not known or chunk_id not in vectors:
        return 0.0
    middle = _unit(np.sum(known, axis=0)[None, :])[0]
    return max(0.0, float(middle @ vectors[chunk_id]))


def _both_ways(
    numbers: Mapping[str, int], edges: Iterable[tuple[str, str, float]]
) -> tuple[Array, Array, Array]:
    """Return the edges in both directions, sorted by the ids, those to strangers left out."""
    joined: dict[tuple[str, str], float] = {}
    for source, target, weight in edges:
        if source in numbers and target in numbers and source != target and weight > 0:
            for pair in ((source, target), (target, source)):
                joined[pair] = max(weight, joined.get(pair, 0.0))
    # Sums of floats depend on their order: it must be that of the ids.
    ordered = sorted(joined)
    return (
        np.array([numbers[source] for source, _ in ordered], dtype=np.int64),
        np.array([numbers[target] for _, target in ordered], dtype=np.int64),
        np.array([joined[pair] for pair in ordered]),
    )


def _signs(nodes: Sequence[str], dimensions: int) -> Array:
    """Return for each node -1, 0 or 1 in each dimension, a third of them not 0, from its id."""
    bits = np.zeros((len(nodes), dimensions), dtype=np.uint8)
    for row, node in enumerate(nodes):
        raw = b"".join(
            blake2b(node.encode(), salt=part.to_bytes(2, "big")).digest()
            for part in range(-(-dimensions // 64))
        )
        bits[row] = np.frombuffer(raw, dtype=np.uint8)[:dimensions]
    return np.asarray((bits >= 213).astype(float) - (bits < 43))


def _unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 1e-12))
