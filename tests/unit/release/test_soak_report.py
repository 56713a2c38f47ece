"""A soak's verdict: what grows, fails or is slow is named, what only comes and goes is not."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "bench"))
    import soak_report

    return soak_report


def samples(growth_per_hour: float = 0.0) -> list[dict[str, Any]]:
    """An hour: memory that fills in two minutes and wobbles, descriptors that saw up and down."""
    found = []
    for second in range(0, 3600, 5):
        memory = 300 * (1 - math.exp(-second / 40)) + 100 + 4 * math.sin(second / 50)
        memory *= 1 + growth_per_hour * second / 3600
        sawtooth = 40 + second % 97
        found.append(
            {"second": second, "rss_mb": memory, "own_mb": memory, "descriptors": sawtooth}
            | {"threads": 25, "disk_mb": 2.0}
        )
    return found


def minutes(report: Any, p99: float = 90.0) -> list[dict[str, Any]]:
    times = {kind: {"count": 9, "p50_ms": 30.0, "p99_ms": p99} for kind in report.KINDS}
    return [{"second": 60 * n, "errors": 0, "times": times} for n in range(1, 61)]


def test_what_comes_and_goes_is_no_leak(report: Any) -> None:
    told = report.summary(samples(), minutes(report), Counter(), 1000)
    assert told["failed"] == []
    assert "<svg" in report.page(samples(), minutes(report), told | {"minutes": 60.0})


def test_growth_is_named(report: Any) -> None:
    told = report.summary(samples(growth_per_hour=0.12), minutes(report), Counter(), 1000)
    assert [each.split(" ")[0] for each in told["failed"]] == ["rss_mb", "own_mb"]


def test_errors_slowness_and_silence_are_named(report: Any) -> None:
    told = report.summary(samples(), minutes(report, 90), Counter({"ask: Broken 500": 3}), 80)
    assert told["failed"] == [
        "3 x ask: Broken 500",
        "a minute with a 99th percentile of 90 ms for searches",
    ]
    nobody = [minute | {"times": {}} for minute in minutes(report)]
    told = report.summary(samples(), nobody, Counter(), 80)
    assert "no search was answered" in told["failed"]
