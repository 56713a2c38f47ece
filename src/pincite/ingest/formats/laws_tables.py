"""CALS tables, as the laws of Canada and many technical documents have them."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.ingest.formats.grid import MAX_COLUMNS, Cell, Row, TableText, spread
from pincite.ingest.formats.inline import one_line
from pincite.ingest.formats.laws_words import words_of
from pincite.ingest.formats.xml import Element


def table_of(table: Element, caption: str) -> TableText:
    """Return the table with head and body as full rows."""
    title = table.find("title")
    words = one_line(words_of(title)) if title is not None else ""
    head: list[Row] = []
    body: list[Row] = []
    for group in table.iter("tgroup"):
        columns = {
            spec.get("colname", ""): place for place, spec in enumerate(group.findall("colspec"))
        }
        width = _number(group.get("cols"), len(columns))
        head += _rows(group.findall("thead/row"), columns, width)
        body += _rows([*group.findall("tbody/row"), *group.findall("tfoot/row")], columns, width)
    return TableText(head, body, " ".join(part for part in (caption, words) if part))


def _number(words: str | None, default: int) -> int:
    return min(int(words), MAX_COLUMNS) if words and words.isdecimal() else default


def _rows(rows: Sequence[Element], columns: dict[str, int], width: int) -> list[Row]:
    return spread([[_cell(e, columns) for e in row.iter("entry")] for row in rows], width=width)


def _cell(entry: Element, columns: dict[str, int]) -> Cell:
    """Return a cell; its column is named, or the next that is free."""
    first = columns.get(entry.get("namest") or entry.get("colname") or "", -1)
    last = columns.get(entry.get("nameend") or "", first)
    return Cell(
        one_line(words_of(entry)),
        columns=max(1, last - first + 1),
        rows=1 + _number(entry.get("morerows"), 0),
        column=first,
    )
