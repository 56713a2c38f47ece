"""What a query names stands before what it means: tiers of hits that no re-ranker mixes."""

from __future__ import annotations

from pincite.core.types import Hit

# What a query names by its place stands first, in the order of the query; nobody re-ranks it.
PLACE = "place"
# Added alike to all hits that have what the query names: they form tiers that stay apart.
LIFTS = ("entities", "identifier")


def lift_of(hit: Hit) -> float:
    """Return the part of a score that is there because the query names something."""
    return sum(hit.features.get(name, 0.0) for name in LIFTS)
