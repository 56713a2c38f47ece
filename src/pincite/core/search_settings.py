"""The settings of searching; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a search returns."""

    # Named pipeline; see pincite.search.pipeline.PRESETS.
    pipeline: str = "default"
    # How many hits come out.
    k: int = 10
    # How many candidates the first stage considers.
    depth: int = 100
    # A query that names a place gets that place first.
    locators: bool = True
    # "auto": a question that names its readers ("as a game master, ...") leaves out what is
    # written for others only; the words are those of the profiles.
    audience: Literal["off", "auto"] = "off"
    # A query that names a thing which a chunk describes (a spell, an item) gets that first.
    names: bool = True
    # What a hit loses for every better one of its section: 0 leaves the order as it is.
    spread: float = 0.08
    # Search also for other names that documents give: "AC" for "Armor Class", and the reverse.
    aliases: bool = True
    # What another name is worth beside the query's own words.
    alias_weight: float = 0.2
    # A word that the index does not have is searched for as the nearest one that it has.
    typos: bool = True
    # Profile, by name or path, that the pipeline "traversal" follows; "auto": code and rulebook.
    traversal: str = "auto"


@dataclass(frozen=True, slots=True)
class RoutingSettings:
    """Searching only the likeliest parts of a collection (docs/search.md has what it buys)."""

    # What is chosen among: "folder" (the first part of a document's id), "document", or "chapter"
    # (the top headings of each document).
    by: Literal["off", "folder", "document", "chapter"] = "off"
    # How many of them are searched.
    top_n: int = 3
    # A route below this confidence (0 to 1) is not taken: everything is searched.
    min_confidence: float = 0.3
