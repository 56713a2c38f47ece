"""Numbers of another law in tables: below a head "41 U.S.C.", or in a note to such words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pincite.core.types import Chunk

ROW = re.compile(r"^[ \t]*\|[^\n]*", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_LAW = re.compile(r"(?<![\d.])\d{1,3}\s{1,4}(?:U\.? ?S\.? ?C\.?|CFR|C\.F\.R\.)(?![\w.])")
_MARKED = re.compile(r"(?P<mark>(?:\\?\*){1,4}|[†‡]{1,3})[ \t]*$")
_NOTE = re.compile(r"^[ \t]*(?P<mark>(?:\\?\*){1,4}|[†‡]{1,3})[ \t]+(?P<words>[^\n]{1,2000})", re.M)
_NOTES_CHARS = 4_000  # notes stand right below their table

Stretch = tuple[int, int, str]  # start, end and the law


def row_cells(row: re.Match[str]) -> list[tuple[int, int]]:
    """Return where the cells of a row stand."""
    bars = [row.start() + match.start() for match in _BAR.finditer(row.group())]
    return [(left + 1, right) for left, right in pairwise(bars)]


def law_stretches(text: str, tables: Sequence[Chunk]) -> list[Stretch]:
    """Return where bare numbers are of another law, because a table says so, in order."""
    return sorted(
        stretch
        for table in tables
        if _LAW.search(text, table.span.start, table.span.end)
        for stretch in (*_columns(text, table), *_notes(text, table))
    )


def _columns(text: str, table: Chunk) -> Iterator[Stretch]:
    """Yield the cells below heads that name a law."""
    rows = [row_cells(row) for row in ROW.finditer(text, table.span.start, table.span.end)]
    for column, cell in enumerate(rows[0] if rows else ()):
        if found := _LAW.search(text, *cell):
            for cells in rows[1:]:
                if column < len(cells):
                    yield (*cells[column], _name(found))


def _notes(text: str, table: Chunk) -> Iterator[Stretch]:
    """Yield the notes below a table whose mark stands behind the name of a law."""
    laws: dict[str, str] = {}
    for row in ROW.finditer(text, table.span.start, table.span.end):
        for cell in row_cells(row):
            mark, found = _MARKED.search(text[slice(*cell)]), _LAW.search(text, *cell)
            if mark and found:
                laws[mark["mark"].replace("\\", "")] = _name(found)
    for note in _NOTE.finditer(text, table.span.start, table.span.end + _NOTES_CHARS):
        if law := laws.get(note["mark"].replace("\\", "")):
            yield (*note.span("words"), law)


def _name(found: re.Match[str]) -> str:
    return " ".join(found.group().split()).casefold()
