"""The chooser on one page of rules: words, numbers, ranges, negation, all of these."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from multiple_choice.chooser import FEATURES, Choice, Evidence, choose, features, is_about_others
from multiple_choice.questions import ExamQuestion
from multiple_choice.sitting import Sitting
from multiple_choice.words import Words, ranges
from pincite.api import Index

RULES = """# Rules

## 1.1 Boats

A boat shall be inspected every two years by the harbour master. It may be painted red.

## 1.2 Noise

No person shall sound a horn in the harbour at night. Radios are allowed in the harbour, and so are
lamps and flags in the harbour.

## 1.3 Bands

| Band | Wide |
|---|---|
| HF | MHz |
| 15 m | 21.2–21.45 |
| 20 m | 14.1–14.35 |
"""


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index({"rules.md": RULES})


def question(text: str, *options: str) -> ExamQuestion:
    return ExamQuestion("q", text, options, 0)


def chosen(index: Index, text: str, *options: str) -> str:
    sitting = Sitting(index)
    asked = question(text, *options)
    evidence, _ = sitting.evidence(asked)
    choice = choose(asked, evidence, sitting.words)
    assert choice.option is not None
    return options[choice.option]


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("Who inspects a boat?", "The harbour master", ["The coast guard", "The owner"]),
        ("How often is a boat inspected?", "Every 24 months", ["Every 2 months", "Every 3 years"]),
        ("Which frequency is in the 15 m band?", "21300 kHz", ["14200 kHz", "7100 kHz"]),
        ("When may a person sound a horn in the harbour?", "Never", ["On Sundays", "By day"]),
    ],
)
def test_the_supported_option_is_chosen(
    index: Index, text: str, right: str, wrong: list[str]
) -> None:
    assert chosen(index, text, right, *wrong) == right
    assert chosen(index, text, *wrong, right) == right  # wherever it stands


def test_all_of_these_where_all_are_supported(index: Index) -> None:
    every = "All of these choices are correct"
    text = "Which are allowed in the harbour?"
    assert chosen(index, text, "Radios", "Lamps", "Flags", every) == every
    assert chosen(index, text, "Radios", "Submarines", "Elephants", every) == "Radios"


def test_not_asks_for_the_other_one(index: Index) -> None:
    options = ("Radios", "Elephants")
    assert chosen(index, "Which are allowed in the harbour?", *options) == "Radios"
    assert chosen(index, "Which are NOT allowed in the harbour?", *options) == "Elephants"


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("All of the above", True),
        ("All these choices are correct.", True),
        ("None of these choices is correct", True),
        ("All licensed amateurs", False),
        ("None", False),
    ],
)
def test_options_about_the_others(option: str, expected: bool) -> None:
    assert is_about_others(option) is expected


def test_nothing_is_chosen_without_evidence(index: Index) -> None:
    words = Words(index.opened)
    asked = question("Who?", "Ann", "Bob")
    assert choose(asked, Evidence((), ()), words) == Choice(None, reason="nothing was found")
    other = Evidence(index.show("1.1"), index.show("1.1"))
    choice = choose(asked, other, words)
    assert choice.option is None
    assert choice.reason == "nothing that was found has words of an option"


def test_what_is_too_improbable_is_not_chosen(index: Index) -> None:
    sitting = Sitting(index)
    asked = question("Who inspects a boat?", "The harbour master", "The owner")
    evidence, _ = sitting.evidence(asked)
    choice = choose(asked, evidence, sitting.words, least=1.0)
    assert choice.option is None
    assert "probability" in choice.reason


def test_features_are_about_the_mean_and_the_choice_quotes_its_place(index: Index) -> None:
    sitting = Sitting(index)
    asked = question("Who inspects a boat?", "The harbour master", "The owner", "The coast guard")
    evidence, _ = sitting.evidence(asked)
    table = features(asked, evidence, sitting.words)
    assert table.shape == (3, len(FEATURES))
    assert np.allclose(table.mean(axis=0), 0)
    choice = choose(asked, evidence, sitting.words)
    assert choice.place is not None
    assert choice.place.locator == "1.1"
    assert "harbour master" in choice.quote


def test_a_range_needs_its_ends_and_a_unit() -> None:
    assert not list(ranges("3–4"))
    assert not list(ranges("4 m and 3 kg"))
    assert [(r.low, r.high) for r in ranges("between 3 m – 4 m")] == [(3.0, 4.0)]
