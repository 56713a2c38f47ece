"""A published experiment, run again on any questions of its format.

python bench/reproduce.py part97 [--data DIR] [--pipeline hybrid] [--json]
"""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pincite.cli.pipelines import pipelines_from

from experiments.table_printing import FOLDERS
from pincite.cli.options import ConfigOption, JsonOption, SetOption, err, out, settings_from, told
from pincite.cli.terminal import print_json
from pincite.model.errors import ConfigError, SourceError, redact_url
from pincite.model.settings import Settings

if TYPE_CHECKING:
    from rich.table import Table

    from pincite.measure.statistics import Figures


class Name(StrEnum):
    """What can be reproduced."""

    OHR_BENCH = "ohr-bench"
    PART97 = "part97"
    RERANK = "rerank"
    RULEBOOK = "rulebook"
    SCIFACT = "scifact"
    SQUAD_IT = "squad-it"
    SRD = "srd-5.1"
    XQUAD = "xquad"


EXPERIMENT_WITHOUT_ORACLE = "ohr-bench, all domains in one index"


def reproduce(
    experiment: Annotated[Name, typer.Argument(help="Which experiment.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", envvar="PINCITE_DATA", help="Folder with the data sets."),
    ] = None,
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Another question file of its format.")
    ] = None,
    pipeline: Annotated[
        list[str] | None,
        typer.Option(
            "--pipeline",
            help="Name of a pipeline, or a settings file; several are compared to the first.",
        ),
    ] = None,
    oracle: Annotated[
        bool,
        typer.Option(
            "--oracle/--no-oracle",
            help="OHR-Bench: search the question's own domain (as published), or all documents.",
        ),
    ] = True,
    learned: Annotated[
        bool,
        typer.Option(
            "--learned",
            help="OHR-Bench: learned rankers too, each asked only about documents it never saw.",
        ),
    ] = False,
    leaky: Annotated[
        bool, typer.Option("--leaky", help="OHR-Bench: the published forest with and without leak")
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option("--model", help="Also the same pipeline with the learned ranker of a file."),
    ] = None,
    store: Annotated[
        str,
        typer.Option("--store", help="URL of a server: copy the indexes there, and ask those."),
    ] = "",
    keep: Annotated[
        bool, typer.Option("--keep", help="With --store: let the copies stay, for the next time.")
    ] = False,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run an experiment and print its figures with 95 % intervals."""
    from experiments.indexes import asked_in

    if experiment.value in FOLDERS:
        with told(as_json=as_json):
            _check_no_store(experiment, store)
        _tables(experiment, data, questions, settings_of=(config, sets), as_json=as_json)
        return
    with told(as_json=as_json):
        pipelines = pipelines_from(pipeline or _usual(experiment, config, sets), config, sets)
        pipelines = _with_model(pipelines, model)
        folder = _data_folder(data, experiment.value)
        start = time.perf_counter()
        named = EXPERIMENT_WITHOUT_ORACLE if _is_without(experiment, oracle) else experiment.value
        if learned or leaky:
            named, pipelines = _learned(experiment, pipelines, leaky=leaky)
        with asked_in(store, keep=keep) as stays:
            figures, counts = _run(named, folder, questions, list(pipelines.values()))
    head: dict[str, Any] = {"experiment": named, **counts}
    if store:
        head["store"] = redact_url(store)
        head["stays"] = [redact_url(place) for place in stays]
    results = dict(zip(pipelines, figures, strict=True))
    seconds = time.perf_counter() - start
    if as_json:
        print_json(_report(head, pipelines, results, seconds))
        return
    _print_head(head, list(pipelines))
    out.print(_table(figures[0]) if len(results) == 1 else _side_by_side(results))
    if leaky:
        from experiments.ohr_learned import LEAK

        out.print(LEAK)
    for place in head.get("stays", ()):
        out.print(f"a copy of the index stays: {place}", style="dim", soft_wrap=True)
    out.print(f"{seconds:.1f} s", style="dim")


def _check_no_store(experiment: Name, store: str) -> None:
    if store:
        raise ConfigError(
            f"{experiment.value} has an index of its own making",
            hint="--store is for the others, as part97 and ohr-bench",
        )


def _tables(
    experiment: Name,
    data: Path | None,
    questions: Path | None,
    *,
    settings_of: tuple[Path | None, list[str] | None],
    as_json: bool,
) -> None:
    """Run an experiment whose figures are tables of its own, with its own pipelines."""
    from experiments.table_printing import print_tables, tables_of

    start = time.perf_counter()
    with told(as_json=as_json):
        settings = settings_from(*settings_of)
        folder = _data_folder(data, FOLDERS[experiment.value][0])
        tables = tables_of(experiment.value, folder, questions, settings)
    seconds = time.perf_counter() - start
    print_tables(experiment.value, tables, settings, seconds, as_json=as_json)


def _with_model(pipelines: dict[str, Settings], model: Path | None) -> dict[str, Settings]:
    """Return the pipelines, the first one also with a learned ranker behind it."""
    if model is None:
        return pipelines
    first = next(iter(pipelines.values()))
    behind = first.changed({"search.ranker": str(model)})
    return {**pipelines, model.stem: behind}


def _learned(
    experiment: Name, pipelines: dict[str, Settings], *, leaky: bool
) -> tuple[str, dict[str, Settings]]:
    """Return the experiment with learned rankers, and the name of each of its columns."""
    if experiment is not Name.OHR_BENCH or len(pipelines) > 1:
        raise ConfigError(
            "--learned and --leaky are for ohr-bench with one pipeline",
            hint="for a model of your own use --model FILE",
        )
    [(name, settings)] = pipelines.items()
    if leaky:
        columns = ["set-bm25", "forest, leaky", "forest, honest"]
        return "ohr-bench, as published", dict.fromkeys(columns, settings)
    return "ohr-bench, learned", dict.fromkeys([name, "lambdamart", "logistic"], settings)


def _usual(experiment: Name, config: Path | None, sets: list[str] | None) -> list[str]:
    """Return the pipeline of an experiment when none is asked for.

    Encoding the pages of OHR-Bench takes a quarter of an hour and does not help there.
    """
    is_named = settings_from(config, sets).search.preset != Settings().search.preset
    return ["lexical"] if experiment is Name.OHR_BENCH and not is_named else []


def _is_without(experiment: Name, oracle: bool) -> bool:
    """Return whether the oracle is left out; ConfigError where there is none to leave out."""
    if not oracle and experiment is not Name.OHR_BENCH:
        raise ConfigError(
            f"{experiment.value} has no oracle", hint="leave --no-oracle out, or run ohr-bench"
        )
    return not oracle


def _data_folder(data: Path | None, name: str) -> Path:
    """Return the experiment's folder: the given one, or the one of its name in it."""
    root = data if data is not None else Path("../shared/data")
    folder = root / name
    found = folder if folder.is_dir() else root
    if not found.is_dir():
        raise SourceError(
            f"no folder {found}", hint="give the data with --data DIR or PINCITE_DATA=DIR"
        )
    return found


