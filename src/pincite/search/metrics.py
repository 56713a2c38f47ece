"""What re-ranking did, as JSON lines in the log and as plain counts.

No figure and no line holds the words of a question unless the settings allow it.
"""

from __future__ import annotations

import json
import logging
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Sequence
from itertools import accumulate
from math import fsum, inf, sqrt
from threading import Lock
from typing import Any, Literal

Outcome = Literal[
    "complete",
    "partial",  # as many as the time allowed
    "empty",  # the first stage found nothing
    "named",  # the query is the name of a place
    "certain",  # the first hit leads by far
    "held_back",  # rerank.rollout leaves this question out
    "timeout",
    "busy",
    "open",  # the breaker is
    "bad_scores",
    "model_error",
    "skipped_timeout",  # the first stage used up the time
]
# The first stage's order came out although re-ranking was wanted.
FALLBACKS = ("timeout", "busy", "open", "bad_scores", "model_error", "skipped_timeout")
UNASKED = ("empty", "named", "certain", "held_back")
# Scores of so many searches are averaged, to see a drift and not all history.
RECENT = 1000

logger = logging.getLogger("pincite.rerank")
# A library prints nothing by itself: without a handler, Python would print warnings.
logger.addHandler(logging.NullHandler())


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Write one event with its fields as a JSON line; costs nothing if nobody listens."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s", json.dumps({"event": event, **fields}))


class Histogram:
    """Counts of durations in steps of a fifth, from 0.1 ms to a minute and a half."""

    BOUNDS = tuple(1e-4 * 1.2**step for step in range(76))

    def __init__(self) -> None:
        self.counts = [0] * (len(self.BOUNDS) + 1)
        self.total = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.BOUNDS, seconds)] += 1
        self.total += seconds

    def quantile(self, share: float) -> float:
        """Return the duration that this share of all stays below, exact to a tenth; 0 if none."""
        wanted, seen = share * sum(self.counts), 0
        for at, count in enumerate(self.counts):
            if count and seen + count >= wanted:
                low = self.BOUNDS[at - 1] if at else 0.0
                high = self.BOUNDS[min(at, len(self.BOUNDS) - 1)]
                return low + (high - low) * (wanted - seen) / count
            seen += count
        return 0.0

    def buckets(self) -> list[tuple[float, int]]:
        """Return how many are at most as long as every fourth bound, and as infinity."""
        seen = list(accumulate(self.counts))
        return [*zip(self.BOUNDS[3::4], seen[3::4], strict=True), (inf, seen[-1])]


class Metrics:
    """Figures of all searches since the index was opened; any number of threads may add."""

    def __init__(self, *, log_queries: bool = False) -> None:
        self.log_queries = log_queries
        self.lock = Lock()
        self.outcomes: Counter[str] = Counter()
        self.pairs = self.known = 0
        self.first_stage, self.reranking, self.search = Histogram(), Histogram(), Histogram()
        self._means: deque[float] = deque(maxlen=RECENT)
        self.score_total, self.score_count = 0.0, 0
        self._documents = self._finished = 0

    def judged(
        self,
        outcome: Outcome,
        seconds: float,
        scores: Sequence[float] = (),
        *,
        pairs: int = 0,
        known: int = 0,
        error: Exception | None = None,
    ) -> None:
        """Count one run of the stage, and log it."""
        with self.lock:
            self.outcomes[outcome] += 1
            self.pairs += pairs
            self.known += known
            self.reranking.add(seconds)
            if scores:
                self._means.append(_mean(scores))
                self.score_total += sum(scores)
                self.score_count += len(scores)
        _log_judged(outcome, seconds, scores, error)

    def began(self, query: str, wanted: int) -> None:
        """Log that a search begins."""
        log("rerank_step_1_initial_retrieval", logging.DEBUG, **self._asked(query), wanted=wanted)

    def retrieved(self, count: int, seconds: float) -> None:
        """Log what the first stage found."""
        log("rerank_step_1_complete", logging.DEBUG, retrieved=count, latency_ms=_ms(seconds))

    def finished(
        self,
        query: str,
        scores: Sequence[float],
        *,
        retrieved: int,
        documents: Sequence[str],
        first_stage: float,
        reranking: float,
        total: float,
    ) -> None:
        """Count and log a whole search: ``documents`` are those of its hits, one each."""
        diversity = len(set(documents))
        with self.lock:
            self.first_stage.add(first_stage)
            self.search.add(total)
            self._documents += diversity
            self._finished += 1
        latency = {
            "initial_retrieval": _ms(first_stage),
            "reranking": _ms(reranking),
            "total": _ms(total),
        }
        counts = {"initial_retrieved": retrieved, "final_count": len(documents)}
        log("rerank_pipeline_complete", **counts, latency_ms=latency)
        log(
            "rerank_metrics",
            **self._asked(query),
            **counts,
            latency_ms=latency,
            score_distribution=distribution(scores),
            documents_diversity=diversity,
        )

    def _asked(self, query: str) -> dict[str, Any]:
        return {"query_length": len(query)} | ({"query": query} if self.log_queries else {})

    def dashboard(self) -> dict[str, float]:
        """Return the few figures to look at every day."""
        with self.lock:
            wanted = sum(n for name, n in self.outcomes.items() if name not in UNASKED)
            failed = sum(self.outcomes[name] for name in FALLBACKS)
            return {
                "rerank_latency_p50_ms": 1000 * self.reranking.quantile(0.5),
                "rerank_latency_p95_ms": 1000 * self.reranking.quantile(0.95),
                "rerank_score_avg": _mean(self._means) if self._means else 0.0,
                "rerank_fallback_rate": failed / wanted if wanted else 0.0,
                "documents_diversity_avg": self._documents / max(1, self._finished),
            }


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def distribution(scores: Sequence[float]) -> dict[str, float] | None:
    """Return how scores are spread, as plain numbers; None if there are none."""
    if not scores:
        return None
    mean = _mean(scores)
    values = {
        "min": min(scores),
        "max": max(scores),
        "avg": mean,
        "std": sqrt(_mean([(score - mean) ** 2 for score in scores])),
    }
    return {name: round(float(value), 4) for name, value in values.items()}


def _log_judged(
    outcome: Outcome, seconds: float, scores: Sequence[float], error: Exception | None
) -> None:
    latency = _ms(seconds)
    if outcome == "empty":
        log("rerank_no_initial_results", logging.WARNING)
    elif outcome == "skipped_timeout":
        log("rerank_skipped_timeout", logging.WARNING, latency_ms=latency)
    elif outcome in FALLBACKS:
        # The kind of an error, not its words: those may repeat what was asked.
        kind = type(error).__name__ if error else None
        failed: dict[str, Any] = {"reason": outcome, "error": kind, "reranked": len(scores)}
        log("rerank_fallback_to_baseline", logging.WARNING, **failed, latency_ms=latency)
    else:
        top = round(float(max(scores)), 4) if scores else None
        done: dict[str, Any] = {"outcome": outcome, "reranked": len(scores), "top_score": top}
        log("rerank_step_2_complete", logging.DEBUG, **done, latency_ms=latency)


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 1)
