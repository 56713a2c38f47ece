"""pincite judgements: questions with the places that answer them, as files."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.options import PARTIAL, PATH, Call, argument, command, option
from pincite.cli.terminal import follow, print_json, say, tell
from pincite.model.errors import ConfigError

if TYPE_CHECKING:
    from pincite.measure.coverage import Oddity

FORMS = ("beir", "trec", "prefixes", "expected-chunks", "qas", "csv", "part97", "scifact")
file_argument = argument("file", type=PATH, help="A file of judgements (.jsonl or .toml).")
out_option = option("--out", "-o", "to", type=PATH, required=True, help="File to write.")


@click.group(
    "judgements", help="Read, check, version and write questions with the places that answer them."
)
def judgements() -> None:
    """Questions with the places that answer them."""


@command("import", index=False, settings=False)
@argument("form", type=click.Choice(FORMS), help="The format.")
@argument("path", type=PATH, help="The file, or the folder of a BEIR data set.")
@out_option
@option("--texts", type=PATH, help="The words of questions by id, if elsewhere.")
@option("--corpus", type=PATH, help="BEIR, SciFact: write the texts as pages of a .json too.")
def load(
    call: Call, form: str, path: Path, to: Path, texts: Path | None, corpus: Path | None
) -> None:
    """Read judgements of another format and write them as ours."""
    from pincite.measure.imports import read, read_texts, write_abstracts
    from pincite.measure.questions import on_pages, save, write_corpus

    found = read(form, path, read_texts(texts) if texts else {})
    if corpus is not None:
        writers = {"beir": write_corpus, "scifact": write_abstracts}
        if form not in writers:
            raise ConfigError("--corpus is for beir and scifact", hint="leave it out")
        found = on_pages(found, writers[form](path, corpus), corpus.name)
    made = found.recorded(f"imported from {path.name} ({form})")
    save(made, to)
    answers = sum(bool(question.needs) for question in made.questions)
    values = {"file": str(to), "questions": len(made.questions), "answerable": answers}
    if call.as_json:
        print_json({**values, "hash": made.hash})
    else:
        say(f"{len(made.questions)} questions, {answers} with an answer → {to}")


@command("write")
@out_option
@option("--count", "-n", type=click.IntRange(1, 10_000), default=50, help="Places to ask about.")
def write(call: Call, to: Path, count: int) -> None:
    """Let the language model of answer.url write questions about places, marked as made."""
    from pincite.answer.language_model import LanguageModel
    from pincite.measure.questions import save, synthetic_set
    from pincite.measure.synthetic import chosen_places, written_questions
    from pincite.store.location import open_snapshot

    settings = call.settings.answering
    if not settings.url:
        raise ConfigError(
            "no language model is set",
            hint="--set answer.url=http://localhost:11434/v1 --set answer.model=NAME; "
            "without one: pincite eval --synthetic",
        )
    with open_snapshot(call.index, call.settings.store) as snapshot:
        places = chosen_places(snapshot)[:count]
    writing = written_questions(places, LanguageModel(settings))
    shown = follow(writing, "writing", len(places))
    records = [each.record for each in shown if each.record is not None]
    made = synthetic_set(iter(records)).recorded(f"written by {settings.model}")
    save(made, to)
    values = {"file": str(to), "places": len(places), "questions": len(made.questions)}
    if call.as_json:
        print_json({**values, "hash": made.hash})
    else:
        text = f"{len(made.questions)} questions about {len(places)} places → {to}"
        say(text)


@command("check", settings=False)
@file_argument
def check(call: Call, file: Path) -> int:
    """Say what is odd about judgements, also in an index if there is one; 3 if something is."""
    from pincite.measure.coverage import Corpus, in_index, oddities
    from pincite.measure.questions import load as read
    from pincite.store.location import exists, open_snapshot

    found = read(file)
    odd = list(oddities(found))
    has_index = exists(call.index, call.settings.store)
    if has_index:
        with open_snapshot(call.index, call.settings.store) as snapshot:
            corpus = Corpus(snapshot)
            odd += [each for q in found.questions for each in in_index(q, corpus)]
    head = {
        "name": found.name,
        "version": found.version,
        "hash": found.hash,
        "is_recorded": found.is_recorded,
        "questions": len(found.questions),
        "unanswerable": sum(not each.needs for each in found.questions),
        "index": call.index if has_index else None,
    }
    if call.as_json:
        changes = [change.plain() for change in found.changes]
        print_json({**head, "changes": changes, "oddities": [asdict(each) for each in odd]})
    else:
        _print_check(head, odd)
    return PARTIAL if odd else 0


def _print_check(head: dict[str, Any], odd: list[Oddity]) -> None:
    state = "" if head["is_recorded"] else ", changed since (pincite judgements record)"
    say(
        f"{head['name']}: {head['questions']} questions, {head['unanswerable']} without an answer; "
        f"version {head['version']}{state}, hash {head['hash']}",
    )
    for each in odd:
        say(f"{each.question}: {each.message}")
    if head["index"] is None:
        tell("no index: places were not looked for (--index)", style="dim")


@command("record", index=False, settings=False)
@file_argument
@option("--reason", required=True, help="What changed, and why.")
@option("--by", default="", help="Who says so, in your own words.")
@option("--question", multiple=True, help="Id of a question that changed.")
def record(call: Call, file: Path, reason: str, by: str, question: tuple[str, ...]) -> None:
    """Record the judgements as a new version, with the reason."""
    from pincite.measure.questions import load as read
    from pincite.measure.questions import save

    found = read(file)
    if found.is_recorded:
        raise ConfigError(
            f"{file} is as version {found.version} recorded it", hint="change it first"
        )
    made = found.recorded(reason, by, question)
    to = file.with_suffix(".jsonl")
    if to != file:
        raise ConfigError(
            "the change log is written to .jsonl files", hint=f"move it: {file} → {to.name}"
        )
    save(made, file)
    values = {"version": made.version, "hash": made.hash}
    if call.as_json:
        print_json(values)
    else:
        say(f"version {made.version}, hash {made.hash}")


@command("export", settings=False)
@file_argument
@option("--out", "-o", "to", type=PATH, help="File; standard output if none.")
@option("--run", type=PATH, help="Write this stored run, not the judgements.")
@option("--pipeline", default="", help="Of the run; its first if none.")
def export(call: Call, file: Path, to: Path | None, run: Path | None, pipeline: str) -> None:
    """Write TREC's lines: grades of the index's chunks, or the rankings of a stored run."""
    from pincite.measure.coverage import Corpus, qrels
    from pincite.measure.imports import write_qrels, write_run
    from pincite.measure.questions import load as read
    from pincite.measure.runs import load_run
    from pincite.store.location import open_snapshot

    if run is not None:
        stored = load_run(run)
        part = stored.part(pipeline)
        lines = list(write_run(dict(zip(stored.ids, part.chunk_ids, strict=True)), part.name))
    else:
        with open_snapshot(call.index, call.settings.store) as snapshot:
            lines = list(write_qrels(qrels(read(file), Corpus(snapshot))))
    if to is not None:
        to.write_text("".join(lines), encoding="utf-8")
    if to is None:
        sys.stdout.writelines(lines)
    elif call.as_json:
        print_json({"file": str(to), "lines": len(lines)})
    else:
        say(f"{len(lines)} lines → {to}")


@command("agree", index=False, settings=False)
@argument("files", nargs=-1, required=True, type=PATH, help="A file of each person who judged.")
def agree(call: Call, files: tuple[Path, ...]) -> None:
    """Say how far people agree who judged the same places: Krippendorff's alpha."""
    from pincite.measure.coverage import agreement
    from pincite.measure.questions import load as read

    if len(files) < 2:
        raise ConfigError("one file agrees with itself", hint="give a file of each person")
    found = agreement([read(file) for file in files])
    if not found.places:
        raise ConfigError("the files judge no place in common", hint="do the ids agree?")
    if call.as_json:
        print_json(asdict(found))
        return
    say(f"alpha {found.ordinal:.3f} (grades in order), {found.nominal:.3f} (same or not)")
    say(f"{found.places} places judged by two or more, {len(found.disputed)} in dispute:")
    for question, place, grades in found.disputed:
        shown = " ".join("-" if grade is None else str(grade) for grade in grades)
        say(f"  {question}: {place}: {shown}")


for _each in (load, write, check, record, export, agree):
    judgements.add_command(_each)
