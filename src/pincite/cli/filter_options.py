"""The options of commands that can be kept to a part of the index."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Annotated, Any

import typer

from pincite.core.errors import ConfigError
from pincite.core.types import Filters

DocumentsOption = Annotated[
    list[str] | None,
    typer.Option("--document", "-d", help="Only these documents: an id, or 'manuals/*'."),
]
AsOfFilter = Annotated[
    str, typer.Option("--as-of", help="Only editions in force then: 2022-06-30, or 2022.")
]
KindOption = Annotated[
    list[str] | None, typer.Option("--kind", help="Only such places: table, exception, spell, …")
]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="Only places with this tag.")]
TraitOption = Annotated[
    list[str] | None, typer.Option("--trait", help="Only places with this trait.")
]
PagesOption = Annotated[str, typer.Option("--pages", help="Only these pages: 3-10, or 7.")]
PathOption = Annotated[
    list[str] | None, typer.Option("--path", help="Only below a heading with these words.")
]
AudienceOption = Annotated[
    str, typer.Option("--audience", help="Leave out what is written for others only: player, gm.")
]
AccessOption = Annotated[
    list[str] | None,
    typer.Option("--access", help="Only what one with these access tags may see; '' for none."),
]


def filters_from(
    documents: list[str] | None = None,
    *,
    as_of: str = "",
    kinds: list[str] | None = None,
    tags: list[str] | None = None,
    traits: list[str] | None = None,
    pages: str = "",
    path: list[str] | None = None,
    audience: str = "",
    access: list[str] | None = None,
) -> Filters:
    """Return the filters of this call."""
    return Filters(
        documents=tuple(documents or ()),
        as_of=as_of,
        kinds=tuple(kinds or ()),
        tags=tuple(tags or ()),
        traits=tuple(traits or ()),
        pages=_pages(pages),
        path=tuple(path or ()),
        audience=audience,
        access=None if access is None else tuple(tag for tag in access if tag),
    )


def _pages(text: str) -> tuple[int, ...]:
    """Return the first and the last page of "3-10" or "7"."""
    if not text:
        return ()
    match = re.fullmatch(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?", text)
    if match is None:
        raise ConfigError(f"--pages {text}: no range", hint="write --pages 3-10 or --pages 7")
    return int(match[1]), int(match[2] or match[1])


def plain(filters: Filters) -> dict[str, Any]:
    """Return the filters that are set, as plain values."""
    unset = asdict(Filters())
    return {name: value for name, value in asdict(filters).items() if value != unset[name]}
