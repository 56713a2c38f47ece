"""Rows of a table without rulings: lines placed in columns, wrapped ones put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.columns import Interval, refit, touched
from pincite.ingest.formats.pdf_tables.geometry import Rule
from pincite.ingest.formats.pdf_tables.textlines import Line, Segment, is_year

TIGHT = 0.8  # of the usual distance of rows: nearer lines belong together


@dataclass(frozen=True, slots=True)
class Placed:
    """A line with its segments in their columns."""

    line: Line
    parts: Sequence[tuple[Segment, list[int]]]

    @property
    def places(self) -> set[int]:
        return {column for _, hits in self.parts for column in hits}

    @property
    def has_figures(self) -> bool:
        """Whether most of what stands beside the label is a figure, years not counted."""
        beside = [segment for segment, hits in self.parts if hits[0] > 0]
        figures = [s for s in beside if s.is_number and not is_year(s.text)]
        return bool(figures) and 2 * len(figures) >= len(beside)

    @property
    def label(self) -> Segment | None:
        return next((segment for segment, hits in self.parts if hits[0] == 0), None)


def place(line: Line, columns: Sequence[Interval]) -> Placed:
    """A line's segments in the columns they touch, split where a gap runs through.

    A line that is one segment and does not begin with the labels stays whole: it heads the rows
    or columns under it, all of them when it stands in their middle.
    """
    if len(line.segments) == 1 and not line.segments[0].is_number:
        segment = line.segments[0]
        hits = touched(segment, columns)
        if hits != [0]:
            first = 1 if hits[0] > 0 else 0
            return Placed(line, [(segment, _centred(segment, columns, first) or hits)])
    return Placed(line, [part for s in line.segments for part in refit(s, columns)])


def _centred(segment: Segment, columns: Sequence[Interval], first: int) -> list[int]:
    """All columns from `first` on when the segment stands in their middle."""
    middle = (columns[first][0] + columns[-1][1]) / 2
    slack = 0.04 * (columns[-1][1] - columns[0][0])
    return list(range(first, len(columns))) if abs(segment.centre - middle) < slack else []


Row = dict[int, tuple[int, list[Word]]]  # by column: how many it spans, and its words


def body_rows(lines: Sequence[Placed], rules: Sequence[Rule]) -> list[Row]:
    """Rows of words by column from the lines under the head."""
    rows: list[Row] = []
    for group in group_rows(lines, rules):
        row: Row = {}
        for placed in group:
            for segment, hits in placed.parts:
                span = len(hits) if len(placed.parts) == 1 and len(group) == 1 else 1
                row.setdefault(hits[0], (span, []))[1].extend(segment.words)
        rows.append(row)
    return rows


def group_rows(lines: Sequence[Placed], rules: Sequence[Rule]) -> list[list[Placed]]:
    """Lines that make one row each."""
    step = _usual_step(lines)
    groups: list[list[Placed]] = []
    for number, placed in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else None
        if groups and _belongs(placed, groups[-1], following, step=step, rules=rules):
            groups[-1].append(placed)
        else:
            groups.append([placed])
    return groups


def _belongs(
    placed: Placed,
    group: list[Placed],
    following: Placed | None,
    *,
    step: float,
    rules: Sequence[Rule],
) -> bool:
    """Whether a line goes on with the row of the lines above it."""
    before, line, above = group[-1], placed.line, group[-1].line
    distance = line.middle - above.middle
    # Lines that stand half beside each other: figures in the middle of a wrapped label.
    is_beside = distance < 0.75 * min(above.size, line.size)
    if is_beside and not (before.has_figures and placed.has_figures):
        return True
    if any(above.middle < rule.at < line.middle for rule in rules):
        return False
    if len(group) == 1 and _opens(before, placed, step):
        return True
    if following is not None:
        is_nearer_below = distance >= 1.3 * (following.line.middle - line.middle)
        if is_nearer_below or _opens(placed, following, step):
            return False
    return _continues(placed, group, step)


def _usual_step(lines: Sequence[Placed]) -> float:
    """The usual distance between neighbouring lines that both have several cells."""
    steps = [
        b.line.middle - a.line.middle
        for a, b in pairwise(lines)
        if len(a.parts) > 1 and len(b.parts) > 1
    ]
    return median(steps) if steps else 0.0


def _continues(placed: Placed, group: list[Placed], step: float) -> bool:
    """Whether a line goes on with the row above: text only, wrapped under text."""
    if any(segment.is_number for segment, _ in placed.parts):
        return False
    before = group[-1]
    filled = set().union(*(one.places for one in group))
    if not placed.places <= filled:
        return False
    distance = placed.line.middle - before.line.middle
    if 0 not in placed.places:
        return distance <= 1.1 * step if step else True
    if len(placed.places) > 1:
        return distance < TIGHT * step
    return _is_wrapped(placed, before) or (len(filled) > 1 and distance < TIGHT * step)


def _is_wrapped(placed: Placed, before: Placed) -> bool:
    """Whether a label alone on its line is the rest of the label above."""
    label, above = placed.label, before.label
    if label is None or above is None:
        return False
    starts_small = label.text[:1].islower()
    return starts_small or above.text.endswith((",", "-", " of", " and", " the", " for", " to"))


def _opens(placed: Placed, following: Placed, step: float) -> bool:
    """Whether a label alone on its line goes on in the next line, which has the figures."""
    if placed.places != {0} or not following.has_figures:
        return False
    label, rest = placed.label, following.label
    if label is None or rest is None or label.text.endswith(":"):
        return False
    if following.line.middle - placed.line.middle > 1.15 * step > 0:
        return False
    return rest.text[:1].islower() or label.text.endswith((",", " of", " and", " the", " for"))
