"""What the service counts of its requests. No figure names a document or a question."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from threading import Lock

from pincite.search.metrics import Histogram

# What happened lately is kept in steps of this many seconds.
STEP_SECONDS, STEPS = 20, 60
# The page that shows these figures asks for them all the time, and is not what it shows; nor are
# its scripts and styles, which belong to no route.
UNSEEN = ("/measure", "unknown")


@dataclass(slots=True)
class TimeSlot:
    """What happened in a short time."""

    number: int  # of steps since the clock began
    failed: int = 0  # statuses of 500 and more
    seconds: Histogram = field(default_factory=Histogram)

    @property
    def count(self) -> int:
        return sum(self.seconds.counts)


@dataclass(frozen=True, slots=True)
class RouteFigures:
    """One route since the service began."""

    route: str
    count: int
    refused: int  # 400 and more
    failed: int  # 500 and more
    p50: float
    p95: float


class HttpMetrics:
    """Counts of requests by route and status, and how long they took."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.seconds: dict[str, Histogram] = defaultdict(Histogram)
        self.shed: Counter[str] = Counter()
        self._recent: deque[TimeSlot] = deque(maxlen=STEPS)
        self.in_flight = 0

    def finished(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; ``route`` is the pattern of its path, so that there are few."""
        with self.lock:
            self.requests[method, route, status] += 1
            self.seconds[route].add(seconds)
            if status in (429, 503, 504):
                self.shed[{429: "rate", 503: "overload", 504: "time"}[status]] += 1
            if route not in UNSEEN:
                number = _now()
                if not self._recent or self._recent[-1].number != number:
                    self._recent.append(TimeSlot(number))
                self._recent[-1].seconds.add(seconds)
                self._recent[-1].failed += status >= 500

    def recent(self) -> list[TimeSlot]:
        """Return the last steps, oldest first; one in which nothing happened is there too."""
        now = _now()
        with self.lock:
            known = {step.number: step for step in self._recent}
        return [known.get(at, TimeSlot(at)) for at in range(now - STEPS + 1, now + 1)]

    def routes(self) -> list[RouteFigures]:
        """Return the figures of every route, busiest first."""
        with self.lock:
            found = []
            for route, times in self.seconds.items():
                counts = [(s, n) for (_, r, s), n in self.requests.items() if r == route]
                refused, failed = (sum(n for s, n in counts if s >= low) for low in (400, 500))
                p50, p95 = times.quantile(0.5), times.quantile(0.95)
                found.append(RouteFigures(route, sum(times.counts), refused, failed, p50, p95))
        return sorted(found, key=lambda each: (-each.count, each.route))


def _now() -> int:
    return int(time.monotonic() // STEP_SECONDS)
