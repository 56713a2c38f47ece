"""Tables from a ruled grid and the words in it, completed where rulings are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.columns import Interval, find_columns
from pincite.ingest.formats.pdf_tables.geometry import Cell, Rule, SpannedTable, make_table, overlap
from pincite.ingest.formats.pdf_tables.grid import Grid, regions
from pincite.ingest.formats.pdf_tables.header import count_header_rows, is_caption
from pincite.ingest.formats.pdf_tables.rows import Placed, group_rows, place
from pincite.ingest.formats.pdf_tables.textlines import (
    Line,
    cell_text,
    is_marker,
    is_number,
    text_lines,
)

MIN_FILLED = 0.3  # of all places: below, the lines are a chart's or a form's
NOTE_LENGTH = 60  # characters over the whole width under the last row
MANY_ROWS = 6
MIN_PLACE = 8.0  # points: narrower rows and columns are borders
MAX_ON_LINE = 0.3  # of the words: labels that span rows do so too
MAX_CROSSING = 0.12  # of the words: those that run over a drawn line


def ruled_table(
    grid: Grid, words: Sequence[Word], rules: Sequence[Rule]
) -> SpannedTable | None:
    """The table of a grid, or None when its lines do not hold one."""
    inside = words_inside(grid, words)
    if len(grid.xs) < 3:  # a frame without columns says no more than its horizontal lines
        return None
    if len(inside) < 4 or _crossing(grid, inside) > MAX_CROSSING * len(inside):
        return None
    if _on_line(grid, rules, inside) > MAX_ON_LINE * len(inside):
        return None
    if _is_mostly_empty(grid, inside):
        return None
    grid = with_text_columns(grid, inside)
    grid = with_text_rows(grid, inside)
    cells = trimmed(compact(list(_cells(grid, inside))))
    if not _is_table(cells):
        return None
    return make_table(grid.box, cells, count_header_rows(cells))


def words_inside(grid: Grid, words: Sequence[Word]) -> list[Word]:
    """The words whose middle lies in the grid."""
    x0, y0, x1, y1 = grid.box
    return [
        word
        for word in words
        if x0 - 2 <= (word.x0 + word.x1) / 2 <= x1 + 2 and y0 <= (word.y0 + word.y1) / 2 <= y1
    ]


def _crossing(grid: Grid, words: Sequence[Word]) -> int:
    """How many words run over a vertical line."""
    count = 0
    for word in words:
        middle = (word.y0 + word.y1) / 2
        slack = 0.2 * (word.x1 - word.x0)
        count += any(
            word.x0 + slack < rule.at < word.x1 - slack and rule.start < middle < rule.end
            for rule in grid.vertical
        )
    return count


def _on_line(grid: Grid, rules: Sequence[Rule], words: Sequence[Word]) -> int:
    """How many words stand at the height of a horizontal line, as the scale of a chart does."""
    x0, y0, x1, y1 = grid.box
    heights = [
        rule.at for rule in rules if y0 < rule.at < y1 and overlap(rule.start, rule.end, x0, x1) > 0
    ]
    return sum(
        any(abs((word.y0 + word.y1) / 2 - at) < 0.2 * word.size for at in heights) for word in words
    )


def _is_mostly_empty(grid: Grid, words: Sequence[Word]) -> bool:
    """Whether text is missing in half of the rows or columns, as between a chart's lines."""
    for edges, middles in (
        (grid.ys, [(word.y0 + word.y1) / 2 for word in words]),
        (grid.xs, [(word.x0 + word.x1) / 2 for word in words]),
    ):
        used = {_band(edges, middle) for middle in middles}
        tall = [n for n in range(len(edges) - 1) if edges[n + 1] - edges[n] > MIN_PLACE]
        if len(used & set(tall)) < 0.55 * len(tall):
            return True
    return False


def _band(edges: Sequence[float], value: float) -> int:
    """The number of the interval that holds a value, the nearest at the ends."""
    for number in range(len(edges) - 2):
        if value < edges[number + 1]:
            return number
    return len(edges) - 2


