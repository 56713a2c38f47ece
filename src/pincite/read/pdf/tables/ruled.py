"""Tables with rules: grids, headers, rows that the rules leave out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from pincite.model.locators import FIGURE_WORD, TABLE_WORD
from pincite.read.pdf.page import Word
from pincite.read.pdf.tables.columns import Placed, find_columns, group_rows, place
from pincite.read.pdf.tables.geometry import (
    Box,
    CellBox,
    Rule,
    Rulings,
    SpannedTable,
    TableLine,
    band,
    bounds,
    cell_text,
    cluster,
    has_scale,
    is_marker,
    is_number,
    is_year,
    make_table,
    overlap,
    text_lines,
    without_leaders,
)

TOUCH = 3.0  # lines end this near each other and still meet
DOUBLE = 4.0  # double lines this near are one boundary: no text fits between
MAX_RULES = 1500  # each way, the longest: every pair of them is looked at
MAX_PLACES = 20_000  # of one grid: more are the pattern of a drawing
COVERED = 0.6  # share of a cell's side that must be drawn to close it


@dataclass(frozen=True)
class Grid:
    """Boundaries of columns and rows, and the lines drawn along them."""

    xs: Sequence[float]
    ys: Sequence[float]
    horizontal: Sequence[Rule]
    vertical: Sequence[Rule]

    @property
    def box(self) -> Box:
        return (self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.ys) - 1, len(self.xs) - 1

    @cached_property
    def _along_xs(self) -> list[list[Rule]]:
        return [[rule for rule in self.vertical if abs(rule.at - x) <= DOUBLE] for x in self.xs]

    @cached_property
    def _along_ys(self) -> list[list[Rule]]:
        return [[rule for rule in self.horizontal if abs(rule.at - y) <= DOUBLE] for y in self.ys]

    def has_line_right(self, row: int, column: int) -> bool:
        """Whether the right side of a place is drawn."""
        return _covers(self._along_xs[column + 1], self.ys[row], self.ys[row + 1])

    def has_line_below(self, row: int, column: int) -> bool:
        """Whether the lower side of a place is drawn."""
        return _covers(self._along_ys[row + 1], self.xs[column], self.xs[column + 1])


def find_grids(rulings: Rulings) -> Iterator[Grid]:
    """Every group of touching rulings that has at least two lines each way."""
    for horizontal, vertical in _components(rulings):
        xs = cluster((rule.at for rule in vertical), DOUBLE)
        ys = cluster((rule.at for rule in horizontal), DOUBLE)
        if len(ys) >= 2 and len(xs) * len(ys) <= MAX_PLACES:
            yield Grid(
                _with_open_ends(xs, horizontal), _with_open_ends(ys, vertical), horizontal, vertical
            )


def _with_open_ends(edges: list[float], across: Sequence[Rule]) -> list[float]:
    """Boundaries, with the ends of the lines across them where no line closes the table."""
    start = min(rule.start for rule in across)
    end = max(rule.end for rule in across)
    before = [start] if start < edges[0] - 2 * DOUBLE else []
    after = [end] if end > edges[-1] + 2 * DOUBLE else []
    return before + edges + after


def _components(rulings: Rulings) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Groups of horizontal and vertical lines connected by touching."""
    horizontal, vertical = (
        rules
        if len(rules) <= MAX_RULES
        else sorted(rules, key=lambda r: r.start - r.end)[:MAX_RULES]
        for rules in (rulings.horizontal, rulings.vertical)
    )
    parent = list(range(len(horizontal) + len(vertical)))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for number, flat in enumerate(horizontal):
        for other, upright in enumerate(vertical, len(horizontal)):
            if (
                upright.start - TOUCH <= flat.at <= upright.end + TOUCH
                and flat.start - TOUCH <= upright.at <= flat.end + TOUCH
            ):
                parent[root(number)] = root(other)
    groups: dict[int, tuple[list[Rule], list[Rule]]] = {}
    for number, rule in enumerate([*horizontal, *vertical]):
        is_vertical = number >= len(horizontal)
        groups.setdefault(root(number), ([], []))[is_vertical].append(rule)
    yield from (group for group in groups.values() if group[0] and group[1])


def _covers(rules: Sequence[Rule], start: float, end: float) -> bool:
    drawn = sum(max(0.0, overlap(rule.start, rule.end, start, end)) for rule in rules)
    return drawn >= COVERED * (end - start)


