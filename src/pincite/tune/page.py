"""A tuning as one page."""

from __future__ import annotations

from typing import Any

from pincite.evaluate.report.page import render

SHOWN_TRIALS = 300


def page(values: dict[str, Any]) -> str:
    """Return the page of a tuning's summary."""
    title = f"Tuning: {values['questions']['name']}"
    spots = [
        (e["name"], e["cost"]["p50"], e["cost"]["p95"], e["value"], e["low"], e["high"])
        for e in values["pipelines"]
    ]
    return render(
        "tuning.html.j2", title=title, values=values, spots=spots, shown_trials=SHOWN_TRIALS
    )
