"""Plain text blocks: paragraphs, and the lines that are headings."""

from __future__ import annotations

import pytest

from pincite.read.formats.plain import plain_blocks


def headings(text: str) -> list[str]:
    return [text[b.start : b.end] for b in plain_blocks(text) if b.kind == "heading"]


def paragraphs(text: str) -> list[str]:
    return [text[b.start : b.end] for b in plain_blocks(text) if b.kind == "paragraph"]


def test_blank_lines_and_page_breaks_end_paragraphs() -> None:
    assert paragraphs("One\ntwo.\n\n  Three.\n \t\nFour\fFive.\r\nsix") == [
        "One\ntwo.",
        "Three.",
        "Four",
        "Five.\r\nsix",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Chapter 3",
        "Article 5. Name",
        "Section 2.3 Title",
        "§ 97.113 Title",
        "PART IV",
        "Appendix A",
        "4.2.1 Title",
        "GENERAL TERMS",
        "Capo II",
    ],
)
def test_heading_lines(line: str) -> None:
    assert headings(f"Words before.\n\n{line}\n\nWords after.\n") == [line]


def test_underlined_lines_are_headings_with_their_underline() -> None:
    blocks = plain_blocks("Garden Notes\n============\n\nSoil\n----\n\nWords.\n")
    assert [(b.kind, b.level) for b in blocks] == [
        ("heading", 1),
        ("heading", 2),
        ("paragraph", 0),
    ]


def test_a_wrapped_reference_is_no_heading() -> None:
    text = (
        "Section 2.1 Entry. Members may enter.\n\n"
        "Section 2.2 Exclusion. A member who has not complied with\n"
        "Section 2.1 or with Article 4, if warned, may be excluded under\n"
        "Section 9.9 Without Further Notice\n"
        "by the committee.\n\n"
        "Section 2.3 Fees.\n\nNone.\n"
    )
    assert headings(text) == [
        "Section 2.1 Entry.",
        "Section 2.2 Exclusion.",
        "Section 2.3 Fees.",
    ]


def test_numbers_out_of_order_are_no_headings() -> None:
    text = "1.1 One\n\nWords.\n\n1.2 Two\n\nIt was cold.\n9.8 Metres Long\n\n1.3 Three\n\nWords.\n"
    assert headings(text) == ["1.1 One", "1.2 Two", "1.3 Three"]


def test_sections_may_start_again_below_each_article() -> None:
    text = "".join(
        f"Article {article}. Name\n\nSection 1. First\n\nWords.\n\nSection 2. Second\n\nWords.\n\n"
        for article in (1, 2)
    )
    assert len(headings(text)) == 6


def test_a_sentence_behind_a_label_is_the_paragraph() -> None:
    text = "Section 4. The board shall meet once\na year.\n"
    assert headings(text) == ["Section 4."]
    assert paragraphs(text) == ["The board shall meet once\na year."]


def test_a_title_on_the_next_line_belongs_to_the_heading() -> None:
    assert headings("ARTICLE I\nDEFINITIONS\n\nWords.\n\nARTICLE II\nDUTIES\n\nWords.\n") == [
        "ARTICLE I\nDEFINITIONS",
        "ARTICLE II\nDUTIES",
    ]


def test_a_table_of_contents_holds_no_headings() -> None:
    contents = "Chapter 1 Soil\nChapter 2 Seeds\nChapter 3 Water\n\n"
    dots = "Chapter 1 Soil ........ 3\n\n"
    body = "Chapter 1 Soil\n\nWords.\n\nChapter 2 Seeds\n\nWords.\n"
    assert headings(contents + dots + body) == ["Chapter 1 Soil", "Chapter 2 Seeds"]


CHAPTERS = """Harbour Manual
**************

* 1. Berths

  * 1.1. control

  * 1.2. A long name that does not
    fit into one line

* 2. Crews


1. Berths
*********


1.1. control
============

1. Moor

2. Wait

1.2. A long name that does not fit into one line
================================================

3.8
   A term that looks like a number.

MOOR=YES

2. Crews
********

Words.
"""


