"""Traversal-only retrieval: from the names in a question, along the graph, to its answers.

No words of the texts are compared: a place is found because the query names it, because its
heading shares words with the query, or because a link leads to it. Every candidate keeps the path
that led there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pincite.index.filters import RowFilter
from pincite.index.graph_walk import MAX_NEIGHBOURS, TraversalIndex
from pincite.model.traversal import Follow, Policy, TraversalConfig
from pincite.model.types import Filters
from pincite.search.candidates import Candidates
from pincite.search.query import ParsedQuery

# Where walks start: the best of what the query names.
MAX_ENTRIES = 40
MAX_VISITED = 3_000
# A whole name in the query is worth more than any share of a heading.
NAMED = 1.0


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of a path."""

    relation: str
    is_forward: bool
    place: str  # where it leads, as a reader names it

    def __str__(self) -> str:
        arrow = f"—{self.relation}→" if self.is_forward else f"←{self.relation}—"
        return f"{arrow} {self.place}"


@dataclass(frozen=True, slots=True)
class WalkedPlace:
    """A place that a walk found. ``named`` and ``linked`` add up to the score."""

    chunk_id: str
    named: float  # by its own name or heading
    linked: float  # by the best path that leads to it
    entry: str  # the words of the query that the path starts from
    path: tuple[Edge, ...]

    @property
    def score(self) -> float:
        return self.named + self.linked

    def __str__(self) -> str:
        return " ".join([f"“{self.entry}”", *map(str, self.path)])


@dataclass(frozen=True, slots=True)
class Walk:
    """What a traversal found, and how it was told to go."""

    places: tuple[WalkedPlace, ...]  # best first
    intent: str
    policy: str
    version: str  # of the configuration


@dataclass(frozen=True, slots=True)
class _Reached:
    score: float
    entry: str
    path: tuple[Edge, ...]


def walk(query: str, index: TraversalIndex, config: TraversalConfig) -> Walk:
    """Return the places that a query's names lead to, each with its best path."""
    intent, policy = config.policy_for(query)
    entries = _entries(query, index, config)
    reached = dict(entries)
    linked: dict[str, _Reached] = {}
    for _ in range(policy.depth):
        reached = _next(reached, index, policy, linked)
        if not reached or len(linked) > MAX_VISITED:
            break
    ids = sorted({*entries, *linked})
    kinds = index.content_kinds(ids) if policy.kinds else {}
    candidates = []
    for chunk_id in ids:
        factor = policy.kinds.get(kinds.get(chunk_id, ""), 1.0)
        own, path = entries.get(chunk_id), linked.get(chunk_id)
        best = max((each for each in (own, path) if each), key=lambda each: each.score)
        candidates.append(
            WalkedPlace(
                chunk_id,
                factor * own.score if own else 0.0,
                factor * path.score if path else 0.0,
                best.entry,
                best.path,
            )
        )
    candidates = [each for each in candidates if each.score > 0]
    candidates.sort(key=lambda each: (-each.score, each.chunk_id))
    return Walk(tuple(candidates), intent, policy.name, config.version)


def _entries(query: str, index: TraversalIndex, config: TraversalConfig) -> dict[str, _Reached]:
    """Return where the walk starts: places named in full, and those whose headings fit best."""
    scores: dict[str, float] = {}
    words: dict[str, str] = {}
    for chunk_id, (share, shared) in index.headed(query).items():
        scores[chunk_id], words[chunk_id] = share, shared
    for chunk_id, name in index.named(query).items():
        scores[chunk_id] = scores.get(chunk_id, 0.0) + NAMED * config.priority.get(name, 1.0)
        words[chunk_id] = name
    best = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))[:MAX_ENTRIES]
    places = index.places(best)
    return {
        i: _Reached(scores[i], words[i], (Edge("names", True, places[i].locator),)) for i in best
    }


def _next(
    reached: Mapping[str, _Reached],
    index: TraversalIndex,
    policy: Policy,
    linked: dict[str, _Reached],
) -> dict[str, _Reached]:
    """Take one more step from all places; keep in ``linked`` the best way to each new one."""
    places = index.places(reached)
    found: dict[str, _Reached] = {}
    ways: dict[str, tuple[float, str, Follow, bool]] = {}
    steps = sorted(
        set(index.steps(places, policy.follow)), key=lambda step: (*step[1:], step[0].relation)
    )
    degree = Counter((follow, start, forward) for follow, start, _, forward in steps)
    for follow, start, end, forward in steps:
        fan = degree[follow, start, forward]
        if fan > MAX_NEIGHBOURS or start == end:
            continue
        score = reached[start].score * follow.weight / math.sqrt(fan)
        if score > ways.get(end, (0.0,))[0]:
            ways[end] = (score, start, follow, forward)
    names = index.places(ways)
    for end, (score, start, follow, forward) in ways.items():
        known = linked.get(end)
        if end not in names or (known and known.score >= score):
            continue
        step = Edge(follow.relation, forward, names[end].locator)
        found[end] = _Reached(score, reached[start].entry, (*reached[start].path, step))
    linked |= found
    return found


class Traversal:
    """Ranks the places that a walk over the graph finds; parts ``named`` and ``linked``."""

    name = "traversal"

    def __init__(self, index: TraversalIndex, config: TraversalConfig, filters: RowFilter) -> None:
        self.index = index
        self.config = config
        self.filters = filters

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        """Return the best places; none when the query names nothing of the index."""
        found = walk(query.text, self.index, self.config).places
        if query.filters != Filters():
            allowed = self.filters.keep(query.filters, [each.chunk_id for each in found])
            found = tuple(each for each in found if each.chunk_id in allowed)
        found = found[: table.limit]
        parts = {
            "named": np.array([each.named for each in found]),
            "linked": np.array([each.linked for each in found]),
        }
        steps = np.array([float(len(each.path) - 1) for each in found])
        table = Candidates.of([each.chunk_id for each in found], parts)
        return table.with_raw("steps", steps)
