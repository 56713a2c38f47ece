"""A published experiment, run again on any questions of its format.

python bench/reproduce.py part97 [--data DIR] [--pipeline hybrid] [--json]
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from experiments.table_printing import FOLDERS, print_tables, tables_of
from pincite.cli.options import (
    PATH,
    Call,
    argument,
    command,
    option,
    pipeline_option,
    pipelines_from,
)
from pincite.cli.terminal import follow, print_json, print_table, say
from pincite.model.errors import ConfigError, SourceError, redact_url
from pincite.model.settings import Settings

if TYPE_CHECKING:
    from figures import Figures

OHR_BENCH, PART97 = "ohr-bench", "part97"
NAMES = (OHR_BENCH, PART97, "rerank", "rulebook", "scifact", "squad-it", "srd-5.1", "xquad")
EXPERIMENT_WITHOUT_ORACLE = "ohr-bench, all domains in one index"


@command("reproduce", index=False)
@argument("experiment", type=click.Choice(NAMES), help="Which experiment.")
@option("--data", type=PATH, envvar="PINCITE_DATA", help="Folder with the data sets.")
@option("--questions", type=PATH, help="Another question file of its format.")
@pipeline_option
@option(
    "--oracle/--no-oracle",
    default=True,
    help="OHR-Bench: search the question's own domain (as published), or all documents.",
)
@option(
    "--learned",
    is_flag=True,
    help="OHR-Bench: learned rankers too, each asked only about documents it never saw.",
)
@option("--leaky", is_flag=True, help="OHR-Bench: the published forest with and without leak")
@option("--model", type=PATH, help="Also the same pipeline with the learned ranker of a file.")
@option("--store", default="", help="URL of a server: copy the indexes there, and ask those.")
@option("--keep", is_flag=True, help="With --store: let the copies stay, for the next time.")
def reproduce(
    call: Call,
    experiment: str,
    data: Path | None,
    questions: Path | None,
    pipeline: tuple[str, ...],
    model: Path | None,
    **asking: Any,
) -> None:
    """Run an experiment and print its figures with 95 % intervals."""
    if experiment in FOLDERS:
        _check_no_store(experiment, asking["store"])
        _tables(call, experiment, data, questions)
        return
    pipelines = pipelines_from(pipeline or _usual(experiment, call), call)
    pipelines = _with_model(pipelines, model)
    _figures(call, experiment, _data_folder(data, experiment), questions, pipelines, **asking)


def _figures(
    call: Call,
    experiment: str,
    folder: Path,
    questions: Path | None,
    pipelines: dict[str, Settings],
    *,
    oracle: bool,
    learned: bool,
    leaky: bool,
    store: str,
    keep: bool,
) -> None:
    """Run an experiment with the given pipelines, and print what it measured."""
    from experiments.indexes import asked_in

    start = time.perf_counter()
    named = EXPERIMENT_WITHOUT_ORACLE if _is_without(experiment, oracle) else experiment
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
    if call.as_json:
        print_json(_report(head, pipelines, results, seconds))
        return
    _print_head(head, list(pipelines))
    if len(results) == 1:
        print_table(_table(figures[0]))
    else:
        print_table(_side_by_side(results), left=[0, 1])
    if leaky:
        from experiments.ohr_learned import LEAK

        say(LEAK)
    for place in head.get("stays", ()):
        say(f"a copy of the index stays: {place}", style="dim")
    say(f"{seconds:.1f} s", style="dim")


def _check_no_store(experiment: str, store: str) -> None:
    if store:
        raise ConfigError(
            f"{experiment} has an index of its own making",
            hint="--store is for the others, as part97 and ohr-bench",
        )


def _tables(call: Call, experiment: str, data: Path | None, questions: Path | None) -> None:
    """Run an experiment whose figures are tables of its own, with its own pipelines."""
    start = time.perf_counter()
    folder = _data_folder(data, FOLDERS[experiment][0])
    tables = tables_of(experiment, folder, questions, call.settings)
    seconds = time.perf_counter() - start
    print_tables(experiment, tables, call.settings, seconds, as_json=call.as_json)


def _with_model(pipelines: dict[str, Settings], model: Path | None) -> dict[str, Settings]:
    """Return the pipelines, the first one also with a learned ranker behind it."""
    if model is None:
        return pipelines
    first = next(iter(pipelines.values()))
    behind = first.changed({"search.ranker": str(model)})
    return {**pipelines, model.stem: behind}


def _learned(
    experiment: str, pipelines: dict[str, Settings], *, leaky: bool
) -> tuple[str, dict[str, Settings]]:
    """Return the experiment with learned rankers, and the name of each of its columns."""
    if experiment != OHR_BENCH or len(pipelines) > 1:
        raise ConfigError(
            "--learned and --leaky are for ohr-bench with one pipeline",
            hint="for a model of your own use --model FILE",
        )
    [(name, settings)] = pipelines.items()
    if leaky:
        columns = ["set-bm25", "forest, leaky", "forest, honest"]
        return "ohr-bench, as published", dict.fromkeys(columns, settings)
    return "ohr-bench, learned", dict.fromkeys([name, "lambdamart", "logistic"], settings)


def _usual(experiment: str, call: Call) -> list[str]:
    """Return the pipeline of an experiment when none is asked for.

    Encoding the pages of OHR-Bench takes a quarter of an hour and does not help there.
    """
    is_named = call.settings.search.preset != Settings().search.preset
    return ["lexical"] if experiment == OHR_BENCH and not is_named else []


def _is_without(experiment: str, oracle: bool) -> bool:
    """Return whether the oracle is left out; ConfigError where there is none to leave out."""
    if not oracle and experiment != OHR_BENCH:
        raise ConfigError(
            f"{experiment} has no oracle", hint="leave --no-oracle out, or run ohr-bench"
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
    from experiments.catalogue import EXPERIMENTS

    experiment = EXPERIMENTS[name]
    stream = experiment.run(folder, questions or folder / experiment.questions, pipelines)
    rows = list(follow(stream, "asking"))
    counts = {"questions": len(rows)}
    if name != PART97:  # there, sections and clauses have counts of their own
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
    say(f"{head['experiment']}, {named}: {head['questions']} questions{extra}")


def _table(figures: Figures) -> list[list[str]]:
    rows = [["figure", "value", "95 %", "n"]]
    for name in figures.values:
        rows.append([name, *_shown(name, figures), str(figures.counts[name])])
    return rows


def _side_by_side(results: dict[str, Figures]) -> list[list[str]]:
    """Return a line for each figure and pipeline, with the paired change from the first."""
    first, *others = results
    rows = [["figure", "pipeline", "value", "95 %", "change", "95 %"]]
    changes = {name: results[name].minus(results[first]) for name in others}
    for figure, count in results[first].counts.items():
        rows.append([figure, first, *_shown(figure, results[first]), "", ""])
        for name in others:
            # The second line has room for what would make the first too wide.
            below = f"n = {count}" if name == others[0] else ""
            shown = _shown(figure, results[name]), _shown(figure, changes[name], sign="+")
            rows.append([below, name, *shown[0], *shown[1]])
    return rows


def _shown(name: str, figures: Figures, *, sign: str = "") -> tuple[str, str]:
    """Return a value and its interval; blanks if there is none."""
    if name not in figures.values:
        return "", ""
    form = f"{sign}.{2 if 'lcs' in name else 3}f"
    low, high = figures.intervals[name]
    return f"{figures.values[name]:{form}}", f"{low:{form}} – {high:{form}}"


if __name__ == "__main__":
    reproduce()
