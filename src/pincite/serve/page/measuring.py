"""What the area for measuring shows: stored runs, two rankings side by side, live figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from pincite.core.errors import SourceError, StoreError, StoreUnavailable
from pincite.evaluate.confidence import confidence
from pincite.evaluate.measures import parse_all
from pincite.evaluate.report import charts
from pincite.evaluate.report.page import headline_of, sections, spots_of
from pincite.evaluate.run_files import load_run
from pincite.evaluate.runs import Answer, Found, Part, Run, same_questions
from pincite.evaluate.summary import against_baseline, measures_of, summarise
from pincite.search.pipeline import PRESETS
from pincite.search.reader import IndexReader
from pincite.serve.page.look import Look

MOST_RUNS = 200
MOST_BYTES = 100_000_000
ROWS, HITS = 50, 10
KEPT = ("run", "base", "a", "b", "show", "from", "question")
SHOWS = {"all": "all", "missed": "missed", "better": "better in the second", "worse": "worse"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two rankings that are compared."""

    title: str
    run: Run
    part: Part


@dataclass(frozen=True, slots=True)
class Opened:
    """A run with what follows from it."""

    run: Run
    values: dict[str, Any]
    sides: tuple[Side, Side]


def stored(folder: Path) -> list[dict[str, Any]]:
    """Return the runs of a collection, newest first, without reading them."""
    found: list[dict[str, Any]] = []
    for file in folder.glob("*.json"):
        facts = file.stat()
        when = datetime.fromtimestamp(facts.st_mtime, UTC)
        found.append({"name": file.name, "file": file, "size": facts.st_size, "when": when})
    return sorted(found, key=lambda each: each["when"], reverse=True)[:MOST_RUNS]


def opened(runs: Sequence[dict[str, Any]], look: Look) -> Opened | None:
    """Return the run that the address names, or the newest; None if there is none."""
    wanted = look.rest.get("run", "")
    if not runs and not wanted:
        return None
    run = _run(runs, wanted or runs[0]["name"])
    values = dict(_summary(*_stamp(runs, wanted or runs[0]["name"])))
    base = _run(runs, look.rest["base"]) if look.rest.get("base") else None
    values["baseline"] = against_baseline(run, base, parse_all(measures_of(run))) if base else []
    first = run.part(look.rest.get("a", ""))
    if base is not None:
        name = "" if len(base.parts) == 1 else first.name
        second = Side(f"{first.name}, earlier run", base, base.part(name))
    else:
        other = look.rest.get("b") or next((p.name for p in run.parts if p is not first), "")
        part = run.part(other)
        second = Side(part.name, run, part)
    return Opened(run, values, (Side(first.name, run, first), second))


def _stamp(runs: Sequence[dict[str, Any]], name: str) -> tuple[str, datetime, int]:
    for each in runs:
        if each["name"] == name:
            if each["size"] > MOST_BYTES:
                hint = "look at it with: pincite eval --run FILE --html FILE"
                raise SourceError(f"{name} is too large to show here", hint=hint)
            return str(each["file"]), each["when"], each["size"]
    raise SourceError(f"no run {name!r}", hint="it may have been deleted")


def _run(runs: Sequence[dict[str, Any]], name: str) -> Run:
    return _loaded(*_stamp(runs, name))


@lru_cache(maxsize=8)
def _loaded(file: str, when: datetime, size: int) -> Run:
    return load_run(Path(file))


@lru_cache(maxsize=8)
def _summary(file: str, when: datetime, size: int) -> Mapping[str, Any]:
    run = _loaded(file, when, size)
    return summarise(run, parse_all(measures_of(run)))


def drawn(found: Opened) -> dict[str, Any]:
    """Return the report's own tables and pictures; whatever is in them was escaped there."""
    values, run = found.values, found.run
    pipelines = values["pipelines"]
    if not values["questions"]["counted"]:
        return {}
    headline, shared = headline_of(values), sections()
    counted = values["questions"]["counted"]
    losses = [
        (each["name"], at % 8, charts.waterfall(each["losses"], counted, at))
        for at, each in enumerate(pipelines)
    ]
    curves = {each["name"]: each["recall_curve"] for each in pipelines}
    return {
        "headline": headline,
        "says": shared.says(values, headline),
        "keys": shared.keys(pipelines),
        "figures": shared.figure_table(values),
        "tests": shared.significance_table(values),
        "beside": shared.beside_table(values),
        "recall": charts.lines(curves, x_title="hits looked at", y_title="recall"),
        "cost": charts.cost(spots_of(pipelines, headline), y_title=headline),
        "losses": losses,
        "confidence": _confidence(run),
    }


