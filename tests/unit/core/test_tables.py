"""Tables: parsing, ranges in cells, and the cell that a question means."""

from __future__ import annotations

import pytest

from pincite.core.tables import find_cells, interval_of, parse_table, row_spans, unit_of

TEXT = """**Table 9.1 Sizes of Ropes**

| Load (kN) | Hemp (mm) | Wire (mm) |
|---|---|---|
| Not exceeding 10 | 12 | 4 |
| Over 10 through 20 | 16 | 6^1^ |
| Over 20 | 1,200 | 8 |

^1^ Galvanised only.
"""


def test_a_table_has_title_columns_rows_units_and_footnotes() -> None:
    table = parse_table(TEXT)
    assert table is not None
    assert table.title == "Table 9.1 Sizes of Ropes"
    assert table.columns == ("Load (kN)", "Hemp (mm)", "Wire (mm)")
    assert table.units == ("kN", "mm", "mm")
    assert table.rows[1] == ("Over 10 through 20", "16", "6^1^")
    assert table.footnotes == (("1", "Galvanised only."),)
    assert "Hemp" in table.compact() and "16" not in table.compact()
    assert table.records()[0] == (
        "Table 9.1 Sizes of Ropes: Load (kN) Not exceeding 10; Hemp (mm) 12; Wire (mm) 4"
    )


def test_rows_stand_where_they_say() -> None:
    assert [TEXT[a:b].split("|")[2].strip() for a, b in row_spans(TEXT)] == ["12", "16", "1,200"]


def test_escaped_pipes_stay_in_their_cell() -> None:
    table = parse_table("| a \\| b | c |\n|---|---|\n| 1 | 2 |")
    assert table is not None and table.columns == ("a | b", "c")


def test_text_without_a_table() -> None:
    assert parse_table("no table | here") is None


@pytest.mark.parametrize(
    ("cell", "column", "inside", "outside"),
    [
        ("Over 60 through 100", "", [61, 100], [60, 101]),
        ("Not exceeding 60", "", [0, 60], [60.5]),
        ("60 or less", "", [60], [61]),
        ("1,000 and over", "", [1000, 5000], [999]),
        ("Over 275", "", [276], [275]),
        ("61–100", "", [61, 100], [60, 101]),
        ("Below 5", "", [4], [5]),
        ("63", "Rating, not exceeding (A)", [40, 63], [64]),
        ("63", "Rating (A)", [63], [62]),
        ("At least 3", "", [3, 9], [2]),
    ],
)
def test_ranges(cell: str, column: str, inside: list[float], outside: list[float]) -> None:
    interval = interval_of(cell, column)
    assert interval is not None
    assert all(value in interval for value in inside)
    assert not any(value in interval for value in outside)


def test_a_cell_without_numbers_is_no_range() -> None:
    assert interval_of("Not permitted") is None


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [("8 kN", "hemp", "12"), ("10", "wire", "4"), ("15", "wire", "6"), ("500", "hemp", "1,200")],
)
def test_a_number_finds_the_row_whose_range_holds_it(row: str, column: str, value: str) -> None:
    table = parse_table(TEXT)
    assert table is not None
    (cell,) = find_cells(table, row, column)
    assert (cell.value, cell.unit) == (value, "mm")


def test_footnotes_come_with_their_cell() -> None:
    table = parse_table(TEXT)
    assert table is not None
    (cell,) = find_cells(table, "15", "wire")
    assert cell.notes == ("Galvanised only.",)


def test_words_choose_among_rows_with_the_same_number() -> None:
    table = parse_table(
        "| Metal | Size | A |\n|---|---|---|\n| Copper | 25 | 90 |\n| Tin | 25 | 7 |"
    )
    assert table is not None
    assert [cell.value for cell in find_cells(table, "tin 25", "A")] == ["7"]
    assert [cell.value for cell in find_cells(table, "25", "A")] == ["90", "7"]


def test_nothing_fits() -> None:
    table = parse_table(TEXT)
    assert table is not None
    assert find_cells(table, "steel", "hemp") == []
    assert find_cells(table, "15", "cotton") == []


def test_units() -> None:
    assert unit_of("Length, mm") == "mm"
    assert unit_of("Notes") == ""