def regions(grid: Grid) -> list[tuple[int, int, int, int]]:
    """Cells as (row, column, rows, columns): places joined where no line is drawn between.

    A joined region that is not a rectangle falls apart into its places.
    """
    rows, columns = grid.shape
    label = [[-1] * columns for _ in range(rows)]
    found: list[list[tuple[int, int]]] = []
    for row in range(rows):
        for column in range(columns):
            if label[row][column] < 0:
                found.append(_flood(grid, row, column, label, len(found)))
    return [cell for places in found for cell in _rectangles(places)]


def _flood(
    grid: Grid, row: int, column: int, label: list[list[int]], mark: int
) -> list[tuple[int, int]]:
    """The places reached from one without crossing a line."""
    label[row][column] = mark
    stack, reached = [(row, column)], []
    while stack:
        here = stack.pop()
        reached.append(here)
        for there in _open_neighbours(grid, *here):
            if label[there[0]][there[1]] < 0:
                label[there[0]][there[1]] = mark
                stack.append(there)
    return reached


def _open_neighbours(grid: Grid, row: int, column: int) -> Iterator[tuple[int, int]]:
    rows, columns = grid.shape
    if column + 1 < columns and not grid.has_line_right(row, column):
        yield row, column + 1
    if column > 0 and not grid.has_line_right(row, column - 1):
        yield row, column - 1
    if row + 1 < rows and not grid.has_line_below(row, column):
        yield row + 1, column
    if row > 0 and not grid.has_line_below(row - 1, column):
        yield row - 1, column


