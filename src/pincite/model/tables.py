"""Tables as values: cells, headers, intervals, look-up of a cell by row and column."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pincite.model.markup import plain
from pincite.model.units import symbols

# A comma before exactly three digits groups thousands; before one or two it is a decimal comma.
_NUMBER = re.compile(
    r"(?<![\w.,])-?(?:\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+,\d{1,2}|\d+(?:\.\d+)?)(?!\d|,\d)"
)
_GROUPED = re.compile(r"[,\u00a0\u202f](?=\d{3}(?:\D|$))")
_DASH = re.compile(r"(?<=\d)\s*[-–—]\s*(?=\d)")
_UNIT_BEHIND = re.compile(r"\d\s*(°\s?[CF]|%|[^\W\d_]+[²³]?)")
_UP_TO = re.compile(
    r"not (?:exceeding|over|more than|greater than)|up to|at most|or less|maximum|≤|<="
    r"|ne dépassant pas|jusqu",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:over|above|more than|exceeding|greater than|plus de)\b|(?<!=)>(?!=)", re.IGNORECASE
)
_FROM = re.compile(r"at least|or more|and (?:over|above|up)|minimum|≥|>=", re.IGNORECASE)
_BELOW = re.compile(r"\b(?:below|under|less than)\b|<(?!=)", re.IGNORECASE)
# Each with whether it is a lower bound, and whether the bound itself is left out.
_BOUNDS = (
    (_UP_TO, False, False),
    (_FROM, True, False),
    (_OVER, True, True),
    (_BELOW, False, True),
)
_THROUGH = re.compile(r"–|\b(?:through|to|and|but|à|a)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers between two bounds."""

    low: float = -math.inf
    high: float = math.inf
    is_low_open: bool = False
    is_high_open: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.is_low_open else value >= self.low
        below = value < self.high if self.is_high_open else value <= self.high
        return above and below

    @property
    def width(self) -> float:
        """How much it leaves open; of half-open ones the tighter bound is narrower."""
        if math.isinf(self.low):
            return self.high
        return -self.low if math.isinf(self.high) else self.high - self.low


def numbers(text: str) -> list[float]:
    """Return the numbers in a text.

    >>> numbers("12,345 and 2,5 or 10, 11")
    [12345.0, 2.5, 10.0, 11.0]
    """
    found = _NUMBER.findall(_DASH.sub(" – ", text))
    return [float(_GROUPED.sub("", each).replace(",", ".")) for each in found]


def intervals_of(cell: str, column: str = "") -> tuple[Interval, ...]:
    """Return the numbers that a cell stands for; none if it is not about numbers.

    >>> [80 in each for each in intervals_of("Over 60 through 100")]
    [True]
    >>> intervals_of("10, 11")
    (Interval(low=10.0, high=10.0, is_low_open=False, is_high_open=False), \
Interval(low=11.0, high=11.0, is_low_open=False, is_high_open=False))
    """
    found = numbers(cell)
    if len(found) == 2 and _THROUGH.search(_DASH.sub(" – ", cell)) and found[0] <= found[1]:
        return (Interval(found[0], found[1], is_low_open=bool(_OVER.search(cell))),)
    if len(found) == 1:
        (value,) = found
        for words in (cell, column):
            for bound, is_low, is_open in _BOUNDS:
                if bound.search(words) and is_low:
                    return (Interval(low=value, is_low_open=is_open),)
                if bound.search(words):
                    return (Interval(high=value, is_high_open=is_open),)
        return (Interval(value, value),)
    if len(found) >= 2 and "," in cell:
        return tuple(Interval(value, value) for value in found)
    return ()  # a date, a code, or words with numbers in them


