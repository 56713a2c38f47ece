"""The settings of the graph; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """What neighbours in the graph of the documents add to a score. Free to change at any time."""

    # "bfs": the best candidates lift what is a few steps away; "ppr": personalised PageRank from
    # them. Off: what it gains is within chance on one document and nothing on others (decision 8).
    mode: Literal["off", "bfs", "ppr"] = "off"
    # How many of the best candidates lift their neighbours, and how many steps away.
    seed_k: int = 3
    depth: int = 2
    # How many candidates may be lifted. Fixed, so that top 10 is a prefix of top 100.
    pool: int = 100
    # Bring in chunks that the first stage did not find, if it can score them.
    adds: bool = True
    # What a neighbour gets of the best score; "absolute" takes the number as it is.
    boost: float = 0.05
    scale: Literal["best", "absolute"] = "best"
    # Each further step gives this share of the one before.
    decay: float = 0.5
    # No chunk gets more than this, however many seeds lead to it.
    cap: float = 0.1
    # 0: all seeds lift alike; 1: in proportion to their scores.
    seed_power: float = 1.0
    # An edge is divided by its degree to this power: 0 lets hubs count fully.
    damping: float = 0.5
    # Share of a PageRank walk that goes on instead of starting anew.
    walk: float = 0.85
    # Weights of the relations; "term" leads to where a term is defined, "part" between a clause's
    # introduction and its items, "other" are a profile's own.
    reference: float = 1.0
    exception: float = 1.0
    term: float = 0.5
    part: float = 0.5
    next: float = 0.25
    other: float = 0.5
    # Factor of an edge that is walked against its direction.
    backward: float = 1.0
