"""How long each stage of a search takes, also the ones inside another stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# One dictionary a search: threads and tasks never see each other's.
_seconds: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)


@contextmanager
def traced() -> Iterator[dict[str, float]]:
    """Collect the seconds of every stage that runs inside."""
    seconds: dict[str, float] = {}
    token = _seconds.set(seconds)
    try:
        yield seconds
    finally:
        _seconds.reset(token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count what happens inside for a stage; costs nothing to speak of when nobody asked."""
    seconds = _seconds.get()
    if seconds is None:
        yield
        return
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
