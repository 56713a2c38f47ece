"""How often somebody may ask: a bucket of tokens for each, filled at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

# Addresses may be many; who was not seen for so many others starts with a full bucket again.
REMEMBERED = 10_000


class Buckets:
    """Token buckets by name; used by the event loop alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, per_minute: float, burst: float) -> float:
        """Take a token; return 0, or the seconds until there will be one."""
        if per_minute <= 0:
            return 0.0
        now, most = self._clock(), max(1.0, burst)
        tokens, since = self._buckets.pop(name, (most, now))
        tokens = min(most, tokens + (now - since) * per_minute / 60)
        wait = 0.0 if tokens >= 1 else (1 - tokens) * 60 / per_minute
        self._buckets[name] = (tokens if wait else tokens - 1, now)
        while len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return wait
