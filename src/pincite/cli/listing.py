"""pincite list: what is in the index."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from pincite.cli.options import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    out,
    print_json,
    store_alone,
    told,
)

_DATES = (("from", "effective"), ("until", "until"))


def listing(
    document: Annotated[
        str | None, typer.Argument(help="List the places of this document instead.")
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """List the documents of the index, or all places of one of them."""
    from pincite import api

    with told(as_json=as_json, index=index), api.Index.open(index, store_alone()) as opened:
        if document is not None:
            opened.snapshot.document(document)
            rows = [
                {
                    "locator": chunk.locator,
                    "kind": chunk.kind,
                    "title": chunk.title,
                    "page": chunk.page,
                    "span": [chunk.span.start, chunk.span.end],
                    "own_end": chunk.own_end,
                    "searched": chunk.searched,
                    "id": chunk.id,
                }
                for chunk in opened.snapshot.chunks(document)
            ]
        else:
            rows = [
                {
                    "document": edition.doc_id,
                    "title": opened.snapshot.title(edition.doc_id),
                    "effective": edition.effective.isoformat() if edition.effective else None,
                    "until": edition.until.isoformat() if edition.until else None,
                }
                for edition in opened.snapshot.editions()
            ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        if document is None:
            dates = [f"{word} {row[key]}" for word, key in _DATES if row[key]]
            name = f"{row['document']}  "
            words = "  ".join([str(row["title"]), *dates])
            out.print(Text.assemble(name, (words, "dim")), soft_wrap=True)
        elif row["kind"] != "piece":
            line = f"{row['locator']}  {row['title']}".rstrip()
            out.print(line, markup=False, soft_wrap=True)
