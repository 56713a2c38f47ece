"""The settings of re-ranking; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class RerankSettings:
    """Reading the best candidates together with the question. Free to change at any time."""

    # The switch: without it nothing of this section has any effect.
    enabled: bool = False
    # Share of questions that are re-ranked, chosen by their words: for a change in small steps.
    rollout: float = 1.0
    # "shipped", or a folder with a cross-encoder; with a url, what the service there calls it.
    model: str = "shipped"
    # A service that answers POST /rerank as Cohere, Jina, vLLM and others do, as
    # "http://localhost:8080/v1". Empty: the model runs here.
    url: str = ""
    # The environment variable that holds the service's key; never the key itself.
    api_key_env: str = ""
    # A request to a service is given up after this time, and tried again so many times.
    timeout_seconds: float = 10.0
    retries: int = 1
    # How the earlier score s and the probability p become one: "weighted": (1 - weight) s + weight
    # times p's log odds in the range of s; "rrf": by both ranks; "union": the best of p, then the
    # best of s; "replace": p.
    mode: Literal["weighted", "rrf", "union", "replace"] = "weighted"
    # Share of the probability in "weighted" and "rrf"; 0 leaves the order, 1 replaces it.
    weight: float = 0.4
    # How many candidates are read. Fixed, so that top 10 is a prefix of top 100.
    pool: int = 10
    # Long chunks are read in windows of about so many tokens; the best window counts.
    window_tokens: int = 144
    # Of a long chunk so many windows are read, those that hold most of the question; 0: all.
    windows: int = 1
    # Pairs scored at once; 0: 8, or 64 with a service.
    batch: int = 0
    # Processor threads of a model that runs here; 0 takes all.
    threads: int = 0
    # A search is done within this time of its start: what is not read by then keeps its earlier
    # order. 0: no limit. `pincite search --budget-ms` says it for one search.
    budget_ms: int = 1000
    # Hits less probable than this are left out; 0 leaves out none.
    threshold: float = 0.0
    # Hits that nobody judged: "auto" leaves those behind a pool that was read as a whole out, and
    # keeps them otherwise; "keep" and "drop" always do.
    unjudged: Literal["auto", "keep", "drop"] = "auto"
    # At most most_per_group hits of one document or section, then the others.
    diversify: Literal["off", "document", "section"] = "off"
    most_per_group: int = 2
    # Do not read when the first hit leads the second by this share of its score; 0: always read.
    certain_margin: float = 0.0
    # Sizes of mode "union": ask for as many hits as both together to see it whole.
    union_reranked: int = 10
    union_first: int = 5
    # Scores of so many pairs are remembered; a question has about 20 to 100 of them.
    cache_pairs: int = 10_000
    # Searches that are read for at a time, and that may wait for it; the others are not re-ranked.
    workers: int = 4
    waiting: int = 16
    # After so many failures in a row nothing is read for so many seconds; then one search tries.
    breaker_failures: int = 5
    breaker_seconds: float = 30.0
    # "fallback": a search never fails because of re-ranking; "raise": it does, for measurements.
    on_error: Literal["fallback", "raise"] = "fallback"
    # Put the words of questions into the log. They may be private.
    log_queries: bool = False
