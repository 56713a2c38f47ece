"""Summaries: the text's own sentences, chosen and ordered the same way every time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.types import Pages
from pincite.read.enrich.summary import page_summaries, summarise

TEXT = """# Pumps

Pumps move water from the tank to the field. It was sunny. Each pump needs
a filter that keeps sand away from the pump and from the field.

- Oil the pump. Monthly.

| Pump | Power |
|---|---|
| P1 | 3 |

The manual is blue.
"""


def test_sentences_are_taken_word_for_word_in_their_order() -> None:
    first, second = (
        "Pumps move water from the tank to the field.",
        "Each pump needs\na filter that keeps sand away from the pump and from the field.",
    )
    assert summarise(TEXT) == f"{first} {second}"
    assert first in TEXT and second in TEXT


def test_headings_tables_and_labels_are_no_sentences() -> None:
    assert (
        summarise("# Range\n\n| a | b |\n\nLevel 3\n\nThe range is far.", 1) == "The range is far."
    )


def test_a_text_without_sentences_gives_its_first_words() -> None:
    assert summarise("## Fees\n") == "Fees"
    assert summarise("| Fee | Tax |\n|---|---|\n| 1 | 2 |") == "Fee | Tax"
    assert summarise("") == ""
    assert summarise("A rule.", 0) == ""


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("See No. 5 and J. Smith for fees. Then go.", "See No. 5 and J. Smith for fees."),
        ("Is the annual fee due? It was paid.", "Is the annual fee due?"),
        ("La taxe annuelle est due. Écrire au bureau.", "La taxe annuelle est due."),
        ("税金は毎年払います。窓口は遠い。", "税金は毎年払います。"),
    ],
)
def test_sentences_end_where_readers_see_them_end(text: str, first: str) -> None:
    assert summarise(text, 1) == first


def test_pages_are_summarised_one_by_one() -> None:
    pages = Pages([0, 11, 12], [7, 8, 9])
    assert page_summaries("It is wet.\n\f\nIt is dry.", pages) == {7: "It is wet.", 9: "It is dry."}
    assert page_summaries("No pages.", Pages()) == {}


@given(st.text(alphabet="Ab .!?\n-#|*é。", max_size=300), st.integers(0, 4))
def test_a_summary_is_made_of_the_text(text: str, sentences: int) -> None:
    summary = summarise(text, sentences)
    assert summary == summarise(text, sentences)
    assert not set(summary) - set(text) - {" "}
    assert len(summary) <= len(text) + sentences


@pytest.mark.parametrize("sign", [".", " ", "\n", "- ", "a. ", ". ", "*", "> ", "(", "1. ", "A"])
def test_hostile_texts_take_no_time(sign: str) -> None:
    begin = time.process_time()
    summarise(sign * 200_000)
    assert time.process_time() - begin < 5