def _run(
    name: str, folder: Path, questions: Path | None, pipelines: list[Settings]
) -> tuple[list[Figures], dict[str, int]]:
    """Return the figures of each pipeline, and how many questions were asked."""
    from rich.progress import track

    from experiments.catalogue import EXPERIMENTS

    experiment = EXPERIMENTS[name]
    stream = experiment.run(folder, questions or folder / experiment.questions, pipelines)
    rows = list(track(stream, "asking", console=err, transient=True))
    counts = {"questions": len(rows)}
    if name != Name.PART97:  # there, sections and clauses have counts of their own
        counts["not_evaluable"] = sum(not row for row in rows)
    return experiment.figures(rows, folder, pipelines), counts


def _report(
    head: dict[str, Any],
    pipelines: dict[str, Settings],
    results: dict[str, Figures],
    seconds: float,
) -> dict[str, Any]:
    """Return the figures for programs: flat for one pipeline, a list for several."""
    each = [
        {
            "pipeline": name,
            "settings": pipelines[name].fingerprint(),
            **figures.values,
            "intervals": figures.intervals,
            "counts": figures.counts,
        }
        for name, figures in results.items()
    ]
    if len(each) == 1:
        return {**head, **each[0], "seconds": seconds}
    first, *others = results.items()
    differences = [
        {"pipeline": name, "to": first[0], **change.values, "intervals": change.intervals}
        for name, change in ((name, figures.minus(first[1])) for name, figures in others)
    ]
    return {**head, "pipelines": each, "differences": differences, "seconds": seconds}


def _print_head(head: dict[str, Any], pipelines: list[str]) -> None:
    extra = ""
    if "not_evaluable" in head:
        extra = f", {head['not_evaluable']} not evaluable (document missing)"
    named = f"pipeline {pipelines[0]}"
    if len(pipelines) > 1:
        named = f"{', '.join(pipelines[1:])} beside {pipelines[0]}"
    out.print(
        f"{head['experiment']}, {named}: {head['questions']} questions{extra}",
        soft_wrap=True,
    )


def _columns(*titles: str, left: int) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for number, title in enumerate(titles):
        # A narrow screen may break a figure's name, never a number.
        table.add_column(
            title,
            justify="left" if number < left else "right",
            no_wrap=number > 0,
            overflow="fold",
        )
    return table


def _table(figures: Figures) -> Table:
    table = _columns("figure", "value", "95 %", "n", left=1)
    for name in figures.values:
        table.add_row(name, *_shown(name, figures), str(figures.counts[name]))
    return table


def _side_by_side(results: dict[str, Figures]) -> Table:
    """Return a line for each figure and pipeline, with the paired change from the first."""
    first, *others = results
    table = _columns("figure", "pipeline", "value", "95 %", "change", "95 %", left=2)
    changes = {name: results[name].minus(results[first]) for name in others}
    for figure, count in results[first].counts.items():
        table.add_row(figure, first, *_shown(figure, results[first]))
        for name in others:
            # The second line has room for what would make the first too wide.
            below = f"n = {count}" if name == others[0] else ""
            shown = _shown(figure, results[name]), _shown(figure, changes[name], sign="+")
            table.add_row(below, name, *shown[0], *shown[1])
    return table


def _shown(name: str, figures: Figures, *, sign: str = "") -> tuple[str, str]:
    """Return a value and its interval; blanks if there is none."""
    if name not in figures.values:
        return "", ""
    form = f"{sign}.{2 if 'lcs' in name else 3}f"
    low, high = figures.intervals[name]
    return f"{figures.values[name]:{form}}", f"{low:{form}} – {high:{form}}"


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(reproduce)
    app()
