"""pincite label: judge what several pipelines find, one key at a time."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.options import (
    PATH,
    Call,
    argument,
    command,
    option,
    pipeline_option,
    pipelines_from,
)
from pincite.cli.terminal import print_json, say
from pincite.model.errors import MALFORMED, ConfigError

if TYPE_CHECKING:
    from pincite.measure.labelling import LabelCandidate
    from pincite.measure.questions import QuestionSet

SHOWN_CHARS = 1500
MAX_LINE = 10_000
_KEYS = "y answers · 2 3 answers better · n does not · s skip · q quit"


@command("label")
@argument("file", type=PATH, help="File of judgements (.jsonl); made if not there.")
@option("--add", multiple=True, help="Add this question and judge it too.")
@pipeline_option
@option("--depth", type=click.IntRange(1, 1000), default=5, help="Hits of each pipeline to judge.")
@option("--reason", default="judged blind from a pool", help="For the change log.")
@option("--by", default="", help="Who judges, in your own words.")
def label(
    call: Call,
    file: Path,
    add: tuple[str, ...],
    pipeline: tuple[str, ...],
    depth: int,
    reason: str,
    by: str,
) -> None:
    """Judge pooled hits blind; every answer is saved at once, and nothing comes twice.

    With --json, each thing to judge is one line of output and one line of input answers it:
    {"grade": 1}, {"skip": true} or {"quit": true}.
    """
    pipelines = pipelines_from(pipeline or ("lexical", "hybrid"), call)
    if file.suffix == ".toml":
        raise ConfigError("judgements are added to .jsonl files", hint="name another file")
    found = _read(file, add)
    counts = _loop(call, file, found, list(pipelines.values()), depth, by)
    questions = counts.pop("questions")
    if counts["judged"]:
        _record(file, reason, by, questions)
    if call.as_json:
        print_json({**counts, "file": str(file)})
    else:
        say(f"{counts['judged']} judged, {counts['skipped']} skipped → {file}")


def _loop(
    call: Call, file: Path, found: QuestionSet, pipelines: list[Any], depth: int, by: str
) -> dict[str, Any]:
    """Ask for a grade of everything that the pipelines find, and return what came of it."""
    from pincite.api import Index
    from pincite.index.opened import OpenIndex
    from pincite.measure.coverage import Corpus
    from pincite.measure.harness import check_pipelines
    from pincite.measure.labelling import judged, pool
    from pincite.measure.questions import save

    check_pipelines(pipelines)
    counts: dict[str, Any] = {"judged": 0, "skipped": 0, "questions": []}
    with ExitStack() as stack:
        opened = OpenIndex.open(call.index, call.settings.store)
        stack.callback(opened.snapshot.close)
        indexes = [Index(opened, settings) for settings in pipelines]
        corpus = Corpus(opened.snapshot)
        for question in list(found.questions):
            for candidate in pool(question, indexes, corpus, depth):
                answer = (_asked_json if call.as_json else _asked)(candidate)
                if answer is None:
                    return counts
                if "grade" not in answer:
                    counts["skipped"] += 1
                    continue
                found = judged(found, candidate, answer["grade"], answer.get("need", 0), by, _now())
                save(found, file)
                counts["judged"] += 1
                if question.id not in counts["questions"]:
                    counts["questions"].append(question.id)
    return counts


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read(file: Path, add: tuple[str, ...]) -> QuestionSet:
    from pincite.measure.labelling import added
    from pincite.measure.questions import QuestionSet, load

    found = load(file) if file.exists() else QuestionSet(file.stem, [])
    found = added(found, list(add))
    if not found.questions:
        raise ConfigError("no questions to judge", hint='add one: --add "how deep is a rod?"')
    return found


def _record(file: Path, reason: str, by: str, questions: list[str]) -> None:
    from pincite.measure.questions import load, save

    save(load(file).recorded(reason, by, questions), file)


def _asked(candidate: LabelCandidate) -> dict[str, Any] | None:
    """Show a candidate and return what a person says; None to stop."""
    chunk, question = candidate.chunk, candidate.question
    say(f"── {candidate.left} more ──", style="dim")
    say(question.text, style="bold")
    say(f"{chunk.span.doc_id}, {chunk.locator}", style="dim")
    more = " …" if len(chunk.text) > SHOWN_CHARS else ""
    say(chunk.text[:SHOWN_CHARS].strip() + more)
    say(_KEYS, style="dim")
    while True:
        key = _key()
        if key in ("q", "", "\x03", "\x04"):
            return None
        if key == "s":
            return {}
        if key == "n" or key == "0":
            return {"grade": 0}
        if key in ("y", "1", "2", "3"):
            grade = 1 if key == "y" else int(key)
            return {"grade": grade, "need": _need(candidate)}


def _need(candidate: LabelCandidate) -> int:
    """Return which need of the question is meant; a question with one does not ask."""
    needs = candidate.question.needs
    if len(needs) < 2:
        return 0
    for number, need in enumerate(needs, 1):
        say(f"{number}  {' or '.join(map(str, need))}")
    say(f"which one, 1 to {len(needs)}?", style="dim")
    while not ((key := _key()).isdigit() and 1 <= int(key) <= len(needs)):
        if key in ("q", ""):
            return 0
    return int(key) - 1


def _key() -> str:
    """Return one key; from a pipe, the first letter of a line, and nothing at its end."""
    if sys.stdin.isatty():
        return str(click.getchar()).lower()
    return sys.stdin.readline(MAX_LINE).strip()[:1].lower()


def _asked_json(candidate: LabelCandidate) -> dict[str, Any] | None:
    chunk = candidate.chunk
    print_json(
        {
            "question": candidate.question.id,
            "text": candidate.question.text,
            "needs": max(1, len(candidate.question.needs)),
            "document": chunk.span.doc_id,
            "locator": chunk.locator,
            "span": [chunk.span.start, chunk.span.end],
            "words": chunk.text[:SHOWN_CHARS],
        }
    )
    sys.stdout.flush()
    line = sys.stdin.readline(MAX_LINE)
    try:
        answer = json.loads(line) if line.strip() else {"quit": True}
        if answer.get("quit"):
            return None
        if answer.get("skip"):
            return {}
        grade, need = int(answer["grade"]), int(answer.get("need", 0))
    except MALFORMED as error:
        raise ConfigError(
            f"no answer: {line.strip()[:80]!r}", hint='write {"grade": 1}, or {"skip": true}'
        ) from error
    if not 0 <= grade <= 3 or not 0 <= need < max(1, len(candidate.question.needs)):
        raise ConfigError(f"grade {grade} for need {need}", hint="grades are 0 to 3; needs from 0")
    return {"grade": grade, "need": need}
