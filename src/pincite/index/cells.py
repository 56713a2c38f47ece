"""Cells of tables by the names that citations give them."""

from __future__ import annotations

from pincite.core.tables import parse_table
from pincite.core.types import Chunk
from pincite.model.locators import locator_key
from pincite.store.snapshot import Snapshot

SEPARATOR = " > "  # between a table, its row and its column


def rows_of_cell(snapshot: Snapshot, locator: str) -> list[Chunk]:
    """Return the rows that have the cell: "Table 4 > E-07 > What to do"."""
    row, _, column = locator.rpartition(SEPARATOR)
    while row:
        found = [chunk for chunk in snapshot.found_by([locator_key(row)]) if chunk.kind == "row"]
        if rows := [chunk for chunk in found if _has_column(snapshot, chunk, column)]:
            return rows
        # The name of a column may have the sign itself: "Load > 5 kW".
        row, sign, last = row.rpartition(SEPARATOR)
        column = f"{last}{sign}{column}"
    return []


def _has_column(snapshot: Snapshot, row: Chunk, column: str) -> bool:
    tables = snapshot.get([row.parent] if row.parent else [])
    parsed = [table for each in tables if (table := parse_table(each.text))]
    return any(locator_key(column) in map(locator_key, table.columns) for table in parsed)
