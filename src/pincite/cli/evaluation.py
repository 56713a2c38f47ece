"""pincite eval: how good pipelines are on your own questions, with intervals and a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite import __version__
from pincite.cli.evaluation_print import print_summary
from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    err,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.cli.pipelines import pipelines_from
from pincite.core.errors import ConfigError, SourceError, reason_of
from pincite.core.locations import beside

if TYPE_CHECKING:
    from pincite.api import Index
    from pincite.evaluate.judgements.questions import QuestionSet
    from pincite.evaluate.measures import Measure
    from pincite.evaluate.runs import Run
    from pincite.index.opened import OpenIndex

    Asker = Callable[..., Iterable[tuple[Any, Any]]]

PipelineOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pipeline",
        help="Name of a pipeline, or a settings file; several are compared to the first.",
    ),
]


def evaluate(
    questions: Annotated[
        list[Path] | None, typer.Argument(help="Files of judgements (.jsonl or .toml).")
    ] = None,
    pipeline: PipelineOption = None,
    without: Annotated[
        list[str] | None,
        typer.Option("--without", help="The first pipeline once more, without this stage."),
    ] = None,
    measure: Annotated[
        list[str] | None, typer.Option("--measure", help="e.g. nDCG@10, Recall@5, RR, LCS@2.")
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Hits that count as found.", min=1, max=1000)] = 10,
    depth: Annotated[int, typer.Option("--depth", help="Hits to ask for.", min=1, max=10000)] = 50,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="Ask questions made from the documents, apart.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Write a report as one page.")] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Show this stored run; ask nothing.")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option("--runs", help="Folder for runs; else 'runs' beside the index."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="A stored run; exit 1 on a significant loss.")
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure pipelines on judged questions: figures with intervals, losses, times, a page."""
    from pincite.evaluate.measures import parse_all
    from pincite.evaluate.report.page import page
    from pincite.evaluate.run_files import load_run
    from pincite.evaluate.summary import (
        against_baseline,
        default_measures,
        measures_of,
        summarise,
    )
    from pincite.index.opened import OpenIndex

    with told(as_json=as_json, index=index):
        measures = parse_all(measure or default_measures(k))
        if run is not None:
            made = [load_run(run)]
            measures = parse_all(measure or measures_of(made[0]))
        else:
            pipelines = pipelines_from(pipeline or [], config, sets)
            store = settings_from(config, sets).store
            with ExitStack() as stack:
                opened = OpenIndex.open(index, store)
                stack.callback(opened.snapshot.close)
                indexes = _indexes(opened, pipelines, without or [])
                asked = _question_sets(questions or [], synthetic, next(iter(indexes.values())))
                deep = max(depth, k, *(each.depth or 1 for each in measures))
                asker = _asker(pipelines, without or [], indexes, stack)
                made = [_run(each, indexes, asker, measures, k, deep) for each in asked]
            _save(made, runs or beside(index, store.folder) / "runs")
        old = load_run(baseline) if baseline is not None else None
        shown = [summarise(each, measures) for each in made]
        for each, values in zip(made, shown, strict=True):
            values["baseline"] = against_baseline(each, old, measures) if old else []
        if html is not None:
            _write(html, page(list(zip(made, shown, strict=True))))
    if as_json:
        print_json(shown[0] if len(shown) == 1 else shown)
    else:
        for values in shown:
            print_summary(values)
        if html is not None:
            out.print(f"report: {html}", markup=False, soft_wrap=True)
    if any(row["verdict"] == "worse" for values in shown for row in values["baseline"]):
        raise typer.Exit(1)


def _indexes(opened: OpenIndex, pipelines: dict[str, Any], without: list[str]) -> dict[str, Index]:
    """Return an index for each pipeline, and for the first one without each of the stages."""
    from pincite.api import Index
    from pincite.embed.models import spec_of
    from pincite.evaluate.harness import without as leaving_out
    from pincite.evaluate.indexes import WORDS_ALONE, check_pipelines

    check_pipelines(list(pipelines.values()))
    indexes = {name: Index(opened, settings) for name, settings in pipelines.items()}
    for name, settings in pipelines.items():
        spec = spec_of(settings.embedding)
        if settings.search.pipeline != WORDS_ALONE and not (spec and opened.has_vectors(spec.id)):
            err.print(f"{name}: the index has no vectors for it, so words alone are searched")
    first, settings = next(iter(pipelines.items()))
    for stage in dict.fromkeys(without):
        indexes[f"{first} without {stage}"] = leaving_out(opened, settings, stage)
    return indexes


def _question_sets(files: list[Path], synthetic: bool, index: Index) -> list[QuestionSet]:
    """Return the sets to ask; made questions are a set of their own."""
    from pincite.evaluate.judgements.files import load, synthetic_set
    from pincite.evaluate.synthetic_sets import made_questions

    sets = [load(file) for file in files]
    for each, file in zip(sets, files, strict=True):
        marks = {question.synthetic for question in each.questions}
        if len(marks) > 1:
            raise SourceError(
                f"{file} has judged and made questions", hint="put them into files of their own"
            )
    if synthetic:
        sets.append(synthetic_set(made_questions(index.snapshot)))
    if not any(each.questions for each in sets):
        raise ConfigError(
            "no questions to ask", hint="give a file of judgements, or --synthetic to make some"
        )
    return [each for each in sets if each.questions]


def _asker(
    pipelines: dict[str, Any], without: list[str], indexes: dict[str, Index], stack: ExitStack
) -> Asker:
    """Return what asks questions: here, or on the nodes of the cluster that the settings name."""
    from functools import partial

    from pincite.cluster import connected
    from pincite.evaluate.harness import ask

    first = next(iter(pipelines.values()))
    cluster = stack.enter_context(connected(first.cluster))
    if cluster is None:
        return partial(ask, list(indexes.values()))
    from pincite.evaluate.spreading import Recipe, ask_on

    recipes = [Recipe(settings.portable()) for settings in pipelines.values()]
    recipes += [Recipe(first.portable(), stage) for stage in dict.fromkeys(without)]
    return partial(ask_on, cluster, next(iter(indexes.values())).snapshot, recipes)


def _run(
    questions: QuestionSet,
    indexes: dict[str, Index],
    asker: Asker,
    measures: list[Measure],
    k: int,
    depth: int,
) -> Run:
    from rich.progress import track

    from pincite.evaluate.harness import Asking, clock
    from pincite.evaluate.runs import Part, Run

    stream = asker(questions.questions, Asking(depth, k, measures))
    total = len(questions.questions)
    bar = track(stream, f"asking {questions.name}", total, console=err, transient=True)
    rows = list(bar)
    parts = tuple(
        Part(name, _settings_name(index), tuple(answers[at] for _, answers in rows))
        for at, (name, index) in enumerate(indexes.items())
    )
    snapshot = next(iter(indexes.values())).snapshot
    return Run(
        questions.name,
        questions.version,
        questions.hash,
        any(question.synthetic for question in questions.questions),
        snapshot.manifest.generation,
        len(snapshot.documents()),
        len(snapshot),
        k,
        clock(),
        __version__,
        tuple(asked for asked, _ in rows),
        parts,
    )


def _settings_name(index: Index) -> str:
    stages = "+".join(index.searcher.rerankers)
    return f"{index.settings.fingerprint()}/{stages}" if stages else index.settings.fingerprint()


def _save(made: list[Run], folder: Path) -> None:
    from pincite.evaluate.run_files import run_name, save_run

    for run in made:
        file = folder / run_name(run)
        save_run(run, file)
        err.print(f"run: {file}", style="dim", markup=False, soft_wrap=True)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error
