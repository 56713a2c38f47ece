"""How words of a document are shown: rows with the names of their columns, places line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.answer.sentences import Unit, begins_item, units
from pincite.core.tables import Table, parse_table

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_RAISED = re.compile(r"\^([0-9a-z]{1,3})\^")
_RAISING = str.maketrans(
    "0123456789abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
)


def place_shown(text: str, start: int, end: int) -> str:
    """Return a stretch of a place for reading: a line for each item, paragraph and row.

    Marks of footnotes are raised and stay, as the footnotes stand below with theirs.
    """
    lines: list[str] = []
    last, table = start, 0
    for unit in units(text):
        if unit.kind == "header":
            table = unit.start
        if unit.kind == "header" or unit.start < start or unit.end > end:
            continue
        words = " ".join(text[unit.start : unit.end].split())
        if unit.kind == "row":
            row = Unit(unit.start - table, unit.end - table, "row")
            words = row_shown(text[table:], row, keeps_marks=True)
        gap = text[last : unit.start]
        is_new = unit.kind != "sentence" or _BLANK_LINE.search(gap) or "|" in gap
        if not lines or is_new or ("\n" in gap and begins_item(words)):
            lines.append(words)
        else:
            lines[-1] += f" {words}"
        last = unit.end
    return "\n".join(map(raised, lines))


def raised(text: str) -> str:
    """Return a text with its marks and exponents as one would print them.

    >>> raised("95^1^ and 10^3^ m")
    '95¹ and 10³ m'
    """
    return _RAISED.sub(lambda match: match[1].translate(_RAISING), text)


def row_shown(text: str, row: Unit, only: Sequence[int] = (), *, keeps_marks: bool = False) -> str:
    """Return a row of a table with the names of its columns; of some columns, if named.

    Marks of footnotes are left out where the notes are quoted beside it (Quoter.with_notes).
    """
    table = parse_table(text)
    line = text[row.start : row.end]
    if table is None:
        return " ".join(line.split())
    pairs = enumerate(zip(table.columns, row_cells(table, line), strict=False))
    said = [
        f"{name}: {cell}" if keeps_marks else f"{table.bare(name)}: {table.bare(cell)}"
        for n, (name, cell) in pairs
        if cell and (not only or n in only)
    ]
    return "; ".join(said)


def row_cells(table: Table, lines: str) -> tuple[str, ...]:
    """Return the cells of one row's line, or of several."""
    alone = parse_table(f"| {' | '.join(table.columns)} |\n|---|\n{lines}")
    return tuple(cell for row in alone.rows for cell in row) if alone else ()


def row_notes(table: Table, words: str) -> list[str]:
    """Return the footnotes that the marks of rows and of their columns point to, each once."""
    rows = "\n".join(line for line in words.splitlines() if line.startswith("|"))
    cells = (*row_cells(table, rows), *table.columns)
    notes = (note for cell in cells for note in table.notes_of(cell))
    return list(dict.fromkeys(notes))
