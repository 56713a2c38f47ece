"""Tables without vertical lines, and what looks like one and is none."""

from __future__ import annotations

from drawing import right, rows, words

from pincite.read.pdf.page import Word
from pincite.read.pdf.tables.find import tables_of
from pincite.read.pdf.tables.geometry import Rule, Rulings

XS = (50.0, 200.0, 270.0, 340.0)
TEXTS = [
    ["State", "Total", "Men", "Women"],
    ["Alabama", "1,234", "600", "634"],
    ["Alaska", "98", "50", "48"],
    ["Arizona", "2,000", "999", "1,001"],
]
PROSE = "some words of running text that fill a line from left to right"


def paragraph(x: float, y: float, lines: int, text: str = PROSE) -> list[Word]:
    return [word for n in range(lines) for word in words(text, x, y + 12 * n)]


def test_aligned_figures_are_a_table() -> None:
    (table,) = tables_of(rows(TEXTS, XS), Rulings())
    assert table.rows == TEXTS
    assert table.header_rows == 1


def test_prose_around_it_stays_out() -> None:
    page = paragraph(50, 20, 4) + rows(TEXTS, XS) + paragraph(50, 190, 4)
    (table,) = tables_of(page, Rulings())
    assert table.rows == TEXTS


def test_a_head_over_two_columns_spans_them() -> None:
    page = rows(TEXTS, XS) + words("By sex", 280, 84)
    rules = [Rule(80, 50, 340), Rule(97, 245, 340), Rule(112, 50, 340)]
    (table,) = tables_of(page, Rulings(rules))
    assert table.rows[0] == ["State", "Total", "By sex", "By sex"]
    assert table.rows[1] == TEXTS[0]
    assert table.header_rows == 2


def test_heads_in_the_middle_of_columns_span_them_without_rules() -> None:
    xs = (50.0, 160.0, 220.0, 300.0, 360.0)
    texts = [["", "low", "high", "low", "high"]] + [
        [f"r{n}", "1.5", "2.5", "3", "4"] for n in "abc"
    ]
    page = rows(texts, xs) + words("Men", 175, 86) + words("Women", 310, 86)
    (table,) = tables_of(page, Rulings())
    assert table.rows[0] == ["", "Men", "Men", "Women", "Women"]
    assert table.rows[1] == texts[0]


def test_lines_of_one_head_are_one_cell() -> None:
    page = [*rows([["", "Number", "Share", ""]], XS, 86), *rows(TEXTS, XS)]
    (table,) = tables_of(page, Rulings())
    assert table.rows[0] == ["State", "Number Total", "Share Men", "Women"]


def test_a_wrapped_label_is_one_cell() -> None:
    texts = [
        TEXTS[0],
        TEXTS[1],
        ["District of", "", "", ""],
        ["the capital", "7", "3", "4"],
        TEXTS[2],
    ]
    (table,) = tables_of(rows(texts, XS), Rulings())
    assert [row[0] for row in table.rows] == [
        "State",
        "Alabama",
        "District of the capital",
        "Alaska",
    ]


def test_a_heading_between_rows_is_a_row() -> None:
    texts = [*TEXTS, ["Territories", "", "", ""], ["Guam", "5", "2", "3"], ["Samoa", "6", "3", "3"]]
    (table,) = tables_of(rows(texts, XS), Rulings())
    assert table.rows[4] == ["Territories", "", "", ""]


def test_leaders_and_typed_rules_are_not_text() -> None:
    page = rows(TEXTS[:1], XS, 86) + rows(TEXTS[1:], XS, 114) + words("-" * 40, 50, 100)
    page += [word for n in (1, 2, 3) for word in words("..........", 95, 100 + 14 * n)]
    (table,) = tables_of(page, Rulings())
    assert table.rows == TEXTS


def test_running_heads_and_captions_are_not_rows() -> None:
    page = words("A manual", 50, 60) + words("17", 420, 60) + rows(TEXTS, XS, 80)
    (table,) = tables_of(page, Rulings())
    assert table.rows == TEXTS
    page = words("Table 2.", 50, 86) + words("Population by sex", 120, 86) + rows(TEXTS, XS)
    (table,) = tables_of(page, Rulings())
    assert table.rows == TEXTS


def test_words_between_rules_are_a_table() -> None:
    texts = [
        ["Command", "Meaning"],
        ["cat", "joins files"],
        ["ls", "lists a folder"],
        ["rm", "removes"],
    ]
    page = [
        w
        for n, (a, b) in enumerate(texts)
        for w in words(a, 50, 100 + 14 * n) + words(b, 150, 100 + 14 * n)
    ]
    rules = [Rule(97, 50, 220), Rule(112, 50, 220), Rule(156, 50, 220)]
    (table,) = tables_of(page, Rulings(rules))
    assert table.rows == texts
    assert tables_of(page, Rulings()) == []


def test_prose_is_no_table() -> None:
    assert tables_of(paragraph(50, 50, 30), Rulings()) == []


def test_prose_in_two_columns_is_no_table() -> None:
    page = paragraph(50, 50, 30) + paragraph(400, 50, 30)
    assert tables_of(page, Rulings()) == []


def test_a_table_in_one_of_two_columns_is_found() -> None:
    page = paragraph(50, 20, 6) + rows(TEXTS, XS) + paragraph(50, 180, 8) + paragraph(420, 20, 22)
    (table,) = tables_of(page, Rulings())
    assert table.rows == TEXTS


def test_contents_are_no_table() -> None:
    titles = ["Preface", "Basics", "More of it", "Details", "Index"]
    plain = [
        w
        for n, t in enumerate(titles)
        for w in words(t, 50, 50 + 14 * n) + right(str(n * 9), 400, 50 + 14 * n)
    ]
    assert tables_of(plain, Rulings()) == []
    dots = [w for n in range(5) for w in words(". " * 20, 150, 50 + 14 * n)]
    assert tables_of(plain + dots, Rulings()) == []


def test_lists_are_no_table() -> None:
    page = [
        w
        for n in range(8)
        for w in words(f"{n}.", 50, 50 + 14 * n) + words("an item", 75, 50 + 14 * n)
    ]
    assert tables_of(page, Rulings()) == []


def test_code_is_no_table() -> None:
    page = []
    for n in range(8):
        page += words("if (x)", 50, 50 + 12 * n, mono=True) + words(
            "y = z;", 120, 50 + 12 * n, mono=True
        )
        page += words("/* why */", 200, 50 + 12 * n, mono=True)
    assert tables_of(page, Rulings()) == []


def test_order_of_words_does_not_matter() -> None:
    page = rows(TEXTS, XS)
    assert tables_of(page[::-1], Rulings()) == tables_of(page, Rulings())
