"""pincite learn, adapt and clean: what judged questions teach, and questions that can be used."""

from __future__ import annotations

import json
from pathlib import Path

import click

from pincite.cli.options import PATH, Call, argument, command, option
from pincite.cli.terminal import print_json, say
from pincite.model.errors import MALFORMED, ModelError, SourceError

KINDS = ("lambdamart", "forest", "logistic")


@command("learn")
@argument("questions", type=PATH, help="JSON lines: questions with their places.")
@option("--out", "model", type=PATH, required=True, help="File of the model that is written.")
@option("--kind", type=click.Choice(KINDS), default=KINDS[0], help="Which model.")
@option("-k", type=click.IntRange(2, 100), default=20, help="Candidates to reorder.")
@option("--anyway", is_flag=True, help="Write a model that is no better than none.")
def learn(call: Call, questions: Path, model: Path, kind: str, k: int, anyway: bool) -> None:
    """Learn a ranker from judged questions about an index; see docs/learned.md."""
    from pincite.api import Index
    from pincite.measure.learning import examples_of, first_right, fit_calibrated, read_judged
    from pincite.search.feature_table import NAMES
    from pincite.search.learned import save_model

    settings = call.settings
    with Index.open(call.index, settings) as opened:
        judged = read_judged(questions, opened)
        examples = examples_of(opened, judged, k)
    about = {"questions": len(judged), "settings": settings.fingerprint()}
    made, scores = fit_calibrated(kind, examples, NAMES, about)
    before = first_right(examples, examples.table[:, NAMES.index("bm25_rank")])
    after = first_right(examples, scores)
    if after <= before and not anyway:
        raise ModelError(
            f"the model would do harm: right first {before:.3f} before, {after:.3f} learned",
            hint="give more questions, or write it all the same with --anyway",
        )
    save_model(made, model)
    figures = {"questions": len(judged), "right_first_before": before, "right_first": after}
    if call.as_json:
        print_json({"model": str(model), "kind": kind, **figures})
        return
    say(f"{model}: {kind} of {len(judged)} questions")
    say(
        f"right first: {before:.3f} before, {after:.3f} by models that had not seen the document "
        "(or, of few documents, the section)",
    )
    say(f"use it with --set search.ranker={model}")


@command("adapt")
@argument("questions", type=PATH, required=False, help="Judged questions; see docs/evaluate.md.")
@option("--synthetic", is_flag=True, help="Learn from questions made from the documents.")
@option("--out", "file", type=PATH, required=True, help="File of the adapter that is written.")
@option("--anyway", is_flag=True, help="Write an adapter that is not worth it.")
def adapt(call: Call, questions: Path | None, synthetic: bool, file: Path, anyway: bool) -> None:
    """Fit questions of this corpus to its vectors, and say whether it is worth it."""
    from pincite.cli.terminal import tell
    from pincite.measure.adapt import learned, lessons_of, worth_of
    from pincite.measure.questions import load, synthetic_set
    from pincite.measure.synthetic import made_questions
    from pincite.search.reader import IndexReader

    if (questions is None) != synthetic:
        raise click.UsageError("give a file of questions, or --synthetic")
    index = IndexReader.open(call.index, call.settings)
    with index.snapshot:
        asked = load(questions) if questions else synthetic_set(made_questions(index.snapshot))
        lessons = lessons_of(index, asked.questions)
        worth = worth_of(index, lessons, tell)
        is_kept = worth.is_worth_it or anyway
        if is_kept:
            learned(index, lessons, worth).save(file)
    if call.as_json:
        print_json({"adapter": str(file) if is_kept else None, **worth.plain()})
        return
    say(f"{len(lessons.questions)} questions, each asked by a map that had not seen its document")
    for name, gain in worth.gains.items():
        low, high = gain.interval
        said = f"{worth.before[name]:.3f} before, {worth.after[name]:.3f} adapted"
        say(f"{name:<8} {said} ({low:+.3f} to {high:+.3f}): {gain.verdict}")
    if is_kept:
        say(f"use it with --set search.adapter={file}")
    else:
        say("not worth it: nothing is written (--anyway writes it all the same)")


@command("clean", index=False, settings=False)
@argument("questions", type=PATH, help="A JSON list of questions, as OHR-Bench's.")
@option("--out", "kept", type=PATH, help="File for those that are left.")
@option("--documents", type=PATH, help="Folder with <doc_name>.json files.")
@option(
    "--keep", multiple=True, help="Script to keep: chinese, cyrillic, ...; all keeps every one."
)
@option("--min-chars", type=int, default=15, help="Shorter ones go.")
@option("--max-chars", type=int, default=500, help="Longer ones go.")
def clean(
    call: Call,
    questions: Path,
    kept: Path | None,
    documents: Path | None,
    keep: tuple[str, ...],
    min_chars: int,
    max_chars: int,
) -> None:
    """Leave questions out that cannot be used, and say how many each rule took."""
    from pincite.measure.learning import Cleaning, check_scripts
    from pincite.measure.learning import clean as cleaned_of

    rules = Cleaning(min_chars, max_chars, keep_scripts=check_scripts(keep))
    try:
        items = json.loads(questions.read_text(encoding="utf-8"))
        if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
            raise ValueError("not a list of objects")
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{questions} is not a question file: {error}", hint="it is a JSON list of objects"
        ) from error
    there = None
    if documents is not None:
        names = {p.relative_to(documents).as_posix() for p in documents.glob("*/*.json")}
        there = lambda name: f"{name}.json" in names  # noqa: E731
    good, removed = cleaned_of(items, rules, has_document=there)
    if kept is not None:
        text = json.dumps(good, ensure_ascii=False, indent=1)
        kept.write_text(text, encoding="utf-8")
    counts = {"read": len(items), **removed, "kept": len(good)}
    if call.as_json:
        print_json(counts)
        return
    for name, count in counts.items():
        say(f"{count:>8}  {name}")
