"""Headings of PDFs made here: by bookmarks, by type, and what only looks like one."""

from __future__ import annotations

from pdf_writer import Pdf

from pincite.read.pdf.headings import is_entry, without_leader
from pincite.read.pdf.reader import read
from pincite.read.structure.clauses import clause_tree

BODY = "Words of the body that are long enough to fill the better part of a line of it"


def headings(pdf: Pdf) -> list[str]:
    found = read(pdf.bytes(), "made.pdf")
    return [found.text[b.start : b.end] for b in found.blocks if b.kind == "heading"]


def body(pdf: Pdf, top: float) -> None:
    pdf.lines(72, top, [BODY, BODY, f"{BODY}."])


def test_bookmarks_name_headings_and_their_levels() -> None:
    pdf = Pdf().page().bookmark("Fees", 1, 90).text(72, 100, "1 Fees", font="Helvetica-Bold")
    body(pdf, 120)
    pdf.bookmark("Late fees", 2, 190).text(72, 200, "1.1 Late fees")
    body(pdf, 220)
    assert headings(pdf) == ["# 1 Fees", "## 1.1 Late fees"]


def test_a_long_number_before_the_title_of_a_bookmark_is_its_label() -> None:
    pdf = Pdf().page().bookmark("builds", 1, 90).text(72, 100, "5.10.3.13 builds")
    body(pdf, 120)
    assert headings(pdf) == ["# 5.10.3.13 builds"]


def test_a_title_of_two_lines_and_its_chapter_line_are_one_heading() -> None:
    pdf = Pdf().page().bookmark("Fees and other charges", 1, 90)
    pdf.text(72, 100, "Chapter 3", size=14)
    pdf.lines(72, 130, ["Fees and", "other charges"], step=20, size=14)  # type: ignore[arg-type]
    body(pdf, 200)
    assert headings(pdf) == ["# Chapter 3 Fees and other charges"]


def test_bold_words_that_begin_a_paragraph_are_a_heading_if_a_bookmark_says_so() -> None:
    pdf = Pdf().page().bookmark("Refunds", 1, 95)
    pdf.text(72, 100, "Refunds", font="Helvetica-Bold").text(118, 100, "are paid in March")
    pdf.text(72, 112, "of each year.")
    found = read(pdf.bytes(), "made.pdf")
    assert found.text == "# Refunds\n\nare paid in March of each year.\n"


def test_a_bookmark_without_words_on_its_page_makes_no_heading() -> None:
    pdf = Pdf().page().bookmark("Cover picture", 1, 0)
    body(pdf, 100)
    assert headings(pdf) == []


def test_larger_and_bolder_type_makes_headings_in_order_of_size() -> None:
    pdf = Pdf().page().text(72, 80, "The Rules", size=20)
    pdf.text(72, 110, "4.2 Fees", size=14)
    body(pdf, 130)
    pdf.text(72, 190, "Late fees", font="Helvetica-Bold")
    body(pdf, 210)
    assert headings(pdf) == ["# The Rules", "## 4.2 Fees", "### Late fees"]


def test_clauses_below_headings_have_their_locators() -> None:
    pdf = Pdf().page().text(72, 80, "§ 97.113 Prohibited transmissions.", size=13)
    body(pdf, 100)
    pdf.lines(90, 150, ["(a) None may:", "(1) Sell;", "(2) Buy.", "(b) All may give."])
    found = read(pdf.bytes(), "made.pdf")
    clauses = clause_tree(found.text, found.blocks, found.title)
    expected = ["", "97.113", "97.113(a)", "97.113(a)(1)", "97.113(a)(2)", "97.113(b)"]
    assert [clause.locator for clause in clauses] == expected


def test_what_only_looks_like_a_heading_is_none() -> None:
    pdf = Pdf().page()
    body(pdf, 100)
    pdf.text(72, 160, "Warning: this must never be done by anyone.", font="Helvetica-Bold")
    pdf.text(72, 190, "Table 3. Sizes of things", font="Helvetica-Bold")
    pdf.text(72, 220, "Name", font="Helvetica-Bold").text(300, 220, "Size", font="Helvetica-Bold")
    pdf.text(72, 250, "• A point", font="Helvetica-Bold")
    assert headings(pdf) == []


def test_a_table_of_contents_makes_no_headings() -> None:
    pdf = Pdf().page().text(72, 80, "Contents", size=16)
    for row, name in enumerate(["Fees", "Refunds", "Appeals", "Notices", "Forms"]):
        dots = " ".join("." * (30 - len(name)))
        pdf.text(72, 110 + 16 * row, f"{row + 1} {name} {dots} {row + 2}", font="Helvetica-Bold")
    pdf.page().bookmark("Fees", 1, 70).text(72, 80, "1 Fees", size=16)
    body(pdf, 110)
    found = read(pdf.bytes(), "made.pdf")
    assert headings(pdf) == ["# Contents", "# 1 Fees"]
    assert "\n2 Refunds … 3\n" in found.text
    assert [block.kind for block in found.blocks][:2] == ["heading", "code"]


def test_contents_without_dots_are_known_by_their_growing_numbers() -> None:
    pdf = Pdf().page()
    for row in range(8):
        pdf.text(72, 110 + 30 * row, f"Part {row}", font="Helvetica-Bold")
        pdf.text(300, 110 + 30 * row, str(3 * row + 1), font="Helvetica-Bold")
    pdf.page().text(72, 80, "Part 0", size=16)
    body(pdf, 110)
    assert headings(pdf) == ["# Part 0"]


