"""Reading order, paragraphs, items, hyphens, pages and boxes of PDFs made here."""

from __future__ import annotations

import pytest
from pdf_writer import Pdf

from pincite.read.extracted import ExtractedText
from pincite.read.pdf.lines import Joiner, Line
from pincite.read.pdf.page import FoundTable
from pincite.read.pdf.paragraphs import Paragraph
from pincite.read.pdf.reader import read
from pincite.read.pdf.write import ParagraphWriter

FULL = "The quick brown fox jumps over the lazy dog and then goes on over the hills again"


def parsed(pdf: Pdf) -> ExtractedText:
    return read(pdf.bytes(), "made.pdf")


def blocks(pdf: Pdf) -> list[str]:
    found = parsed(pdf)
    return [found.text[block.start : block.end] for block in found.blocks]


def line(text: str, **more: object) -> Line:
    box = (0.0, 0.0, 1.0, 0.1)
    known = {"page": 1, "base": 10.0, "size": 10.0, "bold": False, "italic": False, "mono": False}
    return Line(text, x0=0, y0=0, x1=1, y1=1, first_width=1, box=box, **(known | more))  # type: ignore[arg-type]


def test_lines_of_a_paragraph_are_joined_and_a_gap_begins_another() -> None:
    pdf = Pdf().page().lines(72, 100, [FULL, FULL, "and ends."]).text(72, 160, "Another one.")
    assert blocks(pdf) == [f"{FULL} {FULL} and ends.", "Another one."]


def test_an_indented_line_begins_a_paragraph() -> None:
    pdf = Pdf().page().lines(72, 100, [FULL, f"{FULL}."]).text(90, 124, FULL)
    pdf.text(72, 136, "ends here.")
    assert blocks(pdf) == [f"{FULL} {FULL}.", f"{FULL} ends here."]


def test_items_and_bullets_begin_their_own_lines() -> None:
    pdf = Pdf().page().text(72, 100, "A person must:")
    pdf.lines(90, 112, [f"(a) {FULL};", f"(b) {FULL},", "and more; or", "(1) go home."])
    pdf.lines(90, 180, ["• One thing", "• Another thing"])
    pdf.lines(90, 220, ["1. First step", "2. Second step"])
    assert blocks(pdf) == [
        "A person must:",
        f"(a) {FULL};",
        f"(b) {FULL}, and more; or",
        "(1) go home.",
        "- One thing\n- Another thing\n1. First step\n2. Second step",
    ]


def test_a_reference_at_the_start_of_a_full_line_is_text() -> None:
    pdf = Pdf().page().lines(72, 100, [FULL, "(b) of this section does not apply to dogs."])
    assert blocks(pdf) == [f"{FULL} (b) of this section does not apply to dogs."]


def columns(pdf: Pdf, lefts: list[float], top: float, name: str) -> None:
    for number, left in enumerate(lefts):
        words = [f"{name}{number} line {row} has plenty" for row in range(6)]
        pdf.lines(left, top, words, size=8)  # type: ignore[arg-type]


@pytest.mark.parametrize("lefts", [[72, 320], [40, 230, 420]])
def test_columns_are_read_one_after_the_other(lefts: list[float]) -> None:
    pdf = Pdf().page()
    columns(pdf, lefts, 100, "c")
    text = parsed(pdf).text
    places = [text.index(f"c{n} line {row}") for n in range(len(lefts)) for row in range(6)]
    assert places == sorted(places)


def test_a_heading_over_both_columns_ends_them() -> None:
    pdf = Pdf().page()
    columns(pdf, [72, 320], 100, "above")
    pdf.text(72, 200, "A heading that runs over the whole width of it", size=20)
    columns(pdf, [72, 320], 240, "below")
    text = parsed(pdf).text
    order = ["above0 line 5", "above1 line 0", "A heading", "below0 line 0", "below1 line 5"]
    places = [text.index(words) for words in order]
    assert places == sorted(places)


def test_rows_of_short_cells_are_not_columns() -> None:
    pdf = Pdf().page()
    for row in range(8):
        pdf.text(72, 100 + 30 * row, f"Key {row}").text(300, 100 + 30 * row, f"Value {row}")
    text = parsed(pdf).text.replace("|", " ")
    assert text.index("Value 0") < text.index("Key 1")


def test_a_paragraph_goes_on_across_pages_past_heads_feet_and_footnotes() -> None:
    pdf = Pdf()
    for number in range(1, 5):
        pdf.page().text(72, 40, f"Rules of the house {number}", size=9)
        pdf.text(300, 770, str(number), size=9)
        pdf.lines(72, 140, [FULL, FULL])
        pdf.text(72, 640, "1", size=5).text(76, 642, f"A note below page {number}.", size=7)
    found = parsed(pdf)
    assert "Rules of the house" not in found.text
    assert found.text.startswith(" ".join([FULL] * 8) + "\n")
    assert "A note below page 3." in found.text
    assert list(found.pages.numbers[:4]) == [1, 2, 3, 4]
    assert list(found.pages.starts[:4]) == [2 * n * (len(FULL) + 1) for n in range(4)]