_CELL_SPLIT = re.compile(r"(?<!\\)\|")
# Nothing but dashes and their signs: a row may begin with "--" where it has nothing to say.
_RULER = re.compile(r"[\s|:]*--[\s|:-]*$")
_UNIT = re.compile(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$|,\s*(\S{1,8})\s*$")
_MARK = re.compile(r"\^([^^]{1,3})\^|(?<![¹²³⁴⁵⁶⁷⁸⁹†‡*])([¹²³⁴⁵⁶⁷⁸⁹†‡*]+)$")
_FOOTNOTE = re.compile(r"^\s*(?:\^([^^]{1,3})\^|([¹²³⁴⁵⁶⁷⁸⁹†‡*]+)|(\d{1,2})(?=\s+[A-Z]))\s*(.+)$")
# The exponent of a unit: 10 m², not a mark of a footnote.
_EXPONENT = re.compile(r"(?:^|[\d\s(/])(?:[mcdk]?m|ft|in|yd|s)[²³]$")
_WORD = re.compile(r"[\w²³°%]+")

NAME_CHARS = 80  # of a row's name


@dataclass(frozen=True, slots=True)
class Table:
    """A table as printed: one line of column names, rows, and what its footnotes say."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[tuple[str, str], ...] = ()  # mark, text

    @property
    def units(self) -> tuple[str, ...]:
        """The unit in each column's name; empty where it has none."""
        return tuple(unit_of(name) for name in self.columns)

    def compact(self) -> str:
        """Return title and columns: what the table is about, without its rows."""
        return f"{self.title}\nColumns: {' | '.join(self.columns)}"

    def records(self) -> list[str]:
        """Return each row as a sentence of its own: column by column with its value."""
        return [
            f"{self.title}: "
            + "; ".join(f"{name} {value}" for name, value in zip(self.columns, row, strict=False))
            for row in self.rows
        ]

    def notes_of(self, cell: str) -> tuple[str, ...]:
        """Return the footnotes that a cell's marks point to."""
        marks = {a or b for a, b in _MARK.findall(cell)} if not _EXPONENT.search(cell) else set()
        return tuple(text for mark, text in self.footnotes if mark in marks)

    def bare(self, cell: str) -> str:
        """Return a cell without the marks of its footnotes; an exponent is none."""
        known = {mark for mark, _ in self.footnotes}
        if _EXPONENT.search(cell):
            return cell.strip()
        return _MARK.sub(lambda m: "" if m[1] in known or m[2] in known else m[0], cell).strip()


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table with the names of its row and column."""

    row: int
    column: int
    row_name: str  # as the row's place has it
    column_name: str
    value: str
    unit: str
    notes: tuple[str, ...]
    key: str  # what the row was found by: a column and its value


def parse_table(text: str) -> Table | None:
    """Return the pipe table in a text with its caption and footnotes; None if there is none.

    >>> table = parse_table("**Table 1 Sizes**\\n\\n| A | B (mm) |\\n|---|---|\\n| x | 3 |")
    >>> table.title, table.columns, table.rows
    ('Table 1 Sizes', ('A', 'B (mm)'), (('x', '3'),))
    """
    lines = text.splitlines()
    at = [i for i, line in enumerate(lines) if line.lstrip().startswith("|")]
    # Up to the first gap: the lines of the first table.
    at = at[: next((n for n, (a, b) in enumerate(pairwise(at), 1) if b != a + 1), len(at))]
    if len(at) < 2:
        return None
    grid = [cells_of(lines[i]) for i in at if not _RULER.match(lines[i])]
    if not grid:
        return None
    caption = " ".join(line.strip(" *_#") for line in lines[: at[0]] if line.strip())
    after = (_FOOTNOTE.match(line) for line in lines[at[-1] + 1 :])
    notes = tuple(
        (match.group(1) or match.group(2) or match.group(3), match.group(4).strip())
        for match in after
        if match
    )
    return Table(caption, grid[0], tuple(grid[1:]), notes)


def cells_of(line: str) -> tuple[str, ...]:
    """Return the cells of a line of a table.

    >>> cells_of("| a | b |")
    ('a', 'b')
    """
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELL_SPLIT.split(inner))


def unit_of(column: str) -> str:
    """Return the unit at the end of a column's name.

    >>> unit_of("Copper (mm²)"), unit_of("Notes")
    ('mm²', '')
    """
    match = _UNIT.search(column)
    return (match.group(1) or match.group(2)) if match else ""


def without_marks(cell: str) -> str:
    """Return a cell without marks of footnotes, whether or not the table has them.

    >>> [without_marks(cell) for cell in ("95¹", "120^a^", "10 m²", "Up to 50 m³", "4*")]
    ['95', '120', '10 m²', 'Up to 50 m³', '4']
    """
    return cell.strip() if _EXPONENT.search(cell) else _MARK.sub("", cell).strip()


def find_cells(table: Table, row: str, column: str) -> list[Cell]:
    """Return the cells that a row's name or value and a column's name mean.

    A row fits by its words, by an equal number, or by a range that holds the number; of ranges
    that are open on one side ("not exceeding 60") the tightest one fits.
    """
    key, rows = _rows(table, row, column)
    names = row_names(table.rows)
    found = []
    for number in rows:
        for at in _columns(table, column, key):
            value = table.rows[number][at] if at < len(table.rows[number]) else ""
            cell = Cell(
                number,
                at,
                names[number],
                table.columns[at],
                without_marks(value),
                unit_of(table.columns[at]),
                table.notes_of(value),
                f"{table.columns[key]}: {table.rows[number][key]}",
            )
            found.append(cell)
    return found


def _columns(table: Table, wanted: str, key: int) -> list[int]:
    """Return the columns whose names share most words with what is wanted, never the row's key."""
    words = _words(wanted)
    others = [at for at in range(len(table.columns)) if at != key]
    if not words:
        return others
    names = {at: _words(table.columns[at]) for at in others}
    scores = {at: (len(words & name), -len(name)) for at, name in names.items()}
    best = max(scores.values(), default=(0, 0))
    return [at for at in others if scores[at] == best] if best[0] else []


def _rows(table: Table, wanted: str, column: str) -> tuple[int, list[int]]:
    """Return the key column and the rows that fit: by their name, by number, or by their words."""
    words = _words(wanted)
    exact = [i for i, row in enumerate(table.rows) if words and words == _words(row[0])]
    if exact:
        return 0, exact
    values = numbers(wanted)
    if values:
        return _rows_by_number(table, values[0], wanted, column)
    scores = [len(words & _words(" ".join(row))) for row in table.rows]
    best = max(scores, default=0)
    return 0, [i for i, score in enumerate(scores) if score == best] if best else []


def _rows_by_number(table: Table, value: float, wanted: str, column: str) -> tuple[int, list[int]]:
    """Return the column that the number is about, and the rows whose ranges hold it.

    Of several columns that could be meant, the one whose name shares most words with the row's
    words counts; if it has none, with the column's; then the first.
    """
    words, hints = _words(wanted, has_numbers=False), _words(column)
    asked = _columns(table, column, key=-1)
    behind = _UNIT_BEHIND.search(wanted)
    unit = behind.group(1).casefold() if behind else ""
    fitting: list[tuple[int, int, int, list[int]]] = []
    for at, name in enumerate(table.columns):
        rows = rows_holding(table, at, value)
        if [at] == asked:
            continue  # the one column that is asked for is not what the row is found by
        # Unknown units are given the benefit.
        own_unit = unit_of(name).casefold()
        if rows and (unit == own_unit or not {unit, own_unit} <= symbols()):
            own = _words(name)
            named = len(words & own)
            fitting.append((-named, 0 if named else -len(hints & own), at, rows))
    if not fitting:
        return 0, []
    _, _, key, rows = min(fitting)
    # "copper 25": the words that are no numbers say which of the rows with a 25.
    shared = {i: len(words & _words(" ".join(table.rows[i]))) for i in rows}
    return key, [i for i in rows if shared[i] == max(shared.values())]


def rows_holding(table: Table, column: int, value: float) -> list[int]:
    """Return the rows whose cell in a column holds a number; of several ranges the tightest."""
    widths: dict[int, float] = {}
    for i, row in enumerate(table.rows):
        cell = without_marks(row[column]) if column < len(row) else ""
        holding = [each for each in intervals_of(cell, table.columns[column]) if value in each]
        if holding:
            widths[i] = min(each.width for each in holding)
    return [i for i, width in widths.items() if width == min(widths.values())]


def _words(text: str, *, has_numbers: bool = True) -> set[str]:
    words = {word.casefold() for word in _WORD.findall(_MARK.sub("", text))}
    return words if has_numbers else {word for word in words if not word[0].isdigit()}


def row_spans(text: str) -> Sequence[tuple[int, int]]:
    """Return where the rows below the header of a pipe table stand in its text."""
    spans, at, seen = [], 0, 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("|"):
            if seen >= 1 and not _RULER.match(line):
                spans.append((at, at + len(line)))
            seen += 1
        at += len(line)
    return spans


def _bare_name(words: str) -> str:
    """Return the words of a row's name; a footnote's mark stays, for raised it would be a power."""
    return words if "^" in words else plain(words)


def row_names(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a name for each row: its first cell, and as many more as make it unique.

    >>> row_names([("Hot work", "Up to 50"), ("Hot work", "Over 50"), ("Diving", "Any")])
    ['Hot work, Up to 50', 'Hot work, Over 50', 'Diving']
    """
    names = [""] * len(rows)
    for cells in (1, 2, 3):
        counts = Counter(names)
        names = [
            _bare_name(", ".join(cell for cell in row[:cells] if cell))[:NAME_CHARS]
            if cells == 1 or counts[name] > 1
            else name
            for row, name in zip(rows, names, strict=True)
        ]
    counts = Counter(names)
    return [
        f"{name} (row {number})" if counts[name] > 1 or not name else name
        for number, name in enumerate(names, 1)
    ]
