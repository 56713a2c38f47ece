"""Tables: parsing, ranges in cells, and the cell that a question means."""

from __future__ import annotations

import pytest

from pincite.model.tables import (
    find_cells,
    groups_of,
    has_words,
    intervals_of,
    numbers,
    parse_table,
    row_names,
    row_spans,
    unit_of,
)

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
        ("10, 11", "", [10, 11], [10.5, 1011]),
        ("2,5", "", [2.5], [25]),
        ("60 -80", "", [60, 70, 80], [59, 81]),
    ],
)
def test_ranges(cell: str, column: str, inside: list[float], outside: list[float]) -> None:
    def holds(value: float) -> bool:
        return any(value in interval for interval in intervals_of(cell, column))

    assert all(holds(value) for value in inside)
    assert not any(holds(value) for value in outside)


def test_a_cell_without_numbers_is_no_range() -> None:
    assert intervals_of("Not permitted") == ()
    assert intervals_of("2024-01-05") == ()


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [("8 kN", "hemp", "12"), ("10", "wire", "4"), ("15", "wire", "6"), ("500", "hemp", "1,200")],
)
def test_a_number_finds_the_row_whose_range_holds_it(row: str, column: str, value: str) -> None:
    table = parse_table(TEXT)
    assert table is not None
    (cell,) = find_cells(table, row, column)
    assert (cell.value, cell.unit) == (value, "mm")


def test_a_cell_is_bare_of_marks_but_not_of_exponents() -> None:
    table = parse_table("| A | B |\n|---|---|\n| x^1^ | 10^3^ m² |\n\n^1^ Galvanised only.")
    assert table is not None
    assert [table.bare(cell) for cell in table.rows[0]] == ["x", "10^3^ m²"]


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


def test_an_exponent_is_no_footnote() -> None:
    table = parse_table(
        "| Room | Area | Fee |\n|---|---|---|\n| Hall | 10 m² | 95² |\n\n² Waived.\n"
    )
    assert table is not None
    area, fee = find_cells(table, "Hall", "")
    assert (area.value, area.notes) == ("10 m²", ())
    assert (fee.value, fee.notes) == ("95", ("Waived.",))


def test_units() -> None:
    assert unit_of("Length, mm") == "mm"
    assert unit_of("Notes") == ""


TWO_KEYS = """| Main, copper (mm²) | Main, aluminium (mm²) | Rod, copper | Rod, aluminium |
|---|---|---|---|
| Not exceeding 50 | Not exceeding 70 | 10 | 16 |
| Over 50 through 70 | Over 70 through 120 | 25 | 35 |
| Over 70 through 150 | Over 120 through 240 | 35 | 50 |
"""


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [
        ("95", "rod copper", "35"),
        ("95 aluminium", "rod copper", "25"),
        ("95 mm²", "aluminium", "35"),
        ("95 mm² copper", "rod aluminium", "50"),
        ("50 mm² aluminium", "rod copper", "10"),
    ],
)
def test_words_say_which_column_the_number_is_about(row: str, column: str, value: str) -> None:
    table = parse_table(TWO_KEYS)
    assert table is not None
    (cell,) = find_cells(table, row, column)
    assert cell.value == value
    assert cell.key.split(":")[0] in table.columns


def test_a_value_in_another_unit_fits_no_row() -> None:
    table = parse_table(TWO_KEYS)
    assert table is not None
    assert find_cells(table, "95 kg", "rod copper") == []


def test_only_the_first_table_of_a_text_is_read() -> None:
    table = parse_table("| a |\n|---|\n| 1 |\n\nwords\n\n| b |\n|---|\n| 2 |\n")
    assert table is not None and table.rows == (("1",),)


def test_numbers() -> None:
    assert numbers("1,000 to 2,000.5") == [1000.0, 2000.5]
    assert numbers("-5 and 3") == [-5.0, 3.0]


def test_a_row_that_begins_with_dashes_is_a_row() -> None:
    table = parse_table("| A | B |\n|---|:--|\n| -- | 3 |\n| --> | 4 |")
    assert table is not None and table.rows == (("--", "3"), ("-->", "4"))
    assert parse_table("|---|---|\n|---|---|") is None


STATEMENT = """Statements of Earnings (in millions, except per share)

| Years ended December 31, | 2021 | 2020 |
|---|---|---|
| Net sales |  |  |
| \u00a0Products | $900 | $800 |
| \u00a0Services | 100 | 90 |
| \u00a0\u00a0Total net sales | 1,000 | 890 |
| Cost of sales |  |  |
| \u00a0Products(1) | (500) | (450) |
| \u00a0Services | (50) | (40) |
| Gross profit | 450 | 400 |
| Earnings per share | $1.50 | $1.20 |
"""


def test_rows_of_one_name_are_told_apart_by_their_group() -> None:
    table = parse_table(STATEMENT)
    assert table is not None
    assert row_names(table)[2] == "Net sales > Services"
    assert row_names(table)[6] == "Cost of sales > Services"
    assert row_names(table)[5] == "Products(1)"  # as printed, and so unique
    assert groups_of(table)[6] == ("Cost of sales",)
    assert groups_of(table)[7] == ()  # set in no further than the group's own label


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("Net sales > Products", "$900"),
        ("Products, cost of sales", "(500)"),
        ("Cost of sales > Services", "(50)"),
        ("gross profit", "450"),
    ],
)
def test_a_row_is_asked_for_with_its_group(row: str, value: str) -> None:
    table = parse_table(STATEMENT)
    assert table is not None
    (cell,) = find_cells(table, row, "2021")
    assert cell.value == value


def test_a_cell_knows_its_scale_currency_and_period() -> None:
    table = parse_table(STATEMENT)
    assert table is not None
    (sales,) = find_cells(table, "Gross profit", "2021")
    (share,) = find_cells(table, "Earnings per share", "2020")
    assert (sales.unit, sales.scale, sales.period) == ("$", "millions", "2021")
    assert (share.value, share.scale) == ("$1.20", "")


def test_a_year_is_no_unit() -> None:
    assert unit_of("November 27, 2015") == ""
    assert unit_of("Weight (kg)") == "kg"


def test_flush_groups_end_with_their_total() -> None:
    rows = ["Assets||", "Current assets||", "Cash|1|2", "Total current assets|1|2", "Land|3|4"]
    rows += ["Total assets|4|6", "Debt|5|5"]
    body = "\n".join(f"| {row.replace('|', ' | ')} |" for row in rows)
    table = parse_table(f"|  | 2021 | 2020 |\n|---|---|---|\n{body}")
    assert table is not None
    assert groups_of(table)[2] == ("Assets", "Current assets")
    assert groups_of(table)[4:] == [("Assets",), ("Assets",), ()]


def test_an_empty_row_of_two_columns_heads_nothing() -> None:
    table = parse_table("| Code | Meaning |\n|---|---|\n| A |  |\n| B | b |\n| B | c |")
    assert table is not None
    assert groups_of(table) == [(), (), ()]


def test_the_words_of_a_title_name_a_table() -> None:
    assert has_words("Acme Inc. Consolidated Balance Sheets", "balance sheet")
    assert not has_words("Consolidated Balance Sheets", "income")
