"""Boxes, cells, lines of text in a region, turned pages, charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TypeVar

from pincite.read.formats.blocks import indent_steps
from pincite.read.pdf.page import FoundTable, Word

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
class CellBox:
    """A text that fills `rows` x `columns` places of a table's grid from (`row`, `column`)."""

    row: int
    column: int
    text: str
    rows: int = 1
    columns: int = 1
    box: Box | None = field(default=None, compare=False)  # of its words


@dataclass(frozen=True, slots=True)
class SpannedTable(FoundTable):
    """A found table that also knows which cells span; `rows` repeats their text in each place."""

    cells: Sequence[CellBox] = ()


def make_table(box: Box, cells: Sequence[CellBox], header_rows: int) -> SpannedTable:
    """The table with these cells, the text of a spanning cell repeated in every place it covers.

    >>> make_table((0, 0, 9, 9), [CellBox(0, 0, "a", columns=2), CellBox(1, 1, "b")], 1).rows
    [['a', 'a'], ['', 'b']]
    """
    height = max(cell.row + cell.rows for cell in cells)
    width = max(cell.column + cell.columns for cell in cells)
    rows = [[""] * width for _ in range(height)]
    for cell in cells:
        for row in range(cell.row, cell.row + cell.rows):
            for column in range(cell.column, cell.column + cell.columns):
                rows[row][column] = cell.text
    return SpannedTable(
        *box,
        rows=rows,
        header_rows=header_rows,
        bands=_bands(cells, height),
        indents=_indents(cells, height),
        cells=tuple(cells),
    )


def _bands(cells: Sequence[CellBox], height: int) -> list[tuple[float, float]]:
    """Top and bottom of the words of each row; none if a row has no words of its own."""
    held: list[list[Box]] = [[] for _ in range(height)]
    for cell in cells:
        if cell.box:
            held[cell.row].append(cell.box)
    if not all(held):
        return []
    return [(min(box[1] for box in row), max(box[3] for box in row)) for row in held]


INDENT = 2.0  # points: a label set in by less stands where the others do


def _indents(cells: Sequence[CellBox], height: int) -> list[int]:
    """How many steps the label of each row is set in; none where all are flush."""
    lefts = {cell.row: cell.box[0] for cell in cells if cell.box and not cell.column}
    steps = dict(zip(lefts, indent_steps(list(lefts.values()), INDENT), strict=False))
    return [steps.get(row, 0) for row in range(height)] if steps else []


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


# Wider than a space in justified prose, narrower than the gap between most columns.
SEGMENT_GAP = 1.0  # of the font size
NUMBER_GAP = 0.45  # the same where figures stand on both sides: they are hardly ever prose
WHOLE_GAP = 0.27  # the same where both have a point or comma, so "1 234" is not meant

_NUMBER = re.compile(
    r"[($€£¥<>≤≥~±+\-–—−#]*+\s*+(?:US)?[$€£]?\s*+[.]?\d[\d,.'’\s/:–—−-]*"
    r"(?:[%‰)°*†‡§¹²³a-zA-Z]|\s?[€$£]|\d\)|\([a-z0-9]\))*"
)
_PLACEHOLDER = re.compile(
    r"[$€£¥]?[-–—−.…:*]{1,4}%?|n\.?\s?[ar]\.?|N/?A|[($€£%]{1,2}|\(?[XZDSx]\)?|nil|NA"
)
_CURRENCY = re.compile(r"\(?(?:US|C|A|HK|S)?[$€£¥]\(?")
_SIGN_BEHIND = re.compile(r"(\(?[\d.,]{1,20}\d\)?|\(?\d\)?|[-–—−])([$€£¥])")
_CLOSING = re.compile(r"[)%‰]{1,3}")
_SIGNED = re.compile(r"\(?[.]?\d[\d,.]*[)%]{0,2}|[-–—−]{1,2}[)%]{0,2}")
CLOSING_GAP = 1.2  # of the font size: how far behind its figure a ")" or "%" may stand
_WHOLE = re.compile(r"\d[.,]\d")
_LEADER = re.compile(r"[.·…_]{3,}|[.·…]")
_TYPED_RULE = re.compile(r"[-–—_=]{8,}|[-=_]{3,}")
_MARKER = re.compile(r"[•●▪■–—\-*◦‣o§□✓➢\uf0b7\uf0a7]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]")
_YEAR = re.compile(
    r"(?:(?:19|20)\d\d(?:[-–/](?:19|20)?\d\d)?|\d{1,2}/\d{1,2}/(?:\d\d){1,2}|[1-4]Q\s?(?:20)?\d\d)"
    r"[*ef]{0,2}(?:\s?(?:\(\w{1,2}\)|[¹²³⁴⁵⁶⁷⁸⁹*†‡]))*"
)
_DATE = re.compile(
    r"(?:as of |at |fiscal )?(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? )?"
    r"(?:\d{1,2}, ?)?(?:19|20)\d\d",
    re.I,
)


