"""What rows of tables say together: more or less, a change, a sum, the row with the most.

The operands are cells of one row for the years that a question names, or the cells of one column;
where a year, a cell or the column is not told by its head, nothing is reckoned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Literal

from pincite.answer.agent.calculate import calculate
from pincite.answer.windows import ReadingWindow, WindowPiece
from pincite.model.editions import years
from pincite.model.tables import Table, cell_at, numbers
from pincite.model.units import CalculationError

Reckoning = Literal["", "choice", "percent", "change", "sum", "most", "least"]

_UP = r"increased?|rise|rose|grow|grew|higher|more|gain|up"
_DOWN = r"decreased?|decline|fall|fell|shrink|lower|less|loss|down"
_CHOICE = re.compile(rf"\b(?P<one>{_UP}|{_DOWN}) or (?P<other>{_UP}|{_DOWN})\b", re.IGNORECASE)
_PERCENT = re.compile(
    r"\bpercent(?:age)? (?:change|increase|decrease|decline|growth)\b|\bgrowth rate\b"
    r"|\bby what percent",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:change|difference|increase|decrease)s? (?:in|of|between)\b|\bby how much\b"
    r"|\bhow much (?:did|has|have|was|were)\b.{1,120}\b(?:increase|decrease|change|grow|fall)\b",
    re.IGNORECASE,
)
_SUM = re.compile(r"\b(?:combined|in total|sum|altogether)\b|^calculate the total\b", re.IGNORECASE)
_NAMES_ONE = re.compile(r"^(?:\w+ )?(?:which|what|who)\b", re.IGNORECASE)
_MOST = re.compile(r"\b(?:highest|largest|greatest|biggest)\b", re.IGNORECASE)
_LEAST = re.compile(r"\b(?:lowest|smallest|fewest|least)\b", re.IGNORECASE)
_ASKS_VALUE = re.compile(r"^what (?:is|was|were|are) the (?:highest|lowest)", re.IGNORECASE)
_GOES_UP = re.compile(r"\b(?:increas\w*|rose|ris(?:e|en|ing)|grew|grow\w*|higher|up)\b", re.I)
_GOES_DOWN = re.compile(r"\b(?:decreas\w*|declin\w*|fell|fall\w*|lower|down)\b", re.I)
_EITHER = re.compile(rf"\b(?:{_UP}) \((?:{_DOWN})\)", re.IGNORECASE)
_NEGATIVE = re.compile(r"^[$€£\s]*[(−–-]")
_TOTAL = re.compile(r"\btotal|\baverage|\ball\b|\bother\b|^\W*$", re.IGNORECASE)
NAMED = 0.2  # of a question's words that the row has that is reckoned with
MIN_ROWS = 3  # of a table in which one has the most


def asked_reckoning(question: str) -> Reckoning:
    """Return what a question wants of several cells; empty if it asks for one.

    >>> asked_reckoning("Did costs increase or decrease from 2019 to 2020?")
    'choice'
    >>> asked_reckoning("What was the change in costs from 2019 to 2020?")
    'change'
    >>> asked_reckoning("Which state had the highest balance?"), asked_reckoning("What is it?")
    ('most', '')
    """
    several = len(years(question)) > 1
    if _CHOICE.search(question):
        return "choice"
    if several and _PERCENT.search(question):
        return "percent"
    if several and _CHANGE.search(question):
        return "change"
    if several and _SUM.search(question):
        return "sum"
    if _NAMES_ONE.search(question) and not _ASKS_VALUE.search(question):
        return "most" if _MOST.search(question) else "least" if _LEAST.search(question) else ""
    return ""


@dataclass(frozen=True, slots=True)
class Reckoned:
    """What was reckoned, of which cells, and how it is written down."""

    text: str
    piece: WindowPiece
    cells: tuple[WindowPiece, ...]
    leans_on: str
    calculation: str = ""


def reckoned(
    question: str, wanted: Reckoning, window: ReadingWindow, share: Callable[[str], float]
) -> Reckoned | None:
    """Return what the rows of a window say together; None if they do not say it surely."""
    if wanted in ("most", "least"):
        return _extreme(question, wanted, window, share)
    rows = [(share(row[0].about.rpartition(" | ")[0]), row) for row in _rows(window)]
    rows = [(named, row) for named, row in rows if named >= NAMED]
    for _, row in sorted(rows, key=lambda pair: -pair[0])[:2]:
        if wanted == "choice" and (said := _signed(question, window, row)):
            return said
        cells = _of_years(row, sorted(years(question)))
        if cells and (found := _of_row(question, wanted, window, cells)):
            return found
    return None


def said_choice(question: str, clause: str) -> str:
    """Return the one of two directions that a clause says; empty if it says neither or both.

    >>> said_choice("Did costs increase or decrease?", "Costs declined by 4 %.")
    'decrease'
    """
    goes_up, goes_down = bool(_GOES_UP.search(clause)), bool(_GOES_DOWN.search(clause))
    return _chosen(question, goes_up) if goes_up != goes_down else ""


def _chosen(question: str, is_up: bool) -> str:
    """Return the word of a question for one of two directions."""
    match = _CHOICE.search(question)
    said = [match["one"], match["other"]] if match else []
    for word in said:
        if bool(re.fullmatch(_UP, word, re.IGNORECASE)) == is_up:
            return word.lower()
    return ""


def _rows(window: ReadingWindow) -> Iterator[list[WindowPiece]]:
    """Yield the cells of each row, without its label."""
    values = [piece for piece in window.pieces if piece.row >= 0 and piece.column]
    for _, row in groupby(values, key=attrgetter("row")):
        yield list(row)


def _of_years(row: Sequence[WindowPiece], wanted: Sequence[int]) -> list[WindowPiece]:
    """Return the one cell of each year, in their order; nothing if a year has none or several."""
    found = []
    for year in wanted:
        own = [cell for cell in row if years(cell.about.rpartition(" | ")[2]) == {year}]
        if len(own) != 1:
            return []
        found += own
    return found if len(found) > 1 else []


def _signed(question: str, window: ReadingWindow, row: Sequence[WindowPiece]) -> Reckoned | None:
    """Return what the sign says of a row such as "Net increase (decrease) in cash"."""
    asked = years(question)
    own = [cell for cell in row if years(cell.about.rpartition(" | ")[2]) == asked]
    if len(asked) != 1 or len(own) != 1 or not _EITHER.search(own[0].about):
        return None
    value = _value(window.text[own[0].start : own[0].end])
    said = _chosen(question, not value.startswith("(")) if value else ""
    return Reckoned(said, own[0], (own[0],), own[0].about) if said else None


def _of_row(
    question: str, wanted: Reckoning, window: ReadingWindow, cells: Sequence[WindowPiece]
) -> Reckoned | None:
    values = [_value(window.text[cell.start : cell.end]) for cell in cells]
    if "" in values or (wanted != "sum" and len(values) != 2):
        return None
    first, last = values[0], values[-1]
    heads = " ".join(cell.about for cell in cells)
    if wanted == "choice":
        change = calculate(f"{last} - {first}").number
        said = _chosen(question, change > 0) if change else ""
        return Reckoned(said, cells[0], tuple(cells), heads) if said else None
    formula = {
        "change": f"{last} - {first}",
        "percent": f"({last} - {first}) / {first} * 100",
        "sum": " + ".join(values),
    }[wanted]
    try:
        number = float(calculate(formula).number)
    except CalculationError:
        return None
    decimals = (len(each.partition(".")[2].strip(")")) for each in values)
    digits = 2 if wanted == "percent" else max(decimals)
    said = f"{number:,.{digits}f}"
    if wanted == "percent":
        said += "%"
    elif cells[0].table and (scale := cell_at(cells[0].table, cells[0].row, cells[0].column).scale):
        said += f" {scale.removesuffix('s')}" if scale.isalpha() else ""
    return Reckoned(said, cells[0], tuple(cells), heads, f"{formula} = {said}")


def _value(cell: str) -> str:
    """Return a cell's number as the calculator reads it; empty if it is not one number.

    >>> _value("$ (1,234.5)"), _value("9 to 10")
    ('(0 - 1234.5)', '')
    """
    found = re.findall(r"\d[\d,]*(?:\.\d+)?", cell)
    if len(found) != 1:
        return ""
    bare = str(found[0]).replace(",", "")
    return f"(0 - {bare})" if _NEGATIVE.match(cell) else bare


def _extreme(
    question: str, wanted: Reckoning, window: ReadingWindow, share: Callable[[str], float]
) -> Reckoned | None:
    """Return the label of the row that has the most, or least, in the column that is asked for."""
    labels = {p.row: p for p in window.pieces if p.row >= 0 and not p.column}
    table = next((p.table for p in labels.values() if p.table), None)
    if table is None:
        return None
    column = _column(question, table, share)
    values = {
        row: float(found[0])
        for row, cells in enumerate(table.rows)
        if column and column < len(cells) and not _TOTAL.search(cells[0])
        if len(found := numbers(cells[column])) == 1
    }
    if len(values) < MIN_ROWS:
        return None
    best = (max if wanted == "most" else min)(values, key=values.__getitem__)
    if best not in labels:
        return None
    label = labels[best]
    own = tuple(p for p in window.pieces if p.row == best and p.column == column)
    said = window.text[label.start : label.end]
    return Reckoned(said, label, (label, *own), f"{table.title} {' '.join(table.columns)}")


def _column(question: str, table: Table, share: Callable[[str], float]) -> int:
    """Return the one column whose head has most of the question's words and years; 0 for none."""
    asked = years(question)
    worth = []
    for column, head in enumerate(table.columns[1:], 1):
        if asked and years(head) and not asked & years(head):
            continue
        worth.append((share(head) + 0.3 * bool(asked & years(head)), column))
    best = max(worth, default=(0.0, 0))
    ties = [column for value, column in worth if value == best[0]]
    return best[1] if len(ties) == 1 else 0
