"""Sections whose number opens a paragraph: told by the order of all numbers."""

from pincite.model.settings import IngestSettings
from pincite.read.extracted import Block
from pincite.read.load import parse
from pincite.read.structure.clauses import clause_tree
from pincite.read.structure.sections import with_sections

FILL = " The parties agree as follows, and shall keep to it for as long as the term lasts."


def paragraphs(*parts: str) -> tuple[str, list[Block]]:
    """Return a text of paragraphs and headings ("# …") with its blocks, as a PDF gives them."""
    text, blocks = "", []
    for part in parts:
        level = len(part) - len(part.lstrip("#"))
        kind = "heading" if level else "paragraph"
        blocks.append(Block(kind, len(text), len(text) + len(part), level))
        text += part + "\n\n"
    return text, blocks


def locators(*parts: str) -> list[str]:
    text, blocks = paragraphs(*parts)
    return [c.locator for c in clause_tree(text, with_sections(text, blocks), "T")][1:]


def headings(*parts: str) -> list[str]:
    text, blocks = paragraphs(*parts)
    return [text[b.start : b.end] for b in with_sections(text, blocks) if b.kind == "heading"]


def test_a_title_runs_into_the_words_of_its_section() -> None:
    found = headings(
        "Section 1. Duties of the Servicer." + FILL,
        "Section 2. No Joint Venture." + FILL,
        "Section 3." + FILL,
    )
    assert found == [
        "Section 1. Duties of the Servicer.",
        "Section 2. No Joint Venture.",
        "Section 3.",
    ]


def test_items_stand_below_the_section_that_was_found() -> None:
    found = locators(
        "# SERVICING AGREEMENT",
        "Section 1. Duties." + FILL,
        "(a) One.",
        "(b) Two.",
        "Section 2. Fees." + FILL,
        "(a) One.",
        "(b) Two.",
    )
    assert found == ["1", "1(a)", "1(b)", "2", "2(a)", "2(b)"]


def test_numbers_of_several_parts_open_sections_with_and_without_a_title() -> None:
    parts = ["1. SUBJECT" + FILL, "1.1 The Company shall." + FILL, "1.2 Fees. None." + FILL]
    parts += ["2. TERM" + FILL, "2.1 It lasts a year." + FILL]
    assert locators(*parts) == ["1", "1.1", "1.2", "2", "2.1"]


def test_a_reference_that_begins_a_paragraph_is_no_section() -> None:
    parts = ["Section 1. Fees." + FILL, "Section 9 of the Act applies.", "Section 2. Term." + FILL]
    assert locators(*parts) == ["1", "2"]


def test_a_list_of_steps_is_no_section() -> None:
    assert headings("To start:", "1. Open the lid.", "2. Press the button.", "Done.") == []


def test_steps_below_a_section_do_not_end_it() -> None:
    steps = ["1. Open the lid and look into it.", "2. Press it until it is closed."]
    parts = ["1. Opening." + FILL, "2. Closing." + FILL, *steps, "3. Term." + FILL]
    assert [name for name in locators(*parts) if "(" not in name] == ["1", "2", "3"]


def test_labels_right_before_their_words_count() -> None:
    parts = ["1.Grant of Rights." + FILL, "1.1License Grant." + FILL, "2.Ownership." + FILL]
    assert locators(*parts) == ["1", "1.1", "2"]


def test_sections_of_a_line_that_lost_its_breaks_are_found() -> None:
    line = "".join(f" {n}. Title {'ABCDE'[n - 1]}.{FILL * 3}" for n in range(1, 6)).strip()
    assert locators(line) == ["1", "2", "3", "4", "5"]


def test_a_short_line_may_have_lost_its_breaks_as_well() -> None:
    line = "Section 9.1. Parts. This may be signed in parts, each of which is one and the same, and"
    line += " by any means whatever that the parties use. Section 9.2. Law. The law of Italy holds."
    assert locators(line) == ["9.1", "9.2"]


def test_single_numbers_that_lead_up_to_one_with_parts_are_sections() -> None:
    words = [f"{n}. You agree to this and to that without a title.{FILL * 3}" for n in range(1, 7)]
    found = locators(*words, "7. Shares", "7.1 Trades. They are.", "7.2 Orders. They are.")
    assert found == ["1", "2", "3", "4", "5", "6", "7", "7.1", "7.2"]


def test_articles_are_numbered_by_words_too() -> None:
    parts = [
        "# ARTICLE ONE DEFINITIONS",
        "1.1 Terms." + FILL,
        "# ARTICLE TWO FEES",
        "2.1 Fee." + FILL,
    ]
    assert locators(*parts) == ["Article ONE", "1.1", "Article TWO", "2.1"]


def test_numbers_begin_anew_in_an_exhibit() -> None:
    parts = ["1. Fees." + FILL, "2. Term." + FILL, "3. Law." + FILL]
    found = locators(*parts, "EXHIBIT A", *parts)
    assert found[3:] == ["Exhibit A", "Exhibit A > 1", "Exhibit A > 2", "Exhibit A > 3"]


def test_a_title_within_a_section_does_not_end_it() -> None:
    parts = [
        "1. Fees." + FILL,
        "# Late payment",
        "(a) Pay." + FILL,
        "2. Term." + FILL,
        "3. Law." + FILL,
    ]
    text, blocks = paragraphs(*parts)
    tree = clause_tree(text, with_sections(text, blocks), "T")
    late = next(c for c in tree if c.title == "Late payment")
    assert tree[late.parent].locator == "1"


def test_a_title_right_before_the_next_number_stands_above_it() -> None:
    parts = [
        "Between us.",
        "# GENERAL",
        "1. Fees." + FILL,
        "# FINAL",
        "2. Term." + FILL,
        "3. Law." + FILL,
    ]
    text, blocks = paragraphs(*parts)
    tree = clause_tree(text, with_sections(text, blocks), "T")
    assert [tree[c.parent].title for c in tree if c.label[:1].isdigit()] == [
        "GENERAL",
        "FINAL",
        "FINAL",
    ]


def test_page_numbers_are_no_sections() -> None:
    assert locators("1. Fees." + FILL, "1.", "2. Term." + FILL, "2.", "3. Law." + FILL) == [
        "1",
        "2",
        "3",
    ]


def test_words_behind_a_title_are_searched() -> None:
    text = "Section 1. Fees." + FILL + "\n\n(a) One.\n\n(b) Two.\n\nSection 2. Term." + FILL + "\n"
    chunks = parse(text.encode(), "a.txt", IngestSettings()).chunks
    searched = " ".join(chunk.text for chunk in chunks if chunk.searched)
    assert searched.count("agree as follows") == 2
