"""Tables printed sideways."""

from __future__ import annotations

import pytest
from drawing import grid, rows

from pincite.read.pdf.tables.find import tables_of
from pincite.read.pdf.tables.geometry import main_angle, turn_rulings, turn_words

TEXTS = [["Item", "A", "B"]] + [[f"row{n}", str(n), str(n * n)] for n in range(1, 12)]


@pytest.mark.parametrize("angle", [90, 270])
def test_a_table_at_a_right_angle_is_read(angle: int) -> None:
    page = rows(TEXTS, (50, 150, 250))
    lines = grid((45, 110, 200, 260), [98 + 14 * n for n in range(13)])
    sideways = turn_words(page, 360 - angle)
    assert main_angle(sideways) == angle
    (table,) = tables_of(sideways, turn_rulings(lines, 360 - angle))
    assert table.rows == TEXTS
    inside = all(table.x0 <= word.x0 and word.y1 <= table.y1 for word in sideways)
    assert inside