def test_running_heads_of_left_and_right_pages_and_short_chapters_go() -> None:
    pdf = Pdf()
    for number in range(1, 13):
        head = "The Book" if number % 2 else ("Chapter One" if number < 8 else f"Part {number}x")
        pdf.page().text(72, 40, f"{number} {head}", size=9)
        pdf.text(72, 100 + number, f"Words of page {number} are here.")
    text = parsed(pdf).text
    assert "The Book" not in text and "Chapter One" not in text and "Part" not in text
    assert text.count("Words of page") == 12


def test_two_pages_with_the_same_first_line_keep_it() -> None:
    pdf = Pdf().page().text(72, 60, "Same line").text(72, 300, "One")
    pdf.page().text(72, 60, "Same line").text(72, 300, "Two")
    assert parsed(pdf).text.count("Same line") == 2


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a regu-", "lation of", (1, "")),  # the joined word occurs in the document
        ("the long-", "term plan", (0, "")),  # the word with its hyphen occurs
        ("every cross-", "border case", (0, "")),  # both halves are words
        ("some unknow-", "nable thing", (1, "")),  # neither: a broken word
        ("the Anglo-", "American way", (0, "")),
        ("AD 2018–", "23–51", (0, "")),
        ("https://", "www.example.org", (0, "")),
        ("and/", "or", (0, "")),
        ("plain words", "go on", (0, " ")),
        ("soft\u00ad", "ware", (1, "")),
    ],
)
def test_line_ends_are_joined(before: str, after: str, expected: tuple[int, str]) -> None:
    known = [line("Each regulation is a long-term plan to cross a border.")]
    assert Joiner(known).join(before, after) == expected


def test_typewriter_lines_are_code_with_their_indents() -> None:
    pdf = Pdf().page().text(72, 100, "Type this:")
    pdf.text(90, 124, "if x:", font="Courier").text(102, 136, "go()", font="Courier")
    found = parsed(pdf)
    assert found.text.endswith("```\nif x:\n  go()\n```\n")
    assert found.blocks[-1].kind == "code"


def test_boxes_tell_where_each_line_stands() -> None:
    pdf = Pdf().page().lines(61.2, 100, [FULL, "and ends."])
    found = parsed(pdf)
    first, second = found.boxes
    assert found.text[first.start : first.end] == FULL
    assert found.text[second.start : second.end] == "and ends."
    assert (first.page, first.x0) == (1, pytest.approx(0.1, abs=0.002))
    assert first.y0 < 100 / 792 < first.y1 < second.y1 < 0.2


def test_a_turned_page_is_read_as_it_is_seen() -> None:
    pdf = Pdf(rotate=90).page()
    for row, words in enumerate(["First line of it", "second line of it"]):
        pdf.text(100 + 12 * row, 500, words, turn="0 1 -1 0")
    found = parsed(pdf)
    assert found.text == "First line of it second line of it\n"
    assert found.boxes[0].y0 < found.boxes[1].y0
    assert found.boxes[0].x1 - found.boxes[0].x0 > found.boxes[0].y1 - found.boxes[0].y0


def test_sideways_text_comes_after_the_upright() -> None:
    pdf = Pdf().page().text(40, 500, "Printed at night", turn="0 1 -1 0", size=6)
    pdf.text(72, 100, "The rule.")
    assert parsed(pdf).text == "The rule.\n\nPrinted at night\n"


def test_raised_numbers_are_footnote_marks() -> None:
    pdf = Pdf().page().text(72, 100, "The rule").text(112, 96, "2", size=6)
    pdf.text(118, 100, "applies.")
    assert parsed(pdf).text == "The rule^2^ applies.\n"


def test_a_table_is_written_with_its_bars_escaped() -> None:
    table = FoundTable(0, 0, 9, 9, [["Size", "Use"], ["1|2", "old\nand new"]])
    writer = ParagraphWriter(Joiner([]))
    writer.add(Paragraph("text", [line("Table 3. Sizes")]))
    writer.add(Paragraph("table", [line("", table=table)]))
    expected = "Table 3. Sizes\n\n| Size | Use |\n| --- | --- |\n| 1\\|2 | old and new |\n"
    assert writer.text == expected
    assert [block.kind for block in writer.blocks] == ["paragraph", "table"]


def test_ligatures_and_signs_of_markdown_are_plain() -> None:
    pdf = Pdf().page().text(72, 100, "# not a heading")
    assert parsed(pdf).text == "\\# not a heading\n"


def test_blocks_are_in_order_and_boxes_within_the_text() -> None:
    pdf = Pdf()
    for number in range(3):
        pdf.page().text(72, 90, f"{number + 1}. Part", size=16).lines(72, 120, [FULL, "ends."])
        pdf.text(90, 200, "code()", font="Courier")
    found = parsed(pdf)
    ends = [0, *(block.end for block in found.blocks)]
    assert all(end <= block.start for end, block in zip(ends, found.blocks, strict=False))
    assert ends[-1] <= len(found.text)
    assert list(found.pages.starts) == sorted(found.pages.starts)
    for box in found.boxes:
        assert 0 <= box.start < box.end <= len(found.text)
        assert 0 <= box.x0 <= box.x1 <= 1 and 0 <= box.y0 <= box.y1 <= 1
        assert found.pages.at(box.start) == box.page
