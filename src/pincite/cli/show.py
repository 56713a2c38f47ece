"""pincite show: a place, exactly as it stands in its document."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    AsOfOption,
    DocumentOption,
    IndexOption,
    JsonOption,
    err,
    parse_day,
    print_json,
    store_alone,
    told,
)
from pincite.cli.terminal import safe
from pincite.core.editions import when


def show(
    locator: Annotated[str, typer.Argument(help="A place: '97.113(a)(4)', 'Table 250.66'.")],
    document: DocumentOption = None,
    as_of: AsOfOption = None,
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Print the text of a place exactly; its heading path goes to standard error."""
    from pincite import api

    with told(as_json=as_json, index=index), api.Index.open(index, store_alone()) as opened:
        day = parse_day(as_of)
        places = opened.show(locator, document, as_of=day)
        editions = [opened.snapshot.edition(chunk.span.doc_id) for chunk in places]
        below = [[child.locator for child in opened.children(chunk)] for chunk in places]
        parents = [
            opened.snapshot.get([chunk.parent])[0].locator if chunk.parent else None
            for chunk in places
        ]
    if as_json:
        print_json(
            [
                {
                    "document": chunk.span.doc_id,
                    "effective": edition.effective.isoformat() if edition.effective else None,
                    "until": edition.until.isoformat() if edition.until else None,
                    "locator": chunk.locator,
                    "kind": chunk.kind,
                    "title": chunk.title,
                    "path": list(chunk.path),
                    "page": chunk.page,
                    "span": [chunk.span.start, chunk.span.end],
                    "parent": parent,
                    "children": children,
                    "text": chunk.text,
                }
                for chunk, edition, parent, children in zip(
                    places, editions, parents, below, strict=True
                )
            ]
        )
        return
    for chunk, edition, children in zip(places, editions, below, strict=True):
        if day is not None:
            words = f"in force on {day}: {when(edition)}"
            err.print(words, style="dim", markup=False, soft_wrap=True)
        path = " › ".join((chunk.span.doc_id, *chunk.path))
        err.print(f"{path} › {chunk.locator}", style="dim", markup=False, soft_wrap=True)
        sys.stdout.write(safe(chunk.text).rstrip() + "\n")
        if children:
            more = " …" if len(children) > 12 else ""
            names = ", ".join(children[:12])
            err.print(f"below: {names}{more}", style="dim", markup=False, soft_wrap=True)
