"""Columns and rows of tables without rules, from the places of their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import median

import numpy as np

from pincite.read.pdf.page import Word
from pincite.read.pdf.tables.geometry import (
    CellBox,
    LineSegment,
    Rule,
    TableLine,
    bounds,
    cell_text,
    figures_beside,
    is_number,
    is_year,
    overlap,
    text_lines,
)

Interval = tuple[float, float]

STEP = 0.5  # resolution of the projection, points
MIN_GAP = 0.3  # of the font size: narrower white is chance
FLUSH = 2.0  # points from a column's edge or middle
WIDE_SPACE = 0.5  # of the font size
MIN_CROWDED = 0.3  # of a column's lines: with two segments in it, the column is two
BRIDGES = 12  # one line in so many may cross a gap: a heading or a long label


def find_columns(lines: Sequence[TableLine]) -> list[Interval]:
    """Intervals of x that hold the columns of these lines, left to right.

    Lines with figures decide where there are enough of them: heads and notes run over gaps.
    """
    data = data_lines(lines)
    if not data:
        return []
    size = sorted(line.size for line in data)[len(data) // 2]
    found: list[Interval] = []
    for column in _project([line.segments for line in data], size):
        left, right = column
        inside = [[s for s in line.segments if left <= s.centre <= right] for line in data]
        crowded = [segments for segments in inside if len(segments) > 1]
        is_double = len(crowded) >= max(3, MIN_CROWDED * sum(map(bool, inside)))
        found.extend(_project(crowded, size) if is_double else [column])
    return found


def _project(lines: Sequence[Sequence[LineSegment]], size: float) -> list[Interval]:
    """The intervals of x that segments cover in more lines than may cross a gap."""
    left = min(segment.x0 for line in lines for segment in line)
    right = max(segment.x1 for line in lines for segment in line)
    cover = np.zeros(int((right - left) / STEP) + 2, dtype=np.int32)
    for segment in chain.from_iterable(lines):
        start, end = int((segment.x0 - left) / STEP), int((segment.x1 - left) / STEP)
        cover[max(start, 0) : end + 1] += 1
    gap = MIN_GAP * size / STEP
    found: list[tuple[int, int]] = []
    for start, end in _runs(cover > 0):
        inner = _wide_apart(_runs(cover[start:end] > len(lines) // BRIDGES), gap)
        found += [(start + a, start + b) for a, b in inner] if len(inner) > 1 else [(start, end)]
    return [(left + a * STEP, left + b * STEP) for a, b in _wide_apart(found, gap)]


def data_lines(lines: Sequence[TableLine]) -> list[TableLine]:
    """The lines that show the columns: those with figures, or all tabular ones."""
    tabular = [line for line in lines if line.is_tabular]
    figures = [line for line in tabular if figures_beside(line)]
    return figures if len(figures) >= max(2, 0.4 * len(tabular)) else tabular


def _runs(mask: np.ndarray) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _wide_apart(runs: Iterable[tuple[int, int]], gap: float) -> list[tuple[int, int]]:
    """Runs with those joined that stand nearer than `gap`."""
    found: list[tuple[int, int]] = []
    for start, end in runs:
        if found and start - found[-1][1] < gap:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def touched(segment: LineSegment, columns: Sequence[Interval]) -> list[int]:
    """Numbers of the columns a segment stands in; the nearest one if it stands between."""
    hits = []
    for number, (start, end) in enumerate(columns):
        common = overlap(segment.x0, segment.x1, start, end)
        if common > 0.25 * min(end - start, segment.x1 - segment.x0) or common > 12.0:
            hits.append(number)
    if hits:
        return list(range(hits[0], hits[-1] + 1))
    return [min(range(len(columns)), key=lambda n: abs(sum(columns[n]) / 2 - segment.centre))]


def refit(segment: LineSegment, columns: Sequence[Interval]) -> list[tuple[LineSegment, list[int]]]:
    """A segment's parts by column: split where a gap between columns falls between its words.

    Words with an ordinary space between them stay together unless figures begin there: a head
    over two columns must not fall apart.
    """
    hits = touched(segment, columns)
    if len(hits) == 1 or len(segment.words) == 1:
        return [(segment, hits)]
    parts: list[tuple[LineSegment, list[int]]] = []
    are_apart = True
    for word in segment.words:
        alone = LineSegment((word,))
        where = touched(alone, columns)
        if parts and parts[-1][1] == where:
            parts[-1] = (LineSegment((*parts[-1][0].words, word)), where)
        else:
            if parts and not is_number(word.text):
                gap = word.x0 - parts[-1][0].words[-1].x1
                are_apart = are_apart and gap / max(word.size, 1.0) > WIDE_SPACE
            parts.append((alone, where))
    if any(len(where) > 1 for _, where in parts):
        return [(segment, hits)]
    edges = ((part.x0 - columns[n][0], part.x1 - columns[n][1]) for part, (n,) in parts)
    is_flush = len(parts) > 2 and all(min(abs(a), abs(b), abs(a + b) / 2) < FLUSH for a, b in edges)
    return parts if are_apart or is_flush else [(segment, hits)]


GUTTER_STEP = 4.0  # points between the places tried
HALF = 3.0  # half of the narrowest gutter
MIN_HEIGHT = 45.0  # points
MAX_TRIES = 40
MIN_LINES = 7  # of prose on both sides
LONG = 15  # lines of prose on one side, whatever stands on the other
MIN_WORDS = 5  # in the middle one of these lines
MIN_FULL = 0.7  # of the column's width, the middle line
MAX_FIGURES = 0.2  # of the words
MAX_RIGHT = 0.6  # of the words on the right: more figures are the columns of labels, not of prose
IN_STEP = 2.0  # points between the middles of lines that stand beside each other
MAX_BESIDE = 0.5  # of the lines: those of two tables beside each other agree by chance only
MAX_GAPPED = 0.25  # of the lines: those with a wide gap inside


def split_columns(words: Sequence[Word], depth: int = 2) -> list[list[Word]]:
    """Groups of words: each prose column alone, and what runs across or stands apart."""
    found = _best_cut(words) if depth and len(words) > 60 else None
    if found is None:
        return [list(words)]
    at, top, bottom = found
    rest: list[Word] = []
    sides: tuple[list[Word], list[Word]] = ([], [])
    for word in words:
        if top <= word.middle[1] <= bottom:
            sides[word.x1 > at].append(word)
        else:
            rest.append(word)
    parts = [split_columns(rest, depth), *(split_columns(side, depth - 1) for side in sides)]
    return [group for part in parts for group in part if group]


def _best_cut(words: Sequence[Word]) -> tuple[float, float, float] | None:
    """The place and the height of the longest white gutter between two columns of prose."""
    x0, x1 = np.array([w.x0 for w in words]), np.array([w.x1 for w in words])
    middles = np.array([w.middle[1] for w in words])
    left, right = float(x0.min()), float(x1.max())
    places = np.arange(left + 0.15 * (right - left), right - 0.15 * (right - left), GUTTER_STEP)
    crossing = (x0[None, :] < places[:, None] + HALF) & (x1[None, :] > places[:, None] - HALF)
    cuts: dict[tuple[float, float], tuple[float, float, float]] = {}
    for number, at in enumerate(places.tolist()):
        crossed = np.sort(middles[crossing[number]])
        edges = np.concatenate(([middles.min() - 2], crossed, [middles.max() + 2]))
        for n in np.flatnonzero(np.diff(edges) > MIN_HEIGHT):
            top, bottom = float(edges[n]) + 1, float(edges[n + 1]) - 1
            cuts.setdefault((top, bottom), (at, top, bottom))
    longest = sorted(cuts.values(), key=lambda cut: cut[1] - cut[2])
    return next((cut for cut in longest[:MAX_TRIES] if _parts_prose(words, *cut)), None)


def _parts_prose(words: Sequence[Word], at: float, top: float, bottom: float) -> bool:
    held = [word for word in words if top <= word.middle[1] <= bottom]
    left, right = [w for w in held if w.x1 <= at], [w for w in held if w.x1 > at]
    if min(len(left), len(right)) < 20:
        return False
    if sum(is_number(word.text) for word in right) > MAX_RIGHT * len(right):
        return False
    if (is_prose(left) and is_prose(right)) or _are_out_of_step(left, right):
        return True
    return is_prose(left, lines=LONG) or is_prose(right, lines=LONG)


def _are_out_of_step(left: Sequence[Word], right: Sequence[Word]) -> bool:
    """Whether few lines on one side have one beside them: two tables, or a table beside prose."""
    lines = [[line.middle for line in text_lines(side)] for side in (left, right)]
    beside = sum(any(abs(a - b) < IN_STEP for b in lines[1]) for a in lines[0])
    return min(map(len, lines)) >= MIN_LINES and beside < MAX_BESIDE * min(map(len, lines))


def is_prose(words: Sequence[Word], lines: int = MIN_LINES) -> bool:
    """Whether words are at least so many full lines of running text."""
    found = text_lines(words)
    if len(found) < lines:
        return False
    width = max(line.x1 for line in found) - min(line.x0 for line in found)
    figures = sum(is_number(word.text) for word in words) / len(words)
    gapped = sum(line.is_tabular for line in found)
    full = median(line.x1 - line.x0 for line in found)
    return (
        median(len(line.words) for line in found) >= MIN_WORDS
        and full >= MIN_FULL * width
        and figures <= MAX_FIGURES
        and gapped <= MAX_GAPPED * len(found)
    )


TIGHT = 0.8  # of the usual distance of rows: nearer lines belong together


@dataclass(frozen=True, slots=True)
class Placed:
    """A line with its segments in their columns."""

    line: TableLine
    parts: Sequence[tuple[LineSegment, list[int]]]

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
    def has_years(self) -> bool:
        """Whether all that stands beside the label are years, two or more."""
        beside = [segment.text for segment, hits in self.parts if hits[0] > 0]
        return len(beside) > 1 and all(map(is_year, beside))

    @property
    def label(self) -> LineSegment | None:
        return next((segment for segment, hits in self.parts if hits[0] == 0), None)


def place(line: TableLine, columns: Sequence[Interval]) -> Placed:
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


def _centred(segment: LineSegment, columns: Sequence[Interval], first: int) -> list[int]:
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
    is_close = distance <= 1.15 * max(step, line.size)
    if before.places == {0} and placed.has_figures and 0 not in placed.places and is_close:
        return True  # figures at the foot of a cell, its label at the top
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


Spans = list[tuple[LineSegment, list[int]]]

CENTRAL = 4.0  # points from the middle


def centred(spans: Spans, below: Sequence[Placed], columns: Sequence[Interval]) -> Spans:
    """Parts of a head line widened to the free columns beside them whose middle they mark.

    Only columns with heads of their own further down are taken in, and only when the part does
    not stand in the middle of the columns it touches already.
    """
    taken = {column for _, hits in spans for column in hits}
    headed = {column for placed in below for column in placed.places}
    extents = _extents(below, columns)
    return [(segment, _widest(segment, hits, taken, headed, extents)) for segment, hits in spans]


def _extents(below: Sequence[Placed], columns: Sequence[Interval]) -> list[Interval]:
    """How far each column reaches, the heads further down included."""
    found = list(columns)
    for placed in below:
        for segment, hits in placed.parts:
            if len(hits) == 1:
                start, end = found[hits[0]]
                found[hits[0]] = (min(start, segment.x0), max(end, segment.x1))
    return found


def _widest(
    segment: LineSegment,
    hits: list[int],
    taken: set[int],
    headed: set[int],
    extents: Sequence[Interval],
) -> list[int]:
    """The columns around `hits` in whose middle the segment stands; `hits` when none fit better."""
    if hits[0] == 0 or _off_middle(segment, hits[0], hits[-1], extents) <= CENTRAL:
        return hits
    low, high = hits[0], hits[-1]
    while low - 1 > 0 and low - 1 in headed - taken:
        low -= 1
    while high + 1 < len(extents) and high + 1 in headed - taken:
        high += 1
    choices = [
        (_off_middle(segment, first, last, extents), first, last)
        for first in range(low, hits[0] + 1)
        for last in range(hits[-1], high + 1)
        if last > first and set(range(first, last + 1)) <= headed
    ]
    best = min(choices, default=None)
    if best is None or best[0] > CENTRAL:
        return hits
    return list(range(best[1], best[2] + 1))


def _off_middle(segment: LineSegment, first: int, last: int, extents: Sequence[Interval]) -> float:
    middle = (extents[first][0] + extents[last][1]) / 2
    return abs(segment.centre - middle)


MAX_HEAD = 8  # lines


@dataclass
class Head:
    """A cell of the head while it grows line by line."""

    columns: list[int]
    words: list[Word]
    bottom: float
    level: int = 0
    below: list[Head] = field(default_factory=list)


def assemble(
    lines: Sequence[Placed], columns: Sequence[Interval], rules: Sequence[Rule]
) -> tuple[list[CellBox], int]:
    """The cells of a table and how many of its rows are the head."""
    count = head_length(lines, rules)
    heads = head_cells(lines[:count], columns, rules)
    levels = max((head.level for head in heads), default=-1) + 1
    cells = []
    for head in heads:  # each reaches down to the next head, or to the body
        lower = min((below.level for below in head.below), default=levels)
        size = max(1, lower - head.level), len(head.columns)
        words = head.words
        cells.append(
            CellBox(head.level, head.columns[0], cell_text(words), *size, box=bounds(words))
        )
    for number, row in enumerate(body_rows(lines[count:], rules), levels):
        cells.extend(
            CellBox(number, column, cell_text(words), 1, span, box=bounds(words))
            for column, (span, words) in row.items()
        )
    return cells, levels


def head_length(lines: Sequence[Placed], rules: Sequence[Rule]) -> int:
    """How many lines stand above the rows.

    A rule over the whole width under the first lines ends the head; else the first row with
    figures does. Labels alone right above that row belong to it: they head its first group.
    """
    first = next((n for n, placed in enumerate(lines) if placed.has_figures), None)
    years = next((n for n, placed in enumerate(lines[:MAX_HEAD]) if placed.has_years), 0)
    if first is not None and first < years and not any(line.label for line in lines[:years]):
        first = next((n for n in range(years, len(lines)) if lines[n].has_figures), None)
    ruled = _ruled_off(lines, rules)
    if first == 0 and 3 * len(ruled) > len(lines) > 3:
        return 0  # every other row is ruled off or shaded
    ruled = [n for n in ruled if n <= MAX_HEAD]
    if ruled and (first is None or first < ruled[0]):
        rows = sum(placed.has_figures and bool(placed.label) for placed in lines[: ruled[0]])
        return ruled[0] if rows < 2 else first or 0
    if first is None:
        return 1
    before = [n for n in ruled if n <= first]
    first = before[-1] if before else first
    while first > 1 and _heads_rows(lines[first - 1]):
        first -= 1
    return first


def _heads_rows(placed: Placed) -> bool:
    """Whether a line is a label alone that heads rows; one in parentheses tells the units."""
    text = placed.line.text
    return placed.places == {0} and not (text.startswith("(") and text.endswith(")"))


def _ruled_off(lines: Sequence[Placed], rules: Sequence[Rule]) -> list[int]:
    """The numbers of the lines with a rule of the table's width right above them."""
    left = min(placed.line.x0 for placed in lines)
    right = max(placed.line.x1 for placed in lines)
    wide = [r for r in rules if overlap(r.start, r.end, left, right) > 0.9 * (right - left)]
    return [
        number
        for number in range(1, len(lines))
        if any(lines[number - 1].line.middle < r.at < lines[number].line.middle for r in wide)
    ]


