"""A report as one page: markup, styles and script in one file that asks nobody for anything.

Questions and documents are untrusted: the templates escape every text, the table's data are JSON
that the script puts in as text, and the page's own policy allows no script but ours and no request
at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pincite.measure import charts
from pincite.measure.runs import Run

FOLDER = Path(__file__).parent
TOP_HITS = 5


def page(runs: Sequence[tuple[Run, dict[str, Any]]]) -> str:
    """Return the page of some runs with their summaries."""
    title = "Evaluation: " + ", ".join(run.questions for run, _ in runs)
    shown = [_shown(run, values) for run, values in runs]
    return render("run.html.j2", title=title, runs=shown, program=runs[0][0].program)


def render(template: str, **values: Any) -> str:
    """Return the page that a template makes of values."""
    return environment().get_template(template).render(**values)


def sections() -> Any:
    """Return the parts that reports share, as functions that return markup."""
    return environment().get_template("sections.html.j2").module


@cache
def environment() -> Environment:
    """Return the templates; whatever is put into one is escaped."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "digest": _digest,
        "embedded": _embedded,
        "fixed": _fixed,
        "signed": partial(_fixed, sign="+"),
        "thousands": "{:,}".format,
    }
    style, script = (Markup((FOLDER / name).read_text("utf-8")) for name in ("page.css", "page.js"))
    made.globals |= {"charts": charts, "style": style, "script": script}
    return made


def headline_of(values: dict[str, Any]) -> str:
    """Return the measure that is spoken of first."""
    figures = list(values["pipelines"][0]["figures"])
    return str(next((name for name in figures if name.startswith("nDCG")), figures[0]))


def _shown(run: Run, values: dict[str, Any]) -> dict[str, Any]:
    """Return what the template needs of a run beside its summary."""
    if not values["questions"]["counted"]:
        return {"values": values}
    headline = headline_of(values)
    names = [part.name for part in run.parts]
    rows = [_row(run, at) for at in range(len(run.asked))]
    return {
        "values": values,
        "headline": headline,
        "spots": spots_of(values["pipelines"], headline),
        "curves": {each["name"]: each["recall_curve"] for each in values["pipelines"]},
        "labels": sorted({f"{k}={v}" for asked in run.asked for k, v in asked.labels.items()}),
        "data": {"pipelines": names, "k": run.k, "rows": rows},
    }


def spots_of(pipelines: Sequence[dict[str, Any]], headline: str) -> list[charts.Spot]:
    """Return quality and time of each pipeline, for a chart of both."""
    found = []
    for each in pipelines:
        spent, figure = each["seconds"]["search"], each["figures"][headline]
        times = (1000 * spent["p50"], 1000 * spent["p95"])
        found.append((each["name"], *times, figure["value"], figure["low"], figure["high"]))
    return found


def _row(run: Run, at: int) -> dict[str, Any]:
    asked = run.asked[at]
    answers = []
    for part in run.parts:
        answer = part.answers[at]
        first = next(iter(answer.ranks.values()), None)
        hits = [(f"{h.locator} · {h.document}", bool(h.meets)) for h in answer.hits[:TOP_HITS]]
        row = {"first": first, "last": answer.rank, "stages": len(answer.ranks)}
        answers.append({**row, "lost": answer.lost, "hits": hits})
    shown = {"id": asked.id, "text": asked.text, "state": asked.state, "gold": list(asked.gold)}
    return {**shown, "labels": dict(asked.labels), "answers": answers}


def _fixed(number: float | None, digits: int = 3, sign: str = "") -> str:
    return "" if number is None else f"{number:{sign}.{digits}f}"


def _embedded(data: Any) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
