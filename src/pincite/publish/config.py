"""The traversal configuration that goes with a run: names, keywords, intents and policies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pincite.core.errors import ConfigError
from pincite.core.profiles import profile_text, profile_values
from pincite.core.traversal import AUTO_PROFILES
from pincite.core.types import Chunk, Facts
from pincite.store.mongodb.engine import Record

# Kinds of things that are listed by their names.
NAMED = ("condition", "spell", "feat", "item", "action")
AUDIENCES = ("player", "gm")


class Names:
    """Collects the names of the things that an index describes."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {kind: set() for kind in NAMED}

    def see(self, chunks: Iterable[Chunk], facts: Mapping[str, Facts]) -> None:
        for chunk in chunks:
            kind = facts[chunk.id].content_kind if chunk.id in facts else ""
            if kind in self._names and chunk.title:
                self._names[kind].add(chunk.title)

    def config(self, shape: Mapping[str, Any]) -> Record:
        """Return the configuration of an index that was built with some settings."""
        profiles = [_profile(name) for name in _profiles(shape)]
        audiences = [each.get("audiences", {}) for each in profiles]
        walks = [each.get("traversal", {}) for each in profiles]
        patterns: dict[str, list[str]] = {}
        policies: Record = {}
        for walk in walks:
            for intent in walk.get("intent", ()):
                patterns.setdefault(intent["name"], []).extend(intent["patterns"])
            for policy in walk.get("policy", ()):
                policies.setdefault(policy["name"], policy)
        return {
            **{f"{kind}_names": sorted(self._names[kind]) for kind in NAMED},
            **{
                f"{audience}_keywords": [w for each in audiences for w in each.get(audience, ())]
                for audience in AUDIENCES
            },
            "intent_patterns": patterns,
            "policies": policies,
        }


def _profiles(shape: Mapping[str, Any]) -> tuple[str, ...]:
    name = str(shape.get("ingest", {}).get("profile", "none"))
    if name == "auto":
        return AUTO_PROFILES
    return () if name == "none" else (name,)


def _profile(name: str) -> Mapping[str, Any]:
    try:
        return profile_values(profile_text(name), origin=name)[0]
    except ConfigError:  # a file that has gone since the index was built
        return {}
