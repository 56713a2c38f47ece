"""Rows of tables as places of their own, so that a citation can point to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pincite.core.tables import parse_table, row_names, row_spans
from pincite.ingest.tree import Clause

# A table of data, not of rules: its rows are found by their table alone.
MAX_ROWS = 2000


def with_rows(text: str, clauses: Sequence[Clause]) -> list[Clause]:
    """Return the clause tree with a child for every row of every table.

    A table's own words are then its caption and its header; what follows the rows (footnotes) is a
    child as well, so own spans still join to the text.
    """
    parents = {clause.parent for clause in clauses}
    grown: list[Clause] = []
    place: list[int] = []  # where each of the old clauses stands among the grown ones
    for i, clause in enumerate(clauses):
        place.append(len(grown))
        parent = place[clause.parent] if clause.parent >= 0 else -1
        is_leaf = clause.kind == "table" and i not in parents
        rows = _rows(text, clause, len(grown)) if is_leaf else []
        own_end = rows[0].start if rows else clause.own_end
        if (parent, own_end) != (clause.parent, clause.own_end):
            clause = replace(clause, parent=parent, own_end=own_end)
        grown.append(clause)
        grown += rows
    return grown


def _rows(text: str, table: Clause, parent: int) -> list[Clause]:
    words = text[table.start : table.end]
    spans, parsed = row_spans(words), parse_table(words)
    if parsed is None or not spans or len(spans) > MAX_ROWS or len(spans) != len(parsed.rows):
        return []
    starts = [table.start + start for start, _ in spans]
    last_end = table.start + spans[-1][1]
    has_notes = bool(text[last_end : table.end].strip())
    ends = [*starts[1:], last_end if has_notes else table.end]
    rows = [
        Clause("row", "", f"{table.locator} > {name}", name, start, end, end, parent, table.path)
        for name, start, end in zip(row_names(parsed.rows), starts, ends, strict=True)
    ]
    if has_notes:
        end = table.end
        rows.append(Clause("text", "", table.locator, "", last_end, end, end, parent, table.path))
    return rows
