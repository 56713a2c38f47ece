"""How many rows at the top of a table are its head."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.ingest.formats.pdf_tables.geometry import Cell
from pincite.ingest.formats.pdf_tables.textlines import is_number, is_year
from pincite.model.locators import FIGURE_WORD, TABLE_WORD

_CAPTION = re.compile(
    rf"(?:{TABLE_WORD}|{FIGURE_WORD}|exhibit|chart)\s*[:.]?\s*[A-Z]?[\d.-]+", re.I
)


def is_caption(text: str) -> bool:
    """Whether a text begins like the caption of a table."""
    return bool(_CAPTION.match(text))


def count_header_rows(cells: Sequence[Cell]) -> int:
    """Rows before the first one with figures or a heading of rows; one when there are none.

    Years are no figures here: they head columns.

    >>> count_header_rows([Cell(0, 1, "1996"), Cell(1, 0, "Austria"), Cell(1, 1, "27.5")])
    1
    """
    height = max(cell.row + cell.rows for cell in cells)
    for row in range(height):
        beside = [cell for cell in cells if cell.row == row and cell.column > 0]
        figures = [cell for cell in beside if is_number(cell.text) and not is_year(cell.text)]
        is_heading = row > 0 and not beside and any(cell.row == row for cell in cells)
        if is_heading or (figures and 3 * len(figures) >= len(beside)):
            return row
    return 1
