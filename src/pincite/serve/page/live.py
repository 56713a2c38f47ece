"""What the service does now, and what its learned ranker looks at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pincite.core.errors import ModelError
from pincite.evaluate.report import charts
from pincite.learn.importance import importances
from pincite.learn.model import load_model
from pincite.serve.metrics import STEP_SECONDS
from pincite.serve.service import Service

FEATURES, ROUTES = 15, 12


def learned(service: Service) -> dict[str, Any]:
    """Return what the learned ranker looks at, if the settings name one."""
    name = service.settings.learn.model
    if not name:
        return {}
    try:
        model = load_model(Path(name))
    except ModelError as error:
        return {"problem": error.message}
    found = importances(model)
    rows = [(feature, share, f"{100 * share:.1f} %") for feature, share in found[:FEATURES]]
    return {
        "kind": model.kind,
        "count": len(found),
        "chart": charts.bars(rows, title="features of the learned ranker", series=2),
    }


def _reranking(service: Service) -> Iterator[tuple[str, str, str]]:
    """Yield what re-ranking did, where it is on: collection, figure, value."""
    if not service.settings.rerank.enabled:
        return
    for name, collection in sorted(service.collections.items()):
        for figure, value in collection.metrics.dashboard().items():
            yield name, figure, f"{value:.4g}"


def live(service: Service) -> dict[str, Any]:
    """Return what this process has done lately."""
    metrics = service.metrics
    steps = metrics.recent()
    slow, middle = (
        [
            (at, 1000 * step.seconds.quantile(share))
            for at, step in enumerate(steps, 1)
            if step.count
        ]
        for share in (0.95, 0.5)
    )
    slowest = charts.nice(max((value for _, value in slow), default=0.0) or 1.0)
    minutes = len(steps) * STEP_SECONDS // 60
    return {
        "pid": os.getpid(),
        "in_flight": max(0, metrics.in_flight - 1),
        "streams": service.streams,
        "pools": [
            (pool.name, pool.pending, pool.most, pool.shed)
            for pool in (service.searching, service.asking, service.writing)
        ],
        "count": sum(step.count for step in steps),
        "failed": sum(step.failed for step in steps),
        "minutes": minutes,
        "requests": charts.columns(
            [(step.count, step.failed) for step in steps],
            title=f"requests every {STEP_SECONDS} seconds, last {minutes} minutes",
            unit=f"{minutes} minutes ago",
        ),
        "latency": charts.plot(
            {"95 % within": slow, "median": middle},
            x_title=f"steps of {STEP_SECONDS} seconds, newest right",
            y_title="milliseconds",
            x_max=float(len(steps)),
            y_max=slowest,
        ),
        "routes": metrics.routes()[:ROUTES],
        "reranking": list(_reranking(service)),
    }
