"""pincite eval: how good pipelines are on your own questions, with intervals and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite import __version__
from pincite.cli.options import (
    PATH,
    Call,
    argument,
    command,
    option,
    pipeline_option,
    pipelines_from,
    write_text,
)
from pincite.cli.terminal import follow, print_json, print_table, say, tell
from pincite.model.errors import ConfigError, SourceError

if TYPE_CHECKING:
    from pincite.index.opened import OpenIndex
    from pincite.measure.grades import Measure
    from pincite.measure.questions import QuestionSet
    from pincite.measure.runs import Run
    from pincite.search.reader import IndexReader

_VERDICTS = {
    "better": "better ▲",
    "worse": "worse ▼",
    "no significant difference": "not significant",
}


@command("eval")
@argument(
    "questions", nargs=-1, type=PATH, help="Files of judgements (.jsonl or .toml), or their folder."
)
@pipeline_option
@option("--without", multiple=True, help="The first pipeline once more, without this stage.")
@option("--measure", multiple=True, help="e.g. nDCG@10, Recall@5, RR, LCS@2.")
@option("-k", type=click.IntRange(1, 1000), default=10, help="Hits that count as found.")
@option("--depth", type=click.IntRange(1, 10000), default=50, help="Hits to ask for.")
@option("--answers", is_flag=True, help="Measure answers, not hits: right, quoted, refused, sure.")
@option("--synthetic", is_flag=True, help="Ask questions made from the documents, apart.")
@option("--html", type=PATH, help="Write a report as one page.")
@option("--run", type=PATH, help="Show this stored run; ask nothing.")
@option("--runs", type=PATH, help="Folder for runs; else 'runs' beside the index.")
@option("--baseline", type=PATH, help="A stored run; exit 1 on a significant loss.")
def evaluate(
    call: Call,
    measure: tuple[str, ...],
    k: int,
    answers: bool,
    html: Path | None,
    run: Path | None,
    baseline: Path | None,
    **asking: Any,
) -> int:
    """Measure pipelines on judged questions: figures with intervals, losses, times, a page."""
    if answers:
        from pincite.cli.answers import measure_answers

        others = {"--measure": measure, "--run": run, "--baseline": baseline}
        others |= {f"--{name}": asking[name] for name in ("without", "synthetic", "runs")}
        if given := [name for name, value in others.items() if value]:
            raise ConfigError(f"--answers does not go with {given[0]}", hint="leave one out")
        measure_answers(call, asking["questions"], asking["pipeline"], html)
        return 0
    from pincite.measure.grades import parse_all
    from pincite.measure.report import page
    from pincite.measure.runs import load_run
    from pincite.measure.summary import against_baseline, default_measures, measures_of, summarise

    measures = parse_all(measure or default_measures(k))
    if run is not None:
        made = [load_run(run)]
        measures = parse_all(measure or measures_of(made[0]))
    else:
        made = _ask(call, measures, k, **asking)
    old = load_run(baseline) if baseline is not None else None
    shown = [summarise(each, measures) for each in made]
    for each, values in zip(made, shown, strict=True):
        values["baseline"] = against_baseline(each, old, measures) if old else []
    if html is not None:
        write_text(html, page(list(zip(made, shown, strict=True))))
    if call.as_json:
        print_json(shown[0] if len(shown) == 1 else shown)
    else:
        for values in shown:
            _print_summary(values)
        if html is not None:
            say(f"report: {html}")
    is_worse = any(row["verdict"] == "worse" for values in shown for row in values["baseline"])
    return 1 if is_worse else 0


def _ask(
    call: Call,
    measures: list[Measure],
    k: int,
    *,
    questions: tuple[Path, ...],
    pipeline: tuple[str, ...],
    without: tuple[str, ...],
    depth: int,
    synthetic: bool,
    runs: Path | None,
) -> list[Run]:
    """Ask every set of questions, keep the runs, and return them."""
    from pincite.index.opened import OpenIndex
    from pincite.model.errors import beside

    pipelines = pipelines_from(pipeline, call)
    store = call.settings.store
    opened = OpenIndex.open(call.index, store)
    with opened.snapshot:
        indexes = _indexes(opened, pipelines, without)
        asked = _question_sets(questions, synthetic, next(iter(indexes.values())))
        deep = max(depth, k, *(each.depth or 1 for each in measures))
        made = [_run(each, indexes, measures, k, deep) for each in asked]
    _save(made, runs or beside(call.index, store.folder) / "runs")
    return made


def _indexes(
    opened: OpenIndex, pipelines: dict[str, Any], without: tuple[str, ...]
) -> dict[str, IndexReader]:
    """Return an index for each pipeline, and for the first one without each of the stages."""
    from pincite.encode.models import spec_of
    from pincite.measure.harness import WORDS_ALONE, check_pipelines
    from pincite.measure.harness import without as leaving_out
    from pincite.search.reader import IndexReader

    check_pipelines(list(pipelines.values()))
    indexes = {name: IndexReader(opened, settings) for name, settings in pipelines.items()}
    for name, settings in pipelines.items():
        spec = spec_of(settings.embedding)
        has_vectors = spec is not None and opened.has_vectors(spec.id, spec.stand_in)
        if settings.search.preset != WORDS_ALONE and not has_vectors:
            tell(f"{name}: the index has no vectors for it, so words alone are searched")
    first, settings = next(iter(pipelines.items()))
    for stage in dict.fromkeys(without):
        indexes[f"{first} without {stage}"] = leaving_out(opened, settings, stage)
    return indexes


def _question_sets(
    paths: tuple[Path, ...], synthetic: bool, index: IndexReader
) -> list[QuestionSet]:
    """Return the sets to ask; made questions are a set of their own."""
    from pincite.measure.questions import load, question_files, synthetic_set
    from pincite.measure.synthetic import made_questions

    files = question_files(paths)
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


def _run(
    questions: QuestionSet,
    indexes: dict[str, IndexReader],
    measures: list[Measure],
    k: int,
    depth: int,
) -> Run:
    from pincite.measure.harness import EvalOptions, ask
    from pincite.measure.summary import run_of

    how = EvalOptions(depth, k, measures)
    stream = ask(list(indexes.values()), questions.questions, how)
    rows = list(follow(stream, f"asking {questions.name}", len(questions.questions)))
    return run_of(questions, indexes, rows, k, __version__)


def _save(made: list[Run], folder: Path) -> None:
    from pincite.measure.runs import run_name, save_run

    for run in made:
        file = folder / run_name(run)
        save_run(run, file)
        tell(f"run: {file}", style="dim")


def _print_summary(values: dict[str, Any]) -> None:
    """Print the head, the figures, what they lose and how long they take."""
    _print_head(values)
    print_table(_figures(values), left=[0, 1])
    if values["comparisons"] or values["baseline"]:
        _print_differences([*values["comparisons"], *values["baseline"]])
    say()
    print_table(_losses(values))
    union = values["union"]
    if len(values["pipelines"]) > 1 and union:
        say(
            f"together they find {union['any']} of {union['of']} among their first {union['k']}; "
            + ", ".join(f"{n} only by {name}" for name, n in union["only"].items()),
        )


def _print_head(values: dict[str, Any]) -> None:
    asked, index = values["questions"], values["index"]
    made = "made from the documents, judged by nobody; " if asked["is_synthetic"] else ""
    states = asked["states"]
    apart = [f"{states[state]} {state}" for state in states if state != "judged" and states[state]]
    say(
        f"{asked['name']} (version {asked['version']}, {asked['hash']}): {made}"
        f"{asked['counted']} questions count" + "".join(f", {each}" for each in apart),
        style="bold",
    )
    say(
        f"index generation {index['generation']}: {index['documents']} documents, "
        f"{index['chunks']} chunks; {100 * (values['evaluability'] or 0):.0f} % evaluable",
        style="dim",
    )


def _figures(values: dict[str, Any]) -> list[list[str]]:
    """Return a line for each measure and pipeline, with the times at the end."""
    names = [each["name"] for each in values["pipelines"]]
    rows = [["measure", "pipeline", "value", "95 %", "n"]]
    figures = [each["figures"] for each in values["pipelines"]]
    for measure in figures[0]:
        for at, name in enumerate(names):
            each = figures[at][measure]
            interval = f"{each['low']:.3f} – {each['high']:.3f}"
            shown = measure if at == 0 else ""
            rows.append([shown, name, f"{each['value']:.3f}", interval, str(each["n"])])
    for at, each in enumerate(values["pipelines"]):
        spent = each["seconds"].get("search", {"p50": 0.0, "p95": 0.0})
        title = "ms p50 – p95" if at == 0 else ""
        p50, p95 = f"{1000 * spent['p50']:.1f}", f"– {1000 * spent['p95']:.1f}"
        rows.append([title, each["name"], p50, p95, str(values["questions"]["asked"])])
    return rows


def _print_differences(rows: list[dict[str, Any]]) -> None:
    """Print a table for every two that are compared."""
    pairs = dict.fromkeys((row["pipeline"], row["to"]) for row in rows)
    for pipeline, other in pairs:
        say(f"\n{pipeline} beside {other}")
        cells = [["measure", "change", "95 %", "p (Holm)", "+/=/−", "verdict"]]
        for row in rows:
            if (row["pipeline"], row["to"]) != (pipeline, other):
                continue
            low, high = row["interval"]
            cells.append(
                [
                    row["measure"],
                    f"{row['difference']:+.3f}",
                    f"{low:+.3f} – {high:+.3f}",
                    f"{row['adjusted_p']:.3f}",
                    f"{row['wins']}/{row['ties']}/{row['losses']}",
                    _VERDICTS[row["verdict"]],
                ]
            )
        print_table(cells)


def _losses(values: dict[str, Any]) -> list[list[str]]:
    pipelines = values["pipelines"]
    rows = [[f"lost at (first {values['k']})", *(each["name"] for each in pipelines)]]
    causes = list(dict.fromkeys(cause for each in pipelines for cause in each["losses"]))
    for cause in causes:
        rows.append([cause, *(str(each["losses"].get(cause, 0)) for each in pipelines)])
    return rows
