"""Tables that go on over the page break, and the head and caption that are printed again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from pincite.ingest.formats.pdf.lines import Line
from pincite.ingest.formats.pdf.page import FoundTable
from pincite.ingest.formats.pdf_tables.textlines import is_number
from pincite.model.locators import TABLE_WORD

_FOOT, _HEAD = 0.6, 0.25  # shares of the page: where the one must end and the other begin
_NEAR = 4.0  # points that the edges of one column may differ from page to page
_SMALL = 0.93  # of the body's size: footnotes
_LONGEST_CAPTION = 3  # lines
_CONTINUED = (
    r"\(?\b(?:continued|continues|cont(?:inue)?[’']d|cont\.|suite|segue|continua|fortsetzung)"
)
_AT_END = re.compile(rf"{_CONTINUED}(?: (?:on|from) [\w ]{{1,30}})?[).: ]*$", re.IGNORECASE)
_AFTER_NUMBER = re.compile(rf"{TABLE_WORD} \S{{1,12}}[ ,:—–-]*{_CONTINUED}", re.I)
_NUMBER = re.compile(rf"{TABLE_WORD} ([\w.–-]*\w)", re.IGNORECASE)
_NOT_WORDS = re.compile(r"[\W_]+")

Row = Sequence[str]


def mark_continued(pages: Sequence[list[Line]], body: float) -> None:
    """Mark tables that go on with the last one of the page before; their captions are dropped.

    Only tables with the same columns are joined, at the foot of one page and at the head of the
    next, with nothing between but footnotes and words that say "continued".
    """
    head: Sequence[Row] = ()  # of the table that is open
    for before, after in pairwise(pages):
        last = next((line for line in reversed(before) if line.table), None)
        first = next((place for place, line in enumerate(after) if line.table), None)
        if last is None or last.table is None or first is None:
            continue
        if not last.continues:
            head = last.table.rows[: max(1, last.table.header_rows)]
        caption = after[:first]
        if _is_between(before, last, caption, body) and _goes_on(last, after[first], head):
            table = after[first].table
            after[first].continues = True
            after[first].repeated = _repeated(head, table.rows if table else ())
            del after[:first]
            end = before.index(last) + 1
            before[end:] = [line for line in before[end:] if not _AT_END.search(line.text)]


def _is_between(before: Sequence[Line], last: Line, caption: Sequence[Line], body: float) -> bool:
    """Return whether no other text stands between the two tables."""
    rest = before[before.index(last) + 1 :]
    rest = [line for line in rest if not _AT_END.search(line.text)]
    is_noted = all(line.size < _SMALL * body for line in rest) and (not rest or rest[0].marked)
    return is_noted and (not caption or _is_same_caption(caption, before[: before.index(last)]))


def _is_same_caption(caption: Sequence[Line], above: Sequence[Line]) -> bool:
    """Return whether a caption only says that the table goes on."""
    words = " ".join(line.text for line in caption)
    if len(caption) > _LONGEST_CAPTION or any(line.heading for line in caption):
        return False
    if not (_AT_END.search(words) or _AFTER_NUMBER.match(words)):
        return False
    number = _NUMBER.match(words)
    earlier = [found for line in above if (found := _NUMBER.match(line.text))]
    return not number or not earlier or earlier[-1][1] == number[1]


def _goes_on(last: Line, line: Line, head: Sequence[Row]) -> bool:
    one, other = last.table, line.table
    if one is None or other is None or last.turned or line.turned:
        return False
    if line.page != last.page + 1 or last.box[3] < _FOOT or line.box[1] > _HEAD:
        return False
    if not one.rows or not other.rows or len(one.rows[0]) != len(other.rows[0]):
        return False
    if not _same_columns(one, other):
        return False
    return bool(_repeated(head, other.rows)) or _begins_with_data(one, other)


def _same_columns(one: FoundTable, other: FoundTable) -> bool:
    """Return whether the columns stand alike, seen from the left edge of each table."""
    if not one.columns or len(one.columns) != len(other.columns):
        return False
    shift = other.columns[0][0] - one.columns[0][0]
    # Left and right pages of a book have different margins, but then the tables are as wide.
    if abs(shift) > _NEAR and abs(other.columns[-1][1] - one.columns[-1][1] - shift) > _NEAR:
        return False
    for (a0, a1), (b0, b1) in zip(one.columns, other.columns, strict=True):
        starts, ends = abs(b0 - a0 - shift), abs(b1 - a1 - shift)
        middles = abs((b0 + b1) / 2 - (a0 + a1) / 2 - shift)
        if min(starts, ends, middles) > _NEAR:
            return False
    return True


def _repeated(head: Sequence[Row], rows: Sequence[Row]) -> int:
    """Return how many rows of the head stand at the beginning of these rows: all or none."""
    pairs = zip(head, rows, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: _bare(pair[0]) == _bare(pair[1]), pairs))
    return same if same == len(head) < len(rows) and any(map(any, head)) else 0


def _bare(row: Row) -> list[str]:
    return [_NOT_WORDS.sub("", _AT_END.sub("", cell)).casefold() for cell in row]


def _begins_with_data(one: FoundTable, other: FoundTable) -> bool:
    """Return whether the first row of a table without the other's head is no head of its own."""
    first = other.rows[0]
    if len(set(first)) == 1:  # a title over all columns
        return False
    is_ruled = all(abs(a[1] - b[0]) < 0.1 for a, b in pairwise(other.columns))
    if not is_ruled and other.header_rows:
        return False
    return not any(
        cell and not is_number(cell) and _is_numeric([row[column] for row in other.rows[1:]])
        for column, cell in enumerate(first)
        if column and _is_numeric([row[column] for row in one.rows[one.header_rows :]])
    )


def _is_numeric(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and sum(map(is_number, filled)) >= 0.6 * len(filled)
