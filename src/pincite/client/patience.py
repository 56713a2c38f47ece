"""When to ask again, and how long to wait before."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from pincite.client.errors import Unreachable, refusal

# The service says these before it has begun with anything.
NOT_BEGUN = (429, 503)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried, and how long at most is waited before each time."""

    tries: int = 4
    most_seconds: float = 20.0
    first_seconds: float = 0.25  # doubled each time, where the service names no time


class Attempts:
    """The tries of one call; each method says how long to wait, or raises what went wrong."""

    def __init__(self, patience: Patience, *, is_read: bool) -> None:
        self.patience = patience
        self.is_read = is_read
        self.made = 0

    def after_refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> float:
        """Return how long to wait after an error of the service."""
        wait = self._wait(headers.get("retry-after", ""))
        if status not in NOT_BEGUN or wait is None:
            raise refusal(status, body)
        return wait

    def after_error(self, error: httpx.TransportError, url: str) -> float:
        """Return how long to wait after the connection failed.

        What may have been done is not asked for again, unless it only reads.
        """
        is_safe = self.is_read or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        wait = self._wait("")
        if is_safe and wait is not None and not isinstance(error, httpx.UnsupportedProtocol):
            return wait
        is_late = isinstance(error, httpx.TimeoutException)
        told = "did not answer in time" if is_late else f"cannot be reached: {error}"
        raise Unreachable(f"{url} {told}", hint="is it running? see: pincite serve") from error

    def _wait(self, told: str) -> float | None:
        """Return the seconds to wait; None after the last try, or if it would be too long."""
        self.made += 1
        if self.made >= self.patience.tries:
            return None
        if told.isascii() and told.isdecimal():
            seconds = float(told)
            return seconds if seconds <= self.patience.most_seconds else None
        # Callers that were refused together should not come back together.
        longest = self.patience.first_seconds * 2.0 ** (self.made - 1)
        return float(min(self.patience.most_seconds, longest * random.uniform(0.5, 1.0)))
