"""A multiple-choice exam over the documents of an index, with evidence and reasons.

python bench/exam.py questions.jsonl -i INDEX [--folds 10] [--rows] [--html page.html]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite import __version__
from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    err,
    out,
    settings_from,
    told,
)
from pincite.cli.terminal import print_json
from pincite.model.errors import SourceError, reason_of

if TYPE_CHECKING:
    from multiple_choice.questions import ExamQuestion
    from multiple_choice.sitting import Sat
    from pincite.api import Index
    from pincite.model.settings import Settings


def exam(
    file: Annotated[Path, typer.Argument(help="Questions with options, JSON or JSON lines.")],
    folds: Annotated[
        int,
        typer.Option(
            "--folds", min=0, max=100, help="Fit the chooser on other sections, in so many folds."
        ),
    ] = 0,
    least: Annotated[
        float,
        typer.Option("--abstain-below", min=0, max=1, help="Choose nothing less probable."),
    ] = 0.0,
    model: Annotated[
        bool, typer.Option("--model", help="Let the language model of answer.url choose.")
    ] = False,
    rows: Annotated[bool, typer.Option("--rows", help="Print every question.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a report as one page.")] = None,
    required: Annotated[
        float,
        typer.Option("--require", min=0, max=1, help="Exit 1 if fewer than this share is right."),
    ] = 0.0,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sit a multiple-choice exam: accuracy with its interval, evidence found, reasons of errors."""
    from multiple_choice.questions import read_exam
    from multiple_choice.report import page
    from multiple_choice.summary import summarise
    from pincite.api import Index

    with told(as_json=as_json, index=index):
        questions = read_exam(file)
        settings = settings_from(config, sets)
        with Index.open(index, settings) as opened:
            name, stream = _stream(opened, settings, questions, folds, least, model)
            sats = _with_progress(stream, len(questions))
        values: dict[str, Any] = {"exam": file.stem, "chooser": name, **summarise(sats)}
        if html is not None:
            _write(html, page(values, __version__))
    if as_json:
        print_json(values)
    else:
        _print(values, rows=rows)
        if html is not None:
            out.print(f"report: {html}", markup=False, soft_wrap=True)
    accuracy = values["figures"].get("accuracy", {"value": 0.0})["value"]
    if accuracy < required:
        raise typer.Exit(1)


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


def _with_progress(stream: Iterator[Sat], total: int) -> list[Sat]:
    from rich.progress import track

    return list(track(stream, "sitting the exam", total, console=err, transient=True))


def _print(values: dict[str, Any], *, rows: bool) -> None:
    from rich.table import Table

    if rows:
        _print_rows(values)
    out.print(
        f"{values['exam']}: {values['counted']} of {values['questions']} questions count, in "
        f"{values['groups']} groups; {values['chooser']}",
        markup=False,
        soft_wrap=True,
    )
    table = Table("figure", "value", "95 %", "questions", box=None, pad_edge=False)
    for name, each in values["figures"].items():
        between = f"{each['low']:.3f} – {each['high']:.3f}"
        table.add_row(name, f"{each['value']:.3f}", between, str(each["n"]))
    out.print(table)
    for row in values["comparisons"]:
        low, high = row["interval"]
        out.print(
            f"against {row['to']}: {row['difference']:+.3f} [{low:+.3f}, {high:+.3f}], "
            f"p = {row['p']:.4f}; {row['better']} better, {row['worse']} worse",
            markup=False,
            soft_wrap=True,
        )
    for name, count in values["outcomes"].items():
        out.print(f"{count:5}  {name}", markup=False)
    apart = values["unanswerable"]
    if apart["by_key"]:
        out.print(
            f"{apart['by_key']} have no answer by the key: abstained in {apart['abstained']}",
            markup=False,
        )
    if apart["place_missing"]:
        out.print(
            f"{apart['place_missing']} cite a place that the documents do not have", markup=False
        )


def _print_rows(values: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    heads = ("id", "rank", "with options", "gold", "chosen", "right", "outcome")
    table = Table(*heads, box=None, pad_edge=False)
    for row in values["rows"]:
        ranks = [f"#{rank}" if rank else "MISS" for rank in (row["rank"], row["rank_with_options"])]
        if row["unanswerable"] or not row["gold"]:
            ranks = ["n/a", "n/a"]
        mark = "guess " if row["is_guess"] else ""
        cells = [
            row["id"],
            *ranks,
            row["unanswerable"] or row["gold"],
            f"{mark}{row['chosen'] or '–'}",
            row["right"] or "–",
            row["outcome"],
        ]
        table.add_row(*map(Text, cells))
    out.print(table)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(exam)
    app()
