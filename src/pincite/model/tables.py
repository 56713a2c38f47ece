"""Tables as values: cells, headers, intervals, look-up of a cell by row and column."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pincite.model.markup import plain
from pincite.model.patterns import lazy_pattern
from pincite.model.units import symbols

# A comma before exactly three digits groups thousands; before one or two it is a decimal comma.
_NUMBER = lazy_pattern(
    r"(?<![\w.,])-?(?:\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+,\d{1,2}|\d+(?:\.\d+)?)(?!\d|,\d)"
)
_GROUPED = lazy_pattern(r"[,\u00a0\u202f](?=\d{3}(?:\D|$))")
_DASH = lazy_pattern(r"(?<=\d)\s*[-–—]\s*(?=\d)")
_UNIT_BEHIND = lazy_pattern(r"\d\s*(°\s?[CF]|%|[^\W\d_]+[²³]?)")
_UP_TO = lazy_pattern(
    r"not (?:exceeding|over|more than|greater than)|up to|at most|or less|maximum|≤|<="
    r"|ne dépassant pas|jusqu",
    re.IGNORECASE,
)
_OVER = lazy_pattern(
    r"\b(?:over|above|more than|exceeding|greater than|plus de)\b|(?<!=)>(?!=)", re.IGNORECASE
)
_FROM = lazy_pattern(r"at least|or more|and (?:over|above|up)|minimum|≥|>=", re.IGNORECASE)
_BELOW = lazy_pattern(r"\b(?:below|under|less than)\b|<(?!=)", re.IGNORECASE)
# Each with whether it is a lower bound, and whether the bound itself is left out.
_BOUNDS = (
    (_UP_TO, False, False),
    (_FROM, True, False),
    (_OVER, True, True),
    (_BELOW, False, True),
)
_THROUGH = lazy_pattern(r"–|\b(?:through|to|and|but|à|a)\b", re.IGNORECASE)


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


_CELL_SPLIT = lazy_pattern(r"(?<!\\)\|")
# Nothing but dashes and their signs: a row may begin with "--" where it has nothing to say.
_RULER = lazy_pattern(r"[\s|:]*--[\s|:-]*$")
_UNIT = lazy_pattern(r"[(\[]([^()\[\]]{1,12})[)\]]\s*$|,\s*(\S{1,8})\s*$")
_MARK = lazy_pattern(r"\^([^^]{1,3})\^|(?<![¹²³⁴⁵⁶⁷⁸⁹†‡*])([¹²³⁴⁵⁶⁷⁸⁹†‡*]+)$")
_FOOTNOTE = lazy_pattern(r"^\s*(?:\^([^^]{1,3})\^|([¹²³⁴⁵⁶⁷⁸⁹†‡*]+)|(\d{1,2})(?=\s+[A-Z]))\s*(.+)$")
# The exponent of a unit: 10 m², not a mark of a footnote.
_EXPONENT = lazy_pattern(r"(?:^|[\d\s(/])(?:[mcdk]?m|ft|in|yd|s)[²³]$")
_WORD = lazy_pattern(r"[\w²³°%]+")
_NOTE_MARK = lazy_pattern(r"(?:\s?\((?:\d{1,2}|[a-z])\)){1,9}$")

NAME_CHARS = 80  # of a row's name, without its group
GROUP_CHARS = 40
INDENT = "\u00a0"  # before the label of a row, once for each step that it is set in
BELOW = " > "  # between the name of a group of rows and that of a row in it
_YEAR = lazy_pattern(r"(?<![\d.,])(?:19|20)\d\d(?![\d,])|(?<!\w)[1-4]Q ?\d\d(?!\d)")
_SCALE = lazy_pattern(
    r"\bin (?P<scale>hundreds|thousands|millions|billions|trillions)\b"
    r"|[(\[](?:[$€£¥] ?)?(?P<short>000s?|thousands|millions|billions)[)\]]",
    re.IGNORECASE,
)
_CURRENCY = lazy_pattern(r"[$€£¥]")
_ONE_LETTER_UNITS = "%°ACFKNVWghlmstΩ"
_FIGURE = lazy_pattern(r"[$€£¥]?\s?\(?-?[$€£¥]?\s?\.?\d")
_PER = lazy_pattern(r"\bper\b|%|\bratio\b|\bshares\b", re.IGNORECASE)
_TOTAL = lazy_pattern(r"total\b[ :]*", re.IGNORECASE)
# Printed without figures, and heads nothing: "Commitments and contingencies (Note 9)".
_NO_GROUP = lazy_pattern(r"commitments|contingenc|.*\((?:see )?notes?\b[^)]*\)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Table:
    """A table as printed: one line of column names, rows, and what its footnotes say."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[tuple[str, str], ...] = ()  # mark, text
    indents: tuple[int, ...] = ()  # of the rows' labels, in steps; none where all are flush

    @property
    def scale(self) -> str:
        """What the figures are in, as the title or a head says: "millions"."""
        match = _SCALE.search(" ".join((self.title, *self.columns)))
        return (match["scale"] or match["short"]).lower() if match else ""

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
    scale: str = ""  # "millions"; empty where the table does not say, or not of this row
    period: str = ""  # "November 27, 2015", as the head says

    @property
    def shown(self) -> str:
        """The value with its unit and scale: "17,606 million", "2.5 mm²".

        A currency is shown where the cell has it: what is printed once above is not of all rows.
        """
        value, unit = self.value, self.unit
        is_mark = len(unit) == 1 and unit not in _ONE_LETTER_UNITS  # of a footnote: "2019 (a)"
        if unit and unit not in value and not is_mark and not _CURRENCY.fullmatch(unit):
            value = f"{value} {unit}"
        return f"{value} {self.scale.removesuffix('s')}" if self.scale.isalpha() else value


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
    kept = [lines[i] for i in at if not _RULER.match(lines[i])]
    grid = [cells_of(line) for line in kept]
    if not grid:
        return None
    indents = tuple(map(_indent, kept[1:]))
    caption = " ".join(line.strip(" *_#") for line in lines[: at[0]] if line.strip())
    after = (_FOOTNOTE.match(line) for line in lines[at[-1] + 1 :])
    notes = tuple(
        (match.group(1) or match.group(2) or match.group(3), match.group(4).strip())
        for match in after
        if match
    )
    return Table(caption, grid[0], tuple(grid[1:]), notes, indents if any(indents) else ())


