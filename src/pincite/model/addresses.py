"""Addresses of cells in workbooks: "Rates!B7", "Sheet 'Rates', B7"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pincite.model.patterns import lazy_pattern
from pincite.model.tables import Cell, Table, row_names, unit_of

_CELL = r"\$?(?P<column>[A-Za-z]{1,3})\$?(?P<row>[1-9]\d{0,6})"
_BARE = lazy_pattern(_CELL)
_ADDRESS = lazy_pattern(
    r"(?:sheet\s{1,9})?(?:'(?P<quoted>(?:[^']|'')+)'|(?P<plain>[^!']{1,100}?))\s{0,9}[!,]\s{0,9}"
    + _CELL,
    re.IGNORECASE,
)
# At the end of a table's caption.
_RANGE = lazy_pattern(
    r"\((?:'(?P<quoted>(?:[^']|'')+)'|(?P<plain>[^!'()]+))!"
    r"(?P<left>[A-Z]{1,3})(?P<top>\d+):(?P<right>[A-Z]{1,3})(?P<bottom>\d+)\)$"
)
_PLAIN_NAME = lazy_pattern(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class CellAddress:
    """A sheet, a row and a column, these from 0."""

    sheet: str
    row: int
    column: int


def column_letters(column: int) -> str:
    """Return what a workbook calls a column.

    >>> [column_letters(column) for column in (0, 25, 26, 16383)]
    ['A', 'Z', 'AA', 'XFD']
    """
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_number(letters: str) -> int:
    """Return the number of a column, from 0.

    >>> [column_number(letters) for letters in ("A", "z", "AA", "XFD")]
    [0, 25, 26, 16383]
    """
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def named_cells(sheet: str, first: tuple[int, int], last: tuple[int, int]) -> str:
    """Return the address of a block of cells by the rows and columns of two corners.

    >>> named_cells("Rates", (2, 0), (19, 5)), named_cells("Q1 'net'", (0, 0), (0, 0))
    ('Rates!A3:F20', "'Q1 ''net'''!A1:A1")
    """
    doubled = sheet.replace("'", "''")
    name = sheet if _PLAIN_NAME.fullmatch(sheet) else f"'{doubled}'"
    corners = (f"{column_letters(column)}{row + 1}" for row, column in (first, last))
    return f"{name}!{':'.join(corners)}"


def cell_address(words: str, sheet: str = "") -> CellAddress | None:
    """Return the cell that is named; ``sheet`` is the one where the words name none.

    >>> cell_address("Rates!B7") == cell_address("sheet 'Rates', b7") == cell_address("B7", "Rates")
    True
    >>> cell_address("Table 4 > E-07 > What to do")
    """
    found = _BARE.fullmatch(words.strip()) if sheet else None
    found = found or _ADDRESS.fullmatch(words.strip())
    if found is None:
        return None
    name = sheet or _sheet(found)
    return CellAddress(name, int(found["row"]) - 1, column_number(found["column"]))


def _sheet(found: re.Match[str]) -> str:
    return (found["quoted"] or "").replace("''", "'") or found["plain"].strip()


def place_in(table: Table, address: CellAddress) -> tuple[int, int] | None:
    """Return row and column of a table that an address means; the head is row -1.

    The caption says which cells of the sheet the table has; its last rows are the table's rows.
    """
    found = _RANGE.search(table.title)
    if found is None or _sheet(found).casefold() != address.sheet.casefold():
        return None
    top, bottom = int(found["top"]) - 1, int(found["bottom"]) - 1
    column = address.column - column_number(found["left"])
    if not top <= address.row <= bottom or not 0 <= column < len(table.columns):
        return None
    return max(-1, address.row - (bottom - len(table.rows) + 1)), column


def cell_at(table: Table, row: int, column: int) -> Cell:
    """Return a cell by its place in a table; one of the head is its column's name."""
    name = table.columns[column]
    if row < 0:
        return Cell(row, column, "", name, name, "", (), "")
    value = table.rows[row][column] if column < len(table.rows[row]) else ""
    named = row_names(table)[row]
    key = f"{table.columns[0]}: {table.rows[row][0]}"
    return Cell(row, column, named, name, value, unit_of(name), table.notes_of(value), key)
