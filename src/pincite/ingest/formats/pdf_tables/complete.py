"""Rows and columns of a ruled grid that were left undrawn: the text shows where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.columns import find_columns
from pincite.ingest.formats.pdf_tables.geometry import Rule, band
from pincite.ingest.formats.pdf_tables.grid import Grid
from pincite.ingest.formats.pdf_tables.rows import Placed, group_rows, place
from pincite.ingest.formats.pdf_tables.textlines import Line, is_marker, text_lines

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


def _is_markers(lines: Sequence[Line], left: float, right: float) -> bool:
    """Whether a column holds little but bullets and numbers of lists."""
    words = (word for line in lines for word in line.words)
    inside = [word.text for word in words if left <= word.middle[0] <= right]
    return sum(map(is_marker, inside)) > 0.5 * len(inside)


def _free_bands(grid: Grid, lines: Sequence[Line], at: float) -> Iterator[Rule]:
    """A line at `at` through every row in which no text stands in its way."""
    for top, bottom in zip(grid.ys, grid.ys[1:], strict=False):
        here = [line for line in lines if top <= line.middle < bottom]
        crossed = any(s.x0 < at < s.x1 for line in here for s in line.segments)
        if not crossed and any(line.is_tabular for line in here):
            yield Rule(at, top, bottom)
