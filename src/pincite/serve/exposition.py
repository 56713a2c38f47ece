"""All figures of a service as Prometheus reads them; what is counted is counted elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import core as families
from prometheus_client.registry import Collector

from pincite.search.metrics import Histogram, Metrics, Outcome
from pincite.serve.metrics import HttpMetrics
from pincite.serve.service import Service


def exposition(service: Service) -> bytes:
    """Return the figures of one service; others in the same process have their own."""
    registry = CollectorRegistry()
    registry.register(_ServiceCollector(service))
    return generate_latest(registry)


class _ServiceCollector(Collector):
    """Reads the counts of a service whenever it is asked."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def collect(self) -> Iterator[families.Metric]:
        service, served = self.service, self.service.collections.values()
        # With several workers each has figures of its own.
        yield _gauge("worker_info", {str(os.getpid()): 1}, "pid")
        with service.metrics.lock:
            yield from _of_requests(service.metrics)
        pools = (service.searching, service.asking, service.writing)
        yield _gauge("work_pending", {each.name: each.pending for each in pools}, "pool")
        yield _counter("work_shed", {each.name: each.shed for each in pools}, "pool")
        yield _gauge("streams", {"": service.streams})
        kinds: dict[str, Callable[[Any], float]] = {
            "generation": lambda each: each.generation,
            "store_reachable": lambda each: each.is_reachable,
            "newest_generation_unusable": lambda each: bool(each.problem),
        }
        for name, read in kinds.items():
            yield _gauge(name, {each.name: read(each) for each in served}, "collection")
        yield _counter("reloads", {each.name: each.reloads for each in served}, "collection")
        with service.reranking.lock:
            yield from _of_reranking(service.reranking)
        for name, value in service.reranking.dashboard().items():
            yield _gauge(name, {"": value})


def _of_requests(metrics: HttpMetrics) -> Iterator[families.Metric]:
    labels = ("method", "route", "status")
    requests = families.CounterMetricFamily("pincite_http_requests", "requests", labels=labels)
    for (method, route, status), count in sorted(metrics.requests.items()):
        requests.add_metric((method, route, str(status)), count)
    yield requests
    name = "pincite_http_request_seconds"
    times = families.SummaryMetricFamily(name, "how long requests took", labels=("route",))
    for route, seconds in sorted(metrics.seconds.items()):
        for share in (0.5, 0.95, 0.99):
            known = {"route": route, "quantile": str(share)}
            times.add_sample(name, known, seconds.quantile(share))
        times.add_metric((route,), sum(seconds.counts), seconds.total)
    yield times
    shed = {reason: metrics.shed[reason] for reason in ("rate", "overload", "time")}
    yield _counter("http_refused", shed, "reason")
    yield _gauge("http_in_flight", {"": metrics.in_flight})


def _of_reranking(metrics: Metrics) -> Iterator[families.Metric]:
    outcomes = {name: metrics.outcomes[name] for name in get_args(Outcome)}
    yield _counter("rerank_requests", outcomes, "outcome")
    yield _counter("rerank_pairs", {"": metrics.pairs})
    yield _counter("rerank_known_pairs", {"": metrics.known})
    yield _histogram("rerank_latency_seconds", metrics.reranking)
    yield _histogram("first_stage_latency_seconds", metrics.first_stage)
    yield _histogram("search_latency_seconds", metrics.search)
    scores = families.SummaryMetricFamily("pincite_rerank_score", "scores given")
    scores.add_metric((), metrics.score_count, metrics.score_total)
    yield scores


def _gauge(name: str, values: Mapping[str, float], label: str = "") -> families.Metric:
    return _filled(families.GaugeMetricFamily, name, values, label)


def _counter(name: str, values: Mapping[str, float], label: str = "") -> families.Metric:
    return _filled(families.CounterMetricFamily, name, values, label)


def _filled(kind: Any, name: str, values: Mapping[str, float], label: str) -> families.Metric:
    """Return a figure: one value for each value of its label, or a single one without any."""
    family: families.Metric = kind(
        f"pincite_{name}", name.replace("_", " "), labels=[label] if label else []
    )
    for each, value in values.items():
        family.add_metric([each] if label else [], float(value))  # type: ignore[attr-defined]
    return family


def _histogram(name: str, times: Histogram) -> families.Metric:
    *inner, (_, count) = times.buckets()
    buckets = [*((f"{bound:.6g}", float(seen)) for bound, seen in inner), ("+Inf", float(count))]
    family = families.HistogramMetricFamily(f"pincite_{name}", name.replace("_", " "))
    family.add_metric((), buckets, times.total)
    return family
