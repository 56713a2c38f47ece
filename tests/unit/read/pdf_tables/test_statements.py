"""Tables of statements: signs beside figures, rows that head groups, labels of several lines."""

from __future__ import annotations

from drawing import grid, right, rows, words

from pincite.read.pdf.page import Word
from pincite.read.pdf.tables.find import tables_of
from pincite.read.pdf.tables.geometry import Rule, Rulings, is_number, is_year, with_signs

XS = (50.0, 300.0, 370.0)
HEAD = ["", "2021", "2020"]
ASSETS = [["Cash", "1,500", "1,400"], ["Receivables", "300", "250"], ["Total", "1,800", "1,650"]]
DEBTS = [["Payables", "(700)", "650"], ["Debt", "1,100", "1,000"]]


def dollars(y: float, *xs: float) -> list[Word]:
    return [word for x in xs for word in words("$", x, y)]


def test_currency_signs_join_the_figures_behind_them() -> None:
    page = rows([HEAD, *ASSETS], XS) + dollars(114, 255, 330) + dollars(142, 255, 330)
    (table,) = tables_of(page, Rulings())
    assert table.rows[1] == ["Cash", "$1,500", "$1,400"]
    assert table.rows[3] == ["Total", "$1,800", "$1,650"]


def test_what_closes_a_figure_joins_it() -> None:
    page = [
        *words("(12", 100, 10),
        *words(")", 117, 10),
        *words("7", 200, 10),
        *words("%", 207, 10),
    ]
    assert [word.text for word in with_signs(page)] == ["(12)", "7%"]


def test_a_sign_with_no_figure_stays_as_it_is() -> None:
    page = [*words("$ each", 100, 10), *words("a )", 200, 10)]
    assert [word.text for word in with_signs(page)] == ["$", "each", "a", ")"]


def test_groups_are_no_head() -> None:
    texts = [HEAD, ["Assets", "", ""], ["Current assets", "", ""], *ASSETS]
    rules = [Rule(112, 50, 370), Rule(140, 50, 370)]  # under the head, and a shade's edge
    (table,) = tables_of(rows(texts, XS), Rulings(rules))
    assert table.header_rows == 1
    assert table.rows == texts


def test_rows_shaded_by_turns_have_no_head() -> None:
    texts = [*ASSETS, *DEBTS, ["Equity", "5", "6"]]
    shades = [Rule(112.0 + 14 * n, 50, 370) for n in range(5)]
    (table,) = tables_of(rows(texts, XS), Rulings(shades))
    assert table.header_rows == 0
    assert table.rows == texts


def test_years_with_notes_and_what_stands_above_them_are_the_head() -> None:
    texts = [["", "12-Month", "11-Month"], ["Year", "2021 (1)", "2020 (2)(3)"], *ASSETS]
    (table,) = tables_of(rows(texts, XS), Rulings())
    assert table.rows[0] == ["Year", "12-Month 2021 (1)", "11-Month 2020 (2)(3)"]
    assert is_year("2020 (2)(3)")


def test_labels_of_many_lines_do_not_cut_a_table() -> None:
    label = "Common shares authorised and issued at"
    page = rows([HEAD, *ASSETS], XS)
    for line in range(4):  # more lines than a heading between rows would have
        page += words(label, 50, 156 + 14 * line)
    page += rows([["the end of each year", "22", "21"], *DEBTS], XS, 212)
    (table,) = tables_of(page, Rulings())
    assert [row[0] for row in table.rows[-2:]] == ["Payables", "Debt"]
    assert table.header_rows == 1


def test_figures_that_end_elsewhere_are_another_table() -> None:
    page = rows([HEAD, *ASSETS], XS)
    for line in range(4):
        page += words("The following rows are of another kind", 50, 156 + 14 * line)
    page += rows(
        [["Payables", "1", "2"], ["Debt", "3", "4"], ["Loans", "5", "6"]], (50, 280, 345), 212
    )
    assert len(tables_of(page, Rulings())) == 2


def test_labels_above_their_figures_are_one_row() -> None:
    page = rows([HEAD, *ASSETS, ["Total of all that is owed", "", ""]], XS)
    page += right("77", 300, 168) + right("66", 370, 168)
    (table,) = tables_of(page, Rulings())
    assert table.rows[-1] == ["Total of all that is owed", "77", "66"]