def _rectangles(places: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    top, left = min(row for row, _ in places), min(column for _, column in places)
    height = max(row for row, _ in places) - top + 1
    width = max(column for _, column in places) - left + 1
    if height * width == len(places):
        return [(top, left, height, width)]
    return [(row, column, 1, 1) for row, column in sorted(places)]


_CAPTION = re.compile(
    rf"(?:{TABLE_WORD}|{FIGURE_WORD}|exhibit|chart)\s*+[:.]?\s*+[A-Z]?[\d.-]+", re.I
)


def is_caption(text: str) -> bool:
    """Whether a text begins like the caption of a table."""
    return bool(_CAPTION.match(text))


def count_header_rows(cells: Sequence[CellBox]) -> int:
    """Rows before the first one with figures or a heading of rows; one when there are none.

    Years are no figures here: they head columns.

    >>> count_header_rows([CellBox(0, 1, "1996"), CellBox(1, 0, "Austria"), CellBox(1, 1, "27.5")])
    1
    """
    height = max(cell.row + cell.rows for cell in cells)
    for row in range(height):
        beside = [cell for cell in cells if cell.row == row and cell.column > 0]
        figures = [cell for cell in beside if is_number(cell.text) and not is_year(cell.text)]
        is_heading = row > 0 and not beside and any(cell.row == row for cell in cells)
        if is_heading or (figures and 3 * len(figures) >= len(beside)):
            return row
    return 1


STRIP = 7.0  # points


def without_strips(grid: Grid, words: Sequence[Word]) -> Grid:
    """The grid without narrow empty strips, as between a border and the shading inside it."""
    xs = _wide_apart(grid.xs, grid.vertical, [word.middle[0] for word in words])
    ys = _wide_apart(grid.ys, grid.horizontal, [word.middle[1] for word in words])
    return Grid(xs, ys, grid.horizontal, grid.vertical)


def _wide_apart(
    edges: Sequence[float], rules: Sequence[Rule], middles: Sequence[float]
) -> list[float]:
    """Edges, of two with an empty strip between them only the one drawn longer."""

    def drawn(at: float) -> float:
        return sum(rule.end - rule.start for rule in rules if abs(rule.at - at) < 2)

    kept: list[float] = []
    for edge in edges:
        if kept and edge - kept[-1] < STRIP and not any(kept[-1] < m < edge for m in middles):
            kept[-1] = max(kept[-1], edge, key=drawn)
        else:
            kept.append(edge)
    return kept


def with_text_rows(grid: Grid, words: Sequence[Word]) -> Grid:
    """The grid with rows added where a ruled band holds several lines of figures."""
    added: list[float] = []
    intervals = list(zip(grid.xs, grid.xs[1:], strict=False))
    bands: dict[int, list[Word]] = {}
    for word in words:
        bands.setdefault(band(grid.ys, word.middle[1]), []).append(word)
    for held in bands.values():
        lines = [place(line, intervals) for line in text_lines(held)]
        figures = sum(placed.has_figures and len(placed.places) > 1 for placed in lines)
        labels = sum(placed.places == {0} for placed in lines)
        # Rows of their own are figures beside labels, else labels alone.
        if figures >= max(2, 0.4 * len(lines)) and figures + labels >= 0.75 * len(lines):
            groups = group_rows(lines, ())
            added.extend((a[-1].line.y1 + b[0].line.y0) / 2 for a, b in pairwise(groups))
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
    for above, below in pairwise(lines):
        is_labelled = is_labelled or 0 in above.places
        white = below.line.y0 - above.line.y1
        if (
            is_labelled
            and white > 0.5 * below.line.size
            and 0 in below.places
            and len(below.places) > 1
        ):
            yield below.line.y0 - white / 2


def with_text_columns(grid: Grid, words: Sequence[Word]) -> Grid:
    """The grid with columns added where a ruled column holds several columns of text."""
    vertical, xs = list(grid.vertical), list(grid.xs)
    for left, right in zip(grid.xs, grid.xs[1:], strict=False):
        lines = text_lines(word for word in words if left <= word.middle[0] < right)
        if sum(line.is_tabular for line in lines) < max(2, 0.5 * len(lines)):
            continue
        columns = find_columns(lines)
        if any(_is_markers(lines, *column) for column in columns):
            continue
        for (_, end), (start, _) in pairwise(columns):
            at = (end + start) / 2
            xs.append(at)
            vertical.extend(_free_bands(grid, lines, at))
    return Grid(sorted(xs), grid.ys, grid.horizontal, vertical)


def _is_markers(lines: Sequence[TableLine], left: float, right: float) -> bool:
    """Whether a column holds little but bullets and numbers of lists."""
    words = (word for line in lines for word in line.words)
    inside = [word.text for word in words if left <= word.middle[0] <= right]
    return sum(map(is_marker, inside)) > 0.5 * len(inside)


def _free_bands(grid: Grid, lines: Sequence[TableLine], at: float) -> Iterator[Rule]:
    """A line at `at` through every row in which no text stands in its way."""
    for top, bottom in zip(grid.ys, grid.ys[1:], strict=False):
        here = [line for line in lines if top <= line.middle < bottom]
        crossed = any(s.x0 < at < s.x1 for line in here for s in line.segments)
        if not crossed and any(line.is_tabular for line in here):
            yield Rule(at, top, bottom)


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


def _cells(grid: Grid, words: Sequence[Word]) -> Iterator[CellBox]:
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
            yield from (_cell(row, c, part, rows) for c, part in parts)
        else:
            together = [word for _, part in parts for word in part]
            yield _cell(row, column, together, rows, columns)


def _cell(row: int, column: int, words: Sequence[Word], rows: int, columns: int = 1) -> CellBox:
    box = bounds(words) if words else None
    return CellBox(row, column, cell_text(words), rows, columns, box)


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


def compact(cells: Sequence[CellBox]) -> list[CellBox]:
    """Cells without the rows and columns in which no text begins."""
    texts = [cell for cell in cells if cell.text]
    rows = sorted({cell.row for cell in texts})
    columns = sorted({cell.column for cell in texts})
    return [
        CellBox(
            rows.index(cell.row),
            columns.index(cell.column),
            cell.text,
            max(1, sum(cell.row <= row < cell.row + cell.rows for row in rows)),
            max(1, sum(cell.column <= c < cell.column + cell.columns for c in columns)),
            cell.box,
        )
        for cell in texts
    ]


def trimmed(cells: list[CellBox]) -> list[CellBox]:
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


def _is_sparse(grid: Grid, cells: Sequence[CellBox]) -> bool:
    """Whether few of the cells that could hold text do: the lines are a chart's or a form's."""
    roomy = [
        cell
        for cell in cells
        if grid.xs[cell.column + cell.columns] - grid.xs[cell.column] > MIN_PLACE
        and grid.ys[cell.row + cell.rows] - grid.ys[cell.row] > MIN_PLACE
    ]
    return sum(bool(cell.text) for cell in roomy) < MIN_FILLED * len(roomy)
