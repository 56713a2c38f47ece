"""HTML tables: heads, spans, captions and notes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
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
            rows = [row for row in children(child) if row.tag == "tr"]
            hidden += sum(len(row.text().strip()) for row in rows if is_hidden(row))
            for row in rows:
                if not is_hidden(row):
                    hidden += _add_row(row, child.tag, found)
    return _assembled(found, caption), hidden


def _add_row(row: LexborNode, group: str, found: list[_HtmlRow]) -> int:
    """Add a row to those found, and return how many characters of it are hidden."""
    nodes = [cell for cell in children(row) if cell.tag in ("td", "th") and not is_hidden(cell)]
    is_head = group == "thead" or all(cell.tag == "th" for cell in nodes)
    cells, unseen = [], 0
    for node in nodes:
        words, hidden = words_of(node, plain=is_head)
        unseen += hidden
        spans = (attribute(node, name) for name in ("rowspan", "colspan"))
        rows, columns = (int(n) if n.isdecimal() and len(n) < 7 else 1 for n in spans)
        columns = max(1, min(columns, MAX_COLUMNS))
        cells.append(Cell(words, columns, min(rows, _MAX_ROWSPAN) or _MAX_ROWSPAN))
    if cells:
        found.append(_HtmlRow(group, is_head, cells))
    return unseen


def _assembled(found: Sequence[_HtmlRow], caption: str) -> TableText:
    rows = spread([row.cells for row in found])
    head_rows = sum(1 for _ in takewhile(lambda row: row.is_head, found))
    if not head_rows and len(rows) > 1:
        head_rows = 1  # without marks the first row is the head, as in Word
    head, body = rows[:head_rows], rows[head_rows:]
    if not caption and len(head) > 1 and _is_one(found[0], head[0]):
        caption, head = head[0][0], head[1:]
    notes: list[str] = []
    for row in reversed(found):
        if not body or row.group != "tfoot" or not _is_one(row, body[-1]):
            break
        notes.insert(0, body.pop()[0])
    return TableText(head, body, caption, notes)


def _is_one(row: _HtmlRow, filled: Row) -> bool:
    """Return whether one cell takes the whole row."""
    return len(row.cells) == 1 and row.cells[0].columns >= len(filled) > 1
