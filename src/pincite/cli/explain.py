"""pincite why-not, and the table of search --explain."""

from __future__ import annotations

from dataclasses import asdict
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
)
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
from pincite.core.search_settings import SearchSettings

if TYPE_CHECKING:
    from rich.table import Table

    from pincite.api import Result
    from pincite.search.explain import WhyNot


def why_not(
    query: Annotated[str, typer.Argument(help="What was asked.")],
    locator: Annotated[str, typer.Argument(help="The place that was expected.")],
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
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say at which stage a search loses a place that was expected, and by how much."""
    from pincite import api

    with told(as_json=as_json, index=index):
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
            found = opened.why_not(query, locator, k, filters=filters)
    if as_json:
        print_json({"query": query, "places": [_as_json(each) for each in found]})
        return
    for each in found:
        _print(each)


def _as_json(found: WhyNot) -> dict[str, Any]:
    return {
        "document": found.chunk.span.doc_id,
        "locator": found.chunk.locator,
        "lost_at": found.lost_at or None,
        "reason": found.reason,
        "stages": [asdict(view) for view in found.stages],
    }


def _print(found: WhyNot) -> None:
    name = f"{found.chunk.locator} in {found.chunk.span.doc_id}"
    verdict = f"lost at {_stage(found.lost_at)}" if found.lost_at else "found"
    out.print(f"{name}: {verdict}", markup=False, style="bold", soft_wrap=True)
    table = _table("stage", "rank", "score", "needed", "counts")
    for view in found.stages:
        table.add_row(
            view.stage,
            "-" if view.rank is None else str(view.rank),
            _number(view.score),
            _number(view.needed),
            "yes" if view.is_kept else "no",
        )
    out.print(table)
    out.print(found.reason, markup=False, soft_wrap=True)
    out.print()


def _stage(name: str) -> str:
    """Return what lost a place as one would say it: a name stands for itself, words do not."""
    return name if name.isidentifier() and name not in ("filters", "index") else f"the {name}"


def print_scores(result: Result) -> None:
    """Print every part of every hit's score, the raw scores, and the time of each stage."""
    hits = [passage.hit for passage in result.passages]
    parts = list(dict.fromkeys(name for hit in hits for name in hit.features))
    raw = list(dict.fromkeys(name for hit in hits for name in hit.raw))
    if "learned" in parts:  # a model reads more than fits on a line: --json has all of it
        from pincite.learn.features import NAMES

        raw = [name for name in raw if name not in NAMES]
    lines = [["rank", *parts, "score", *(f"raw {name}" for name in raw), "place"]]
    for passage in result.passages:
        hit = passage.hit
        lines.append(
            [
                str(passage.rank),
                *(_number(hit.features.get(name)) for name in parts),
                _number(hit.score),
                *(_number(hit.raw.get(name)) for name in raw),
                passage.citation,
            ]
        )
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for *numbers, place in lines:
        cells = [text.rjust(width) for text, width in zip(numbers, widths, strict=False)]
        out.print("  ".join([*cells, place]), markup=False, highlight=False, soft_wrap=True)
    times = ", ".join(f"{name} {1000 * s:.1f} ms" for name, s in result.seconds.items())
    out.print(times, style="dim", markup=False, soft_wrap=True)


def _table(*titles: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in titles:
        is_text = title in ("stage", "place", "counts")
        table.add_column(title, justify="left" if is_text else "right", no_wrap=True)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value + 0.0:.3f}"
