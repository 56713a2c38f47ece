"""Ruled tables: rulings that touch form a grid, and missing rulings make cells that span."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pincite.ingest.formats.pdf_tables.geometry import Box, Rule, Rulings, cluster, overlap

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
