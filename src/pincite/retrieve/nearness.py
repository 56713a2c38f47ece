"""How near hits stand to the best ones in the graph, by the vectors of their nodes."""

from __future__ import annotations

from dataclasses import replace

from pincite.core.settings import GraphSettings
from pincite.core.types import Hit, Ranking
from pincite.index.node_vectors import nearness, node_vectors
from pincite.retrieve.graph import Graph, edge_weight


class GraphNearness:
    """Adds ``weight`` of the best score times the cosine between a hit and the first hits.

    The vectors are those of the graph around the first ``pool`` hits. The cosine is kept as raw
    ``nodes``, for learned rankers, also where the weight is 0.
    """

    name = "nodes"

    def __init__(
        self,
        graph: Graph,
        settings: GraphSettings | None = None,
        *,
        weight: float = 0.0,
        pool: int = 30,
    ) -> None:
        self.graph = graph
        self.settings = settings or GraphSettings()
        self.weight = weight
        self.pool = pool

    def rerank(self, ranking: Ranking) -> Ranking:
        near, rest = ranking.hits[: self.pool], ranking.hits[self.pool :]
        if not near:
            return ranking
        cosines = self._cosines(near)
        scale = self.weight * max(0.0, near[0].score)
        hits = []
        for hit, cosine in zip(near, cosines, strict=True):
            lift = scale * cosine
            features = {**hit.features, self.name: lift} if lift else hit.features
            raw = {**hit.raw, self.name: cosine}
            hits.append(replace(hit, score=hit.score + lift, features=features, raw=raw))
        return Ranking(ranking.query, (*hits, *rest))

    def _cosines(self, hits: tuple[Hit, ...]) -> list[float]:
        known = self.graph.of([hit.chunk_id for hit in hits])
        edges = [
            (source, edge.chunk_id, edge_weight(edge, self.settings))
            for source, group in known.items()
            for edge in group
        ]
        nodes = sorted({end for source, target, _ in edges for end in (source, target)})
        vectors = dict(zip(nodes, node_vectors(nodes, edges), strict=True))
        seeds = {hit.chunk_id: 1.0 for hit in hits[: self.settings.seed_k]}
        # A seed is near to itself: for its own cosine, the others count.
        return [
            nearness(vectors, {i: w for i, w in seeds.items() if i != hit.chunk_id}, hit.chunk_id)
            for hit in hits
        ]
