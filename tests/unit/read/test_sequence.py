"""Which labels open items, and how deep."""

from __future__ import annotations

import time

import pytest

from pincite.read.structure.numbering import AGAIN, TEXT, Mark, depths, marks, readings


def read(labels: str) -> list[int]:
    """Return the depths of labels that stand one on a line."""
    return depths([Mark(i, i + 1, label) for i, label in enumerate(labels.split())])


def read_text(text: str) -> list[int]:
    return depths(list(marks(text, 0, len(text), dotted=True)))


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("(c)", {"(a)": 3, "(i)": 100}),
        ("(aa)", {"(a)": 27}),
        ("(iv)", {"(i)": 4}),
        ("(IX)", {"(I)": 9}),
        ("(xlii)", {"(i)": 42}),
        ("(12)", {"(1)": 12}),
        ("b)", {"a)": 2}),
    ],
)
def test_values(label: str, values: dict[str, float]) -> None:
    assert dict(readings(label)) == values


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("(a) (b) (c)", [0, 0, 0]),
        ("(a) (1) (2) (b) (1)", [0, 1, 1, 0, 1]),
        ("(a) (1) (i) (ii) (A) (B) (2) (b)", [0, 1, 2, 2, 3, 3, 1, 0]),
        # A letter between its neighbours, a Roman number at the head of its own.
        ("(g) (h) (i) (j)".replace("(g)", "(a) (b) (c) (d) (e) (f) (g)"), [0] * 10),
        ("(a) (i) (ii) (iii) (b)", [0, 1, 1, 1, 0]),
        ("(a) (b) (c) (d) (e) (f) (g) (h) (i) (ii) (i) (j)", [0] * 8 + [1, 1, 0, 0]),
        ("(1) (i) (ii) (iii) (iv) (v) (vi) (2)", [0, 1, 1, 1, 1, 1, 1, 0]),
        # Missing items.
        ("(a) (1) (2) (4) (5) (b)", [0, 1, 1, 1, 1, 0]),
        ("(a) (c) (d)", [0, 0, 0]),
        # A style below itself.
        ("(1) (i) (A) (1) (2) (B) (ii) (2)", [0, 1, 2, 3, 3, 2, 1, 0]),
        # An inserted item.
        ("(1) (1.1) (2)", [0, 0, 0]),
        ("1. 2. a. b. 3.", [0, 0, 1, 1, 0]),
        ("(A) (B) (a) (b) (C)", [0, 0, 1, 1, 0]),
    ],
)
def test_sequences(labels: str, expected: list[int]) -> None:
    assert read(labels) == expected


@pytest.mark.parametrize("letter", "vxcl")
def test_letters_that_are_roman_digits_stay_letters_among_letters(letter: str) -> None:
    alphabet = [chr(code) for code in range(ord("a"), ord(letter) + 2)]
    assert read(" ".join(f"({char})" for char in alphabet)) == [0] * len(alphabet)


def test_a_lone_label_far_from_its_list_is_text() -> None:
    assert read("(a) (b) (q)") == [0, 0, TEXT]
    assert read("(7)") == [TEXT]


def test_a_wrapped_cross_reference_is_text() -> None:
    text = (
        "(a) The owner shall keep the path clear and shall comply with paragraph\n"
        "(b) of this section at all times.\n"
        "(b) The tenant need not.\n"
    )
    assert read_text(text) == [0, TEXT, 0]


def test_a_repeated_label_opens_nothing() -> None:
    assert read_text("(a)(1) One.\n(a)(2) Two.\n(b)(1) Three.\n") == [0, 1, AGAIN, 1, 0, 1]


def test_a_run_in_label_must_be_the_first_of_its_level() -> None:
    assert read_text("(a) General. (1) One.\n(2) Two.\n(b) See also: (4) is gone.\n") == [
        0,
        1,
        1,
        0,
        TEXT,
    ]


def test_a_list_that_began_in_mid_sentence_goes_on_at_the_line_start() -> None:
    found = [Mark(0, 3, "(1)"), Mark(40, 45, "(iii)", preceded=True), Mark(60, 63, "(2)")]
    assert depths(found) == [0, 1, 0]


def test_no_labels() -> None:
    assert depths([]) == []


def test_time_grows_with_the_number_of_labels_only() -> None:
    labels = " ".join(f"({n})" for n in range(1, 900))
    started = time.perf_counter()
    assert read(labels) == [0] * 899
    assert time.perf_counter() - started < 5