@dataclass(frozen=True)
class LineSegment:
    """Words of one line without a wide gap between them."""

    words: tuple[Word, ...]

    @cached_property
    def x0(self) -> float:
        return self.words[0].x0

    @cached_property
    def x1(self) -> float:
        return max(word.x1 for word in self.words)

    @property
    def centre(self) -> float:
        return (self.x0 + self.x1) / 2

    @cached_property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @cached_property
    def is_number(self) -> bool:
        return is_number(self.text)


@dataclass(frozen=True)
class TableLine(LineSegment):
    """Words side by side, in the order of reading."""

    @cached_property
    def y0(self) -> float:
        return median(word.y0 for word in self.words)

    @cached_property
    def y1(self) -> float:
        return median(word.y1 for word in self.words)

    @cached_property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2

    @cached_property
    def size(self) -> float:
        return median(word.size for word in self.words)

    @cached_property
    def segments(self) -> tuple[LineSegment, ...]:
        return tuple(split_segments(self.words, self.size))

    @property
    def is_tabular(self) -> bool:
        return len(self.segments) > 1


def is_number(text: str) -> bool:
    """Whether a cell's text is a figure or what stands in for one.

    >>> [is_number(t) for t in ("1 234.5%", "(12)", "n.a.", "-", "Table 3")]
    [True, True, True, True, False]
    """
    return bool(_NUMBER.fullmatch(text) or _PLACEHOLDER.fullmatch(text))


def is_year(text: str) -> bool:
    """Whether a text is a year, a span of years, a quarter or a day, as heads often are."""
    return bool(_YEAR.fullmatch(text))


def is_period(text: str) -> bool:
    """Whether a text is a year or a date.

    >>> [is_period(text) for text in ("2021", "December 31, 2021", "Total 2021")]
    [True, True, False]
    """
    return is_year(text) or bool(_DATE.fullmatch(text))


def figures_beside(line: TableLine) -> list[LineSegment]:
    """The figures beside a line's label; years are none, they head columns."""
    return [s for s in line.segments[1:] if s.is_number and not is_year(s.text)]


def is_marker(text: str) -> bool:
    """Whether a text is only the bullet or the number of a list item."""
    return bool(_MARKER.fullmatch(text))


def without_leaders(words: Iterable[Word]) -> list[Word]:
    """Words without the dots that lead the eye from a label to its figures."""
    kept = []
    for word in words:
        if len(word.text) > 3 and word.text.endswith(("...", "…", "___")):
            text = word.text.rstrip(".…_ ")
            end = word.x0 + len(text) / len(word.text) * (word.x1 - word.x0)
            word = word._replace(text=text, x1=end)
        if word.text and (len(word.text) == 2 or not _LEADER.fullmatch(word.text)):
            kept.append(word)
    return kept


