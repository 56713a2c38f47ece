"""pincite judgements: questions with the places that answer them, as files."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    store_alone,
    told,
)
from pincite.core.errors import ConfigError

if TYPE_CHECKING:
    from pincite.evaluate.judgements.checks import Oddity

FileArgument = Annotated[Path, typer.Argument(help="A file of judgements (.jsonl or .toml).")]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="File to write.")]

app = typer.Typer(help="Read, check, version and write questions with the places that answer them.")


class Form(StrEnum):
    """Formats that can be read."""

    BEIR = "beir"
    TREC = "trec"
    PREFIXES = "prefixes"
    EXPECTED_CHUNKS = "expected-chunks"
    QAS = "qas"
    CSV = "csv"
    PART97 = "part97"
    SCIFACT = "scifact"


@app.command("import")
def load(
    form: Annotated[Form, typer.Argument(help="The format.")],
    path: Annotated[Path, typer.Argument(help="The file, or the folder of a BEIR data set.")],
    to: OutOption,
    texts: Annotated[
        Path | None, typer.Option("--texts", help="The words of questions by id, if elsewhere.")
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option("--corpus", help="BEIR, SciFact: write the texts as pages of a .json too."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Read judgements of another format and write them as ours."""
    from pincite.evaluate.judgements.files import save
    from pincite.evaluate.judgements.imports import read, read_texts
    from pincite.evaluate.judgements.pages import on_pages, write_corpus
    from pincite.evaluate.judgements.published import write_abstracts

    with told(as_json=as_json):
        found = read(form, path, read_texts(texts) if texts else {})
        if corpus is not None:
            writers = {Form.BEIR: write_corpus, Form.SCIFACT: write_abstracts}
            if form not in writers:
                raise ConfigError("--corpus is for beir and scifact", hint="leave it out")
            found = on_pages(found, writers[form](path, corpus), corpus.name)
        made = found.recorded(f"imported from {path.name} ({form})")
        save(made, to)
    answers = sum(bool(question.needs) for question in made.questions)
    values = {"file": str(to), "questions": len(made.questions), "answerable": answers}
    if as_json:
        print_json({**values, "hash": made.hash})
    else:
        out.print(f"{len(made.questions)} questions, {answers} with an answer → {to}", markup=False)


@app.command()
def write(
    to: OutOption,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=10_000, help="Places to ask about.")
    ] = 50,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let the language model of answer.url write questions about places, marked as made."""
    from rich.progress import track

    from pincite.ask.language_model import LanguageModel
    from pincite.evaluate.judgements.files import save, synthetic_set
    from pincite.evaluate.written_questions import chosen_places, written_questions
    from pincite.store.location import open_snapshot

    with told(as_json=as_json, index=index):
        settings = settings_from(config, sets).answer
        if not settings.url:
            raise ConfigError(
                "no language model is set",
                hint="--set answer.url=http://localhost:11434/v1 --set answer.model=NAME; "
                "without one: pincite eval --synthetic",
            )
        with open_snapshot(index, store_alone().store) as snapshot:
            places = chosen_places(snapshot)[:count]
        writing = written_questions(places, LanguageModel(settings))
        shown = track(
            writing,
            "writing",
            len(places),
            console=err,
            disable=not err.is_terminal,
            transient=True,
        )
        records = [each.record for each in shown if each.record is not None]
        made = synthetic_set(iter(records)).recorded(f"written by {settings.model}")
        save(made, to)
    values = {"file": str(to), "places": len(places), "questions": len(made.questions)}
    if as_json:
        print_json({**values, "hash": made.hash})
    else:
        text = f"{len(made.questions)} questions about {len(places)} places → {to}"
        out.print(text, markup=False)


@app.command()
def check(
    file: FileArgument, index: IndexOption = DEFAULT_INDEX, as_json: JsonOption = False
) -> None:
    """Say what is odd about judgements, also in an index if there is one; 3 if something is."""
    from pincite.evaluate.judgements.checks import in_index, oddities
    from pincite.evaluate.judgements.coverage import Corpus
    from pincite.evaluate.judgements.files import load as read
    from pincite.store.location import exists, open_snapshot

    with told(as_json=as_json, index=index):
        found = read(file)
        odd = list(oddities(found))
        has_index = exists(index, store_alone().store)
        if has_index:
            with open_snapshot(index, store_alone().store) as snapshot:
                corpus = Corpus(snapshot)
                odd += [each for q in found.questions for each in in_index(q, corpus)]
    head = {
        "name": found.name,
        "version": found.version,
        "hash": found.hash,
        "is_recorded": found.is_recorded,
        "questions": len(found.questions),
        "unanswerable": sum(not each.needs for each in found.questions),
        "index": str(index) if has_index else None,
    }
    if as_json:
        changes = [change.plain() for change in found.changes]
        print_json({**head, "changes": changes, "oddities": [asdict(each) for each in odd]})
    else:
        _print_check(head, odd)
    if odd:
        raise typer.Exit(3)


def _print_check(head: dict[str, Any], odd: list[Oddity]) -> None:
    state = "" if head["is_recorded"] else ", changed since (pincite judgements record)"
    out.print(
        f"{head['name']}: {head['questions']} questions, {head['unanswerable']} without an answer; "
        f"version {head['version']}{state}, hash {head['hash']}",
        markup=False,
        soft_wrap=True,
    )
    for each in odd:
        out.print(f"{each.question}: {each.message}", markup=False, soft_wrap=True)
    if head["index"] is None:
        err.print("no index: places were not looked for (--index)", style="dim")


@app.command()
def record(
    file: FileArgument,
    reason: Annotated[str, typer.Option("--reason", help="What changed, and why.")],
    by: Annotated[str, typer.Option("--by", help="Who says so, in your own words.")] = "",
    question: Annotated[
        list[str] | None, typer.Option("--question", help="Id of a question that changed.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Record the judgements as a new version, with the reason."""
    from pincite.evaluate.judgements.files import load as read
    from pincite.evaluate.judgements.files import save

    with told(as_json=as_json):
        found = read(file)
        if found.is_recorded:
            raise ConfigError(
                f"{file} is as version {found.version} recorded it", hint="change it first"
            )
        made = found.recorded(reason, by, question or [])
        to = file.with_suffix(".jsonl")
        if to != file:
            raise ConfigError(
                "the change log is written to .jsonl files", hint=f"move it: {file} → {to.name}"
            )
        save(made, file)
    values = {"version": made.version, "hash": made.hash}
    if as_json:
        print_json(values)
    else:
        out.print(f"version {made.version}, hash {made.hash}", markup=False)


