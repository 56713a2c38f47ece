"""How to walk from a question to its answers along the graph, as data of a profile.

The table ``[traversal]`` of a profile names priority terms, intents and policies. An intent is
what a question is after, told by patterns; its policy says which relations are followed, how far,
and what each step is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pincite.model.errors import ConfigError
from pincite.model.profiles import (
    MAX_CHARS,
    PROFILE_NAMES,
    Pattern,
    TomlReader,
    profile_text,
    profile_values,
)

# Relations that follow from where places stand; all others are links that the documents draw.
CONTAINS = "contains"
MAX_DEPTH = 4
# With "auto": the questions that the shipped profiles know.
AUTO_PROFILES = ("code", "rulebook")
Direction = Literal["out", "in", "both"]


@dataclass(frozen=True, slots=True)
class Follow:
    """One kind of step: along a relation, against it, or both."""

    relation: str
    weight: float = 0.5
    direction: Direction = "out"


@dataclass(frozen=True, slots=True)
class Policy:
    """Which steps are taken, and how many in a row."""

    name: str
    depth: int = 1
    follow: tuple[Follow, ...] = ()
    kinds: Mapping[str, float] = field(default_factory=dict)  # what content is worth more or less


@dataclass(frozen=True, slots=True)
class Intent:
    """What a question is after."""

    name: str
    patterns: tuple[Pattern, ...]
    policy: str


@dataclass(frozen=True, slots=True)
class TraversalConfig:
    """Everything that a walk needs to know; ``version`` is a hash of where it was read."""

    version: str
    priority: Mapping[str, float] = field(default_factory=dict)  # terms in lower case
    intents: tuple[Intent, ...] = ()
    policies: Mapping[str, Policy] = field(default_factory=lambda: {"default": Policy("default")})

    def policy_for(self, query: str) -> tuple[str, Policy]:
        """Return the first intent whose pattern the query shows, and its policy."""
        for intent in self.intents:
            if any(pattern.search(query[:MAX_CHARS]) for pattern in intent.patterns):
                return intent.name, self.policies[intent.policy]
        return "", self.policies["default"]


def load_traversal(name: str) -> TraversalConfig:
    """Return the walk that a profile describes, by its name or the path of a TOML file.

    "auto" knows the intents of all shipped profiles that have some; the first profile that names
    a policy gives it.
    """
    names = AUTO_PROFILES if name == "auto" else (name,)
    configs = []
    for each in names:
        values, version = profile_values(profile_text(each), origin=each)
        table = TomlReader(
            values.get("traversal", {}), f"{each}: traversal", is_shipped=each in PROFILE_NAMES
        )
        configs.append(parse_traversal(table, version))
    if len(configs) == 1:
        return configs[0]
    return TraversalConfig(
        version="+".join(config.version for config in configs),
        priority={k: v for config in reversed(configs) for k, v in config.priority.items()},
        intents=tuple(intent for config in configs for intent in config.intents),
        policies={k: v for config in reversed(configs) for k, v in config.policies.items()},
    )


def parse_traversal(table: TomlReader, version: str) -> TraversalConfig:
    """Return the walk of a profile's table; every key, name and pattern is checked."""
    priority = table.table("priority")
    terms = {term.casefold(): priority.number(term, 1.0) for term in priority.values}
    policies = {"default": Policy("default")}
    named = [_policy(each) for each in table.tables("policy")]
    policies |= {policy.name: policy for policy in reversed(named)}  # the upper profile's wins
    intents = []
    for each in table.tables("intent"):
        intent = Intent(
            each.text("name"),
            each.patterns("patterns"),
            each.text("policy", "default"),
        )
        each.finish()
        if intent.policy not in policies:
            raise ConfigError(
                f"{each.where}: no policy called {intent.policy!r}",
                hint=f"known: {', '.join(policies)}",
            )
        intents.append(intent)
    table.finish()
    return TraversalConfig(version, terms, tuple(intents), policies)


def _policy(table: TomlReader) -> Policy:
    follow = []
    for each in table.tables("follow"):
        follow.append(
            Follow(
                each.text("relation"),
                each.number("weight", 0.5),
                each.choice("direction", ("out", "in", "both")),
            )
        )
        each.finish()
    kinds = table.table("kinds")
    made = Policy(
        table.text("name"),
        min(MAX_DEPTH, int(table.number("depth", 1.0))),
        tuple(follow),
        {kind: kinds.number(kind, 1.0) for kind in kinds.values},
    )
    table.finish()
    return made
