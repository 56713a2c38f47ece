"""Columns, reading order, and what repeats on every page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from statistics import median

from pincite.read.pdf.lines import Line, LinePiece, line_of, pieces_of, rows_of, table_piece
from pincite.read.pdf.page import FoundTable, Word
from pincite.read.pdf.tables.geometry import grouped

_BIN = 2.0  # points
_DEEPEST = 4  # cuts within cuts: newspapers have five columns, hostile pages more
_MIN_ROWS = 4
_MIN_CHARACTERS = 14  # in a line of a column; cells of a table are shorter
_TITLE_GAP = 4.0  # sizes between a title and what stands on its line
_SLACK = 1.5  # points by which a line may reach into the gutter

Band = tuple[
    list[LinePiece], list[LinePiece], list[LinePiece]
]  # left, right, and what spans below them
Box = tuple[float, float, float, float]


def page_lines(
    words: Sequence[Word], tables: Sequence[FoundTable], *, page: int, width: float, height: float
) -> list[Line]:
    """Return the lines of a page in reading order; text that runs sideways comes last."""
    lines: list[Line] = []
    for angle in sorted({word.angle for word in words} | {0}):
        turned = [_upright(word, width, height) for word in words if word.angle == angle]
        pieces = pieces_of(turned) + ([] if angle else [table_piece(table) for table in tables])
        if not pieces:
            continue
        for column, rows in enumerate(_columns(pieces, 0)):
            found = [line_of(row, page) for row in _with_titles(rows)]
            left, right = min(line.x0 for line in found), max(line.x1 for line in found)
            for line in found:
                line.left, line.right, line.column = left, right, column
                line.turned = angle != 0
                line.box = _seen_box(line.box, angle, (width, height))
            lines += found
    return lines


def _with_titles(rows: Sequence[list[LinePiece]]) -> list[list[LinePiece]]:
    """Return the rows; of one right above a table, what stands at the right comes first.

    "Balance Sheets" at the left and the company at the right are no sentence: the nearer to the
    table is its title.
    """
    found: list[list[LinePiece]] = []
    for row, below in zip(rows, [*rows[1:], []], strict=True):
        gap = row[-1].x0 - row[0].x1 if len(row) == 2 and below and below[0].table else 0.0
        found += [[row[1]], [row[0]]] if gap > _TITLE_GAP * row[0].size else [row]
    return found


def _upright(word: Word, width: float, height: float) -> Word:
    """Return the word where it would stand if the page were turned to read it."""
    if word.angle == 0:
        return word
    x0, y0, x1, y1 = word.x0, word.y0, word.x1, word.y1
    if word.angle == 90:
        x0, y0, x1, y1 = y0, width - x1, y1, width - x0
    elif word.angle == 180:
        x0, y0, x1, y1 = width - x1, height - y1, width - x0, height - y0
    else:
        x0, y0, x1, y1 = height - y1, x0, height - y0, x1
    return word._replace(x0=x0, y0=y0, x1=x1, y1=y1, base=y1 - 0.22 * word.size)


def _seen_box(box: Box, angle: int, size: tuple[float, float]) -> Box:
    """Return the box in shares of the page as it is seen."""
    x0, y0, x1, y1 = box
    width, height = size
    if angle == 90:
        x0, y0, x1, y1 = width - y1, x0, width - y0, x1
    elif angle == 180:
        x0, y0, x1, y1 = width - x1, height - y1, width - x0, height - y0
    elif angle == 270:
        x0, y0, x1, y1 = y0, height - x1, y1, height - x0
    shares = (x0 / width, y0 / height, x1 / width, y1 / height)
    a, b, c, d = (round(min(max(share, 0.0), 1.0), 4) for share in shares)
    return a, b, c, d


def _columns(pieces: Sequence[LinePiece], depth: int) -> list[list[list[LinePiece]]]:
    """Return columns in reading order, each as its rows."""
    if depth < _DEEPEST and len(pieces) >= 2 * _MIN_ROWS:
        for gutter in _gutters(pieces):
            bands = _bands(pieces, gutter)
            if any(_is_columnar(left, right) for left, right, _ in bands):
                return _cut(bands, depth)
    return [rows_of(pieces)]


def _cut(bands: Sequence[Band], depth: int) -> list[list[list[LinePiece]]]:
    columns: list[list[list[LinePiece]]] = []
    alone: list[LinePiece] = []  # what spans the gutter, and bands with words on one side only
    for left, right, spanning in bands:
        if left and right:
            if alone:
                columns.append(rows_of(alone))
            columns += _columns(left, depth + 1) + _columns(right, depth + 1)
            alone = []
        else:
            alone += left + right
        alone += spanning
    return columns + ([rows_of(alone)] if alone else [])


def _gutters(pieces: Sequence[LinePiece]) -> list[float]:
    """Return places that less text covers than what stands beside them, the clearest first."""
    start = min(piece.x0 for piece in pieces)
    bins = int((max(piece.x1 for piece in pieces) - start) / _BIN) + 2
    if bins < 8 or bins > 20_000:
        return []
    steps = [0.0] * (bins + 1)
    for piece in pieces:
        height = piece.y1 - piece.y0
        steps[int((piece.x0 - start) / _BIN)] += height
        steps[int((piece.x1 - start) / _BIN) + 1] -= height
    covered = list(accumulate(steps[:-1]))
    return [start + _BIN * (place + 0.5) for place in _valleys(covered)]


def _valleys(covered: Sequence[float]) -> list[float]:
    """Return the middles of the deepest valleys of a profile."""
    size = len(covered)
    before, after = [0.0] * size, [0.0] * size
    for place in range(1, size):
        before[place] = max(before[place - 1], covered[place - 1])
        after[size - 1 - place] = max(after[size - place], covered[size - place])
    found: list[tuple[float, float]] = []
    place = 0
    while place < size:
        depth = covered[place]
        end = place
        while end + 1 < size and covered[end + 1] == depth:
            end += 1
        rim = min(before[place], after[end])
        if rim > 0 and depth < 0.8 * rim:
            found.append((depth / rim, (place + end) / 2))
        place = end + 1
    return [middle for _, middle in sorted(found)[:3]]


def _bands(pieces: Sequence[LinePiece], gutter: float) -> list[Band]:
    """Return stretches from top to bottom."""
    bands: list[Band] = [([], [], [])]
    across = [p for p in pieces if p.x0 < gutter - _SLACK and p.x1 > gutter + _SLACK]
    rows = {round(p.base) for p in across if not p.table}
    spans = {id(p) for p in across}
    for piece in sorted(pieces, key=lambda p: p.y1 if p.table else p.base):
        left, right, spanning = bands[-1]
        # What stands beside a spanning piece is of the same line: "2.1" before a title.
        base = round(piece.base)
        if id(piece) in spans or not rows.isdisjoint((base - 1, base, base + 1)):
            spanning.append(piece)
            continue
        if spanning:
            bands.append(([], [], []))
            left, right, spanning = bands[-1]
        (left if (piece.x0 + piece.x1) / 2 < gutter else right).append(piece)
    return bands


def _is_columnar(left: Sequence[LinePiece], right: Sequence[LinePiece]) -> bool:
    """Return whether both sides hold running text: enough lines that fill their column.

    One such side is enough where the lines of the two do not stand on the same baselines, for
    then they are no rows of a table.
    """
    if not (_has_lines(left) and _has_lines(right)):
        return False
    filled = _is_filled(left) + _is_filled(right)
    if filled != 1:
        return filled == 2
    fewer, more = sorted(({round(p.base) for p in side} for side in (left, right)), key=len)
    aligned = sum(not more.isdisjoint((base - 1, base, base + 1)) for base in fewer)
    return len(fewer) >= 0.4 * len(more) and aligned <= 0.6 * len(fewer)


def _has_lines(pieces: Sequence[LinePiece]) -> bool:
    """Return whether there are enough lines of enough words."""
    rows = rows_of([piece for piece in pieces if not piece.table])
    if len(rows) < _MIN_ROWS:
        return False
    lengths = (sum(len(word.text) for p in row for word in p.words) for row in rows)
    return median(lengths) >= _MIN_CHARACTERS


def _is_filled(pieces: Sequence[LinePiece]) -> bool:
    """Return whether most lines are about as wide as their column."""
    texts = [piece for piece in pieces if not piece.table]
    width = max(p.x1 for p in texts) - min(p.x0 for p in texts)
    return median(sum(p.x1 - p.x0 for p in row) for row in rows_of(texts)) >= 0.45 * width


_MARGIN = 0.13  # share of the page at its top and bottom where furniture stands
_MIN_PAGES = 3
_TITLE_PAGES, _TITLE_LINES = 6, 5  # pages of one statement, lines of its title
_USUAL = 0.2  # of the pages have something at a height: whatever stands there is furniture
_HEIGHT = 0.006  # share of the page that two lines at one height may differ
_LARGER = 1.1  # times the size of the furniture: a heading
_KEPT_LINES, _LONGEST_KEPT = 20, 200  # of furniture that is remembered
_NUMBERS = re.compile(r"\d+")
_ROMAN = re.compile(r"(?<![^\W_])[ivxlc]{1,7}(?![^\W_])")


def without_furniture(
    pages: Sequence[Sequence[Line]], numbers: Mapping[int, bool]
) -> list[list[Line]]:
    """Return the pages without what is repeated at one height on three pages or more.

    Numbers do not count as a difference. Where many pages have something at a height, a line
    that stands alone there is furniture too: the running head of a chapter of two pages, unless
    it is set as a heading. ``numbers`` are the lines, by ``id``, with the number of their page:
    whether they say nothing else.
    """
    at: defaultdict[str, list[Placed]] = defaultdict(list)
    for number, lines in enumerate(pages):
        for line in lines:
            if _in_margin(line):
                at[_skeleton(line.text)].append((_height(line), number, line))
    repeated: dict[str, list[float]] = {}  # the heights at which enough pages have the line
    titles = {id(line) for lines in pages for line in _above_table(lines)}
    for key, places in at.items():
        runs = grouped(sorted(places, key=lambda place: place[:2]), _is_level)
        often = [run for run in runs if _is_repeated(run, numbers, len(pages))]
        often = [run for run in often if not _is_title(run, titles)]
        repeated[key] = [run[len(run) // 2][0] for run in often]
    usual = _usual(repeated, at, len(pages))
    kept = []
    for lines in pages:
        ends = _ends([line for line in lines if not line.turned and not numbers.get(id(line))])
        kept.append(
            [
                line
                for line in lines
                if not numbers.get(id(line)) and not _is_furniture(line, ends, repeated, usual)
            ]
        )
    # Pages of nothing but repeated lines are forms or tests, and their lines are the text.
    return kept if any(kept) else [list(lines) for lines in pages]


def furniture_of(pages: Sequence[Sequence[Line]], kept: Sequence[Sequence[Line]]) -> str:
    """Return a line for each line that was left out, but for its numbers: the most usual first.

    Who copies words from page to page has these between them.
    """
    left = {id(line) for lines in kept for line in lines}
    gone = [
        " ".join(line.text.split()) for lines in pages for line in lines if id(line) not in left
    ]
    usual = Counter(_NUMBERS.sub("#", text) for text in gone if len(text) <= _LONGEST_KEPT)
    words = (text for text, _ in usual.most_common(_KEPT_LINES) if any(map(str.isalpha, text)))
    return "\n".join(words)


Placed = tuple[float, int, Line]  # height, page, line


def _above_table(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the few lines at the head of a page right above a table."""
    first = next((place for place, line in enumerate(lines) if line.table), 0)
    return lines[:first] if first <= _TITLE_LINES else ()


