"""Cutting a text into what one would quote."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.answer.sentences import units


def cut(text: str) -> list[tuple[str, str]]:
    return [(unit.kind, text[unit.start : unit.end]) for unit in units(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        (
            "See Sec. 4, e.g. by J. Smith, No. 5. Then go.",
            ["See Sec. 4, e.g. by J. Smith, No. 5.", "Then go."],
        ),
        ("A rod of 2.5 m\nis long. Yes", ["A rod of 2.5 m\nis long.", "Yes"]),
        (
            'It shall read: "Danger. No swimming." It is red.',
            ['It shall read: "Danger. No swimming."', "It is red."],
        ),
        ("(B) Kitchens. Two circuits. More.", ["(B) Kitchens. Two circuits.", "More."]),
        ("All of:\n(1) one;\n(2) two.", ["All of:", "(1) one;", "(2) two."]),
        (
            "**Level** 3\n**Range** 150 feet\nIt burns.",
            ["**Level** 3", "**Range** 150 feet\nIt burns."],
        ),
        ("Is it so? It is! Done…", ["Is it so?", "It is!", "Done…"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [words for _, words in cut(text)] == expected


def test_tables_and_headings() -> None:
    text = "# Sizes\n\n**Table 1 Sizes**\n\n| A | B |\n|---|---|\n| x | 3 |\n| y | 4 |\n\n^1^ No."
    assert cut(text) == [
        ("heading", "# Sizes"),
        ("heading", "**Table 1 Sizes**"),
        ("header", "| A | B |"),
        ("row", "| x | 3 |"),
        ("row", "| y | 4 |"),
        ("sentence", "^1^ No."),
    ]


@given(st.text(alphabet='ab. \n|-#*(1)"?é', max_size=120))
def test_every_word_is_in_one_unit_and_nothing_is_changed(text: str) -> None:
    found = units(text)
    assert all(one.end <= other.start for one, other in pairwise(found))
    held = "".join(text[unit.start : unit.end] for unit in found)
    letters = [c for c in text if c.isalnum()]
    assert [c for c in held if c.isalnum()] == letters
    assert all(text[u.start : u.end].strip() == text[u.start : u.end] for u in found)


def test_cutting_is_linear() -> None:
    for text in ("a. " * 30_000, '"' * 30_000, "(a) b. " * 10_000, "**" * 20_000, "| " * 20_000):
        start = time.process_time()
        units(text)
        assert time.process_time() - start < 5
