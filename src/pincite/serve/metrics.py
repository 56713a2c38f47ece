"""Figures of the service in Prometheus' text format. No figure names a document or a question."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from threading import Lock

from pincite.rerank.metrics import Histogram

PREFIX = "pincite_http"


class HttpMetrics:
    """Counts of requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[str, Histogram] = defaultdict(Histogram)
        self._shed: Counter[str] = Counter()
        self.in_flight = 0

    def finished(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; ``route`` is the pattern of its path, so that there are few."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._seconds[route].add(seconds)
            if status in (429, 503, 504):
                self._shed[{429: "rate", 503: "overload", 504: "time"}[status]] += 1

    def lines(self) -> Iterator[str]:
        """Yield all figures."""
        with self._lock:
            yield f"# TYPE {PREFIX}_requests_total counter"
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                yield f"{PREFIX}_requests_total{{{labels}}} {count}"
            yield f"# TYPE {PREFIX}_request_seconds summary"
            for route, times in sorted(self._seconds.items()):
                for share in (0.5, 0.95, 0.99):
                    labels = f'route="{route}",quantile="{share}"'
                    yield f"{PREFIX}_request_seconds{{{labels}}} {times.quantile(share):.6f}"
                yield f'{PREFIX}_request_seconds_sum{{route="{route}"}} {times.total:.6f}'
                yield f'{PREFIX}_request_seconds_count{{route="{route}"}} {sum(times.counts)}'
            yield f"# TYPE {PREFIX}_refused_total counter"
            for reason in ("rate", "overload", "time"):
                yield f'{PREFIX}_refused_total{{reason="{reason}"}} {self._shed[reason]}'
            yield from gauge(f"{PREFIX}_in_flight", [("", self.in_flight)])


def gauge(name: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    """Yield a gauge; labels are given as they are written inside the braces."""
    yield f"# TYPE {name} gauge"
    for labels, value in values:
        yield f"{name}{{{labels}}} {value:g}" if labels else f"{name} {value:g}"


def counter(name: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield f"# TYPE {name} counter"
    for labels, value in values:
        yield f"{name}{{{labels}}} {value:g}" if labels else f"{name} {value:g}"


def worker_lines() -> Iterator[str]:
    """Yield which process answers: with several workers each has figures of its own."""
    yield from gauge("pincite_worker_info", [(f'pid="{os.getpid()}"', 1)])