def _is_title(run: Sequence[Placed], titles: set[int]) -> bool:
    """Return whether a few pages on end have a line above a table: its title, printed again."""
    pages = sorted(number for _, number, _ in run)
    are_near = pages[-1] - pages[0] < len(run) <= _TITLE_PAGES
    return are_near and all(id(line) in titles for _, _, line in run)


def _is_level(run: Sequence[Placed], place: Placed) -> bool:
    return place[0] - run[-1][0] <= _HEIGHT


def _is_repeated(run: Sequence[Placed], numbers: Mapping[int, bool], pages: int) -> bool:
    """Return whether lines that differ in their numbers at most are furniture.

    If all differ, and not as the pages do, they are titles, such as "Exhibit 21.1", unless a good
    share of all pages has one: "§ 97.101".
    """
    count = len({number for _, number, _ in run})
    if count < _MIN_PAGES:
        return False
    texts = Counter(line.text for _, _, line in run)
    is_same = 2 * sum(often for often in texts.values() if often > 1) >= len(run)
    is_numbered = 2 * sum(id(line) in numbers for _, _, line in run) >= count
    return is_same or is_numbered or count >= _USUAL * pages


def _in_margin(line: Line) -> bool:
    if line.table or line.heading or not line.text:  # what bookmarks name is no furniture
        return False
    x0, y0, x1, y1 = line.box
    if line.turned:
        return x1 < _MARGIN or x0 > 1 - _MARGIN
    return y1 < _MARGIN or y0 > 1 - _MARGIN


