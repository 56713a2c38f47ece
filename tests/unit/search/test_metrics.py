"""What is counted and logged, and what never is."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from pincite.api import Index
from pincite.model.settings import Settings, merged
from pincite.search.metrics import Histogram, Metrics
from pincite.search.pair_scorers import LazyScorer

SECRET = "confidential fuse question"
TEXTS = {f"{n}.md": f"# Book {n}\n\n## {n}.1 Fuse\n\nThe fuse question {n}.\n" for n in range(4)}


class Half:
    id = "half"

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [0.25 if len(text) % 2 else 0.75 for text in texts]


def events(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    return [json.loads(record.getMessage()) for record in caplog.records]


def opened(index: Index, scorer: object, *, log_queries: bool = False, **rerank: object) -> Index:
    values = {"enabled": True, "budget_ms": 0, **rerank}
    chosen = {
        "search": {"preset": "lexical"},
        "rerank": values,
        "serve": {"log_queries": log_queries},
    }
    settings = merged(Settings(), chosen, origin="test")
    return Index(index.opened, settings, scorer)  # type: ignore[arg-type]


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index(TEXTS)


def test_a_search_leaves_its_events(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="pincite.rerank")
    own = opened(index, LazyScorer("half", Half), diversify="document")
    own.search(SECRET)
    found = {str(event["event"]): event for event in events(caplog)}
    assert (
        list(found)
        == [
            "rerank_step_1_initial_retrieval",
            "cross_encoder_loading",
            "cross_encoder_loaded",
            "rerank_step_2_complete",
            "rerank_step_3_diversify",
            "rerank_pipeline_complete",
            "rerank_metrics",
        ]
        or list(found)[1] == "rerank_step_1_complete"
    )
    told = found["rerank_metrics"]
    assert told["query_length"] == len(SECRET)
    assert told["initial_retrieved"] == told["final_count"] == told["documents_diversity"] == 4
    assert set(told["latency_ms"]) == {"initial_retrieval", "reranking", "total"}  # type: ignore[call-overload]
    assert set(told["score_distribution"]) == {"min", "max", "avg", "std"}  # type: ignore[call-overload]
    assert SECRET not in caplog.text and "confidential" not in caplog.text


def test_words_of_questions_only_if_allowed(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="pincite.rerank")
    opened(index, Half(), log_queries=True).search(SECRET)
    assert any(event.get("query") == SECRET for event in events(caplog))


def test_failures_are_told_without_their_words(
    index: Index, caplog: pytest.LogCaptureFixture
) -> None:
    class Repeats(Half):
        def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
            raise RuntimeError(f"cannot read {query}")

    caplog.set_level(logging.DEBUG, logger="pincite.rerank")
    own = opened(index, Repeats())
    own.search(SECRET)
    own.search("nowhere")
    told = {str(event["event"]): event for event in events(caplog)}
    assert told["rerank_fallback_to_baseline"]["reason"] == "model_error"
    assert told["rerank_fallback_to_baseline"]["error"] == "RuntimeError"
    assert "rerank_no_initial_results" in told
    assert "confidential" not in caplog.text
    assert own.metrics is not None
    assert own.metrics.dashboard()["rerank_fallback_rate"] == 1.0


def test_the_figures_are_those_of_the_searches(index: Index) -> None:
    own = opened(index, Half())
    for text in ("fuse question", "fuse question", "1.1", "nowhere"):
        own.search(text)
    assert own.metrics is not None
    assert own.metrics.outcomes == {"complete": 2, "named": 1, "empty": 1}
    assert own.metrics.pairs == 8  # four texts, two questions
    assert own.metrics.known == 4  # one of them asked twice
    assert sum(own.metrics.reranking.counts) == sum(own.metrics.search.counts) == 4
    dashboard = own.metrics.dashboard()
    assert 0.25 <= dashboard["rerank_score_avg"] <= 0.75
    assert dashboard["rerank_fallback_rate"] == 0
    assert dashboard["documents_diversity_avg"] > 1


def test_buckets_only_grow() -> None:
    histogram = Histogram()
    for seconds in (0.0, 1e-5, 0.003, 0.2, 1.0, 500.0):
        histogram.add(seconds)
    counts = [count for _, count in histogram.buckets()]
    assert counts == sorted(counts) and counts[-1] == 6


def test_quantiles_are_exact_to_a_tenth() -> None:
    histogram = Histogram()
    assert histogram.quantile(0.5) == 0.0
    for n in range(1, 1001):
        histogram.add(n / 1000)
    assert histogram.quantile(0.5) == pytest.approx(0.5, rel=0.1)
    assert histogram.quantile(0.95) == pytest.approx(0.95, rel=0.1)


def test_drift_shows_in_the_recent_ones() -> None:
    metrics = Metrics()
    for score in [0.9] * 1500 + [0.1] * 1000:
        metrics.judged("complete", 0.01, [score])
    assert metrics.dashboard()["rerank_score_avg"] == pytest.approx(0.1)


def test_threads_lose_no_count() -> None:
    metrics = Metrics()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: metrics.judged("complete", n / 1e6, [0.5], pairs=2), range(4000)))
    assert (metrics.outcomes["complete"], metrics.pairs) == (4000, 8000)


def test_the_library_prints_nothing() -> None:
    code = (
        "import logging; from pincite.search.metrics import log;"
        "log('rerank_fallback_to_baseline', logging.WARNING)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == done.stderr == b""
