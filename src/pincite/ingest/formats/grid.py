"""Tables with spans as plain rows: every cell filled, levels of a head joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core.errors import SourceError
from pincite.ingest.formats.inline import one_line

MAX_COLUMNS = 1_000
MAX_CELLS = 2_000_000
REPEATED_CHARS = 200  # longer words stand once in their row, or a note would fill the table
Row = list[str]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as its document has it: words, and how far it reaches."""

    words: str
    columns: int = 1
    rows: int = 1
    column: int = -1  # where it stands; -1 for the next free place


@dataclass(frozen=True, slots=True)
class TableText:
    """A table as rows of words, with what belongs to it."""

    head: Sequence[Row]
    body: Sequence[Row]
    caption: str = ""
    notes: Sequence[str] = ()


def spread(rows: Sequence[Sequence[Cell]], *, width: int = 0) -> list[Row]:
    """Return rows of equal length, in which a spanning cell stands wherever it reaches.

    >>> spread([[Cell("a", rows=2), Cell("b", columns=2)], [Cell("c"), Cell("d")]])
    [['a', 'b', 'b'], ['a', 'c', 'd']]
    """
    filled: list[dict[int, str]] = [{} for _ in rows]
    total = 0
    for at, row in enumerate(rows):
        column = 0
        for cell in row:
            if cell.column >= 0:
                column = cell.column
            while column in filled[at]:
                column += 1
            down = range(at, min(at + max(1, cell.rows), len(rows)))
            across = range(column, column + max(1, cell.columns))
            total += len(down) * len(across)
            if across.stop > MAX_COLUMNS or total > MAX_CELLS:
                raise SourceError(
                    f"a table has more than {MAX_COLUMNS:,} columns or {MAX_CELLS:,} cells",
                    hint="leave the file out, or give its table as CSV",
                )
            words = across_columns(cell.words, len(across))
            for line in down:
                filled[line].update(zip(across, words, strict=True))
            column = across.stop
    width = max([width, *(max(line, default=-1) + 1 for line in filled)])
    return [[line.get(column, "") for column in range(width)] for line in filled]


def across_columns(words: str, columns: int) -> Row:
    """Return the cells of one row that spanning words fill."""
    repeated = words if len(words) <= REPEATED_CHARS else ""
    return [words, *[repeated] * (columns - 1)]


def flat_head(head: Sequence[Row]) -> Row:
    """Return one name a column: the levels of the head joined, repetitions left out.

    >>> flat_head([["Size", "Depth", "Depth"], ["Size", "mm", "in"]])
    ['Size', 'Depth – mm', 'Depth – in']
    """
    columns = zip(*head, strict=False)
    return [" – ".join(dict.fromkeys(word for word in column if word)) for column in columns]


def pipe_table(table: TableText) -> str:
    """Return the table in Markdown; without a head its names are empty."""
    width = max((len(row) for row in (*table.head, *table.body)), default=0)
    head = flat_head(table.head) or [""] * width
    lines = [_line(head), "|" + " --- |" * len(head)]
    return "\n".join([*lines, *(_line(row) for row in table.body)])


def _line(row: Row) -> str:
    cells = (one_line(cell).replace("|", "\\|") for cell in row)
    return "|" + "".join(f" {cell} |" if cell else "  |" for cell in cells)
