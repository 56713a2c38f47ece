"""Tables over a page break: joined where they are one, left alone where they are two."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from pdf_writer import Pdf

from pincite.read.extracted import ExtractedText
from pincite.read.pdf.reader import read

HEAD = ("Size", "Load", "Depth")
FIRST = [(f"No. {n}", str(10 * n), str(n)) for n in range(1, 9)]
SECOND = [(f"No. {n}", str(10 * n), str(n)) for n in range(9, 13)]
XS = (72.0, 220.0, 360.0, 500.0)


def table(pdf: Pdf, top: float, rows: Sequence[Sequence[str]], xs: Sequence[float] = XS) -> Pdf:
    """Draw a ruled table."""
    bottom = top + 16 * len(rows)
    for n in range(len(rows) + 1):
        y = pdf.height - top - 16 * n
        pdf.draw(f"{xs[0]} {y} m {xs[-1]} {y} l S")
    for x in xs:
        pdf.draw(f"{x} {pdf.height - top} m {x} {pdf.height - bottom} l S")
    for n, row in enumerate(rows):
        for x, words in zip(xs, row, strict=False):
            pdf.text(x + 4, top + 16 * n + 11, words)
    return pdf


def first_page() -> Pdf:
    pdf = Pdf().page().text(72, 80, "The loads that follow hold for every size of conductor.")
    pdf.text(72, 560, "Table 4. Loads")
    return table(pdf, 570, [HEAD, *FIRST])


def tables_of(found: ExtractedText) -> list[list[str]]:
    blocks = [found.text[b.start : b.end] for b in found.blocks if b.kind == "table"]
    return [block.split("\n") for block in blocks]


@pytest.mark.parametrize("with_head", [True, False])
@pytest.mark.parametrize(
    "caption", ["", "Table 4. Loads (continued)", "Table 4 (cont'd)", "Loads—Continued"]
)
def test_a_table_that_goes_on_is_one(with_head: bool, caption: str) -> None:
    pdf = first_page().page()
    if caption:
        pdf.text(72, 64, caption)
    table(pdf, 72, [HEAD, *SECOND] if with_head else SECOND)
    pdf.text(72, 400, "Text after the table.")
    found = read(pdf.bytes(), "made.pdf")
    [rows] = tables_of(found)
    assert rows[0] == "| Size | Load | Depth |"
    assert len(rows) == 2 + len(FIRST) + len(SECOND)
    assert rows[-1] == "| No. 12 | 120 | 12 |"
    assert "ontinued" not in found.text
    assert found.text.endswith("\n\nText after the table.\n")


def test_it_begins_on_its_first_page_and_has_boxes_on_both() -> None:
    found = read(table(first_page().page(), 72, [HEAD, *SECOND]).bytes(), "made.pdf")
    [block] = [block for block in found.blocks if block.kind == "table"]
    boxes = [box for box in found.boxes if box.start >= block.start]
    assert found.pages.at(block.start) == 1
    assert sorted({box.page for box in boxes}) == [1, 2]
    rows = [box for box in boxes if box.page == 2]
    assert len(rows) == len(SECOND)  # each has a box of its own, one below the other
    assert all(above.y1 <= below.y0 for above, below in pairwise(rows))
    second = found.text[rows[0].start : rows[-1].end]
    assert second.startswith("| No. 9 |") and second.endswith("| No. 12 | 120 | 12 |")
    assert found.pages.at(found.text.index("| No. 8 |")) == 1
    assert found.pages.at(found.text.index("| No. 9 |")) == 2


def test_it_goes_on_past_footnotes_and_over_three_pages() -> None:
    pdf = first_page().text(72, 740, "1", size=5).text(76, 743, "Measured at noon.", size=7)
    many = [(f"No. {n}", str(n), str(n)) for n in range(20, 60)]
    table(pdf.page(), 72, [HEAD, *many])
    table(pdf.page(), 72, [HEAD, *SECOND])
    found = read(pdf.bytes(), "made.pdf")
    [rows] = tables_of(found)
    assert len(rows) == 2 + len(FIRST) + len(many) + len(SECOND)
    assert found.text.index("Measured at noon.") > found.text.index("No. 12")


OTHER = ("Kind", "Weight", "Price")
APART = {
    "own caption": lambda pdf: table(pdf.text(72, 64, "Table 5. Depths"), 72, [HEAD, *SECOND]),
    "another number": lambda pdf: table(
        pdf.text(72, 64, "Table 5. Depths (continued)"), 72, [HEAD, *SECOND]
    ),
    "text between": lambda pdf: table(
        pdf.text(72, 64, "These are the depths of the same sizes."), 72, [HEAD, *SECOND]
    ),
    "another head": lambda pdf: table(pdf, 72, [OTHER, *SECOND]),
    "a title row": lambda pdf: table(pdf, 72, [("Depths", "Depths", "Depths"), *SECOND]),
    "other columns": lambda pdf: table(pdf, 72, SECOND, (72.0, 160.0, 260.0, 500.0)),
    "far down": lambda pdf: table(pdf, 300, [HEAD, *SECOND]),
    "more columns": lambda pdf: table(
        pdf, 72, [(*row, "x") for row in (HEAD, *SECOND)], (72.0, 180.0, 290.0, 400.0, 500.0)
    ),
}


@pytest.mark.parametrize("case", APART)
def test_two_tables_stay_two(case: str) -> None:
    found = read(APART[case](first_page().page()).bytes(), "made.pdf")
    assert len(tables_of(found)) == 2


def test_text_below_the_first_keeps_them_apart() -> None:
    pdf = first_page().text(72, 740, "The sizes above are those of copper.")
    found = read(table(pdf.page(), 72, [HEAD, *SECOND]).bytes(), "made.pdf")
    assert len(tables_of(found)) == 2


STATEMENT = ("Example and Subsidiaries", "Statements of Loads", "(in tons)")


def statement(pdf: Pdf, top: float, rows: Sequence[Sequence[str]]) -> Pdf:
    for n, words in enumerate(STATEMENT):
        pdf.text(200, top + 14 * n, words)
    return table(pdf, top + 40, [HEAD, *rows]).text(72, 640, "See accompanying notes.")


@pytest.mark.parametrize("top", [40, 110])  # where heads of pages stand, and below
@pytest.mark.parametrize("pages", [2, 3])
def test_a_title_printed_again_does_not_part_a_table(pages: int, top: float) -> None:
    pdf = Pdf()
    for n in range(pages):
        rows = [(f"No. {100 * n + m}", str(m), str(n)) for m in range(28)]
        statement(pdf.page(), top, rows)
    found = read(pdf.bytes(), "made.pdf")
    [rows] = tables_of(found)
    assert len(rows) == 2 + 28 * pages
    assert found.text.count("Statements of Loads") == 1
    assert found.text.count("See accompanying notes.") == 1


def test_the_same_rows_below_the_same_title_are_another_table() -> None:
    pdf = Pdf()
    for n in range(2):
        statement(pdf.page(), 110, [(f"No. {m}", str(m), str(n)) for m in range(24)])
    assert len(tables_of(read(pdf.bytes(), "made.pdf"))) == 2


def test_a_title_and_the_company_at_the_other_margin_are_two_lines() -> None:
    pdf = Pdf().page().text(72, 60, "Statements of Loads").text(400, 60, "Example Company")
    found = read(table(pdf, 80, [HEAD, *FIRST]).bytes(), "made.pdf")
    assert found.text.startswith("Example Company\n\nStatements of Loads\n\n|")
