"""Runs and live figures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from pincite.measure import charts
from pincite.measure.grades import parse_all
from pincite.measure.learning import importances
from pincite.measure.report import headline_of, sections, spots_of
from pincite.measure.runs import (
    PipelineRun,
    Run,
    RunAnswer,
    RunHit,
    load_run,
    run_name,
    same_questions,
    save_run,
)
from pincite.measure.statistics import confidence
from pincite.measure.summary import against_baseline, evaluate, measures_of, summarise
from pincite.model.errors import ModelError, SourceError, StoreError, StoreUnavailable
from pincite.search.build import PRESETS
from pincite.search.learned import load_model
from pincite.search.reader import IndexReader
from pincite.serve import feedback_routes
from pincite.serve.errors import ServiceError
from pincite.serve.metrics import STEP_SECONDS
from pincite.serve.page.look import Look, PageRoute, TheLook, read_all, render, slices
from pincite.serve.requests import Reader, Visit, Writer
from pincite.serve.service import SearchService

MAX_RUNS = 200
MAX_BYTES = 100_000_000
ROWS, HITS = 50, 10
KEPT = ("run", "base", "a", "b", "show", "from", "question")
SHOWS = {"all": "all", "missed": "missed", "better": "better in the second", "worse": "worse"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two rankings that are compared."""

    title: str
    run: Run
    part: PipelineRun


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
    return sorted(found, key=lambda each: each["when"], reverse=True)[:MAX_RUNS]


def opened(runs: Sequence[dict[str, Any]], look: Look) -> Opened | None:
    """Return the run that the address names, or the newest; None if there is none."""
    wanted = look.rest.get("run", "")
    if not runs and not wanted:
        return None
    stamp = _stamp(runs, wanted or runs[0]["name"])
    run, values = _loaded(*stamp), dict(_summary(*stamp))
    base = _loaded(*_stamp(runs, look.rest["base"])) if look.rest.get("base") else None
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
            if each["size"] > MAX_BYTES:
                hint = "look at it with: pincite eval --run FILE --html FILE"
                raise SourceError(f"{name} is too large to show here", hint=hint)
            return str(each["file"]), each["when"], each["size"]
    raise SourceError(f"no run {name!r}", hint="it may have been deleted")


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
    first = look.number("from")
    return {
        "rows": [
            {**row, "url": _with(look, question=row["id"])} for row in rows[first : first + ROWS]
        ],
        "total": len(rows),
        "first": first,
        **slices(first, ROWS, len(rows), lambda at: _with(look, **{"from": str(at or "")})),
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


def _ranking(answer: RunAnswer, look: Look, index: IndexReader | None) -> dict[str, Any]:
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


def _address(hit: RunHit, look: Look, index: IndexReader | None) -> str:
    """Return where a stored hit can be read; empty if the index does not have it any more."""
    if index is None:
        return ""
    try:
        (chunk,) = index.snapshot.get([hit.chunk_id])
    except StoreUnavailable:
        raise
    except StoreError:
        return ""
    return look.place(chunk, "/")


FEATURES, ROUTES = 15, 12


def learned(service: SearchService) -> dict[str, Any]:
    """Return what the learned ranker looks at, if the settings name one."""
    name = service.settings.search.ranker
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


def live(service: SearchService) -> dict[str, Any]:
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
        "streams": service.streams.total(),
        "pools": [(pool.name, pool.pending, pool.most, pool.shed) for pool in service.pools],
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
        "reranking": [
            (name, figure, f"{value:.4g}")
            for name, collection in sorted(service.collections.items())
            if service.settings.rerank.enabled
            for figure, value in collection.metrics.dashboard().items()
        ],
    }


router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Intervals are resampled when a run is looked at for the first time.
SECONDS = 60.0
# With fewer questions an interval says less than it seems to.
FEW = 20


@router.post("/measure/run")
async def run_now(visit: Writer, c: Annotated[str, Form(max_length=100)] = "") -> Response:
    """Ask all questions that were judged here, and keep the run."""
    chosen, file = visit.collection(c), feedback_routes.file_of(visit, c)
    _check_sees_all(visit)

    def work(indexes: dict[str, IndexReader]) -> None:
        if not judged_count(file):
            raise ServiceError("nothing was judged yet", 409, hint="judge some places first")
        for index in indexes.values():
            run = evaluate(index, file).run
            save_run(run, chosen.folder / "runs" / run_name(run))

    await read_all(visit, [chosen.name], work, None, SECONDS)
    return RedirectResponse(Look(c=c).url("/measure"), 303)


def judged_count(file: Path) -> int:
    """Return how many questions have a place that was judged."""
    return sum(bool(q.places or q.rejected) for q in feedback_routes.read(file).questions)


def _check_sees_all(visit: Visit) -> None:
    if visit.caller.access is not None:
        raise ServiceError(
            "runs show questions and places of all documents",
            403,
            hint="use a key that sees all documents",
        )


@router.get("/measure")
async def measure(request: Request, look: TheLook, visit: Reader) -> Response:
    """Show a stored run and, to who may see them, the figures of the service."""
    chosen, service = visit.collection(look.c), visit.service
    _check_sees_all(visit)
    file = chosen.folder / service.limits.feedback if service.limits.feedback else None

    def show(index: IndexReader | None) -> Response:
        runs = stored(chosen.folder / "runs")
        is_live_alone = request.headers.get("x-parts") == "live"
        problem, found = "", None
        try:
            found = None if is_live_alone else opened(runs, look)
        except SourceError as error:
            problem = f"{error.message}: {error.hint}".replace(str(chosen.folder), chosen.name)
        values: dict[str, Any] = {
            "runs": runs,
            "judged": judged_count(file) if file and not is_live_alone else 0,
            "may_write": visit.caller.may("write"),
            "few": FEW,
            "found": found,
            "problem": problem,
            "drawn": lambda: drawn(found) if found else {},
            "table": lambda: questions(found, look) if found else {},
            "pair": lambda: rankings(found, look, index) if found else {},
            "learned": lambda: learned(service),
            "live": live(service) if visit.caller.may("admin") else None,
        }
        return render(request, "measure.html", look, values, parts=("run", "rows", "pair", "live"))

    return await visit.read_if_any(look.c, SECONDS, show)
