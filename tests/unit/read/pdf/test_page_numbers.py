"""Numbers printed on pages: taken out of the text, and kept as what the page is called."""

from __future__ import annotations

import pytest
from pdf_writer import Pdf

from pincite.read.extracted import ExtractedText
from pincite.read.pdf.page_numbers import page_labels
from pincite.read.pdf.reader import read

FULL = "words that fill the whole width of the column from one side to the other side"


def parsed(pdf: Pdf) -> ExtractedText:
    return read(pdf.bytes(), "x.pdf")


def numbered(labels: list[str]) -> Pdf:
    """Pages of which each is filled differently, with a number right below the last line."""
    pdf = Pdf()
    for place, label in enumerate(labels):
        count = 3 + 4 * (place % 5)
        pdf.page().lines(72, 100, [f"{FULL} {'abcdefghij'[place] * 4}." for _ in range(count)])
        pdf.text(300, 110 + 12 * count, label)
    return pdf


@pytest.mark.parametrize(
    ("labels", "called"),
    [
        (["5", "6", "7", "8"], {1: "5", 2: "6", 3: "7", 4: "8"}),
        (["i", "ii", "iii", "1", "2", "3"], {1: "i", 2: "ii", 3: "iii", 4: "1", 5: "2", 6: "3"}),
        (["F-9", "F-10", "F-11"], {1: "F-9", 2: "F-10", 3: "F-11"}),
        (["A - 2", "A - 3", "A - 4"], {1: "A-2", 2: "A-3", 3: "A-4"}),
        (["- 4 -", "- 5 -", "- 6 -"], {1: "4", 2: "5", 3: "6"}),
        (["Page 11 of 40", "Page 12 of 40", "Page 13 of 40"], {1: "11", 2: "12", 3: "13"}),
        (["1", "2", "3", "4"], {}),  # called by their place in the file
        (["7", "8", "8a", "9", "10", "11"], {1: "7", 2: "8", 4: "9", 5: "10", 6: "11"}),
    ],
)
def test_numbers_that_run_along_are_labels(labels: list[str], called: dict[int, str]) -> None:
    found = parsed(numbered(labels))
    assert found.pages.labels == called
    assert {word for word in labels if f" {word} " in found.text.replace("\n", " ")} <= {"8a"}


def test_a_notice_may_stand_below_the_number() -> None:
    pdf = Pdf()
    for place in range(4):
        pdf.page().lines(72, 100, [f"{'abcdefghij'[place] * 4} {FULL}"] * (4 + place))
        pdf.lines(72, 200, [f"- {31 + place} -", "Confidential parts were", "left out of it."])
    found = parsed(pdf)
    assert found.pages.labels == {1: "31", 2: "32", 3: "33", 4: "34"}
    assert "32" not in found.text


def test_numbers_that_do_not_run_along_stay() -> None:
    found = parsed(numbered(["44", "12", "97", "31"]))
    assert found.pages.labels == {}
    assert all(number in found.text for number in ("44", "12", "97", "31"))


def test_a_page_without_a_number_is_called_by_those_around_it() -> None:
    pdf = numbered(["21", "22", "23"]).page().lines(72, 100, [FULL])
    for label in ("25", "26", "27"):
        pdf.page().lines(72, 100, [FULL] * 4).text(300, 160, label)
    assert parsed(pdf).pages.labels[4] == "24"


def test_a_number_that_fits_between_its_neighbours_counts() -> None:
    """A page was put in, so that the numbers before and after it run along differently."""
    pdf = numbered(["1", "2", "3", "4", "5"])
    pdf.page().lines(72, 100, [FULL] * 3)
    pdf.page().lines(72, 100, [FULL] * 3).text(300, 160, "6")
    pdf.page().lines(72, 100, [FULL] * 3)
    for label in ("7", "8", "9"):
        pdf.page().lines(72, 100, [FULL] * 3).text(300, 160, label)
    found = parsed(pdf)
    assert [found.pages.labels.get(page) for page in (7, 9, 10, 11)] == ["6", "7", "8", "9"]
    assert "6" not in found.text.split()


