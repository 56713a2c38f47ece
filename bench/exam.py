"""A multiple-choice exam over the documents of an index, with evidence and reasons.

python bench/exam.py questions.jsonl -i INDEX [--folds 10] [--rows] [--html page.html]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite import __version__
from pincite.cli.options import PATH, Call, argument, command, option, write_text
from pincite.cli.terminal import follow, print_json, print_table, say

if TYPE_CHECKING:
    from multiple_choice.questions import ExamQuestion
    from multiple_choice.sitting import Sat
    from pincite.api import Index
    from pincite.model.settings import Settings


_SHARE = click.FloatRange(0, 1)


@command("exam")
@argument("file", type=PATH, help="Questions with options, JSON or JSON lines.")
@option(
    "--folds",
    type=click.IntRange(0, 100),
    default=0,
    help="Fit the chooser on other sections, in so many folds.",
)
@option("--abstain-below", "least", type=_SHARE, default=0.0, help="Choose nothing less probable.")
@option("--model", is_flag=True, help="Let the language model of answer.url choose.")
@option("--rows", is_flag=True, help="Print every question.")
@option("--html", type=PATH, help="Write a report as one page.")
@option(
    "--require",
    "required",
    type=_SHARE,
    default=0.0,
    help="Exit 1 if fewer than this share is right.",
)
def exam(
    call: Call,
    file: Path,
    folds: int,
    least: float,
    model: bool,
    rows: bool,
    html: Path | None,
    required: float,
) -> int:
    """Sit a multiple-choice exam: accuracy with its interval, evidence found, reasons of errors."""
    from multiple_choice.questions import read_exam
    from multiple_choice.report import page
    from multiple_choice.summary import summarise
    from pincite.api import Index

    questions = read_exam(file)
    with Index.open(call.index, call.settings) as opened:
        name, stream = _stream(opened, call.settings, questions, folds, least, model)
        sats = list(follow(stream, "sitting the exam", len(questions)))
    values: dict[str, Any] = {"exam": file.stem, "chooser": name, **summarise(sats)}
    if html is not None:
        write_text(html, page(values, __version__))
    if call.as_json:
        print_json(values)
    else:
        _print(values, rows=rows)
        if html is not None:
            say(f"report: {html}")
    accuracy = values["figures"].get("accuracy", {"value": 0.0})["value"]
    return 1 if accuracy < required else 0


def _stream(
    index: Index,
    settings: Settings,
    questions: Sequence[ExamQuestion],
    folds: int,
    least: float,
    model: bool,
) -> tuple[str, Iterator[Sat]]:
    from multiple_choice.sitting import sit, sit_with

    if not model:
        weights = f"weights fitted on other sections in {folds} folds" if folds else "as shipped"
        name = f"no language model, {weights}"
        return name, sit(index, questions, least=least, fold_count=folds)
    from multiple_choice.model_chooser import ModelChooser
    from pincite.answer.language_model import LanguageModel
    from pincite.model.errors import ConfigError

    if not settings.answer.url:
        raise ConfigError(
            "--model needs a language model",
            hint="as: --set answer.url=http://localhost:11434/v1 --set answer.model=NAME",
        )
    chooser = ModelChooser(LanguageModel(settings.answering))
    return settings.answer.model, sit_with(index, questions, chooser)


def _print(values: dict[str, Any], *, rows: bool) -> None:
    if rows:
        print_table(_rows(values), left=range(len(_HEADS)))
    say(
        f"{values['exam']}: {values['counted']} of {values['questions']} questions count, in "
        f"{values['groups']} groups; {values['chooser']}"
    )
    cells = [["figure", "value", "95 %", "questions"]]
    for name, each in values["figures"].items():
        between = f"{each['low']:.3f} – {each['high']:.3f}"
        cells.append([name, f"{each['value']:.3f}", between, str(each["n"])])
    print_table(cells)
    for row in values["comparisons"]:
        low, high = row["interval"]
        say(
            f"against {row['to']}: {row['difference']:+.3f} [{low:+.3f}, {high:+.3f}], "
            f"p = {row['p']:.4f}; {row['better']} better, {row['worse']} worse"
        )
    for name, count in values["outcomes"].items():
        say(f"{count:5}  {name}")
    apart = values["unanswerable"]
    if apart["by_key"]:
        say(f"{apart['by_key']} have no answer by the key: abstained in {apart['abstained']}")
    if apart["place_missing"]:
        say(f"{apart['place_missing']} cite a place that the documents do not have")


_HEADS = ["id", "rank", "with options", "gold", "chosen", "right", "outcome"]


def _rows(values: dict[str, Any]) -> list[list[str]]:
    """Return a line for every question, below the heads."""
    cells = [_HEADS]
    for row in values["rows"]:
        ranks = [f"#{rank}" if rank else "MISS" for rank in (row["rank"], row["rank_with_options"])]
        if row["unanswerable"] or not row["gold"]:
            ranks = ["n/a", "n/a"]
        mark = "guess " if row["is_guess"] else ""
        cells.append(
            [
                row["id"],
                *ranks,
                row["unanswerable"] or row["gold"],
                f"{mark}{row['chosen'] or '–'}",
                row["right"] or "–",
                row["outcome"],
            ]
        )
    return cells


if __name__ == "__main__":
    exam()
