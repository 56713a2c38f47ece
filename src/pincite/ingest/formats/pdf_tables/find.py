"""All tables of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pypdfium2

from pincite.ingest.formats.pdf.page import FoundTable, Word
from pincite.ingest.formats.pdf_tables.geometry import Rulings, SpannedTable
from pincite.ingest.formats.pdf_tables.grid import find_grids
from pincite.ingest.formats.pdf_tables.gutters import split_columns
from pincite.ingest.formats.pdf_tables.ruled import ruled_table
from pincite.ingest.formats.pdf_tables.rulings import read_rulings
from pincite.ingest.formats.pdf_tables.turned import (
    main_angle,
    turn_box,
    turn_rulings,
    turn_words,
)
from pincite.ingest.formats.pdf_tables.unruled import unruled_tables


def find_tables(page: pypdfium2.PdfPage, words: Sequence[Word]) -> list[FoundTable]:
    """The tables on a page, top to bottom."""
    return list(tables_of(words, read_rulings(page)))


def tables_of(words: Sequence[Word], rulings: Rulings) -> list[SpannedTable]:
    """The tables that words and rulings form, top to bottom."""
    angle = main_angle(words)
    if angle:
        found = tables_of(turn_words(words, angle), turn_rulings(rulings, angle))
        return [_turned_back(table, 360 - angle) for table in found]
    rules = rulings.horizontal
    found = [table for grid in find_grids(rulings) if (table := ruled_table(grid, words, rules))]
    free = [word for word in words if not any(_holds(table, word) for table in found)]
    for group in split_columns(free):
        found.extend(unruled_tables(group, rules))
    return sorted(found, key=lambda table: (table.y0, table.x0))


def _turned_back(table: SpannedTable, angle: int) -> SpannedTable:
    x0, y0, x1, y1 = turn_box((table.x0, table.y0, table.x1, table.y1), angle)
    return replace(table, x0=x0, y0=y0, x1=x1, y1=y1)


def _holds(table: SpannedTable, word: Word) -> bool:
    x, y = (word.x0 + word.x1) / 2, (word.y0 + word.y1) / 2
    return table.x0 <= x <= table.x1 and table.y0 <= y <= table.y1
