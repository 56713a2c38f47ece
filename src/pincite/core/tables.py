"""Tables as values: columns, rows, footnotes; and the cell that a value and a column name mean."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

_CELL_SPLIT = re.compile(r"(?<!\\)\|")
_RULER = re.compile(r"^\s*\|?\s*:?-{2,}")
_UNIT = re.compile(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$|,\s*(\S{1,8})\s*$")
_NUMBER = r"-?\d[\d,  ]*(?:\.\d+)?"
_NUMBERS = re.compile(rf"(?<![\w.])({_NUMBER})(?![\w]*\d)")
_MARK = re.compile(r"\^([^^]{1,3})\^|([¹²³⁴⁵⁶⁷⁸⁹†‡*]+)$")
_FOOTNOTE = re.compile(r"^\s*(?:\^([^^]{1,3})\^|([¹²³⁴⁵⁶⁷⁸⁹†‡*]+)|(\d{1,2})(?=\s+[A-Z]))\s*(.+)$")
_WORD = re.compile(r"[\w²³°%]+")

# How words around numbers bound a range: (pattern, lower bound is open, upper bound is closed).
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


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers that a cell such as "Over 60 through 100" stands for."""

    low: float = -math.inf
    high: float = math.inf
    is_low_open: bool = False
    is_high_open: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.is_low_open else value >= self.low
        below = value < self.high if self.is_high_open else value <= self.high
        return above and below


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
        marks = {a or b for a, b in _MARK.findall(cell)}
        return tuple(text for mark, text in self.footnotes if mark in marks)


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table with the names of its row and column."""

    row: int
    column: int
    row_name: str
    column_name: str
    value: str
    unit: str
    notes: tuple[str, ...]


def parse_table(text: str) -> Table | None:
    """Return the pipe table in a text with its caption and footnotes; None if there is none.

    >>> table = parse_table("**Table 1 Sizes**\\n\\n| A | B (mm) |\\n|---|---|\\n| x | 3 |")
    >>> table.title, table.columns, table.rows
    ('Table 1 Sizes', ('A', 'B (mm)'), (('x', '3'),))
    """
    lines = text.splitlines()
    at = [i for i, line in enumerate(lines) if line.lstrip().startswith("|")]
    if len(at) < 2:
        return None
    grid = [_cells(lines[i]) for i in at if not _RULER.match(lines[i])]
    caption = " ".join(line.strip(" *_#") for line in lines[: at[0]] if line.strip())
    after = (_FOOTNOTE.match(line) for line in lines[at[-1] + 1 :])
    notes = tuple(
        (match.group(1) or match.group(2) or match.group(3), match.group(4).strip())
        for match in after
        if match
    )
    return Table(caption, grid[0], tuple(grid[1:]), notes)


def _cells(line: str) -> tuple[str, ...]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    return tuple(cell.strip().replace("\\|", "|") for cell in _CELL_SPLIT.split(inner))


def unit_of(column: str) -> str:
    """Return the unit at the end of a column's name.

    >>> unit_of("Copper (mm²)"), unit_of("Notes")
    ('mm²', '')
    """
    match = _UNIT.search(column)
    return (match.group(1) or match.group(2)) if match else ""


def interval_of(cell: str, column: str = "") -> Interval | None:
    """Return the numbers that a cell stands for; None if it is not about numbers.

    >>> 80 in interval_of("Over 60 through 100"), 60 in interval_of("Over 60 through 100")
    (True, False)
    """
    numbers = [_number(text) for text in _NUMBERS.findall(_MARK.sub("", cell))]
    if not numbers:
        return None
    if len(numbers) >= 2:
        return Interval(numbers[0], numbers[1], is_low_open=bool(_OVER.search(cell)))
    (value,) = numbers
    return _one_bound(value, cell) or _one_bound(value, column) or Interval(value, value)


def _one_bound(value: float, words: str) -> Interval | None:
    if _UP_TO.search(words):
        return Interval(high=value)
    if _FROM.search(words):
        return Interval(low=value)
    if _OVER.search(words):
        return Interval(low=value, is_low_open=True)
    if _BELOW.search(words):
        return Interval(high=value, is_high_open=True)
    return None


def _number(text: str) -> float:
    return float(re.sub(r"[,  ]", "", text))


def find_cells(table: Table, row: str, column: str) -> list[Cell]:
    """Return the cells that a row's name or value and a column's name mean, best row first.

    A row fits by its words, by an equal number, or by a range that holds the number; of ranges
    that are open on one side ("not exceeding 60") the tightest one fits.
    """
    chosen = _columns(table, column)
    found = []
    for number in _rows(table, row):
        for at in chosen:
            value = table.rows[number][at] if at < len(table.rows[number]) else ""
            cell = Cell(
                number,
                at,
                table.rows[number][0],
                table.columns[at],
                _MARK.sub("", value).strip(),
                unit_of(table.columns[at]),
                table.notes_of(value),
            )
            found.append(cell)
    return found


def _columns(table: Table, wanted: str) -> list[int]:
    """Return the columns whose names share most words with what is wanted."""
    words = _words(wanted)
    if not words:
        return list(range(1, len(table.columns)))
    names = [_words(name) for name in table.columns]
    scores = [(len(words & name), -len(name)) for name in names]
    best = max(scores, default=(0, 0))
    return [at for at, score in enumerate(scores) if score == best] if best[0] else []


def _rows(table: Table, wanted: str) -> list[int]:
    """Return the rows that fit: by words of any of the first cells, else by number or range."""
    words = _words(wanted)
    exact = [i for i, row in enumerate(table.rows) if words and words == _words(row[0])]
    if exact:
        return exact
    numbers = [_number(text) for text in _NUMBERS.findall(wanted)]
    if numbers:
        return _rows_by_number(table, numbers[0], words)
    scores = [len(words & _words(" ".join(row))) for row in table.rows]
    best = max(scores, default=0)
    return [i for i, score in enumerate(scores) if score == best] if best else []


def _rows_by_number(table: Table, value: float, words: set[str]) -> list[int]:
    """Return the rows whose key holds the number; other words of the query narrow them down."""
    for column in range(len(table.columns)):
        fitting: list[tuple[float, int]] = []
        for i, row in enumerate(table.rows):
            interval = (
                interval_of(row[column], table.columns[column]) if column < len(row) else None
            )
            if interval is not None and value in interval:
                fitting.append((interval.high - interval.low, i))
        if fitting:
            tightest = min(_width(table, column, i) for _, i in fitting)
            rows = [i for _, i in fitting if _width(table, column, i) == tightest]
            # "copper 25": the words that are no numbers say which of the rows with a 25.
            shared = {i: len(_names(words) & _names(_words(" ".join(table.rows[i])))) for i in rows}
            return [i for i in rows if shared[i] == max(shared.values())]
    return []


def _width(table: Table, column: int, row: int) -> float:
    """Return how tight a row's range is; half-open ones compare by their bound."""
    interval = interval_of(table.rows[row][column], table.columns[column])
    assert interval is not None
    if math.isinf(interval.low):
        return interval.high if not math.isinf(interval.high) else math.inf
    if math.isinf(interval.high):
        return -interval.low
    return interval.high - interval.low


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(_MARK.sub("", text))}


def _names(words: set[str]) -> set[str]:
    return {word for word in words if not word[0].isdigit()}


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