def _indent(line: str) -> int:
    label = line.lstrip(" |")
    return len(label) - len(label.lstrip(INDENT))


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
    unit = (match.group(1) or match.group(2)) if match else ""
    return "" if _YEAR.fullmatch(unit) or _SCALE.search(f"({unit})") else unit


def period_of(column: str) -> str:
    """Return the time that a column's name is about; empty if it names none, or several years.

    >>> [period_of(name) for name in ("November 27, 2015", "Three months ended June 30, – 2021")]
    ['November 27, 2015', 'Three months ended June 30, 2021']
    >>> period_of("2021 to 2020"), period_of("Change")
    ('', '')
    """
    years = set(_YEAR.findall(column))
    return " ".join(column.replace(" – ", " ").split()) if len(years) == 1 else ""


def without_marks(cell: str) -> str:
    """Return a cell without marks of footnotes, whether or not the table has them.

    >>> [without_marks(cell) for cell in ("95¹", "120^a^", "10 m²", "Up to 50 m³", "4*")]
    ['95', '120', '10 m²', 'Up to 50 m³', '4']
    """
    return cell.strip() if _EXPONENT.search(cell) else _MARK.sub("", cell).strip()


def find_cells(table: Table, row: str, column: str) -> list[Cell]:
    """Return the cells that a row's name or value and a column's name mean.

    A row fits by its words, by an equal number, or by a range that holds the number; of ranges
    that are open on one side ("not exceeding 60") the tightest one fits. Of rows with one name
    the group says which: "Cost of sales > Products".
    """
    key, rows = _rows(table, row, column)
    names = row_names(table)
    columns = _columns(table, column, key)
    return [_cell(table, number, at, names[number], key) for number in rows for at in columns]


def cell_at(table: Table, row: int, column: int) -> Cell:
    """Return the cell in a row and a column, counted from 0.

    >>> table = Table("Sales ($ in millions)", ("", "2021"), (("Goods", "9"),))
    >>> cell_at(table, 0, 1).shown
    '9 million'
    """
    return _cell(table, row, column, row_names(table)[row], 0)


def _cell(table: Table, number: int, at: int, name: str, key: int) -> Cell:
    row, head = table.rows[number], table.columns[at]
    value = row[at] if at < len(row) else ""
    bare = without_marks(value)
    unit = unit_of(head) or (_money(table, at) if _FIGURE.match(bare) else "")
    has_scale = bool(_FIGURE.match(bare)) and not _PER.search(f"{name} {bare}")
    return Cell(
        number,
        at,
        name,
        head,
        bare,
        "%" if bare.endswith("%") else unit,
        table.notes_of(value),
        f"{table.columns[key]}: {row[key]}",
        table.scale if has_scale else "",
        period_of(head),
    )


def _money(table: Table, at: int) -> str:
    """Return the currency of a column: printed once above, it counts for the figures below."""
    signs = (_CURRENCY.search(row[at]) for row in table.rows if at < len(row))
    return next((sign.group() for sign in signs if sign), "")


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
    names = [_words(without_marks(_NOTE_MARK.sub("", row[0]))) for row in table.rows]
    filled = [i for i, row in enumerate(table.rows) if any(row[1:])] or range(len(table.rows))
    exact = [i for i in filled if words and words == names[i]]
    if len(exact) != 1 and words:
        chains = [_words(" ".join(chain)) for chain in groups_of(table)]
        grouped = [i for i in filled if names[i] < words <= names[i] | chains[i]]
        exact = exact or grouped
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