def with_text_rows(grid: Grid, words: Sequence[Word]) -> Grid:
    """The grid with rows added where a ruled band holds several lines of figures."""
    added: list[float] = []
    intervals = list(zip(grid.xs, grid.xs[1:], strict=False))
    bands: dict[int, list[Word]] = {}
    for word in words:
        bands.setdefault(_band(grid.ys, (word.y0 + word.y1) / 2), []).append(word)
    for held in bands.values():
        lines = [place(line, intervals) for line in text_lines(held)]
        if len(lines) >= 2 and _are_rows(lines):
            groups = group_rows(lines, ())
            added.extend(
                (a[-1].line.y1 + b[0].line.y0) / 2 for a, b in zip(groups, groups[1:], strict=False)
            )
        else:
            added.extend(_white_breaks(lines))
    if not added:
        return grid
    drawn = [Rule(at, grid.xs[0], grid.xs[-1]) for at in added]
    ys = sorted([*grid.ys, *added])
    return Grid(grid.xs, ys, [*grid.horizontal, *drawn], grid.vertical)


def _white_breaks(lines: Sequence[Placed]) -> Iterator[float]:
    """The y of white gaps under which another label begins beside new text."""
    is_labelled = False
    for above, below in zip(lines, lines[1:], strict=False):
        is_labelled = is_labelled or 0 in above.places
        white = below.line.y0 - above.line.y1
        if is_labelled and white > 0.5 * below.line.size and 0 in below.places and len(below.places) > 1:
            yield below.line.y0 - white / 2


def _are_rows(lines: Sequence[Placed]) -> bool:
    """Whether the lines are rows of their own: figures beside labels, else labels alone."""
    figures = sum(placed.has_figures and len(placed.places) > 1 for placed in lines)
    labels = sum(placed.places == {0} for placed in lines)
    return figures >= 2 and figures >= 0.4 * len(lines) and figures + labels >= 0.75 * len(lines)


def with_text_columns(grid: Grid, words: Sequence[Word]) -> Grid:
    """The grid with columns added where a ruled column holds several columns of text."""
    vertical, xs = list(grid.vertical), list(grid.xs)
    for left, right in zip(grid.xs, grid.xs[1:], strict=False):
        held = [word for word in words if left <= (word.x0 + word.x1) / 2 < right]
        lines = text_lines(held)
        if sum(line.is_tabular for line in lines) < max(2, 0.5 * len(lines)):
            continue
        columns = find_columns(lines)
        if any(_is_markers(lines, column) for column in columns):
            continue
        for (_, end), (start, _) in zip(columns, columns[1:], strict=False):
            at = (end + start) / 2
            xs.append(at)
            vertical.extend(_free_bands(grid, lines, at))
    return Grid(sorted(xs), grid.ys, grid.horizontal, vertical)


def _is_markers(lines: Sequence[Line], column: Interval) -> bool:
    """Whether a column holds little but bullets and numbers of lists."""
    inside = [
        word.text
        for line in lines
        for word in line.words
        if column[0] <= (word.x0 + word.x1) / 2 <= column[1]
    ]
    return sum(map(is_marker, inside)) > 0.5 * len(inside)


def _free_bands(grid: Grid, lines: Sequence[Line], at: float) -> Iterator[Rule]:
    """A line at `at` through every row in which no text stands in its way."""
    for top, bottom in zip(grid.ys, grid.ys[1:], strict=False):
        here = [line for line in lines if top <= line.middle < bottom]
        crossed = any(s.x0 < at < s.x1 for line in here for s in line.segments)
        if not crossed and any(line.is_tabular for line in here):
            yield Rule(at, top, bottom)


def _cells(grid: Grid, words: Sequence[Word]) -> Iterator[Cell]:
    held: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        place = (
            _band(grid.ys, (word.y0 + word.y1) / 2),
            _band(grid.xs, (word.x0 + word.x1) / 2),
        )
        held.setdefault(place, []).append(word)
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


def _is_table(cells: Sequence[Cell]) -> bool:
    if not cells:
        return False
    rows = max(cell.row for cell in cells) + 1
    columns = max(cell.column for cell in cells) + 1
    if rows < 2 or columns < 2:
        return False
    filled = sum(cell.rows * cell.columns for cell in cells)
    if filled < MIN_FILLED * rows * columns:
        return False
    lengths = sorted(len(cell.text) for cell in cells)
    has_figures = any(is_number(cell.text) for cell in cells)
    return rows * columns > 4 or has_figures or lengths[-1] < 80
