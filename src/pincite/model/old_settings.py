"""What settings were called before: whoever still writes an old name is told the new one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pincite.model.errors import ConfigError
from pincite.model.tuning import (
    AnswerTuning,
    GraphTuning,
    LexicalTuning,
    RerankTuning,
    RoutingTuning,
    ServeTuning,
)

_CONSTANT = ""
_OFF = "search.without"  # the former switches of parts


def _moved(section: str, kind: type[Any]) -> dict[str, str]:
    """Return the keys of a section that went to the tuning, with their new names."""
    return {f"{section}.{each.name}": f"tuning.{section}.{each.name}" for each in fields(kind)}


# What settings were called before, and what they are now.
OLD_KEYS = {
    **_moved("lexical", LexicalTuning),
    **_moved("graph", GraphTuning),
    **_moved("routing", RoutingTuning),
    **_moved("rerank", RerankTuning),
    **_moved("answer", AnswerTuning),
    **_moved("serve", ServeTuning),
    **{f"search.{name}": f"tuning.{name}" for name in ("depth", "spread", "alias_weight")},
    **{f"search.{name}": _OFF for name in ("locators", "names", "aliases", "typos")},
    **{f"limits.max_{name}": f"limits.{name}" for name in ("file_mb", "seconds", "memory_mb")},
    **{
        f"{section}.{name}": f"http.{name}"
        for section in ("embedding", "rerank", "answer")
        for name in ("timeout_seconds", "retries")
    },
    "tokens.language": "ingest.language",
    "tokens.bigrams": "tuning.bigrams",
    "hybrid.method": "tuning.fusion",
    "hybrid.dense_weight": "search.meaning_weight",
    "late.weight": "search.late_weight",
    "learn.model": "search.ranker",
    "learn.tokens": "tuning.token_vectors",
    "routing.by": "search.route_by",
    "search.pipeline": "search.preset",
    "embedding.threads": "tuning.threads",
    "embedding.cache": "tuning.cache",
    "rerank.threads": "tuning.threads",
    "rerank.most_per_group": "rerank.max_per_group",
    "rerank.log_queries": "serve.log_queries",
    "answer.least_confidence": "answer.min_confidence",
    **dict.fromkeys(
        [
            *("embedding.batch", "rerank.batch", "rerank.workers", "rerank.waiting"),
            *("rerank.breaker_failures", "rerank.breaker_seconds", "serve.ask_threads"),
            *("serve.drain_seconds", "serve.sessions", "serve.session_messages"),
            *("store.connections", "cluster.retries", "cluster.object_store_mb"),
        ],
        _CONSTANT,
    ),
}


def renamed(key: str, origin: str) -> ConfigError:
    """Return the error that says what became of a former setting."""
    new = OLD_KEYS[key]
    if new == _CONSTANT:
        return ConfigError(f"{origin}: {key} is fixed now", hint="leave it out")
    if new == _OFF:
        part = key.partition(".")[2].replace("locators", "places")
        return ConfigError(
            f"{origin}: {key} is a part of {_OFF} now", hint=f'{_OFF} = "{part}" leaves it out'
        )
    return ConfigError(f"{origin}: {key} is called {new} now", hint=f"write {new}")
