"""pincite learn and clean: a ranker from judged questions, and questions that can be used."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.core.errors import MALFORMED, ModelError, SourceError


class Kind(StrEnum):
    """What can be learned."""

    LAMBDAMART = "lambdamart"
    FOREST = "forest"
    LOGISTIC = "logistic"


def learn(
    questions: Annotated[Path, typer.Argument(help="JSON lines: questions with their places.")],
    model: Annotated[Path, typer.Option("--out", help="File of the model that is written.")],
    kind: Annotated[Kind, typer.Option("--kind", help="Which model.")] = Kind.LAMBDAMART,
    k: Annotated[int, typer.Option("-k", min=2, max=100, help="Candidates to reorder.")] = 20,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Write a model that is no better than none.")
    ] = False,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn a ranker from judged questions about an index; see docs/learned.md."""
    with told(as_json=as_json, index=index):
        from pincite.api import Index
        from pincite.evaluate.learning import examples_of, first_right, read_judged
        from pincite.learn.features import NAMES
        from pincite.learn.model import save_model
        from pincite.learn.train import fit_calibrated

        settings = settings_from(config, sets)
        with Index.open(index, settings) as opened:
            judged = read_judged(questions, opened)
            examples = examples_of(opened, judged, k)
        about = {"questions": len(judged), "settings": settings.fingerprint()}
        made, scores = fit_calibrated(kind.value, examples, NAMES, about)
        before = first_right(examples, examples.table[:, NAMES.index("bm25_rank")])
        after = first_right(examples, scores)
        if after <= before and not anyway:
            raise ModelError(
                f"the model would do harm: right first {before:.3f} before, {after:.3f} learned",
                hint="give more questions, or write it all the same with --anyway",
            )
        save_model(made, model)
    figures = {"questions": len(judged), "right_first_before": before, "right_first": after}
    if as_json:
        print_json({"model": str(model), "kind": kind.value, **figures})
        return
    out.print(f"{model}: {kind.value} of {len(judged)} questions", markup=False, soft_wrap=True)
    out.print(
        f"right first: {before:.3f} before, {after:.3f} by models that had not seen the document "
        "(or, of few documents, the section)",
        soft_wrap=True,
    )
    out.print(f"use it with --set learn.model={model}", markup=False, soft_wrap=True)


def clean(
    questions: Annotated[Path, typer.Argument(help="A JSON list of questions, as OHR-Bench's.")],
    kept: Annotated[
        Path | None, typer.Option("--out", help="File for those that are left.")
    ] = None,
    documents: Annotated[
        Path | None, typer.Option("--documents", help="Folder with <doc_name>.json files.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="Script to keep: chinese, cyrillic, ...; all keeps every one."),
    ] = None,
    min_chars: Annotated[int, typer.Option("--min-chars", help="Shorter ones go.")] = 15,
    max_chars: Annotated[int, typer.Option("--max-chars", help="Longer ones go.")] = 500,
    as_json: JsonOption = False,
) -> None:
    """Leave questions out that cannot be used, and say how many each rule took."""
    from pincite.learn.cleaning import Cleaning, check_scripts
    from pincite.learn.cleaning import clean as cleaned_of

    with told(as_json=as_json):
        rules = Cleaning(min_chars, max_chars, keep_scripts=check_scripts(keep or ()))
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
        cleaned = cleaned_of(items, rules, has_document=there)
        if kept is not None:
            text = json.dumps(list(cleaned.kept), ensure_ascii=False, indent=1)
            kept.write_text(text, encoding="utf-8")
    counts = {"read": len(items), **cleaned.removed, "kept": len(cleaned.kept)}
    if as_json:
        print_json(counts)
        return
    for name, count in counts.items():
        out.print(f"{count:>8}  {name}")
