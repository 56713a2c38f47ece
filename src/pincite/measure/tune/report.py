"""What tuning found, as values, text and a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pincite.index.postings import Array
from pincite.measure.grades import tabulated
from pincite.measure.questions import Question, QuestionSet
from pincite.measure.report import render
from pincite.measure.statistics import compare, mean_with_interval
from pincite.measure.tune.nested import DEFAULT, TUNED
from pincite.measure.tune.session import Ablation, Session, counter_of, look
from pincite.measure.tune.shared import Ground, folded
from pincite.measure.tune.space import Trial, changes_between, parts_of, said
from pincite.model.errors import SourceError, reason_of
from pincite.model.settings import Settings
from pincite.search.feature_table import Features
from pincite.search.learned import Learned, RankerModel, save_model

MAX_TRIALS = 2000  # listed; the best ones


def summarise(session: Session, program: str, made: str) -> dict[str, Any]:
    """Return all that a report shows."""
    tuned, folds = session.tuned, session.tuned.folds
    asked, default = session.questions, tuned.default.settings
    costs = {name: asdict(cost) for name, cost in session.costs.items()}
    members = Counter(folds.groups)
    sizes = {"groups": len(members), "largest": max(members.values())}
    choice = {"settings": said(tuned.choice, default), "parts": list(parts_of(tuned.choice))}
    return {
        "program": program,
        "made": made,
        "questions": {"name": asked.name, "hash": asked.hash, "counted": len(folds.groups)},
        "measure": str(session.wish.measure),
        "folds": {"count": folds.count, "by": folds.by, **sizes},
        "trials": len(session.bench.tried),
        "budget_ms": session.wish.budget_ms,
        "untried": dict(session.untried),
        "verdict": tuned.gain.verdict,
        "kept": said(tuned.kept, default),
        "choice": {**choice, "cost": costs["choice"]},
        "notes": _notes(session),
        "gain": tuned.gain.plain(),
        "pipelines": _pipelines(session, costs),
        "by_fold": _by_fold(session),
        "ablations": [
            {"change": each.change, **each.gain.plain(), "ms": each.ms}
            for each in session.ablations
        ],
        "tried": _tried(session),
        "hold_out": dict(session.held_out),
    }


def _notes(session: Session) -> list[str]:
    """Return what has to be known of the choice beyond its figures."""
    found = []
    folds = session.tuned.folds
    if folds.by != "document":
        found.append(
            f"too few documents are asked about: questions are kept together by {folds.by}, and "
            "for other documents the gain may be smaller"
        )
    choice, cost = session.tuned.choice, session.costs["choice"]
    budget = choice.settings.rerank.budget_ms
    if "cross-encoder" in parts_of(choice) and budget and cost.p95 > budget:
        found.append(
            f"one search in twenty takes more than {cost.p95:.0f} ms here, and rerank.budget_ms is "
            f"{budget}: what is not read by then keeps its order; give it more, or tune with "
            "--budget-ms"
        )
    return found


def _pipelines(session: Session, costs: dict[str, Any]) -> list[dict[str, Any]]:
    """Return tuned as a procedure, then every fixed pipeline with what tuning gains over it."""
    tuned = session.tuned
    groups = tuned.folds.groups
    own = mean_with_interval(tuned.values[TUNED], groups)
    # Of the choice from all questions: the folds' choices have no time together.
    rows = [{"name": TUNED, **own, "cost": costs["choice"]}]
    for name in tuned.fixed:
        own = mean_with_interval(tuned.values[name], groups)
        compared = tuned.comparisons[name].plain()
        rows.append({"name": name, **own, "cost": costs[name], "tuned_gains": compared})
    return rows


def _by_fold(session: Session) -> list[dict[str, Any]]:
    tuned = session.tuned
    found = []
    for number, trial in enumerate(tuned.by_fold):
        is_own = tuned.folds.fold == number
        means = {name: float(values[is_own].mean()) for name, values in tuned.values.items()}
        choice = {"choice": said(trial, tuned.default.settings), TUNED: means[TUNED]}
        fixed = {name: means[name] for name in tuned.fixed}
        row = {"fold": number + 1, "questions": int(is_own.sum())}
        found.append({**row, **choice, "fixed": fixed})
    return found


def _tried(session: Session) -> list[dict[str, Any]]:
    """Return every trial with its mean on all questions: the best first, and too good, all."""
    trials = list(session.bench.tried.values())
    default = session.tuned.default
    values = session.bench.values([default, *trials])
    rows: list[dict[str, Any]] = []
    for trial, own in zip(trials, values[1:], strict=True):
        row = {"settings": said(trial, default.settings), "mean": float(own.mean())}
        change = float((own - values[0]).mean())
        rows.append({**row, "change": change, "parts": len(parts_of(trial))})
    return sorted(rows, key=lambda row: -row["mean"])[:MAX_TRIALS]


SHOWN_TRIALS = 300


def page(values: dict[str, Any]) -> str:
    """Return the page of a tuning's summary."""
    spots = [
        (e["name"], e["cost"]["p50"], e["cost"]["p95"], e["value"], e["low"], e["high"])
        for e in values["pipelines"]
    ]
    more = {"title": f"Tuning: {values['questions']['name']}", "shown_trials": SHOWN_TRIALS}
    return render("tuning.html.j2", values=values, spots=spots, **more)