def _confidence(run: Run) -> dict[str, Any]:
    told = {part.name: confidence(run, part) for part in run.parts}
    known = {name: each for name, each in told.items() if each is not None}
    reliable = {n: [(x, y) for x, y, _ in e.reliability] for n, e in known.items() if e.reliability}
    risks = {name: each.risk_coverage for name, each in known.items()}
    risk = charts.plot(
        risks, x_title="share of questions answered", y_title="share of wrong first hits"
    )
    truth = charts.plot(
        reliable, x_title="score of the first hit", y_title="share that answers", diagonal=True
    )
    return {
        "parts": known,
        "risk": risk if risks else "",
        "reliability": truth if reliable else "",
    }


def questions(found: Opened, look: Look) -> dict[str, Any]:
    """Return the table question by question, and a slice of what it shows."""
    one, two = found.sides
    if not same_questions(one.run, two.run):
        raise SourceError("the two runs asked other questions", hint="choose another run")
    shown = look.rest.get("show", "all")
    rows = [row for row in _rows(one, two) if _is_shown(row, shown, found.run.k)]
    text = look.rest.get("from", "")
    first = int(text) if text.isdecimal() and len(text) < 8 else 0
    return {
        "rows": [
            {**row, "url": _with(look, question=row["id"])} for row in rows[first : first + ROWS]
        ],
        "total": len(rows),
        "first": first,
        "before": _with(look, **{"from": str(max(0, first - ROWS) or "")}) if first else "",
        "after": _with(look, **{"from": str(first + ROWS)}) if first + ROWS < len(rows) else "",
        "shows": [
            (title, _with(look, show="" if name == "all" else name, **{"from": ""}), name == shown)
            for name, title in SHOWS.items()
        ],
        "titles": (one.title, two.title),
        "is_pair": one.part is not two.part,
    }


def _rows(one: Side, two: Side) -> Iterator[dict[str, Any]]:
    for asked, first, second in zip(one.run.asked, one.part.answers, two.part.answers, strict=True):
        a, b = first.rank, second.rank
        yield {
            "id": asked.id,
            "text": asked.text,
            "gold": ", ".join(asked.gold[:3]),
            "state": asked.state,
            "ranks": (a, b),
            "lost": (first.lost, second.lost),
            # A hit that is not there is behind all.
            "change": (a or 10**9) - (b or 10**9),
        }


def _is_shown(row: dict[str, Any], shown: str, k: int) -> bool:
    if shown == "missed":
        return row["state"] != "unanswerable" and any((rank or 10**9) > k for rank in row["ranks"])
    if shown in ("better", "worse"):
        return bool(row["change"] > 0 if shown == "better" else row["change"] < 0)
    return True


def _with(look: Look, **changes: str) -> str:
    rest = {name: value for name, value in {**look.rest, **changes}.items() if name in KEPT}
    return look.but(q="", doc="", at=None, rest=rest).url("/measure")


def rankings(found: Opened, look: Look, index: IndexReader | None) -> dict[str, Any]:
    """Return the two stored rankings of one question; nothing if none is chosen."""
    wanted = look.rest.get("question", "")
    ids = found.run.ids
    if wanted not in ids:
        return {}
    at, (one, two) = ids.index(wanted), found.sides
    asked = found.run.asked[at]
    sides = [one] if one.part is two.part else [one, two]
    names = {"a": one.part.name, "b": two.part.name if two.run is found.run else ""}
    why = {name: value for name, value in names.items() if value in PRESETS}
    return {
        "asked": asked,
        "sides": [(side.title, _ranking(side.part.answers[at], look, index)) for side in sides],
        "why": Look(q=asked.text, c=look.c, rest=why).url("/why"),
        "judge": Look(q=asked.text, c=look.c).url("/judge"),
        "close": _with(look, question=""),
    }


def _ranking(answer: Answer, look: Look, index: IndexReader | None) -> dict[str, Any]:
    hits = [
        {
            "hit": hit,
            "verdict": "answers" if hit.meets else "not judged" if hit.meets is None else "",
            "url": _address(hit, look, index),
        }
        for hit in answer.hits[:HITS]
    ]
    stages = [f"{name} {rank or '–'}" for name, rank in answer.ranks.items()]
    return {"hits": hits, "lost": answer.lost, "seconds": answer.seconds, "stages": stages}


def _address(hit: Found, look: Look, index: IndexReader | None) -> str:
    """Return where a stored hit can be read; empty if the index does not have it any more."""
    if index is None:
        return ""
    try:
        (chunk,) = index.snapshot.get([hit.chunk_id])
    except StoreUnavailable:
        raise
    except StoreError:
        return ""
    at = (chunk.span.start, chunk.span.end)
    return Look(c=look.c, doc=chunk.span.doc_id, at=at).url("/read")
