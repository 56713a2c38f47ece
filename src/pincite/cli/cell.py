"""pincite cell: one value of a table."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from pincite.cli.options import (
    DEFAULT_INDEX,
    DocumentOption,
    IndexOption,
    JsonOption,
    out,
    print_json,
    store_alone,
    told,
)
from pincite.core.errors import StoreError


def cell(
    table: Annotated[str, typer.Argument(help="A table: 'Table 250.66'.")],
    row: Annotated[str, typer.Argument(help="Words or a number of the row: '95 mm²', 'E-07'.")],
    column: Annotated[str, typer.Argument(help="Words of the column; all columns without.")] = "",
    document: DocumentOption = None,
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Look up a value in a table; a number fits the row whose range holds it."""
    from pincite import api

    with told(as_json=as_json, index=index), api.Index.open(index, store_alone()) as opened:
        found = opened.cells(table, row, column, document)
        if not found:
            raise StoreError(
                f"no cell for row {row!r} and column {column!r} in {table}",
                hint=f'see: pincite show "{table}"',
            )
    if as_json:
        print_json(
            [
                {
                    "document": each.table.span.doc_id,
                    "citation": each.citation,
                    "value": each.cell.value,
                    "unit": each.cell.unit,
                    "notes": list(each.cell.notes),
                    "found_by": each.cell.key,
                }
                for each in found
            ]
        )
        return
    for each in found:
        unit = f" {each.cell.unit}" if each.cell.unit else ""
        line = Text.assemble((each.cell.value + unit, "bold"), f"  {each.citation}")
        line.append(f"  ({each.table.span.doc_id})", style="dim")
        out.print(line, soft_wrap=True)
        out.print(Text(f"    row found by {each.cell.key}", style="dim"), soft_wrap=True)
        for note in each.cell.notes:
            out.print(Text(f"    note: {note}", style="italic"), soft_wrap=True)
