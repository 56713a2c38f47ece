"""A report of measured answers as one page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pincite.measure import charts
from pincite.measure.report import render


def page(told: Sequence[dict[str, Any]], program: str) -> str:
    """Return the page of some measured sets of questions."""
    title = "Answers: " + ", ".join(dict.fromkeys(each["questions"] for each in told))
    return render("answers.html.j2", title=title, sets=list(map(_shown, told)), program=program)


def _shown(values: dict[str, Any]) -> dict[str, Any]:
    sure = values["confidence"]
    if not sure:
        return {**values, "risk": "", "reliability": ""}
    share = {"answers": [(said, right) for said, right, _ in sure["reliability"]]}
    return {
        **values,
        "risk": charts.plot(
            {"answers": sure["risk_coverage"]},
            x_title="share of given answers, the surest first",
            y_title="share of wrong ones among them",
        ),
        "reliability": charts.plot(
            share, x_title="confidence", y_title="share of right answers", diagonal=True
        ),
    }
