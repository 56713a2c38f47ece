"""What a tuning says, as plain values: the terminal, ``--json`` and the page show the same ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pincite.evaluate.statistics import mean_with_interval
from pincite.tune.nested import TUNED
from pincite.tune.session import Session
from pincite.tune.space import parts_of, said

MOST_TRIALS = 2000  # listed; the best ones


def summarise(session: Session, program: str, made: str) -> dict[str, Any]:
    """Return all that a report shows."""
    tuned, folds = session.tuned, session.tuned.folds
    costs = {name: asdict(cost) for name, cost in session.costs.items()}
    return {
        "program": program,
        "made": made,
        "questions": {
            "name": session.questions.name,
            "hash": session.questions.hash,
            "counted": len(folds.groups),
        },
        "measure": str(session.wish.measure),
        "folds": {
            "count": folds.count,
            "by": folds.by,
            "groups": len(set(folds.groups)),
            "largest": folds.largest,
        },
        "trials": len(session.bench.tried),
        "budget_ms": session.wish.budget_ms,
        "untried": dict(session.untried),
        "verdict": tuned.gain.verdict,
        "kept": said(tuned.kept, session.tuned.default.settings),
        "choice": {
            "settings": said(tuned.choice, tuned.default.settings),
            "parts": list(parts_of(tuned.choice)),
            "cost": costs["choice"],
        },
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
        found.append(
            {
                "fold": number + 1,
                "questions": int(is_own.sum()),
                "choice": said(trial, tuned.default.settings),
                TUNED: float(tuned.values[TUNED][is_own].mean()),
                "fixed": {name: float(tuned.values[name][is_own].mean()) for name in tuned.fixed},
            }
        )
    return found


def _tried(session: Session) -> list[dict[str, Any]]:
    """Return every trial with its mean on all questions: the best first, and too good, all."""
    trials = list(session.bench.tried.values())
    default = session.tuned.default
    values = session.bench.values([default, *trials])
    rows: list[dict[str, Any]] = [
        {
            "settings": said(trial, default.settings),
            "mean": float(own.mean()),
            "change": float((own - values[0]).mean()),
            "parts": len(parts_of(trial)),
        }
        for trial, own in zip(trials, values[1:], strict=True)
    ]
    return sorted(rows, key=lambda row: -row["mean"])[:MOST_TRIALS]
