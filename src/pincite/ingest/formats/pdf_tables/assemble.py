"""From lines and columns to cells: head with levels and spans above, rows below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.columns import Interval
from pincite.ingest.formats.pdf_tables.geometry import Cell, Rule, overlap
from pincite.ingest.formats.pdf_tables.rows import Placed, body_rows
from pincite.ingest.formats.pdf_tables.spans import centred
from pincite.ingest.formats.pdf_tables.textlines import Segment, cell_text

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
) -> tuple[list[Cell], int]:
    """The cells of a table and how many of its rows are the head."""
    count = head_length(lines, rules)
    heads = head_cells(lines[:count], columns, rules)
    levels = max((head.level for head in heads), default=-1) + 1
    cells = []
    for head in heads:  # each reaches down to the next head, or to the body
        lower = min((below.level for below in head.below), default=levels)
        size = max(1, lower - head.level), len(head.columns)
        cells.append(Cell(head.level, head.columns[0], cell_text(head.words), *size))
    for number, row in enumerate(body_rows(lines[count:], rules), levels):
        cells.extend(Cell(number, c, cell_text(words), 1, n) for c, (n, words) in row.items())
    return cells, levels


def head_length(lines: Sequence[Placed], rules: Sequence[Rule]) -> int:
    """How many lines stand above the rows.

    A rule over the whole width under the first lines ends the head; else the first row with
    figures does. Labels alone right above that row belong to it: they head its first group.
    """
    first = next((n for n, placed in enumerate(lines) if placed.has_figures), None)
    ruled = [n for n in _ruled_off(lines, rules) if n <= MAX_HEAD]
    if ruled and (first is None or first < ruled[0]):
        return ruled[0]
    if first is None:
        return 1
    before = [n for n in ruled if n <= first]
    if before:
        return before[-1]
    while first > 1 and lines[first - 1].places == {0}:
        first -= 1
    return first


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
    segment: Segment, placed: Placed, columns: Sequence[Interval], rules: Sequence[Rule]
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