def has_words(title: str, name: str) -> bool:
    """Return whether a title has all words of a name, in one number or the other.

    >>> has_words("Acme Inc. Consolidated Balance Sheets", "consolidated balance sheet table")
    True
    """
    wanted, words = ({w.removesuffix("s") for w in _words(each)} for each in (name, title))
    return bool(wanted - {"table"}) and wanted - {"table"} <= words


def is_named(cell: Cell, row: str) -> bool:
    """Return whether the row of a cell has just this name, with or without its group."""
    label = cell.row_name.split(BELOW)[-1]
    return _words(row) in (_words(_NOTE_MARK.sub("", label)), _words(cell.row_name))


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


def groups_of(table: Table) -> list[tuple[str, ...]]:
    """Return for each row the labels of the groups that it is in, the outermost first.

    A row with a label alone opens a group. Where labels are set in, a group lasts as long as they
    are deeper than its own; where they are flush, until the next one, or until its total.
    """
    indents = table.indents or (0,) * len(table.rows)
    open_: list[_Group] = []
    found: list[tuple[str, ...]] = []
    for number, (row, depth) in enumerate(zip(table.rows, indents, strict=True)):
        opens = _opens_group(table, number)
        while open_ and (
            open_[-1].depth > depth
            or (open_[-1].depth == depth and (open_[-1].has_deeper or (opens and open_[-1].rows)))
        ):
            open_.pop()
        found.append(tuple(group.label for group in open_))
        for group in open_:
            group.rows += not opens
            group.has_deeper |= depth > group.depth
        if opens:
            open_.append(_Group(row[0].rstrip(": "), depth))
        elif total := _TOTAL.match(row[0]):
            named = _words(row[0][total.end() :])
            ended = next((n for n, g in enumerate(open_) if _words(g.label) == named), len(open_))
            del open_[ended:]
    return found


@dataclass(slots=True)
class _Group:
    """Rows under a label, as long as they come."""

    label: str
    depth: int
    rows: int = 0
    has_deeper: bool = False


def _opens_group(table: Table, number: int) -> bool:
    """Return whether a row is a label over the rows below it, and no row whose cells are empty."""
    row = table.rows[number]
    if number + 1 == len(table.rows) or not row[0] or _NO_GROUP.match(row[0]):
        return False
    is_alone = len(row) > 1 and (not any(row[1:]) or set(row) == {row[0]})
    if not is_alone or len(table.columns) > 2 or row[0].endswith(":"):
        return is_alone
    return bool(table.indents) and table.indents[number] < table.indents[number + 1]


def row_names(table: Table) -> list[str]:
    """Return a name for each row: its first cell, and its groups or more cells to make it unique.

    >>> rows = (("Hot work", "Up to 50"), ("Hot work", "Over 50"), ("Diving", "Any"))
    >>> row_names(Table("", ("Work", "Area"), rows))
    ['Hot work, Up to 50', 'Hot work, Over 50', 'Diving']
    >>> rows = (("Sales:", "", ""), ("Goods", "9", "8"), ("Cost:", "", ""), ("Goods", "5", "6"))
    >>> row_names(Table("", ("", "2021", "2020"), rows))
    ['Sales:', 'Sales > Goods', 'Cost:', 'Cost > Goods']
    """
    rows, groups = table.rows, groups_of(table)
    names = [""] * len(rows)
    longest = max(map(len, groups), default=0)
    steps = [(above, 1) for above in range(longest + 1)] + [(longest, 2), (longest, 3)]
    for above, cells in steps:
        counts = Counter(names)
        names = [
            _row_name(group[max(0, len(group) - above) :], row[:cells])
            if counts[name] > 1 or (above, cells) == (0, 1)
            else name
            for group, row, name in zip(groups, rows, names, strict=True)
        ]
    counts = Counter(names)
    return [
        f"{name} (row {number})" if counts[name] > 1 or not name else name
        for number, name in enumerate(names, 1)
    ]


def _row_name(groups: Sequence[str], cells: Sequence[str]) -> str:
    """Return the name of a row; what it is in is cut short rather than what it is."""
    name = _bare_name(", ".join(cell for cell in cells if cell))[:NAME_CHARS]
    return BELOW.join([*(_short(group) for group in groups), name]) if name else ""


def _short(group: str) -> str:
    return group if len(group) <= GROUP_CHARS else f"{group[:GROUP_CHARS].rsplit(' ', 1)[0]}…"
