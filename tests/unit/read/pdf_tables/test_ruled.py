"""Ruled tables, with what is left out of their rulings."""

from __future__ import annotations

from dataclasses import replace

from drawing import grid, rows, words

from pincite.read.pdf.tables.find import tables_of
from pincite.read.pdf.tables.geometry import Rule, Rulings

XS = (50.0, 150.0, 250.0, 350.0)
EDGES = (45.0, 110.0, 210.0, 310.0)  # of the columns: between the texts
TEXTS = [["Country", "1996", "1997"], ["Austria", "27.5", "28.1"], ["France", "25.0", "26"]]


def test_a_full_grid_gives_its_cells() -> None:
    page = rows(TEXTS, XS)
    (table,) = tables_of(page, grid(EDGES, (98, 112, 126, 140)))
    assert table.rows == TEXTS
    assert table.header_rows == 1
    assert (table.x0, table.y0, table.x1, table.y1) == (45, 98, 310, 140)


def test_a_missing_line_makes_a_cell_that_spans() -> None:
    page = rows([["", "", ""], *TEXTS[1:]], XS) + words("Both years", 150, 100)
    lines = grid(EDGES, (98, 112, 126, 140))
    short = replace(lines, vertical=[*lines.vertical[:2], Rule(210, 112, 140), lines.vertical[3]])
    (table,) = tables_of(page, short)
    assert table.rows[0] == ["", "Both years", "Both years"]
    assert table.cells[0].columns == 2


def test_rows_of_figures_without_lines_between_are_rows() -> None:
    page = rows([*TEXTS, ["Germany", "30", "31"]], XS)
    (table,) = tables_of(page, grid(EDGES, (98, 112, 154)))
    assert [row[0] for row in table.rows] == ["Country", "Austria", "France", "Germany"]


def test_wrapped_text_in_a_ruled_row_is_one_cell() -> None:
    page = [
        *rows([["Name", "Meaning", "x"]], XS),
        *words("ab", 50, 120),
        *words("first line", 120, 120),
        *words("goes on", 120, 132),
    ]
    (table,) = tables_of(page, grid(EDGES, (98, 114, 148)))
    assert table.rows[1][:2] == ["ab", "first line goes on"]


def test_columns_without_lines_between_are_columns() -> None:
    page = rows(TEXTS, XS)
    lines = grid((45.0, 110.0, 310.0), (98, 112, 126, 140))
    (table,) = tables_of(page, lines)
    assert table.rows == TEXTS


def test_open_sides_belong_to_the_table() -> None:
    lines = grid(EDGES, (98, 112, 126, 140))
    page = rows(TEXTS, XS)
    (table,) = tables_of(page, replace(lines, vertical=lines.vertical[1:3]))
    assert table.rows == TEXTS


def test_a_caption_in_the_frame_is_not_a_row() -> None:
    page = rows(TEXTS, XS) + words("Table 3. Prices", 60, 84)
    lines = grid(EDGES, (98, 112, 126, 140))
    frame = [Rule(82, 45, 310), *lines.horizontal]
    sides = [Rule(45, 82, 140), *lines.vertical[1:3], Rule(310, 82, 140)]
    (table,) = tables_of(page, Rulings(frame, sides))
    assert table.rows[0] == TEXTS[0]


def test_a_frame_around_prose_is_no_table() -> None:
    page = [
        word for n in range(6) for word in words("a few words of prose in a box", 60, 100 + 12 * n)
    ]
    assert tables_of(page, grid((50, 300), (95, 180))) == []


def test_the_grid_of_a_chart_is_no_table() -> None:
    heights = [100.0 + 20 * n for n in range(6)]
    scale = [word for n, y in enumerate(heights) for word in words(str(90 - 10 * n), 60, y - 5)]
    lines = Rulings(
        [Rule(y, 80, 300) for y in heights],
        [Rule(80, 100, 200), Rule(190, 100, 200), Rule(300, 100, 200)],
    )
    assert tables_of(scale + words("1990 2000", 120, 204), lines) == []


def test_curves_through_a_grid_make_it_a_drawing() -> None:
    lines = grid(EDGES, (98, 112, 126, 140))
    curve = [(60.0 + 30 * n, 110.0) for n in range(8)]
    assert tables_of(rows(TEXTS, XS), replace(lines, slanted=curve)) == []