def test_numbers_of_an_older_print_go_wherever_they_stand() -> None:
    lines: list[str] = []
    for number in range(1, 7):
        lines += [f"{FULL}."] * 14 + [f"-{number}-"]
    pdf = Pdf()
    for first in range(0, len(lines), 50):
        pdf.page().lines(72, 60, lines[first : first + 50])
    found = parsed(pdf)
    assert not any(f"-{number}-" in found.text for number in range(1, 7))
    assert found.pages.labels == {}


def test_numbers_of_chapters_are_no_pages() -> None:
    pdf = Pdf()
    for number in range(1, 5):
        pdf.page().text(72, 300, str(number), size=20, font="Helvetica-Bold")
        pdf.lines(72, 340, [FULL] * 12)
    lines = parsed(pdf).text.splitlines()
    assert [line for line in lines if len(line) == 1] == ["1", "2", "3", "4"]


def test_titles_that_differ_in_their_number_alone_are_no_running_heads() -> None:
    pdf = Pdf()
    for place in range(20):
        pdf.page().lines(72, 120, [FULL] * 10)
        pdf.text(72, 40, "The Company", size=8)
        if place in (4, 9, 15):
            pdf.text(480, 60, f"Exhibit {place}.1")
    text = parsed(pdf).text
    assert "The Company" not in text
    assert all(f"Exhibit {place}.1" in text for place in (4, 9, 15))


def test_a_heading_at_the_height_of_running_heads_stays() -> None:
    pdf = Pdf()
    for place in range(10):
        pdf.page().lines(72, 120, [FULL] * 10)
        if place == 6:
            pdf.text(72, 60, "Consolidated Balance Sheets", font="Helvetica-Bold")
        else:
            pdf.text(72, 60, "Annual Report", size=9)
    assert "Consolidated Balance Sheets" in parsed(pdf).text


def test_text_that_begins_at_the_height_of_running_heads_stays() -> None:
    pdf = Pdf()
    for place in range(10):
        if place < 5:
            pdf.page().text(72, 60, "Annual Report").lines(72, 140, [FULL] * 10)
        else:
            pdf.page().lines(72, 60, [f"{'abcdefghij'[place] * 4} {FULL}"] * 10)
    assert parsed(pdf).text.count(FULL) == 100


def test_what_the_file_states_counts_where_it_agrees_with_what_is_printed() -> None:
    stated = ["i", "ii", "1", "2", "3", "4"]
    assert page_labels({4: "2", 5: "3"}, stated)[3] == "1"
    assert page_labels({}, stated) == dict(enumerate(stated, 1))
    assert page_labels({4: "7", 5: "8"}, stated) == {4: "7", 5: "8"}
    assert page_labels({}, ["", "a b", "x" * 30]) == {}


def test_a_sentence_behind_a_page_break_is_on_the_second_page() -> None:
    pdf = Pdf()
    pdf.page().lines(72, 600, [FULL] * 6)
    pdf.page().lines(72, 80, ["and goes on here, on the second page. Rods stand apart."])
    found = parsed(pdf)
    assert found.pages.at(found.text.index("goes on")) == 2
    assert found.pages.at(found.text.index("and goes") - 2) == 1


def test_footnotes_behind_a_paragraph_of_two_pages_are_on_their_own() -> None:
    pdf = Pdf()
    for number in range(1, 4):
        pdf.page().lines(72, 140, [FULL, FULL])
        pdf.text(72, 640, "1", size=5).text(76, 642, f"A note below page {number}.", size=7)
    found = parsed(pdf)
    for number in range(1, 4):
        assert found.pages.at(found.text.index(f"A note below page {number}.")) == number
    for box in found.boxes:
        assert found.pages.at(box.start) == box.page