def looked_at(session: Session, file: Path, questions: QuestionSet, made: str) -> Session:
    """Return the tuning with the hold-out's figures of the default and of what is written down."""
    asked = [question for question in questions.questions if question.needs]
    if len(asked) < 2:
        raise SourceError(f"{file} has no two questions with an answer", hint="give more of them")
    peeks = look(file, questions, made)
    warning = (
        f"these hold-out questions were looked at {peeks} times: what was chosen after "
        "an earlier look has seen them, and the figure is too good"
    )
    tuned = session.tuned
    ground, before = _values(session, asked, tuned.default, None)
    model = session.model if tuned.kept.learned else None
    _, after = _values(session, asked, tuned.kept, model)
    groups = folded(ground.golds, ground.corpus, 2).groups
    looks = {"peeks": peeks, "counter": str(counter_of(file))}
    means = [mean_with_interval(each, groups) for each in (before, after)]
    figures = {**looks, "warning": warning if peeks > 1 else "", "default": means[0]}
    figures |= {"kept": means[1], **compare(before, after, groups).plain()}
    return replace(session, held_out=figures)


def _values(
    session: Session, asked: list[Question], trial: Trial, model: RankerModel | None
) -> tuple[Ground, Array]:
    own = session.bench.asking.ground_of(trial.settings)
    ground = Ground(own.opened, asked, own.scorer)
    depth = session.bench.asking.depth
    plan = ground.plan(trial.settings, max(depth, model.k if model else 0))
    stage = Learned(model, Features(ground.opened)) if model else None
    lines = []
    for at in range(len(asked)):
        table = ground.table(at, plan)
        if stage:
            table = stage(ground.query(asked[at].text, plan), table)
        lines.append(ground.line(at, table.best(depth).names()))
    return ground, session.wish.measure.of(tabulated(lines))


SETTINGS, REPORT, PAGE, MODEL = "pincite.toml", "report.json", "report.html", "ranker.json"


def write(session: Session, folder: Path, program: str, made: str) -> dict[str, Any]:
    """Write the settings, the report and, if one was learned, the ranker; return the report."""
    values = summarise(session, program, made)
    try:
        if session.tuned.kept.learned and session.model is not None:
            save_model(session.model, folder / MODEL)
        (folder / SETTINGS).write_text(settings_file(session, folder), encoding="utf-8")
        text = json.dumps(values, ensure_ascii=False, indent=1)
        (folder / REPORT).write_text(text + "\n", encoding="utf-8")
        (folder / PAGE).write_text(page(values), encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write into {folder}: {reason_of(error)}", hint="choose --out"
        ) from error
    return values


def settings_file(session: Session, folder: Path) -> str:
    """Return the settings that differ from the defaults, with what each buys and costs."""
    tuned, measure = session.tuned, session.wish.measure
    gain = tuned.gain
    low, high = gain.interval
    lines = [
        f"# Written by pincite tune: {len(session.bench.tried)} trials on "
        f"{len(tuned.folds.groups)} questions of {' '.join(session.questions.name.split())} "
        f"({session.questions.hash}).",
        f"# {measure} on folds not seen: {tuned.values[TUNED].mean():.3f} tuned, "
        f"{tuned.values[DEFAULT].mean():.3f} before; {gain.difference:+.3f} "
        f"[{low:+.3f}, {high:+.3f}], p {gain.p:.3f}: {gain.verdict}.",
    ]
    settings = tuned.kept.settings
    if not tuned.is_better:
        lines.append("# So nothing was changed.")
    elif tuned.kept.learned:
        model = str((folder / MODEL).resolve())
        settings = replace(settings, search=replace(settings.search, ranker=model))
    notes = {} if not tuned.is_better else _notes_file(session.ablations)
    section = said = ""
    for name, value in changes_between(settings, Settings()).items():
        above, _, key = name.rpartition(".")
        if above != section:
            lines += ["", f"[{above}]"]
            section, said = above, ""
        note = notes.get(name, "")
        if note and note != said:  # settings that belong together are told of once
            lines.append(f"# {note}")
            said = note
        # Strings, numbers and truth values are in TOML as in JSON.
        lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def _notes_file(ablations: Sequence[Ablation]) -> Mapping[str, str]:
    """Return by setting what it buys, on the questions it was chosen on, and costs."""
    found: dict[str, str] = {}
    for each in ablations:
        low, high = each.gain.interval
        note = (
            f"buys {each.gain.difference:+.3f} [{low:+.3f}, {high:+.3f}] on the questions it was "
            f"chosen on; costs {each.ms:+.1f} ms (median search)"
        )
        found |= {change.partition("=")[0]: note for change in each.change.split(", ")}
        if each.change.startswith("learned ranker"):
            found["search.ranker"] = note
    return found
