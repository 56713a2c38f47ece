"""Markdown blocks: kinds, levels, and offsets that stay exact in the text as given."""

from __future__ import annotations

import time

import pytest

from pincite.read.formats.markdown import markdown_blocks


def pieces(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in markdown_blocks(text)]


def test_every_kind_of_block_is_found_with_its_words() -> None:
    text = (
        "# Title #\n\nWords\nmore words\n\n- one\n- two\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n\nOther\n=====\n"
    )
    assert pieces(text) == [
        ("heading", "# Title #"),
        ("paragraph", "Words\nmore words"),
        ("list", "- one\n- two"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", "```\ncode\n```"),
        ("heading", "Other\n====="),
    ]


def test_levels_are_those_of_the_headings() -> None:
    blocks = markdown_blocks("# A\n### B\nC\n---\nwords\n")
    assert [block.level for block in blocks] == [1, 3, 2, 0]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_offsets_fit_whatever_ends_the_lines(newline: str) -> None:
    text = newline.join(["# Head", "", "One\ttwo\x00", "", "Three\u2028four\fFive", ""])
    assert pieces(text) == [
        ("heading", "# Head"),
        ("paragraph", "One\ttwo\x00"),
        ("paragraph", "Three\u2028four\fFive"),
    ]


def test_indented_items_are_paragraphs_not_code() -> None:
    assert pieces("Words:\n\n    (a) one;\n\n    (b) two.\n") == [
        ("paragraph", "Words:"),
        ("paragraph", "(a) one;"),
        ("paragraph", "(b) two."),
    ]


def test_a_table_may_follow_its_caption_without_a_blank_line() -> None:
    assert [kind for kind, _ in pieces("Table 1 Sizes\n| a |\n|---|\n| 1 |\n")] == [
        "paragraph",
        "table",
    ]


def test_a_quotation_is_one_block_and_its_headings_open_nothing() -> None:
    assert pieces("> ### Aside\n>\n> Words.\n\nAfter.\n") == [
        ("paragraph", "> ### Aside\n>\n> Words."),
        ("paragraph", "After."),
    ]


@pytest.mark.parametrize("text", ["", "\n", " \t\r\n", "\x00", "\u2028", "\ufeff# A\n"])
def test_odd_texts_give_blocks_in_order_and_inside(text: str) -> None:
    ends = [0]
    for block in markdown_blocks(text):
        assert ends[-1] <= block.start < block.end <= len(text)
        ends.append(block.end)


@pytest.mark.parametrize("text", [">" * 50_000, "- " * 50_000, "[" * 50_000, "*" * 50_000])
def test_deep_nesting_is_cheap(text: str) -> None:
    started = time.perf_counter()
    markdown_blocks(text)
    assert time.perf_counter() - started < 5