def test_contents_with_bullets_and_all_underlines_are_known() -> None:
    blocks = [b for b in plain_blocks(CHAPTERS) if b.kind == "heading"]
    assert [(CHAPTERS[b.start : b.end].split("\n")[0], b.level) for b in blocks] == [
        ("Harbour Manual", 1),
        ("1. Berths", 1),
        ("1.1. control", 2),
        ("1.2. A long name that does not fit into one line", 2),
        ("2. Crews", 1),
    ]


def test_contents_say_what_is_a_heading() -> None:
    text = (
        "Guide\n\nTable of Contents\n\n1. Files\n\n     1.1. docs\n\n     1.2. /lib<q>: a name in"
        "\n          two lines\n\n2. Notes\n\nList of Tables\n\n2.1. Sizes\n\n"
        "Chapter 1. Files\n\nTable of Contents\n\n1.1. docs\n\n1.2. /lib<q>: a name in "
        "two lines\n\n"
        "1.1. docs\n\nRAID10\n\nChapter 7\n\n 2. Notes\n\n1. Dig\n\n2. Sow\n\n"
        "    README\n    ------\n\n"
        "1.2. /lib<q>: a name in\ntwo lines\n\nWords.\n\nChapter 2. Notes\n\nWords.\n"
    )
    assert headings(text) == [
        "Chapter 1. Files",
        "1.1. docs",
        "1.2. /lib<q>: a name in\ntwo lines",
        "Chapter 2. Notes",
    ]
    assert not [each for each in paragraphs(text) if "Sizes" in each]


def test_contents_may_be_broken_without_indent_and_list_titles_without_a_number() -> None:
    text = (
        "Answers\n\nTable of Contents\n\nPreface\n1. Choice\n    1.1. What is the difference? Why\n"
        "    should one choose?\n    1.2. none\nA. manual page\n    A.1. NAME\n\nPreface\n\n"
        "Words.\n\nChapter 1. Choice\n\n1.1. What is the difference? Why should one\n"
        "choose?\n\nWords.\n\n1.2. none\n\nWords.\n\nAppendix A. manual page\n\nA.1. NAME\n\nLs.\n"
    )
    found = [b for b in plain_blocks(text) if b.kind == "heading"]
    assert [(text[b.start : b.end].replace("\n", " "), b.level) for b in found] == [
        ("Preface", 2),
        ("Chapter 1. Choice", 2),
        ("1.1. What is the difference? Why should one choose?", 5),
        ("1.2. none", 5),
        ("Appendix A. manual page", 1),
        ("A.1. NAME", 4),
    ]


def test_names_in_small_letters_are_headings_only_in_order_and_alone() -> None:
    text = (
        "4.1 Control\n\nWords.\n\n4.2 docs\n\nThere were\n4.3 docs in it.\n\n4.3 files\n\nWords.\n"
    )
    assert headings(text) == ["4.1 Control", "4.2 docs", "4.3 files"]


def test_headings_of_a_manual_page_stand_right_above_deeper_words() -> None:
    text = "NAME\n       ls - list files\n\nDESCRIPTION\n       List them. See\n       USER\n"
    assert headings(text) == ["NAME", "DESCRIPTION"]


def test_steps_are_no_headings() -> None:
    assert headings("To do\n\n1. Dig\n\n2. Sow\n\n3. Wait\n") == []
    assert headings("1. Soil\n\nDig it.\n\n2. Seeds\n\nSow them.\n") == ["1. Soil", "2. Seeds"]


@pytest.mark.parametrize("text", ["", "\n\f\n", "\x00", "§", "1.", "(", "\u2028\u2029", "A" * 5000])
def test_odd_texts_give_blocks_in_order_and_inside(text: str) -> None:
    ends = [0]
    for block in plain_blocks(text):
        assert ends[-1] <= block.start < block.end <= len(text)
        ends.append(block.end)
