"""pincite eval --answers: how good answers are on your own questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite import __version__
from pincite.cli.options import Call, pipelines_from, write_text
from pincite.cli.terminal import follow, print_json, print_table, say
from pincite.model.errors import ConfigError

if TYPE_CHECKING:
    from pincite.measure.questions import QuestionSet


def measure_answers(
    call: Call, paths: tuple[Path, ...], pipelines: tuple[str, ...], html: Path | None
) -> None:
    """Ask every question with every pipeline, and print or write how good the answers are."""
    from pincite.measure.answers_report import page
    from pincite.measure.questions import load, question_files

    sets = [load(file) for file in question_files(paths)]
    if not any(each.questions for each in sets):
        raise ConfigError("no questions to ask", hint="give a file of questions with answers")
    told = [each for some in sets for each in _asked(call, some, pipelines)]
    if html is not None:
        write_text(html, page(told, __version__))
    if call.as_json:
        print_json(told[0] if len(told) == 1 else told)
        return
    for values in told:
        _print(values)
    if html is not None:
        say(f"report: {html}")


def _asked(call: Call, some: QuestionSet, pipelines: tuple[str, ...]) -> list[dict[str, Any]]:
    from pincite.answer.asker import Asker
    from pincite.index.opened import OpenIndex
    from pincite.measure.answers import answered, summarise_answers
    from pincite.measure.harness import check_pipelines
    from pincite.search.reader import IndexReader

    chosen = pipelines_from(pipelines, call)
    check_pipelines(list(chosen.values()))
    found = []
    opened = OpenIndex.open(call.index, call.settings.store)
    with opened.snapshot:
        for name, settings in chosen.items():
            stream = answered(Asker(IndexReader(opened, settings)), some.questions)
            records = list(follow(stream, f"asking {some.name}", len(some.questions)))
            head = {"questions": some.name, "hash": some.hash, "pipeline": name}
            found.append({**head, **summarise_answers(records)})
    return found


def _print(values: dict[str, Any]) -> None:
    none = values["asked"] - values["answerable"]
    say(
        f"{values['questions']} ({values['hash']}), {values['pipeline']}: "
        f"{values['answerable']} questions with an answer, {none} without",
        style="bold",
    )
    rows = [["measure", "value", "95 %", "n"]]
    for name, each in values["figures"].items():
        between = f"{each['low']:.3f} – {each['high']:.3f}" if each["low"] < each["high"] else ""
        rows.append([name, f"{each['value']:.3f}", between, str(each["n"])])
    spent = values["seconds"]
    rows.append(["ms p50 – p95", f"{1000 * spent['p50']:.0f}", f"– {1000 * spent['p95']:.0f}", ""])
    print_table(rows)
    curve = (values["confidence"] or {}).get("risk_coverage", ())
    for share in (0.25, 0.5, 0.75, 1.0):
        reached = [risk for coverage, risk in curve if coverage <= share + 1e-9]
        if reached:
            say(f"wrong among the surest {share:.0%}: {reached[-1]:.3f}")