def _height(line: Line) -> float:
    return line.box[0] if line.turned else line.box[1]


def _skeleton(text: str) -> str:
    text = _NUMBERS.sub("#", text.casefold())
    return _ROMAN.sub("#", text) if len(text) < 8 else text


def _usual(
    repeated: dict[str, list[float]], at: dict[str, list[Placed]], pages: int
) -> dict[float, tuple[float, bool]]:
    """Return the heights at which a good share of all pages has furniture; its size, if bold."""
    looks: defaultdict[int, list[tuple[float, bool]]] = defaultdict(list)
    for key, levels in repeated.items():
        for height, _, line in at[key]:
            if _near(height, levels):
                looks[round(height / _HEIGHT)].append((line.size, line.bold))
    least = max(_MIN_PAGES, _USUAL * pages)
    return {
        bucket * _HEIGHT: (max(size for size, _ in found), any(bold for _, bold in found))
        for bucket, found in looks.items()
        if len(found) >= least
    }


def _near(height: float, levels: Iterable[float]) -> bool:
    return any(abs(height - level) <= _HEIGHT for level in levels)


def _is_furniture(
    line: Line,
    ends: tuple[float, float],
    repeated: dict[str, list[float]],
    usual: Mapping[float, tuple[float, bool]],
) -> bool:
    if not _in_margin(line):
        return False
    if _near(_height(line), repeated.get(_skeleton(line.text), ())):
        return True
    looks = [look for height, look in usual.items() if abs(height - _height(line)) <= _HEIGHT]
    if line.turned or len(line.text) > 120 or not looks:
        return False
    if all(line.size > _LARGER * size or (line.bold and not bold) for size, bold in looks):
        return False  # a heading
    return line.box[1] <= ends[0] or line.box[3] >= ends[1]


def _ends(lines: Sequence[Line]) -> tuple[float, float]:
    """Return how far down the first line of a page begins and how far up the last one ends.

    One that stands no farther from the next than a line is high is no line by itself.
    """
    tops = sorted({(line.box[1], line.box[3]) for line in lines})
    bottoms = sorted({(line.box[3], line.box[1]) for line in lines}, reverse=True)
    first, last = -1.0, 2.0
    if tops:
        top, end = tops[0]
        below = next((y for y, _ in tops if y > top + _HEIGHT), 1.0)
        first = top + _HEIGHT if below - end >= end - top else first
        bottom, start = bottoms[0]
        above = next((y for y, _ in bottoms if y < bottom - _HEIGHT), 0.0)
        last = bottom - _HEIGHT if start - above >= bottom - start else last
    return first, last