def test_a_year_above_the_contents_is_no_page_of_them() -> None:
    pdf = Pdf().page().text(72, 80, "REPORT FOR THE YEAR 2021", font="Helvetica-Bold")
    for row in range(8):
        pdf.text(72, 110 + 30 * row, f"Part {row}", font="Helvetica-Bold")
        pdf.text(300, 110 + 30 * row, str(3 * row + 1), font="Helvetica-Bold")
    pdf.page().text(72, 80, "Part 0", size=16)
    body(pdf, 110)
    assert [each for each in headings(pdf) if "Part" in each] == ["# Part 0"]


def test_dots_that_lead_to_no_page_are_text() -> None:
    assert not is_entry("and so on ...")
    assert not is_entry("Ellipses ( . . . ) are dots")
    assert without_leader("no dots 12") == "no dots 12"
    assert without_leader("Fees ........ A-12") == "Fees … A-12"
    hostile = "." * 100_000 + " x y" + ". " * 50_000 + "#"
    assert without_leader(hostile) == hostile


def test_the_title_is_stated_printed_or_the_name() -> None:
    named = Pdf(title="The House Rules").page().text(72, 100, "Words")
    assert read(named.bytes(), "made.pdf").title == "The House Rules"
    junk = Pdf(title="Microsoft Word - rules.doc").page().text(72, 100, "Big Rules", size=30)
    body(junk, 130)
    assert read(junk.bytes(), "made.pdf").title == "Big Rules"
    plain = Pdf().page().text(72, 100, "Words are here.")
    assert read(plain.bytes(), "folder/made.pdf").title == "made"


def test_a_chapter_in_words_at_the_head_of_each_page_is_no_running_head() -> None:
    pdf = Pdf()
    for number, title in (("ONE", "Berths"), ("TWO", "Crews"), ("TWENTYONE", "Fees")):
        pdf.page().bookmark(title, 1, 50).text(400, 50, "CHAPTER", font="Helvetica-Bold")
        pdf.text(400, 70, number, size=16).text(400, 100, title, size=16)
        body(pdf, 140)
        pdf.text(72, 200, "Terms", font="Helvetica-Bold")
        body(pdf, 220)
    found = read(pdf.bytes(), "made.pdf")
    tree = clause_tree(found.text, found.blocks, "")
    assert [c.label for c in tree if c.label] == ["CHAPTER ONE", "CHAPTER TWO", "CHAPTER TWENTYONE"]
    # "Chapter" is set like words of the text: those are no headings for it.
    assert not [c for c in tree if c.title == "Terms"]


def test_where_bookmarks_tell_the_sections_single_numbers_are_steps() -> None:
    pdf = Pdf().page()
    for number in range(1, 7):
        top = 100 * number
        pdf.bookmark(f"Part {number}", 1, top - 10).text(72, top, f"4.{number} Part {number}")
        pdf.lines(72, top + 20, [f"{number}. Moor. {BODY}.", BODY])
    found = read(pdf.bytes(), "made.pdf")
    tree = clause_tree(found.text, found.blocks, "")
    assert [c.locator for c in tree if c.kind == "section"] == [f"4.{n}" for n in range(1, 7)]


def test_units_and_remarks_in_brackets_are_no_headings() -> None:
    pdf = Pdf().page().text(72, 80, "Sales", font="Helvetica-Bold")
    pdf.text(72, 95, "(In millions, except per share data)", font="Helvetica-Bold")
    body(pdf, 120)
    pdf.text(72, 190, "(Former name, if changed)", font="Helvetica-Bold")
    body(pdf, 210)
    assert headings(pdf) == ["# Sales"]


def test_an_article_and_the_title_below_it_are_one_heading() -> None:
    pdf = Pdf().page().text(280, 80, "ARTICLE VII", font="Helvetica-Bold")
    pdf.text(270, 100, "GOVERNING LAW", font="Helvetica-Bold")
    body(pdf, 130)
    assert headings(pdf) == ["# ARTICLE VII GOVERNING LAW"]


def test_a_document_in_typewriter_type_is_text() -> None:
    pdf = Pdf().page()
    for number, title in enumerate(("Benefits", "Term", "Law"), 1):
        words = [f"{number}. {title}. Words of the section that fill", "   --------", "the line."]
        pdf.lines(72, 100 * number, words, font="Courier")
    found = read(pdf.bytes(), "made.pdf")
    assert headings(pdf) == ["1. Benefits.", "2. Term.", "3. Law."]
    assert "1. Benefits. Words of the section that fill the line." in found.text


def test_a_centred_title_above_a_table_opens_its_page() -> None:
    pdf = Pdf().page()
    body(pdf, 100)
    pdf.page().text(255, 60, "Balance Sheets").text(267, 75, "(In millions)")
    pdf.lines(72, 100, ["Cash", "Receivables", "Inventories"], step=15)
    pdf.lines(300, 100, ["2,010", "1,555", "1,426"], step=15)
    pdf.lines(400, 100, ["1,999", "1,680", "1,559"], step=15)
    pdf.text(300, 85, "2020").text(400, 85, "2019")
    body(pdf, 200)
    assert headings(pdf) == ["## Balance Sheets"]
