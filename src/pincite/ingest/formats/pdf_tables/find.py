"""All tables of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pypdfium2

from pincite.ingest.formats.pdf.page import FoundTable, Word
from pincite.ingest.formats.pdf_tables.chart import has_drawing
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

LAYOUT_LENGTH = 200  # characters of an average cell: the frame only arranges the page


def find_tables(page: pypdfium2.PdfPage, words: Sequence[Word]) -> list[FoundTable]:
    """The tables on a page, top to bottom."""
    return list(tables_of(words, read_rulings(page)))


def tables_of(words: Sequence[Word], rulings: Rulings) -> list[SpannedTable]:
    """The tables that words and rulings form, top to bottom."""
    angle = main_angle(words)
    if angle:
        found = tables_of(turn_words(words, angle), turn_rulings(rulings, angle))
        for number, turned in enumerate(found):
            x0, y0, x1, y1 = turn_box(turned.box, 360 - angle)
            found[number] = replace(turned, x0=x0, y0=y0, x1=x1, y1=y1, columns=())
        return found
    rules = rulings.horizontal
    ruled = (ruled_table(grid, words, rules) for grid in find_grids(rulings))
    found = [table for table in ruled if table]
    found = [table for table in found if not has_drawing(table.box, rulings.slanted)]
    free = [word for word in words if not any(table.holds(*word.middle) for table in found)]
    for group in split_columns(free):
        found.extend(
            table
            for table in unruled_tables(group, rules)
            if not has_drawing(table.box, rulings.slanted)
        )
    return sorted(_apart(found), key=lambda table: (table.y0, table.x0))


def _apart(tables: Sequence[SpannedTable]) -> list[SpannedTable]:
    """Tables without those inside others; a frame of prose around a table gives way to it."""
    kept: list[SpannedTable] = []
    for table in sorted(tables, key=lambda t: (t.x0 - t.x1) * (t.y1 - t.y0)):
        x, y = (table.x0 + table.x1) / 2, (table.y0 + table.y1) / 2
        around = next((other for other in kept if other.holds(x, y)), None)
        if around is None:
            kept.append(table)
        elif sum(len(cell.text) for cell in around.cells) > LAYOUT_LENGTH * len(around.cells):
            kept = [other for other in kept if other is not around] + [table]
    return kept
