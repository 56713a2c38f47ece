"""The report of an exam as one page."""

from __future__ import annotations

from typing import Any

from pincite.measure.report import render

QUOTE_CHARS = 300


def page(values: dict[str, Any], program: str) -> str:
    """Return the page of an exam."""
    title = f"Exam: {values['exam']}"
    return render(
        "exam.html.j2", title=title, values=values, program=program, quote_chars=QUOTE_CHARS
    )
