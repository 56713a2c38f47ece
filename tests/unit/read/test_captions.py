"""Tables with their captions and footnotes."""

from __future__ import annotations

import pytest

from pincite.read.formats.markdown import markdown_blocks
from pincite.read.structure.outline import CaptionedTable, find_tables, is_table_caption, outline

GRID = "| a | b |\n|---|---|\n| 1 | 2* |\n"


def tables(text: str) -> list[CaptionedTable]:
    return find_tables(text, markdown_blocks(text))


def only(text: str) -> tuple[str, str, str]:
    (table,) = tables(text)
    return table.number, table.title, text[table.start : table.end]


@pytest.mark.parametrize(
    ("caption", "number", "title"),
    [
        ("Table 250.122 Sizes of Wire", "250.122", "Sizes of Wire"),
        ("Table 310.15(B) Heat", "310.15(B)", "Heat"),
        ("**Table 3.** Sizes.", "3", "Sizes"),
        ("**Table 1-1 Target Numbers**", "1-1", "Target Numbers"),
        ("TABLE 1 TO PARAGRAPH (F)(2)—SIZES", "1", "SIZES"),
        ("Table 15-1 - Uniform Format", "15-1", "Uniform Format"),
        ("Table: Sizes", "", "Sizes"),
        ("SIZES OF WIRE (MM)", "", "SIZES OF WIRE (MM)"),
        ("**Sizes of wire**", "", "Sizes of wire"),
        ("### Table 4 Sizes", "4", "Sizes"),
        ("Tableau 2 : Tailles", "2", "Tailles"),
    ],
)
def test_captions_above(caption: str, number: str, title: str) -> None:
    found = only(f"Words before.\n\n{caption}\n\n{GRID}\nWords after.\n")
    assert found == (number, title, f"{caption}\n\n{GRID.strip()}")


@pytest.mark.parametrize(
    "words",
    ["Table 3 shows the sizes.", "The sizes are these:", "(A) SIZES", "**Bold** and not."],
)
def test_words_above_are_no_caption(words: str) -> None:
    assert only(f"{words}\n\n{GRID}") == ("", "", GRID.strip())


def test_a_caption_may_stand_below() -> None:
    assert only(f"Words.\n\n{GRID}\nTable 7 Sizes\n\nWords.\n")[:2] == ("7", "Sizes")


def test_a_caption_between_two_tables_belongs_to_the_second() -> None:
    first, second = tables(f"{GRID}\nTable 7 Sizes\n\n{GRID}")
    assert (first.number, second.number) == ("", "7")


def test_a_caption_may_be_the_last_line_of_a_paragraph() -> None:
    text = f"The sizes follow.\nTable 7 Sizes\n\n{GRID}"
    assert only(text)[2].startswith("Table 7")


@pytest.mark.parametrize(
    "note",
    ["^1^ Only indoors.", "¹ Only indoors.", "1 Only indoors.", "† Only indoors.", "*Only indoors.",
     "Note: Only indoors.", "Notes: Only indoors.", "<sup>1</sup> Only indoors."],
)  # fmt: skip
def test_footnotes_belong_to_the_table(note: str) -> None:
    assert only(f"{GRID}\n{note}\n\nWords.\n")[2].endswith(note)


def test_notes_below_a_drawn_rule_belong_to_the_table() -> None:
    marked = "| a | b |\n|---|---|\n| Leases (1) | 2 |\n"
    assert only(f"{marked}\n______\n\n(1) Of boats.\n\nWords.\n")[2].endswith("(1) Of boats.")
    assert only(f"{marked}\n______\n\nWords.\n")[2] == marked.strip()


@pytest.mark.parametrize("words", ["*Fireball* burns.", "10 Rules follow.", "Noted: it burns."])
def test_other_words_below_are_no_footnotes(words: str) -> None:
    assert only(f"{GRID}\n{words}\n")[2] == GRID.strip()


def test_sentences_about_tables_are_no_captions() -> None:
    assert is_table_caption("Table 3")
    assert not is_table_caption("Table 3, chosen by length")
    assert not is_table_caption("Tables are useful")


STATEMENT = """# Report

Acme Inc. Consolidated Balance Sheets

(In millions, except par value)

|  | December 31, 2021 | December 31, 2020 |
|---|---|---|
| Cash | 1 | 2 |
"""


def test_the_title_above_the_units_is_the_caption_of_a_statement() -> None:
    (table,) = tables(STATEMENT)
    assert table.title == "Acme Inc. Consolidated Balance Sheets"
    assert STATEMENT[table.start :].startswith("Acme")


def test_words_above_other_tables_are_no_caption() -> None:
    (table,) = tables(f"Some Words With Capitals\n\n{GRID}")
    assert table.title == ""


def test_units_between_heading_and_table_open_no_section() -> None:
    text = STATEMENT.replace("Acme Inc.", "## Acme").replace("(In", "### (In")
    _, sections = outline(text, markdown_blocks(text))
    assert [section.title for section in sections] == ["Acme Consolidated Balance Sheets"]
    (table,) = tables(text)
    assert text[table.start :].startswith("### (In millions")


def test_a_heading_that_is_a_day_is_still_a_heading() -> None:
    text = "# Log\n\n## March 5, 2022\n\nFixed a table.\n"
    _, sections = outline(text, markdown_blocks(text))
    assert [section.title for section in sections] == ["March 5, 2022"]
