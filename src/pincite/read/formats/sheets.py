"""Sheets of a workbook as headings, captions, tables and lone words.

Tables are parted by blank rows and columns. The caption of each says which cells it has, so that
every cell of it can be found by its address: "Fees (Rates!A3:F20)".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from pincite.model.addresses import column_letters, named_cells
from pincite.model.types import ReaderWarning
from pincite.read.extracted import SourceIdentifier
from pincite.read.formats.blocks import (
    MAX_CELLS,
    MAX_COLUMNS,
    REPEATED_CHARS,
    BlockWriter,
    Row,
    TableText,
    one_line,
)

MAX_ROWS = 200_000  # of all sheets
PART_ROWS = 1_000  # a longer table is cut, so that its rows are places
ROW_PLACES = 20_000  # rows behind these are found by their table alone
DATA_ROWS = 2_500  # in a part of such a table
MAX_HEAD_ROWS = 5
MAX_CAPTION = 110  # a longer line is no title
_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d\w?")


@dataclass(frozen=True, slots=True)
class SheetCell:
    """What a cell shows, and whether it is a number that is no date."""

    words: str
    is_number: bool = False


@dataclass(slots=True)
class SheetGrid:
    """The cells of a sheet that show something, by row and column from 0."""

    name: str
    rows: dict[int, dict[int, SheetCell]] = field(default_factory=dict)
    merged: list[tuple[int, int, int, int]] = field(
        default_factory=list
    )  # first and last, inclusive
    cells: int = 0

    def put(self, row: int, column: int, cell: SheetCell) -> None:
        """Keep a cell that shows something."""
        if cell.words:
            self.cells += 1
            self.rows.setdefault(row, {})[column] = cell

    def spread_merged(self) -> None:
        """Let a merged cell stand wherever it reaches in the sheet, unless it is long."""
        last = max(self.rows, default=-1)
        widest = max((max(row) for row in self.rows.values()), default=-1)
        room = MAX_CELLS
        for top, left, bottom, right in self.merged:
            cell = self.rows.get(top, {}).get(left)
            if cell is None or len(cell.words) > REPEATED_CHARS:
                continue
            for row in range(top, min(bottom, last) + 1):
                for column in range(left, min(right, max(widest, left)) + 1):
                    room -= 1
                    if room > 0 and (row, column) != (top, left):
                        self.rows.setdefault(row, {}).setdefault(column, cell)


@dataclass(frozen=True, slots=True)
class _Region:
    """A block of cells with nothing around it; the last row and column are in it."""

    top: int
    left: int
    bottom: int
    right: int


class SheetWriter:
    """Writes sheets, until they have more cells than are allowed."""

    def __init__(self, writer: BlockWriter) -> None:
        self.writer = writer
        self.identifiers: list[SourceIdentifier] = []
        self.rows = MAX_ROWS

    def sheet(self, grid: SheetGrid) -> None:
        """Write a sheet under its name: words where they stand alone, tables with captions."""
        if not grid.rows:
            return
        self.writer.heading(2, grid.name)
        grid.spread_merged()
        above: _Region | None = None
        names: list[Row] = []
        for whole in _regions(grid):
            title, region = self._title(grid, whole)
            if region.top == region.bottom or region.left == region.right:
                self._words(grid, whole)
                continue
            count = _head_rows(grid, region)
            columns = region.left, region.right
            if count:
                names = _cells(grid, region, region.top, region.top + count)
            elif above is None or (above.left, above.right) != columns:  # else it goes on
                names = [[column_letters(c) for c in range(columns[0], columns[1] + 1)]]
            above = region
            with self._identified(
                grid, _Region(whole.top, whole.left, region.top - 1, whole.right)
            ):
                self._table(grid, region, count, names, title)

    def _title(self, grid: SheetGrid, region: _Region) -> tuple[str, _Region]:
        """Return the words that stand alone in the first rows of a region, and the rest of it."""
        words: list[str] = []
        top = region.top
        while region.right > region.left and top < region.bottom:
            row = grid.rows.get(top, {})
            cells = {row[c] for c in range(region.left, region.right + 1) if c in row}
            if len(cells) != 1 or any(cell.is_number for cell in cells):
                break
            words += (one_line(cell.words) for cell in cells)
            top += 1
        return ". ".join(words), _Region(top, region.left, region.bottom, region.right)

    @contextmanager
    def _identified(self, grid: SheetGrid, region: _Region) -> Iterator[None]:
        """Let the addresses of cells lead to what is written inside: they are in no table."""
        before = self.writer.end
        yield
        start = self.writer.start_after(before)
        for row in range(region.top, region.bottom + 1) if start is not None else ():
            for column in range(region.left, region.right + 1):
                if column in grid.rows.get(row, {}):
                    name = f"{grid.name}!{column_letters(column)}{row + 1}"
                    span = start or 0, self.writer.end
                    self.identifiers.append(SourceIdentifier(name, *span))

    def _words(self, grid: SheetGrid, region: _Region) -> None:
        """Write cells that make no table, a line each."""
        for row in range(region.top, region.bottom + 1):
            cells = grid.rows.get(row, {})
            shown = dict.fromkeys(
                one_line(cells[c].words) for c in range(region.left, region.right + 1) if c in cells
            )
            with self._identified(grid, _Region(row, region.left, row, region.right)):
                for words in shown:
                    self.writer.paragraph(words)

    def _table(
        self, grid: SheetGrid, region: _Region, count: int, names: list[Row], title: str
    ) -> None:
        start = first = region.top + count
        while start <= region.bottom:
            most = PART_ROWS if MAX_ROWS - self.rows < ROW_PLACES else DATA_ROWS
            end = min(start + most, region.bottom + 1)
            if self.rows <= 0:
                self._leave_out(grid, start)
                return
            self.rows -= end - start
            top = region.top if start == first else start
            where = named_cells(grid.name, (top, region.left), (end - 1, region.right))
            caption = f"{title} ({where})" if title else f"({where})"
            if len(caption) > MAX_CAPTION:
                self.writer.paragraph(title)
                caption = f"({where})"
            body = _cells(grid, region, start, end)
            self.writer.table(TableText(names, body, caption))
            start = end

    def _leave_out(self, grid: SheetGrid, row: int) -> None:
        message = f"sheet {grid.name!r} from row {row + 1:,} on: more than {MAX_ROWS:,} rows"
        self.writer.find(ReaderWarning("skipped_content", message))


def _cells(grid: SheetGrid, region: _Region, start: int, end: int) -> list[Row]:
    columns = range(region.left, region.right + 1)
    rows = (grid.rows.get(row, {}) for row in range(start, end))
    empty = SheetCell("")
    return [[one_line(row.get(column, empty).words) for column in columns] for row in rows]


def _head_rows(grid: SheetGrid, region: _Region) -> int:
    """Return how many rows are the head: one of words and periods, more where cells are merged."""
    first = grid.rows.get(region.top, {})
    inside = [first[c] for c in range(region.left, region.right + 1) if c in first]
    numbers = [cell for cell in inside[1:] if cell.is_number and not _YEAR.fullmatch(cell.words)]
    if numbers or len(inside) * 2 < region.right - region.left + 1 or inside[0].is_number:
        return 0
    count = 1
    for top, left, bottom, right in sorted(grid.merged):
        if not (region.top <= top < region.top + count and region.left <= left <= region.right):
            continue
        is_group = left < right < left + region.right - region.left
        count = max(count, bottom - region.top + 1, top - region.top + 2 if is_group else 0)
    return count if count <= min(MAX_HEAD_ROWS, region.bottom - region.top) else 1


def _regions(grid: SheetGrid) -> Iterator[_Region]:
    """Yield the blocks of cells from top to bottom, side by side ones from left to right."""
    for top, bottom in _runs(sorted(grid.rows)):
        used = sorted({c for row in range(top, bottom + 1) for c in grid.rows[row]})
        for left, right in _runs(used):
            held = [
                row
                for row in range(top, bottom + 1)
                if any(left <= column <= right for column in grid.rows[row])
            ]
            for first, last in _runs(held):
                yield _Region(first, left, last, min(right, left + MAX_COLUMNS - 1))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last of each run of numbers that follow each other.

    >>> _runs([1, 2, 3, 7, 9, 10])
    [(1, 3), (7, 7), (9, 10)]
    """
    breaks = [at for at, (one, other) in enumerate(pairwise(numbers), 1) if other != one + 1]
    starts, ends = [0, *breaks], [*breaks, len(numbers)]
    return [(numbers[a], numbers[b - 1]) for a, b in zip(starts, ends, strict=True) if b > a]
