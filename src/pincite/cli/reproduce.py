"""pincite reproduce: a published experiment, run again on any questions of its format."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.cli.options import (
    ConfigOption,
    JsonOption,
    SetOption,
    err,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.core.errors import SourceError
from pincite.core.settings import Settings

if TYPE_CHECKING:
    from pincite.evaluate.figures import Figures


class Experiment(StrEnum):
    """What can be reproduced."""

    OHR_BENCH = "ohr-bench"
    PART97 = "part97"


QUESTION_FILES = {
    Experiment.OHR_BENCH: "qas_dev.json",
    Experiment.PART97: "questions_dev.jsonl",
}


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(help="Which experiment.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", envvar="PINCITE_DATA", help="Folder with the data sets."),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Another question file of its format.")
    ] = None,
    pipeline: Annotated[
        str | None, typer.Option("--pipeline", help="Name of a pipeline, or a settings file.")
    ] = None,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment and print its figures with 95 % intervals."""
    with told(as_json=as_json):
        settings = _settings(pipeline, config, sets)
        folder = _data_folder(data, experiment)
        file = questions or folder / QUESTION_FILES[experiment]
        start = time.perf_counter()
        figures, counts = _run(experiment, folder, file, settings)
    report: dict[str, Any] = {
        "experiment": experiment.value,
        "pipeline": settings.search.pipeline,
        "settings": settings.fingerprint(),
        **counts,
        **figures.values,
        "intervals": figures.intervals,
        "counts": figures.counts,
        "seconds": time.perf_counter() - start,
    }
    if as_json:
        print_json(report)
    else:
        _print(report, figures)


def _settings(pipeline: str | None, config: Path | None, sets: list[str] | None) -> Settings:
    """Return the settings; a pipeline is a preset's name or a file of settings."""
    if pipeline and pipeline.endswith(".toml"):
        return settings_from(Path(pipeline), sets)
    named = [f"search.pipeline={pipeline}"] if pipeline else []
    return settings_from(config, [*named, *(sets or [])])


def _data_folder(data: Path | None, experiment: Experiment) -> Path:
    """Return the experiment's folder: the given one, or the one of its name in it."""
    root = data if data is not None else Path("../shared/data")
    folder = root / experiment.value
    found = folder if folder.is_dir() else root
    if not found.is_dir():
        raise SourceError(
            f"no folder {found}", hint="give the data with --data DIR or PINCITE_DATA=DIR"
        )
    return found


def _run(
    experiment: Experiment, folder: Path, questions: Path, settings: Settings
) -> tuple[Figures, dict[str, int]]:
    from rich.progress import track

    from pincite.evaluate import ohr_bench, part97

    if experiment is Experiment.PART97:
        stream = part97.run(folder, questions, settings)
        answered = list(track(stream, "asking", console=err, transient=True))
        named = part97.locators_first(folder, settings)
        return part97.summarise(answered, named), {"questions": len(answered)}
    results = list(
        track(ohr_bench.run(folder, questions, settings), "asking", console=err, transient=True)
    )
    scored = [each for each in results if isinstance(each, ohr_bench.Scored)]
    counts = {"questions": len(results), "not_evaluable": len(results) - len(scored)}
    return ohr_bench.summarise(scored), counts


def _print(report: dict[str, Any], figures: Figures) -> None:
    from rich.table import Table

    extra = ""
    if "not_evaluable" in report:
        extra = f", {report['not_evaluable']} not evaluable (document missing)"
    out.print(
        f"{report['experiment']}, pipeline {report['pipeline']}: "
        f"{report['questions']} questions{extra}",
        soft_wrap=True,
    )
    table = Table(box=None, pad_edge=False)
    for title, justify in (
        ("figure", "left"),
        ("value", "right"),
        ("95 %", "right"),
        ("n", "right"),
    ):
        table.add_column(title, justify=justify)  # type: ignore[arg-type]
    for name, value in figures.values.items():
        low, high = figures.intervals[name]
        digits = 2 if "lcs" in name else 3
        table.add_row(
            name,
            f"{value:.{digits}f}",
            f"{low:.{digits}f} – {high:.{digits}f}",
            str(figures.counts[name]),
        )
    out.print(table)
    out.print(f"{report['seconds']:.1f} s", style="dim")
