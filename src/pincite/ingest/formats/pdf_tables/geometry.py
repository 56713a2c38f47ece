"""The plain values that table finding is about: rulings, text lines and cells.

Nothing here knows of pdfium: points as the page is seen, origin at the top left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pincite.ingest.formats.pdf.page import FoundTable, Word

T = TypeVar("T")
Box = tuple[float, float, float, float]  # x0, top, x1, bottom


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line along an axis: `at` is its y when horizontal, its x when vertical."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Rulings:
    """The drawn lines of a page, collinear pieces joined, and the middles of slanted ones."""

    horizontal: Sequence[Rule] = ()
    vertical: Sequence[Rule] = ()
    slanted: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A text that fills `rows` x `columns` places of a table's grid from (`row`, `column`)."""

    row: int
    column: int
    text: str
    rows: int = 1
    columns: int = 1


@dataclass(frozen=True, slots=True)
class SpannedTable(FoundTable):
    """A found table that also knows which cells span; `rows` repeats their text in each place."""

    cells: Sequence[Cell] = ()


def make_table(box: Box, cells: Sequence[Cell], header_rows: int) -> SpannedTable:
    """The table with these cells, the text of a spanning cell repeated in every place it covers.

    >>> make_table((0, 0, 9, 9), [Cell(0, 0, "a", columns=2), Cell(1, 1, "b")], 1).rows
    [['a', 'a'], ['', 'b']]
    """
    height = max(cell.row + cell.rows for cell in cells)
    width = max(cell.column + cell.columns for cell in cells)
    rows = [[""] * width for _ in range(height)]
    for cell in cells:
        for row in range(cell.row, cell.row + cell.rows):
            for column in range(cell.column, cell.column + cell.columns):
                rows[row][column] = cell.text
    return SpannedTable(*box, rows=rows, header_rows=header_rows, cells=tuple(cells))


def bounds(words: Iterable[Word]) -> Box:
    """The smallest box around words."""
    seen = list(words)
    return (
        min(word.x0 for word in seen),
        min(word.y0 for word in seen),
        max(word.x1 for word in seen),
        max(word.y1 for word in seen),
    )


def overlap(a0: float, a1: float, b0: float, b1: float) -> float:
    """How much of two intervals is common; negative is the distance between them."""
    return min(a1, b1) - max(a0, b0)


def cluster(values: Iterable[float], tolerance: float) -> list[float]:
    """The means of groups of values in which neighbours differ by at most `tolerance`.

    >>> cluster([1.0, 10.0, 2.0], 1.5)
    [1.5, 10.0]
    """
    groups = grouped(sorted(values), lambda group, value: value - group[-1] <= tolerance)
    return [sum(group) / len(group) for group in groups]


def grouped(items: Iterable[T], belongs: Callable[[list[T], T], bool]) -> list[list[T]]:
    """The items in runs: one that belongs to the run before it goes on with it."""
    groups: list[list[T]] = []
    for item in items:
        if groups and belongs(groups[-1], item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def band(edges: Sequence[float], value: float) -> int:
    """The number of the interval that holds a value, the nearest at the ends."""
    for number in range(len(edges) - 2):
        if value < edges[number + 1]:
            return number
    return len(edges) - 2
