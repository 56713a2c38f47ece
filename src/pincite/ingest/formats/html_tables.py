"""HTML tables: heads, spans, captions and notes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from pincite.ingest.formats.grid import MAX_COLUMNS, Cell, Row, TableText, spread
from pincite.ingest.formats.html_words import attribute, children, is_hidden, words_of

_GROUPS = ("thead", "tbody", "tfoot")
_MAX_ROWSPAN = 65_534  # as in the standard; 0 means all rows that follow


class _HtmlRow(NamedTuple):
    group: str
    is_head: bool
    cells: list[Cell]


def is_layout(table: LexborNode) -> bool:
    """Return whether a table only arranges a page: it holds headings or tables."""
    if attribute(table, "role") in ("presentation", "none"):
        return True
    inside = table.css("h1, h2, h3, h4, h5, h6, table")
    return any(node.mem_id != table.mem_id for node in inside)


def table_of(table: LexborNode) -> tuple[TableText, int]:
    """Return the table, and how many characters of it are hidden."""
    caption, hidden = "", 0
    found: list[_HtmlRow] = []
    for child in children(table):
        if child.tag == "caption" and not is_hidden(child):
            caption, unseen = words_of(child, plain=True)
            hidden += unseen
        elif child.tag in _GROUPS:
            for row in children(child):
                hidden += _add_row(row, child.tag, found)
    return _assembled(found, caption), hidden


def _add_row(row: LexborNode, group: str, found: list[_HtmlRow]) -> int:
    """Add a row to those found, and return how many characters of it are hidden."""
    if row.tag != "tr":
        return 0
    if is_hidden(row):
        return len(row.text().strip())
    cells = [cell for cell in children(row) if cell.tag in ("td", "th") and not is_hidden(cell)]
    is_head = group == "thead" or (bool(cells) and all(cell.tag == "th" for cell in cells))
    read = [words_of(cell, plain=is_head) for cell in cells]
    if cells:
        spans = [_cell(cell, words) for cell, (words, _) in zip(cells, read, strict=True)]
        found.append(_HtmlRow(group, is_head, spans))
    return sum(hidden for _, hidden in read)


def _cell(cell: LexborNode, words: str) -> Cell:
    rows = _span(attribute(cell, "rowspan"), _MAX_ROWSPAN)
    return Cell(
        words,
        columns=max(1, _span(attribute(cell, "colspan"), MAX_COLUMNS)),
        rows=_MAX_ROWSPAN if rows == 0 else rows,
    )


def _span(words: str, most: int) -> int:
    return min(int(words), most) if words.isdecimal() and len(words) < 7 else 1


def _assembled(found: Sequence[_HtmlRow], caption: str) -> TableText:
    rows = spread([row.cells for row in found])
    head_rows = 0
    while head_rows < len(found) and found[head_rows].is_head:
        head_rows += 1
    if not head_rows and len(rows) > 1:
        head_rows = 1  # without marks the first row is the head, as in Word
    head, body = rows[:head_rows], rows[head_rows:]
    if not caption and len(head) > 1 and _is_one(found[0], head[0]):
        caption, head = head[0][0], head[1:]
    notes: list[str] = []
    while (
        body
        and found[-1 - len(notes)].group == "tfoot"
        and _is_one(found[-1 - len(notes)], body[-1])
    ):
        notes.insert(0, body.pop()[0])
    return TableText(head, body, caption, notes)


def _is_one(row: _HtmlRow, filled: Row) -> bool:
    """Return whether one cell takes the whole row."""
    return len(row.cells) == 1 and row.cells[0].columns >= len(filled) > 1
