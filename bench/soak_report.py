"""What a soak showed: figures, what is wrong with them, and a page of plots."""

from __future__ import annotations

import json
import os
import statistics
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

from markupsafe import Markup

from pincite.measure.charts import Point, nice, plot
from pincite.measure.report import render

KINDS = ("search", "ask", "show", "cell", "rerank", "agent", "upload")
# What may not grow, and by how much it may.
HELD = ("rss_mb", "own_mb", "descriptors")
DRIFT = 0.05
# Every thread of the service has its own room for memory, and fills it once.
WARM_SECONDS = 180.0
Lines = Sequence[dict[str, Any]]


def warm(samples: Lines) -> Lines:
    """Return the samples after warming up: three minutes or a fifth, but never more than half."""
    end = samples[-1]["second"]
    start = min(max(WARM_SECONDS, end / 5), end / 2)
    return [each for each in samples if each["second"] >= start]


def drift(values: Sequence[float]) -> float:
    """Return how far the floor of the last quarter is above that of the first.

    >>> drift([100.0, 190.0] * 20 + [120.0] * 80 + [110.0, 150.0] * 20)
    0.1
    """
    quarter = max(1, len(values) // 4)
    first, last = sorted(values[:quarter]), sorted(values[-quarter:])
    tenth = quarter // 10
    return round((last[tenth] - first[tenth]) / first[tenth], 4) if first[tenth] else 0.0


def summary(
    samples: Lines, minutes: Lines, errors: Counter[str], p99_limit_ms: float
) -> dict[str, Any]:
    """Return what came of it, with every reason why it is not good enough."""
    kept = warm(samples)
    drifts = {name: drift([each[name] for each in kept]) for name in HELD}
    worst = {kind: max(_figures(minutes, kind, "p99_ms"), default=0.0) for kind in KINDS}
    failed = [f"{count} x {what}" for what, count in errors.items()]
    failed += [f"{name} grew by {100 * d:.1f} %" for name, d in drifts.items() if d > DRIFT]
    failed += [f"no {kind} was answered" for kind in KINDS if not _figures(minutes, kind, "count")]
    if worst["search"] > p99_limit_ms:
        failed.append(f"a minute with a 99th percentile of {worst['search']} ms for searches")
    return {
        "errors": errors.total(),
        "drift": drifts,
        "warm": kept[0],
        "last": samples[-1],
        "median_p50_ms": {
            kind: statistics.median(_figures(minutes, kind, "p50_ms") or [0.0]) for kind in KINDS
        },
        "worst_minute_p99_ms": worst,
        "load_average": round(os.getloadavg()[0], 1),
        "failed": failed,
    }


def _figures(minutes: Lines, kind: str, name: str) -> list[float]:
    return [each["times"][kind][name] for each in minutes if kind in each["times"]]


def page(samples: Lines, minutes: Lines, told: dict[str, Any]) -> str:
    """Return the figures as plots over time."""
    charts: list[dict[str, list[Point]]] = [
        {name: [(each["second"] / 60, each[name]) for each in samples] for name in names}
        for names in (("rss_mb", "own_mb"), ("descriptors", "threads"), ("disk_mb",))
    ]
    for share in ("p50_ms", "p99_ms"):
        ends = {kind: [m["second"] / 60 for m in minutes if kind in m["times"]] for kind in KINDS}
        charts.append(
            {
                f"{kind} {share}": list(
                    zip(ends[kind], _figures(minutes, kind, share), strict=True)
                )
                for kind in ("search", "ask", "rerank", "agent")
            }
        )
    end = max(1.0, samples[-1]["second"] / 60, *(m["second"] / 60 for m in minutes))
    drawn = "".join(
        plot(
            chart,
            x_title="minutes",
            y_title=", ".join(chart),
            x_max=end,
            y_max=nice(max((y for points in chart.values() for _, y in points), default=1.0)),
        )
        for chart in charts
    )
    body = f"<h1>Soak of {told['minutes']:g} minutes</h1>{drawn}"
    body += f"<pre>{escape(json.dumps(told, indent=1))}</pre>"
    return render("page.html.j2", title="Soak", body=Markup(body), footer="Made by bench/soak.py.")
