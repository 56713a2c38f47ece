"""Word tables as plain rows: merged cells are read once and stand wherever they reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pincite.ingest.formats.docx.archive import W, is_on, number, value
from pincite.ingest.formats.grid import MAX_COLUMNS, Row, TableText, across_columns
from pincite.ingest.formats.xml import Element, elements, local_name


def table_rows(table: Element) -> Iterator[Element]:
    """Yield the rows that are not deleted, also those inside content controls."""
    for child in elements(table):
        name = local_name(child)
        if name == "tr" and child.find(f"{W}trPr/{W}del") is None:
            yield child
        elif name in ("sdt", "sdtContent", "ins", "customXml"):
            yield from table_rows(child)


def row_cells(row: Element) -> Iterator[Element]:
    """Yield the cells of a row."""
    for child in elements(row):
        if local_name(child) == "tc":
            yield child
        elif local_name(child) in ("sdt", "sdtContent", "customXml"):
            yield from row_cells(child)


def is_box(table: Element) -> bool:
    """Return whether a table is only a frame around paragraphs: it has one cell."""
    return sum(1 for row in table_rows(table) for _ in row_cells(row)) == 1


def table_of(table: Element, words_of: Callable[[Element], str]) -> TableText:
    """Return the table; its first row is the head where no row is marked as one."""
    rows: list[Row] = []
    heads = 0
    for row in table_rows(table):
        if bool(is_on(row.find(W + "trPr"), "tblHeader")) and heads == len(rows):
            heads += 1
        rows.append(_row(row, rows[-1] if rows else [], words_of))
    width = max(map(len, rows), default=0)
    rows = [row + [""] * (width - len(row)) for row in rows]
    heads = heads if 0 < heads < len(rows) else min(1, max(0, len(rows) - 1))
    return TableText(rows[:heads], rows[heads:])


def _row(row: Element, above: Row, words_of: Callable[[Element], str]) -> Row:
    before = number(value(row.find(W + "trPr"), "gridBefore")) or 0
    found: Row = [""] * min(max(before, 0), MAX_COLUMNS)
    for cell in row_cells(row):
        properties = cell.find(W + "tcPr")
        span = max(1, number(value(properties, "gridSpan")) or 1)
        merge = value(properties, "vMerge")
        is_continued = merge is not None and merge != "restart"
        at = len(found)
        words = above[at] if is_continued and at < len(above) else words_of(cell)
        found += across_columns(words, min(span, MAX_COLUMNS - len(found)))
    return found