@app.command()
def export(
    file: FileArgument,
    index: IndexOption = DEFAULT_INDEX,
    to: Annotated[
        Path | None, typer.Option("--out", "-o", help="File; standard output if none.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Write this stored run, not the judgements.")
    ] = None,
    pipeline: Annotated[
        str, typer.Option("--pipeline", help="Of the run; its first if none.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Write TREC's lines: grades of the index's chunks, or the rankings of a stored run."""
    from pincite.evaluate.judgements.checks import qrels
    from pincite.evaluate.judgements.coverage import Corpus
    from pincite.evaluate.judgements.files import load as read
    from pincite.evaluate.run_files import load_run
    from pincite.evaluate.trec import write_qrels, write_run
    from pincite.store.location import open_snapshot

    with told(as_json=as_json, index=index):
        if run is not None:
            stored = load_run(run)
            part = stored.part(pipeline)
            lines = list(write_run(dict(zip(stored.ids, part.chunk_ids, strict=True)), part.name))
        else:
            with open_snapshot(index, store_alone().store) as snapshot:
                lines = list(write_qrels(qrels(read(file), Corpus(snapshot))))
        if to is not None:
            to.write_text("".join(lines), encoding="utf-8")
    if to is None:
        sys.stdout.writelines(lines)
    elif as_json:
        print_json({"file": str(to), "lines": len(lines)})
    else:
        out.print(f"{len(lines)} lines → {to}", markup=False)


@app.command()
def agree(
    files: Annotated[list[Path], typer.Argument(help="A file of each person who judged.")],
    as_json: JsonOption = False,
) -> None:
    """Say how far people agree who judged the same places: Krippendorff's alpha."""
    from pincite.evaluate.judgements.checks import agreement
    from pincite.evaluate.judgements.files import load as read

    with told(as_json=as_json):
        if len(files) < 2:
            raise ConfigError("one file agrees with itself", hint="give a file of each person")
        found = agreement([read(file) for file in files])
        if not found.places:
            raise ConfigError("the files judge no place in common", hint="do the ids agree?")
    if as_json:
        print_json(asdict(found))
        return
    out.print(f"alpha {found.ordinal:.3f} (grades in order), {found.nominal:.3f} (same or not)")
    out.print(f"{found.places} places judged by two or more, {len(found.disputed)} in dispute:")
    for question, place, grades in found.disputed:
        shown = " ".join("-" if grade is None else str(grade) for grade in grades)
        out.print(f"  {question}: {place}: {shown}", markup=False, soft_wrap=True)