def test_years_under_figures_head_another_table() -> None:
    texts = [HEAD, *ASSETS, ["(in millions)", "2019", "2018"], *DEBTS, ["Loans", "5", "6"]]
    first, second = tables_of(rows(texts, XS), Rulings())
    assert first.rows == texts[:4]
    assert second.rows == texts[4:]


def test_a_table_without_head_has_that_of_the_table_above_in_the_same_columns() -> None:
    texts = [*DEBTS, ["Loans", "5", "6"]]
    between = "What is owed at the end of the year to all others is in these rows"
    page = rows([HEAD, *ASSETS], XS) + words(between, 50, 160) + rows(texts, XS, 176)
    _, second = tables_of(page, Rulings())
    assert second.header_rows == 1
    assert second.rows == [HEAD, *texts]


def test_heads_in_a_frame_belong_to_the_figures_below() -> None:
    page = rows([["(in millions)", "2021", "2020"], *ASSETS], XS)
    (table,) = tables_of(page, grid((45, 220, 310, 380), (96, 112)))
    assert table.rows[0] == ["(in millions)", "2021", "2020"]
    assert table.rows[1:] == ASSETS


def test_words_above_the_years_belong_to_the_head() -> None:
    page = words("Years ended", 296, 86) + rows([HEAD, *ASSETS], XS)
    (table,) = tables_of(page, Rulings())
    assert table.rows[:2] == [["", "Years ended", "Years ended"], HEAD]


def test_tables_beside_each_other_are_two() -> None:
    texts = [HEAD, *ASSETS, *DEBTS, *[[f"Loans of kind {name}", "5", "6"] for name in "abcdefg"]]
    page = rows(texts, (50, 180, 240)) + rows(texts, (300, 430, 490), 107)
    for x in (50, 300):  # a title over each
        page += words("What the company has and what it owes now", x, 60)
    assert [table.rows for table in tables_of(page, Rulings())] == [texts, texts]


def test_a_sign_before_a_dash_stands_for_a_figure() -> None:
    assert is_number("$—") and is_number("—%")


def test_a_sign_whose_figure_is_blank_is_no_cell() -> None:
    page = rows([HEAD, *ASSETS, ["Interest", "", "42"]], XS)
    page += dollars(114, 255, 330) + dollars(156, 255, 330)
    (table,) = tables_of(page, Rulings())
    assert table.rows[4] == ["Interest", "", "$42"]


def test_a_sign_that_touches_the_figure_before_it_is_of_the_next_one() -> None:
    page = [*words("$ (5.4)$", 100, 10), *words("31.2", 200, 10)]
    assert [word.text for word in with_signs(page)] == ["$(5.4)", "$31.2"]
    behind = [*words("5.4€", 100, 10), *words("31.2€", 200, 10)]
    assert [word.text for word in with_signs(behind)] == ["5.4€", "31.2€"]


def test_a_title_that_shares_its_line_with_the_company_is_no_head() -> None:
    titles = [*words("Balance Sheets", 50, 80), *right("Example and Subsidiary Companies", 370, 80)]
    (table,) = tables_of(titles + rows([HEAD, *ASSETS], XS), Rulings([Rule(95, 50, 370)]))
    assert table.rows == [HEAD, *ASSETS]
    head = [*words("Item", 50, 86), *words("Balance", 300, 86)]  # in the middle of its columns
    (table,) = tables_of(head + rows([HEAD, *ASSETS], XS), Rulings())
    assert table.rows[0][0] == "Item"


def test_notes_below_the_figures_are_no_rows() -> None:
    notes = [*words("(1)", 50, 156), *words("As of the end of each year", 80, 156)]
    (table,) = tables_of(rows([HEAD, *ASSETS], XS) + notes, Rulings())
    assert table.rows == [HEAD, *ASSETS]


def test_words_that_lead_into_a_table_end_the_one_above() -> None:
    lead = words("Debts are as follows:", 50, 160)
    below = rows([HEAD, *DEBTS, ["Equity", "5", "6"]], XS, y=176)
    first, second = tables_of(rows([HEAD, *ASSETS], XS) + lead + below, Rulings())
    assert first.rows[-1] == ASSETS[-1]
    assert second.rows[:2] == [HEAD, DEBTS[0]]
