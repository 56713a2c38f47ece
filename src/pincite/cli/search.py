"""pincite search: the best passages, each with its place and the reason it is there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pincite.cli.filter_options import (
    AccessOption,
    AsOfFilter,
    AudienceOption,
    DocumentsOption,
    KindOption,
    PagesOption,
    PathOption,
    TagOption,
    TraitOption,
    filters_from,
    plain,
)
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
from pincite.core.errors import ConfigError
from pincite.core.search_settings import SearchSettings

if TYPE_CHECKING:
    from rich.text import Text

    from pincite.answer.passage import Passage
    from pincite.api import Result
    from pincite.core.types import Chunk
    from pincite.search.related import Companion

COMPANIONS = 5  # places that belong beside the hits

# What a feature means, in a reader's words.
REASONS = {
    "place": "the query names this place",
    "terms": "words",
    "pairs": "phrases",
    "window": "close together",
    "meaning": "meaning",
    "identifier": "has the identifier",
    "entities": "is about what the query names",
    "graph": "near other hits",
    "spread": "section seen before",
    "aliases": "other names",
    "named": "named in the query",
    "linked": "links",
    "rerank": "read with the query",
    "diversify": "group seen before",
}


def search(
    query: Annotated[str, typer.Argument(help="A question, words, or a place like '97.113(a)'.")],
    k: Annotated[
        int | None,
        typer.Option(
            "-k", help=f"How many passages; {SearchSettings().k} unless search.k is set.", min=1
        ),
    ] = None,
    documents: DocumentsOption = None,
    as_of: AsOfFilter = "",
    kinds: KindOption = None,
    tags: TagOption = None,
    traits: TraitOption = None,
    pages: PagesOption = "",
    path: PathOption = None,
    audience: AudienceOption = "",
    access: AccessOption = None,
    budget_ms: Annotated[
        int | None,
        typer.Option(
            "--budget-ms", help="Time for a re-ranked search; 0: no limit.", min=0, max=3_600_000
        ),
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every part of each score, and times.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the search to a file, for 'replay'.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Find the passages that answer a query and cite each one."""
    from pincite import api

    with told(as_json=as_json, index=index):
        if not query.strip():
            raise ConfigError("the query is empty", hint='try: pincite search "words or a place"')
        settings = settings_from(config, sets)
        filters = filters_from(
            documents,
            as_of=as_of,
            kinds=kinds,
            tags=tags,
            traits=traits,
            pages=pages,
            path=path,
            audience=audience,
            access=access,
        )
        with api.Index.open(index, settings) as opened:
            if opened.metrics and not settings.rerank.url:
                # A command that has just started loads its models first: the budget is for reading.
                # If that fails the search tells why, and does without.
                with suppress(Exception):
                    opened.warm()
            result = opened.search(query, k, filters, budget_ms=budget_ms)
            used = result.query.filters  # with the audience that the question names
            missing = result.parsed.missing
            empty = opened.explain_filters(used)
            beside = opened.companions(result, COMPANIONS)
            if save is not None:
                from pincite.replay import save as write

                write(save, opened, result, settings.search.k if k is None else k)
    if as_json:
        print_json(_as_json(result, missing, empty, beside))
        return
    _print_notes(result, missing, empty)
    for passage in result.passages:
        _print(passage)
    if beside:
        names = dict.fromkeys(f"{chunk.locator} ({each.relation})" for each, chunk in beside)
        out.print(f"see also: {', '.join(names)}", style="dim", markup=False, soft_wrap=True)
    if explain and result.passages:
        from pincite.cli.explain import print_scores

        print_scores(result)


def _as_json(
    result: Result,
    missing: list[tuple[str, str]],
    empty: str | None,
    beside: list[tuple[Companion, Chunk]],
) -> dict[str, Any]:
    from pincite.answer.plain import companion_values, passage_values

    return {
        "query": result.query.text,
        "filters": plain(result.query.filters),
        "note": empty,
        "notes": list(result.notes),
        "hits": [passage_values(passage) for passage in result.passages],
        "missing": [{"place": place, "nearest": nearest or None} for place, nearest in missing],
        "corrections": dict(result.corrections),
        "companions": [companion_values(each, chunk) for each, chunk in beside],
        "seconds": dict(result.seconds),
    }


def _print_notes(result: Result, missing: list[tuple[str, str]], empty: str | None) -> None:
    """Tell what the query asked for that is not there, on standard error."""
    if empty:
        err.print(f"note: {empty}", soft_wrap=True, markup=False)
    for written, taken in result.corrections.items():
        note = f"note: no {written!r} in this index; searched for {taken!r}"
        err.print(note, soft_wrap=True, markup=False)
    for place, nearest in missing:
        near = f"; the nearest is {nearest}" if nearest else ""
        err.print(f"note: there is no place {place} in this index{near}", soft_wrap=True)
    for note in result.notes:
        err.print(f"note: {note}", soft_wrap=True, markup=False)
    if not result.passages and not (len(result.steps[0].table) and result.notes):
        where = "what the filters leave" if plain(result.query.filters) else "this index"
        err.print(f"nothing in {where} shares a word with that query", soft_wrap=True)


def _print(passage: Passage) -> None:
    from rich.text import Text

    number = f"{passage.rank:>2}  "
    out.print(Text.assemble(number, (passage.citation, "bold cyan")), soft_wrap=True)
    if passage.place.path:
        out.print(Text("    " + " › ".join(passage.place.path), style="dim"), soft_wrap=True)
    for line in _marked(passage).split("\n"):
        if line.plain.strip():
            line.pad_left(4)
            out.print(line, soft_wrap=True)
    out.print(Text(f"    why: {_why(passage)}", style="dim italic"), soft_wrap=True)
    out.print()


def _marked(passage: Passage) -> Text:
    from rich.text import Text

    text = Text(passage.snippet)
    for start, end in passage.marks:
        text.stylize("bold yellow", start, end)
    return text


def _why(passage: Passage) -> str:
    features = {name: value for name, value in passage.hit.features.items() if value}
    if passage.is_named:
        return REASONS["place"]
    # The sum of what is shown, so that it adds up to the reader as well.
    digits = 1 if passage.hit.score >= 5 else 2
    shown = {name: round(value, digits) for name, value in features.items()}
    parts = [f"{REASONS.get(name, name)} {value:.{digits}f}" for name, value in shown.items()]
    return " + ".join(parts) + f" = {sum(shown.values()):.{digits}f}"