def head_cells(
    lines: Sequence[Placed], columns: Sequence[Interval], rules: Sequence[Rule]
) -> list[Head]:
    """Cells of the head: parts stacked over the same columns are one cell."""
    heads: list[Head] = []
    for number, placed in enumerate(lines):
        spans = []
        for segment, hits in placed.parts:
            ruled = _ruled_span(segment, placed, columns, rules)
            spans.append((segment, ruled if ruled and set(hits) <= set(ruled) else hits))
        for segment, span in centred(spans, lines[number + 1 :], columns):
            above = [head for head in heads if set(head.columns) & set(span)]
            last = max(above, key=lambda head: head.level, default=None)
            if last and _goes_on(last, span, placed, rules):
                last.words.extend(segment.words)
                last.bottom = placed.line.middle
            else:
                level = last.level + 1 if last else 0
                heads.append(Head(span, list(segment.words), placed.line.middle, level))
                for head in above:
                    head.below.append(heads[-1])
    return heads


def _goes_on(last: Head, span: list[int], placed: Placed, rules: Sequence[Rule]) -> bool:
    if last.columns != span:
        return False
    x0, x1 = min(w.x0 for w in last.words), max(w.x1 for w in last.words)
    return not any(
        last.bottom < rule.at < placed.line.middle and overlap(rule.start, rule.end, x0, x1) > 0
        for rule in rules
    )


def _ruled_span(
    segment: LineSegment, placed: Placed, columns: Sequence[Interval], rules: Sequence[Rule]
) -> list[int]:
    """The columns over the short rule right under a segment."""
    under = [
        rule
        for rule in rules
        if 0 < rule.at - placed.line.middle < 1.3 * placed.line.size
        and rule.start - 3 <= segment.x0
        and segment.x1 <= rule.end + 3
    ]
    if not under:
        return []
    rule = min(under, key=lambda rule: rule.end - rule.start)
    others = [s for s, _ in placed.parts if s is not segment]
    if any(overlap(s.x0, s.x1, rule.start, rule.end) > 0 for s in others):
        return []
    return [
        number
        for number, (start, end) in enumerate(columns)
        if overlap(start, end, rule.start, rule.end) > 0.5 * min(end - start, rule.end - rule.start)
    ]