def with_signs(words: Sequence[Word]) -> Sequence[Word]:
    """Words with a currency sign put to the figure behind it, and ")" or "%" to the one before it.

    Set flush in columns of their own, they are no cells of their own. The figure keeps its left
    edge, for columns are told apart by white between them.
    """
    if not any(
        _CURRENCY.fullmatch(w.text) or _CLOSING.fullmatch(w.text) or _SIGN_BEHIND.fullmatch(w.text)
        for w in words
    ):
        return words
    kept = [word for word in words if word.angle]
    for line in text_lines(words):
        row: list[Word] = []
        for word in _with_split_signs(line.words):
            before = row[-1] if row else None
            if before and _CURRENCY.fullmatch(before.text) and _SIGNED.fullmatch(word.text):
                row[-1] = word._replace(text=before.text + word.text)
            elif before and _closes(before, word):
                row[-1] = before._replace(text=before.text + word.text, x1=word.x1)
            else:
                row.append(word)
        kept.extend(_without_lone_signs(row))
    return kept


def _with_split_signs(words: Sequence[Word]) -> Sequence[Word]:
    """The words of a line; a sign that touches the figure before it is parted from it: "(5.4)$".

    It is that of the next figure, unless the last figure of the line has one behind it as well.
    """
    if _SIGN_BEHIND.fullmatch(words[-1].text):
        return words
    found: list[Word] = []
    for word in words:
        if match := _SIGN_BEHIND.fullmatch(word.text):
            cut = word.x1 - (word.x1 - word.x0) / len(word.text)
            found += [word._replace(text=match[1], x1=cut), word._replace(text=match[2], x0=cut)]
        else:
            found.append(word)
    return found


def _without_lone_signs(row: Sequence[Word]) -> Sequence[Word]:
    """The words without a sign whose figure is left blank: others of the line have theirs."""
    if not any(_CURRENCY.match(word.text) and is_number(word.text) for word in row[1:]):
        return row
    return [word for word in row if not _CURRENCY.fullmatch(word.text)]


def _closes(figure: Word, sign: Word) -> bool:
    """Whether a sign ends the figure before it."""
    is_near = sign.x0 - figure.x1 < CLOSING_GAP * sign.size
    return is_near and bool(_CLOSING.fullmatch(sign.text)) and is_number(figure.text)


def is_typed_rule(line: TableLine) -> bool:
    """Whether a line is a rule typed with dashes."""
    return all(_TYPED_RULE.fullmatch(word.text) for word in line.words)


def text_lines(words: Iterable[Word]) -> list[TableLine]:
    """Upright words put into lines, top to bottom, each from left to right."""
    groups: list[list[Word]] = []
    top = bottom = 0.0  # of the tallest word in the last line
    for word in sorted((w for w in words if not w.angle), key=lambda w: (w.y0 + w.y1) / 2):
        common = overlap(word.y0, word.y1, top, bottom)
        if groups and common >= 0.55 * min(word.y1 - word.y0, bottom - top):
            groups[-1].append(word)
            tallest = max(groups[-1], key=lambda w: (w.y1 - w.y0, -w.y0))
            top, bottom = tallest.y0, tallest.y1
        else:
            groups.append([word])
            top, bottom = word.y0, word.y1
    return [TableLine(tuple(sorted(group, key=lambda w: w.x0))) for group in groups]


def split_segments(words: Sequence[Word], size: float) -> list[LineSegment]:
    """The runs of a line's words between wide gaps."""
    runs = grouped(words, lambda run, word: not _is_apart(run[-1], word, size))
    return [LineSegment(tuple(run)) for run in runs]


def _is_apart(left: Word, right: Word, size: float) -> bool:
    gap = right.x0 - left.x1
    if gap > SEGMENT_GAP * size:
        return True
    if gap <= WHOLE_GAP * size or not (is_number(left.text) and is_number(right.text)):
        return False
    return gap > NUMBER_GAP * size or bool(_WHOLE.search(left.text) and _WHOLE.search(right.text))


