"""Tables from a ruled grid and the words in it, completed where rulings are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.chart import has_scale
from pincite.ingest.formats.pdf_tables.complete import (
    with_text_columns,
    with_text_rows,
    without_strips,
)
from pincite.ingest.formats.pdf_tables.geometry import (
    Cell,
    Rule,
    SpannedTable,
    band,
    make_table,
)
from pincite.ingest.formats.pdf_tables.grid import Grid, regions
from pincite.ingest.formats.pdf_tables.header import count_header_rows, is_caption
from pincite.ingest.formats.pdf_tables.textlines import (
    cell_text,
    is_number,
    text_lines,
    without_leaders,
)

MIN_FILLED = 0.3  # of all places: below, the lines are a chart's or a form's
NOTE_LENGTH = 60  # characters over the whole width under the last row
MANY_ROWS = 6
MIN_PLACE = 8.0  # points: narrower rows and columns are borders
MAX_CROSSING = 0.12  # of the words: those that run over a drawn line


def ruled_table(grid: Grid, words: Sequence[Word], rules: Sequence[Rule]) -> SpannedTable | None:
    """The table of a grid, or None when its lines do not hold one."""
    if len(grid.xs) < 3:  # a frame without columns says no more than its horizontal lines
        return None
    inside = without_leaders(words_inside(grid, words))
    if len(inside) < 4 or _crossing(grid, inside) > MAX_CROSSING * len(inside):
        return None
    if has_scale(inside, rules) or _is_mostly_empty(grid, inside):
        return None
    grid = with_text_columns(without_strips(grid, inside), inside)
    grid = with_text_rows(grid, inside)
    found = list(_cells(grid, inside))
    cells = trimmed(compact(found))
    if _is_sparse(grid, found) or not cells:
        return None
    height, width = max(cell.row for cell in cells) + 1, max(cell.column for cell in cells) + 1
    is_small = height * width <= 4 and not any(is_number(cell.text) for cell in cells)
    if min(height, width) < 2 or (is_small and max(len(cell.text) for cell in cells) >= 80):
        return None
    table = make_table(grid.box, cells, count_header_rows(cells))
    return replace(table, columns=tuple(pairwise(grid.xs)))


def words_inside(grid: Grid, words: Sequence[Word]) -> list[Word]:
    """The words whose middle lies in the grid."""
    x0, y0, x1, y1 = grid.box
    return [
        word for word in words if x0 - 2 <= word.middle[0] <= x1 + 2 and y0 <= word.middle[1] <= y1
    ]


def _crossing(grid: Grid, words: Sequence[Word]) -> int:
    """How many words run over a vertical line."""
    count = 0
    for word in words:
        slack, y = 0.2 * (word.x1 - word.x0), word.middle[1]
        left, right = word.x0 + slack, word.x1 - slack
        count += any(left < r.at < right and r.start < y < r.end for r in grid.vertical)
    return count


def _is_mostly_empty(grid: Grid, words: Sequence[Word]) -> bool:
    """Whether text is missing in half of the rows or columns, as between a chart's lines."""
    for axis, edges in enumerate((grid.xs, grid.ys)):
        used = {band(edges, word.middle[axis]) for word in words}
        tall = [n for n in range(len(edges) - 1) if edges[n + 1] - edges[n] > MIN_PLACE]
        if len(used & set(tall)) < 0.55 * len(tall):
            return True
    return False


def _cells(grid: Grid, words: Sequence[Word]) -> Iterator[Cell]:
    held: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        x, y = word.middle
        held.setdefault((band(grid.ys, y), band(grid.xs, x)), []).append(word)
    for row, column, rows, columns in _split_tall(regions(grid), held):
        parts = [
            (c, [w for r in range(row, row + rows) for w in held.get((r, c), ())])
            for c in range(column, column + columns)
        ]
        if columns > 1 and _falls_apart(parts):
            yield from (Cell(row, c, cell_text(part), rows) for c, part in parts)
        else:
            together = [word for _, part in parts for word in part]
            yield Cell(row, column, cell_text(together), rows, columns)


def _split_tall(
    cells: Sequence[tuple[int, int, int, int]], held: Mapping[tuple[int, int], list[Word]]
) -> Iterator[tuple[int, int, int, int]]:
    """Cells with those cut into rows that reach over many rows and have text in most of them."""
    for row, column, rows, columns in cells:
        used = [r for r in range(row, row + rows) if (r, column) in held]
        if columns == 1 and rows >= MANY_ROWS and len(used) >= 0.7 * rows:
            yield from ((r, column, 1, 1) for r in range(row, row + rows))
        else:
            yield row, column, rows, columns


def _falls_apart(parts: Sequence[tuple[int, list[Word]]]) -> bool:
    """Whether the text of a wide cell stands in columns of its own: a line was left out."""
    together = [word for _, part in parts for word in part]
    home = {id(word): column for column, part in parts for word in part}
    segments = [segment for line in text_lines(together) for segment in line.segments]
    columns = [{home[id(word)] for word in segment.words} for segment in segments]
    return all(len(c) == 1 for c in columns) and len(set().union(*columns)) >= 2


def compact(cells: Sequence[Cell]) -> list[Cell]:
    """Cells without the rows and columns in which no text begins."""
    texts = [cell for cell in cells if cell.text]
    rows = sorted({cell.row for cell in texts})
    columns = sorted({cell.column for cell in texts})
    return [
        Cell(
            rows.index(cell.row),
            columns.index(cell.column),
            cell.text,
            max(1, sum(cell.row <= row < cell.row + cell.rows for row in rows)),
            max(1, sum(cell.column <= c < cell.column + cell.columns for c in columns)),
        )
        for cell in texts
    ]


def trimmed(cells: list[Cell]) -> list[Cell]:
    """Cells without a caption above and notes below that stand in the same frame."""
    width = max((cell.column + cell.columns for cell in cells), default=0)
    while width > 1 and cells:
        first, last = cells[0], cells[-1]
        if first.columns == width and is_caption(first.text):
            cells = [replace(cell, row=cell.row - first.rows) for cell in cells[1:]]
        elif last.columns == width and len(last.text) > NOTE_LENGTH:
            cells = cells[:-1]
        else:
            break
    return cells


def _is_sparse(grid: Grid, cells: Sequence[Cell]) -> bool:
    """Whether few of the cells that could hold text do: the lines are a chart's or a form's."""
    roomy = [
        cell
        for cell in cells
        if grid.xs[cell.column + cell.columns] - grid.xs[cell.column] > MIN_PLACE
        and grid.ys[cell.row + cell.rows] - grid.ys[cell.row] > MIN_PLACE
    ]
    return sum(bool(cell.text) for cell in roomy) < MIN_FILLED * len(roomy)
