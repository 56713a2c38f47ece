"""Routing: first guess which part of a collection a question is about, then search only there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pincite.core.settings import RoutingSettings
from pincite.core.stages import Retriever
from pincite.core.types import Hit, Query, Ranking
from pincite.index.groups import Groups
from pincite.retrieve.entities import Scorer
from pincite.retrieve.lexical import Lexical
from pincite.store.files import Array

# A group is judged by its best chunks: one may match by chance, many favour large groups.
BEST_CHUNKS = 3
# How many chunks of the whole index are looked at. The right group is among them, or nowhere.
DEPTH = 100
# Sharpness of the shares: evidence is a sum of few scores, and twice as much is nearly certain.
SHARPNESS = 4.0
# What a word in a group's name is worth beside the same word in its text (tuned: 0, 0.5, 1).
NAME_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Route:
    """Groups with their shares of the evidence, best first, and how clear the choice is."""

    names: tuple[str, ...]
    shares: tuple[float, ...]
    confidence: float  # 1: all evidence in one group; 0: the same in all

    def top(self, n: int) -> tuple[str, ...]:
        return self.names[:n]


NOWHERE = Route((), (), 0.0)


class Router:
    """Scores the groups of an index by the words of their best chunks and of their names."""

    def __init__(self, lexical: Lexical, groups: Groups) -> None:
        self.lexical = lexical
        self.groups = groups

    def route(self, query: Query) -> Route:
        """Return the groups that share words with the query."""
        found = self.lexical.retrieve(query, DEPTH)
        evidence: dict[int, list[float]] = {}
        for hit, group in zip(found.hits, self.groups_of(found.ids), strict=True):
            best = evidence.setdefault(group, [])
            if len(best) < BEST_CHUNKS:
                best.append(hit.score)
        if not evidence:
            return NOWHERE
        weights = self._weights(query)
        scores = {
            group: sum(best) / BEST_CHUNKS + NAME_WEIGHT * self._named(group, weights)
            for group, best in evidence.items()
        }
        return self._shared(scores)

    def groups_of(self, ids: Sequence[str]) -> list[int]:
        """Return the number of each chunk's group."""
        wanted = np.array(ids, dtype="S16")
        found = np.zeros(len(ids), dtype=np.int64)
        for (known, order), groups in zip(self._order, self.groups.rows, strict=True):
            if len(known):
                at = np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)
                rows = order[at]
                is_here = known[rows] == wanted
                found[is_here] = groups[rows[is_here]]
        return [int(group) for group in found]

    @cached_property
    def _order(self) -> list[tuple[Array, Array]]:
        """The chunk ids of each segment and the order that sorts them."""
        return [(part.ids, np.argsort(part.ids)) for part in self.lexical.index.segments]

    @cached_property
    def _name_terms(self) -> list[frozenset[str]]:
        """The terms of each group's name, which is a folder, a file or a heading."""
        terms = self.lexical.analyzer.terms
        return [frozenset(terms(name.partition(":")[2])) for name in self.groups.names]

    def _weights(self, query: Query) -> dict[str, float]:
        resolved = self.lexical.index.resolve(self.lexical.words(query.text))
        return dict(zip(resolved.words, self.lexical.scorer.weights(resolved.terms), strict=True))

    def _named(self, group: int, weights: dict[str, float]) -> float:
        return sum(weights.get(term, 0.0) for term in self._name_terms[group])

    def _shared(self, scores: dict[int, float]) -> Route:
        """Return scores as shares that add up to 1, and 1 - entropy / greatest entropy."""
        names = self.groups.names
        order = sorted(scores, key=lambda group: (-scores[group], names[group]))
        top = scores[order[0]] or 1.0
        raw = [(scores[group] / top) ** SHARPNESS for group in order]
        shares = [value / sum(raw) for value in raw]
        entropy = -sum(share * math.log(share) for share in shares if share > 0)
        greatest = math.log(len(names)) if len(names) > 1 else 1.0
        confidence = max(0.0, 1 - entropy / greatest)
        return Route(tuple(names[group] for group in order), tuple(shares), confidence)


class Routed:
    """Searches the likeliest groups if the router is sure enough, and everything if it is not.

    ``raw["route"]`` of a hit is its group's share of the evidence. With ``oracle_groups`` the
    groups come from whoever knows the answer: that is for evaluation alone.
    """

    name = "routed"

    def __init__(
        self,
        inner: Scorer,
        router: Router,
        settings: RoutingSettings,
        *,
        oracle_groups: Callable[[Query], Sequence[str]] | None = None,
    ) -> None:
        self.inner = inner
        self.router = router
        self.settings = settings
        self.oracle_groups = oracle_groups

    @property
    def inner_retrievers(self) -> list[Retriever]:
        """What searches the groups, for explanations."""
        return [self.inner]

    def score(self, query: Query, ids: Sequence[str]) -> Sequence[Hit]:
        """Return these chunks as hits, whatever the route; not those that the filters forbid."""
        return self.inner.score(query, ids)

    def retrieve(self, query: Query, k: int) -> Ranking:
        """Return the best ``k`` of the chosen groups; what was asked stays the query."""
        route = self.router.route(query)
        groups = route.top(self.settings.top_n)
        is_sure = route.confidence >= self.settings.min_confidence
        if self.oracle_groups is not None:
            groups, is_sure = tuple(self.oracle_groups(query)), True
        if not groups or not is_sure or query.filters.groups:
            return self._with_shares(query, self.inner.retrieve(query, k), route)
        narrow = replace(query, filters=replace(query.filters, groups=tuple(sorted(groups))))
        return self._with_shares(query, self.inner.retrieve(narrow, k), route)

    def _with_shares(self, query: Query, found: Ranking, route: Route) -> Ranking:
        shares = dict(zip(route.names, route.shares, strict=True))
        names = self.router.groups.names
        hits: list[Hit] = []
        for hit, group in zip(found.hits, self.router.groups_of(found.ids), strict=True):
            raw = {**hit.raw, "route": shares.get(names[group], 0.0)}
            hits.append(replace(hit, raw=raw))
        return Ranking(query, tuple(hits))
