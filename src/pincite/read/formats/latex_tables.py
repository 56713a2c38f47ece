r"""Tables of LaTeX: rows and cells between ``&`` and ``\\``, spans, heads, columns of signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from pincite.read.formats.blocks import (
    MAX_COLUMNS,
    REPEATED_CHARS,
    GridCell,
    Row,
    TableText,
    indent_steps,
)
from pincite.read.formats.latex_words import plain_latex
from pincite.read.structure.outline import is_units_line

MAX_SQUARES = 200_000  # of a table; what has more is left as it is
MAX_HEAD_ROWS = 8
_NOWHERE = ("", 0, 0)
Environments = dict[int, tuple[str, int, int]]  # by where one begins: name, end of words, end

_SIGN = re.compile(r"\\\\(?:\[[^\]\n]{0,12}\])?\*?|\\begin\{|\\.|[{}&]", re.DOTALL)
_RULES = re.compile(
    r"\s*\\(?:(?P<whole>hline|toprule|midrule|bottomrule|hdashline|endhead|endfirsthead)(?![a-z])"
    r"|(?:cline|cmidrule(?:\([a-z]{0,4}\))?|rowcolor|arrayrulecolor)\s*\{[^{}]{0,40}\}"
    r"|addlinespace(?:\[[^\]]{0,12}\])?|centering(?![a-z]))"
)
_SPAN = re.compile(
    r"\s*+(?:\\multicolumn\s*+\{\s*+(?P<columns>\d{1,4})\s*+\}\s*+"
    r"\{[^{}]*+(?:\{[^{}]*+\}[^{}]*+){0,9}+\}"
    r"|\\multirow\s*+(?:\[[^\]]{0,8}\]\s*+)?\{\s*+(?P<rows>-?\d{1,4})\s*+\}(?:\[[^\]]{0,8}\])?"
    r"\s*+(?:\{[^{}]{0,40}\}|\*))\s*+(?=\{)"
)
_SPACE = r"\\hspace\*?\s*\{\s*(-?\d{0,3}\.?\d{1,3})\s*(cm|mm|in|pt|em|ex)\s*\}|\\q{1,2}uad(?![a-z])"
_SET_IN = re.compile(_SPACE)
_LEFT_OUT = re.compile(rf"(?:\s|\$|{_SPACE})*+")
_POINTS = {"cm": 28.0, "mm": 2.8, "in": 72.0, "pt": 1.0, "em": 12.0, "ex": 6.0}
_NEAR = 2.0  # points that are no step
_YEAR = re.compile(r"(?:19|20)\d\d")
_FIGURE = re.compile(
    r"(?:US|C|A)?[($€£¥~<>≤≥±+−–—-]{0,4} ?\d[\d,.]{0,24}(?:[)%x×*]|,?\d| ?\(\w{1,2}\)| %){0,6}"
)
_BLANK = re.compile(r"(?:-{2,})?")  # a row of dashes is a line that was drawn
_DIGITS = re.compile(r"\d+[A-Z]?")
_WHOLE = re.compile(r"\d{1,3}")
_CURRENCY = re.compile(r"\(?(?:US|C|A|HK|S)?[$€£¥]")
_CLOSING = re.compile(r"\)?%?\)?")
_NOTE = re.compile(r"(?:notes?|sources?)\b|[*†‡^]|\(?[a-z0-9]{1,2}\)", re.IGNORECASE)
NOTE_CHARS = 60  # a last row of more, over all columns, is a note


class _Square(NamedTuple):
    """One place of the grid."""

    words: str
    cell: int  # the column in which its cell begins, as the source counts them
    is_own: bool = True  # the cell begins here: its words are not repeated


class _SourceRow(NamedTuple):
    """A row as it stands in the source."""

    cells: list[GridCell]
    has_rule: bool  # a line is drawn across the page above it
    indent: float  # how far its label is set in, in points or so


def latex_table(body: str, start: int, ends: Environments, caption: str = "") -> TableText | None:
    r"""Return the table between two signs; None if its cells are not what they should be.

    ``start`` is where the body begins in the text whose environments ``ends`` knows.

    >>> latex_table(r"A & \$ & B \\ \multicolumn{3}{c}{All} \\ x & \$ & 5 \\", 0, {}).body
    [['All', '', ''], ['x', '$', '5']]
    """
    lines = _lines(body, start, ends)
    width = max((sum(cell.columns for cell in line.cells) for line in lines), default=0)
    if not 0 < width <= MAX_COLUMNS or width * len(lines) > MAX_SQUARES:
        return None
    if any(_is_broken(cell.words) for line in lines for cell in line.cells):
        return None
    grid = _grid(lines, width)
    kept = [n for n, row in enumerate(grid) if not all(_BLANK.fullmatch(s.words) for s in row)]
    lines, grid = [lines[n] for n in kept], [grid[n] for n in kept]
    alone = [_is_alone(line, width) for line in lines]
    titles = alone.index(False) if False in alone else 0
    names = [caption, *(row[0].words for row in grid[:titles])]
    lines, grid, alone = lines[titles:], grid[titles:], alone[titles:]
    heads = _head_rows(lines, grid)
    if any(alone[heads : heads + 1]) and heads and is_units_line(grid[heads][0].words):
        names.append(grid.pop(heads)[0].words)
        del lines[heads]
    indents = indent_steps([line.indent for line in lines[heads:]], _NEAR)
    grid = _without_signs([*grid[:heads], *map(_once, grid[heads:])], heads)
    return _assembled(grid, heads, " ".join(name for name in names if name), indents)


def _is_broken(words: str) -> bool:
    """Tell whether a cell holds the rest of a table: rows that lost their ends."""
    return "\\multicolumn" in words or "\\multirow" in words


def _lines(body: str, start: int, ends: Environments) -> list[_SourceRow]:
    """Return the rows; environments in a cell and braces that close are stepped over."""
    has_braces = _is_balanced(body)
    found: list[_SourceRow] = []
    cells: list[str] = []
    at = low = depth = 0
    while match := _SIGN.search(body, at):
        sign, at = match[0], match.end()
        if sign == "\\begin{":
            at = max(at, ends.get(start + match.start(), _NOWHERE)[2] - start)
        elif sign in "{}":
            depth += has_braces * (1 if sign == "{" else -1)
        elif depth == 0 and sign == "&":
            cells.append(body[low : match.start()])
            low = at
        elif depth == 0 and sign.startswith("\\\\"):
            found.append(_line([*cells, body[low : match.start()]]))
            cells, low = [], at
    if cells or body[low:].strip():
        found.append(_line([*cells, body[low:]]))
    return found


def _is_balanced(body: str) -> bool:
    depth = 0
    for sign in re.findall(r"\\.|[{}]", body, re.DOTALL):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0


def _line(cells: list[str]) -> _SourceRow:
    has_rule, at = False, 0
    while match := _RULES.match(cells[0], at):
        has_rule, at = has_rule or bool(match["whole"]), match.end()
    label = cells[0][at:]
    left = _LEFT_OUT.match(label)
    spaces = _SET_IN.findall(left[0]) if left else []
    indent = sum((float(amount or 1) * _POINTS[unit or "em"] for amount, unit in spaces), 0.0)
    return _SourceRow([_cell(words) for words in (label, *cells[1:])], has_rule, indent)


def _cell(words: str) -> GridCell:
    """Return a cell with how far it reaches."""
    if "\\" not in words:
        return GridCell(plain_latex(words))
    columns = rows = 1
    after = ""
    while match := _SPAN.match(words):
        inner, rest = _group(words, match.end())
        if rest is None:
            break
        columns = max(columns, int(match["columns"] or 1))
        rows = max(rows, int(match["rows"] or 1))
        words, after = inner, f"{rest} {after}"
    return GridCell(plain_latex(f"{words} {after}"), min(columns, MAX_COLUMNS + 1), rows)


def _group(words: str, at: int) -> tuple[str, str | None]:
    """Return what stands in the braces that open at a place, and what behind; None if open."""
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(words, at):
        depth += (match[0] == "{") - (match[0] == "}")
        if depth == 0:
            return words[at + 1 : match.start()], words[match.end() :]
    return words[at:], None


def _grid(lines: Sequence[_SourceRow], width: int) -> list[list[_Square]]:
    """Return rows of equal length, in which a spanning cell stands wherever it reaches.

    Below a cell of several rows LaTeX has an empty cell; one with words ends it.
    """
    grid: list[list[_Square]] = []
    reaching: dict[int, tuple[int, _Square]] = {}  # by column: how many rows more, and what
    for line in lines:
        row: list[_Square] = []
        below: dict[int, tuple[int, _Square]] = {}
        for cell in line.cells:
            first = len(row)
            repeated = cell.words if len(cell.words) <= REPEATED_CHARS else ""
            row.append(_Square(cell.words, first))
            row += [_Square(repeated, first, False)] * (cell.columns - 1)
            if cell.rows > 1:
                below |= {n: (cell.rows - 1, row[n]) for n in range(first, len(row))}
        row += [_Square("", n) for n in range(len(row), width)]
        for column, (count, square) in reaching.items():
            if row[column].words or column in below:
                continue
            row[column] = square
            if count > 1:
                below[column] = (count - 1, square)
        reaching = {} if _is_alone(line, width) else below
        grid.append(row)
    return grid


def _is_alone(line: _SourceRow, width: int) -> bool:
    """Tell whether one cell takes a whole row."""
    columns = line.cells[0].columns
    # A reader may miscount the columns of a wide table.
    return len(line.cells) == 1 and width > 1 and (columns == 1 or columns >= max(2, width - 1))


def _once(row: list[_Square]) -> list[_Square]:
    """Return a row whose label stands alone without its repetitions."""
    is_alone = all(square.cell == row[0].cell or not square.words for square in row)
    return [
        square if square.is_own or not is_alone else square._replace(words="") for square in row
    ]


def _head_rows(lines: Sequence[_SourceRow], grid: Sequence[Sequence[_Square]]) -> int:
    """Return how many of the first rows name the columns; 0 where the first one has figures."""
    if len(grid) < 2 or _has_figures(grid[0]) or not any(s.words for s in grid[0][1:]):
        return 0
    # A form: "Sponsor: | The board".
    if (grid[0][0].words.endswith(":") and len(grid[0]) == 2) or _has_codes(grid):
        return 0
    ruled = _ruled(lines, grid)
    if ruled:
        return ruled
    reach = max(cell.rows for cell in lines[0].cells)
    is_of_figures = 2 * sum(map(_has_figures, grid)) >= len(grid) - 1
    count = 1
    while count < min(len(grid) - 1, MAX_HEAD_ROWS) and not _has_figures(grid[count]):
        label, above = grid[count][0].words, [row[0].words for row in grid[:count]]
        is_below = not label or label in above or not any(above)
        is_below = is_below or lines[count - 1].cells[0].columns > 1
        has_spans = any(cell.columns > 1 for cell in lines[count - 1].cells)
        is_head = is_below and (has_spans or (is_of_figures and not label))
        if _is_alone(lines[count], len(grid[0])) or not (count < reach or is_head):
            break
        count += 1
    return count


def _ruled(lines: Sequence[_SourceRow], grid: Sequence[Sequence[_Square]]) -> int:
    """Return how many rows stand above the first line across a table; 0 if lines part all rows."""
    ruled = [n for n, line in enumerate(lines) if n and line.has_rule]
    if not ruled or ruled[0] > MAX_HEAD_ROWS or len(ruled) > max(1, (len(lines) - 1) // 2):
        return 0
    return 0 if any(map(_has_figures, grid[: ruled[0]])) else ruled[0]


def _has_figures(row: Sequence[_Square]) -> bool:
    """Tell whether a row has values: figures that are no years and do not count columns."""
    words = [square.words for square in row[1:] if square.words]
    if len(words) > 2 and all(map(_WHOLE.fullmatch, words)):
        counted = [int(word) for word in words]
        if all(a + 1 == b for a, b in pairwise(counted)):
            return False
    return any(_FIGURE.fullmatch(word) and not _YEAR.fullmatch(word) for word in words)


def _has_codes(grid: Sequence[Sequence[_Square]]) -> bool:
    """Tell whether the first row has a number as all below have it: "5952-3768", "12/7"."""
    for column in range(1, len(grid[0])):
        if not grid[0][column].words[:1].isdigit() or _YEAR.fullmatch(grid[0][column].words):
            continue
        shapes = [_DIGITS.sub("0", row[column].words) for row in grid if row[column].words]
        if len(shapes) > 2 and len(set(shapes)) == 1:
            return True
    return False


def _without_signs(grid: list[list[_Square]], heads: int) -> list[list[_Square]]:
    """Return the rows without columns of their own for signs, and without empty ones."""
    at = len(grid[0]) - 2 if grid else -1
    while at >= 0:
        pairs = [(row[at], row[at + 1]) for row in grid]
        if at and all(_may_join(left, right) for left, right in pairs[:heads]):
            below = pairs[heads:]
            is_sign = all(
                not a.words or _CURRENCY.fullmatch(a.words) or a.cell == b.cell for a, b in below
            )
            if is_sign or all(_CLOSING.fullmatch(b.words) or a.cell == b.cell for a, b in below):
                for row, (left, right) in zip(grid, pairs, strict=True):
                    row[at : at + 2] = [_joined(left, right)]
        at -= 1
    return _without_empty(grid)


def _may_join(left: _Square, right: _Square) -> bool:
    """Tell whether the head of two columns is one: it spans both, or stands over one of them."""
    return left.cell == right.cell or not left.words or not right.words


def _joined(left: _Square, right: _Square) -> _Square:
    if left.cell == right.cell or not right.words:
        return left._replace(is_own=left.is_own or right.is_own)
    return right._replace(words=f"{left.words}{right.words}") if left.words else right


def _without_empty(grid: list[list[_Square]]) -> list[list[_Square]]:
    """Return the rows without columns in which no cell with words begins."""
    width = len(grid[0]) if grid else 0
    filled = [
        column
        for column in range(width)
        if any(row[column].words and row[column].is_own for row in grid)
    ]
    return [[row[column] for column in filled] for row in grid]


def _assembled(
    grid: Sequence[Sequence[_Square]], heads: int, caption: str, indents: Sequence[int]
) -> TableText:
    rows: list[Row] = [[square.words for square in row] for row in grid]
    notes: list[str] = []
    while len(rows) > heads + 1 and rows[-1] and not any(rows[-1][1:]):
        words = rows[-1][0]
        if len(words) <= NOTE_CHARS and not _NOTE.match(words):
            break
        notes.insert(0, rows.pop()[0])
    return TableText(rows[:heads], rows[heads:], caption, notes, indents[: len(rows) - heads])
