"""What a tuning leaves behind: a settings file that says why, a report for people and programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pincite.core.errors import SourceError, reason_of
from pincite.core.settings import Settings
from pincite.learn.model import save_model
from pincite.tune.nested import DEFAULT, TUNED
from pincite.tune.page import page
from pincite.tune.session import Ablation, Session
from pincite.tune.space import changes_between, nested
from pincite.tune.summary import summarise

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
        f"{len(tuned.folds.groups)} questions of {_comment(session.questions.name)} "
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
        settings = replace(settings, learn=replace(settings.learn, model=model))
    notes = {} if not tuned.is_better else _notes(session.ablations)
    changes = nested(changes_between(settings, Settings()))
    for section, keys in changes.items():
        lines += ["", f"[{section}]"]
        said = ""
        for key, value in keys.items():
            note = notes.get(f"{section}.{key}", "")
            if note and note != said:  # settings that belong together are told of once
                lines.append(f"# {note}")
                said = note
            lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _notes(ablations: Sequence[Ablation]) -> Mapping[str, str]:
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
            found["learn.model"] = note
    return found


def _toml(value: Any) -> str:
    """Return a value as TOML writes it; strings, numbers and truth values are as in JSON."""
    return json.dumps(value, ensure_ascii=False)


def _comment(text: str) -> str:
    return " ".join(text.split())