def cell_text(words: Sequence[Word]) -> str:
    """The words of a cell, line by line, with single spaces where they are not glued."""
    lines = [list(line.words) for line in text_lines(words)]
    lines.extend(_turned_lines([word for word in words if word.angle]))
    parts: list[str] = []
    for line in lines:
        for word in line:
            parts.extend((word.text,) if word.glued or not parts else (" ", word.text))
    return "".join(parts)


def _turned_lines(words: Sequence[Word]) -> list[list[Word]]:
    """Lines of words that run up or down the page, as in heads of narrow columns."""
    downwards = sum(word.angle == 90 for word in words) * 2 > len(words)
    lines = grouped(
        sorted(words, key=lambda w: -w.x0 if downwards else w.x0),
        lambda line, w: overlap(w.x0, w.x1, line[0].x0, line[0].x1) > 0.5 * w.size,
    )
    return [sorted(line, key=lambda w: w.y0 if downwards else -w.y0) for line in lines]


MIN_WORDS = 30
MIN_SHARE = 0.5  # of the page's words


def main_angle(words: Sequence[Word]) -> int:
    """The angle, 90 or 270, at which most words of the page run; 0 when it is read upright."""
    for angle in (90, 270):
        count = sum(word.angle == angle for word in words)
        if count >= MIN_WORDS and count > MIN_SHARE * len(words):
            return angle
    return 0


def turn_words(words: Sequence[Word], angle: int) -> list[Word]:
    """Words as seen after a turn that makes those at `angle` upright."""
    found = []
    for word in words:
        x0, y0, x1, y1 = turn_box((word.x0, word.y0, word.x1, word.y1), angle)
        turned = (word.angle - angle) % 360
        found.append(word._replace(x0=x0, y0=y0, x1=x1, y1=y1, base=y1, angle=turned))
    return found


def turn_rulings(rulings: Rulings, angle: int) -> Rulings:
    """Rulings after the same turn: horizontal ones become vertical and the other way round."""
    sign = 1.0 if angle == 90 else -1.0
    return Rulings(
        horizontal=[_turned(rule, -sign, sign) for rule in rulings.vertical],
        vertical=[_turned(rule, sign, -sign) for rule in rulings.horizontal],
        slanted=[(sign * y, -sign * x) for x, y in rulings.slanted],
    )


def _turned(rule: Rule, at: float, along: float) -> Rule:
    start, end = sorted((along * rule.start, along * rule.end))
    return Rule(at * rule.at, start, end)


def turn_box(box: Box, angle: int) -> Box:
    """A box after the turn; turning it by 360 - angle brings it back."""
    x0, y0, x1, y1 = box
    return (y0, -x1, y1, -x0) if angle == 90 else (-y1, x0, -y0, x1)


BESIDE = 25.0  # points between a figure and the line it belongs to
MIN_FIGURES = 4
MIN_SLANTED = 6  # lines; four are the corners of a round frame
MIN_REACH = 0.3  # of the box's width
MAX_SHARE = 0.3  # of the figures: a label that spans two rows stands at a line's end too


def has_scale(words: Iterable[Word], rules: Sequence[Rule]) -> bool:
    """Whether many figures stand at the ends of horizontal lines, as on a chart's axis."""
    figures = [word for word in words if is_number(word.text)]
    if len(figures) < MIN_FIGURES:
        return False
    on_scale = sum(
        any(
            abs(rule.at - word.middle[1]) < 0.2 * word.size
            and -BESIDE < overlap(rule.start, rule.end, word.x0, word.x1) < 2.0
            for rule in rules
        )
        for word in figures
    )
    return on_scale > MAX_SHARE * len(figures)


def has_drawing(box: Box, slanted: Sequence[tuple[float, float]]) -> bool:
    """Whether slanted lines run through a box, as curves do through a chart."""
    x0, y0, x1, y1 = box
    inside = [(x, y) for x, y in slanted if x0 < x < x1 and y0 < y < y1]
    if len(inside) < MIN_SLANTED:
        return False
    width = max(x for x, _ in inside) - min(x for x, _ in inside)
    return width > MIN_REACH * (x1 - x0)
