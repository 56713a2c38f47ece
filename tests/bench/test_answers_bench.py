"""Measures of answers against values of others, and what is asked in the bench of answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers_checks import ait_qa, plain_questions
from answers_checks._asking import risk_at
from answers_checks.finance_bench import figures_in, is_figure_right, is_numeric
from checks import QUESTIONS, sampled
from pincite.measure.words import (
    area_under_roc,
    holds,
    is_exact,
    normal,
    polar,
    token_f1,
)

WORDS = st.lists(st.sampled_from(["10", "kHz", "the", "station", "must", "not"]), max_size=6)


# Of SQuAD's evaluate-v2.0.py, worked out by hand from its definition.
@pytest.mark.parametrize(
    ("said", "right", "f1"),
    [
        ("the 26-inch rail", ["26inch rail"], 1.0),
        ("October 17, 1973", ["October 1973", "1973"], 0.8),
        ("nearly $12 a barrel", ["$12"], 0.5),  # "a" is an article
        ("Denver", ["Boulder"], 0.0),
        ("", ["Boulder"], 0.0),
        ("to be or to be", ["to be"], 4 / 7),
    ],
)
def test_f1_is_that_of_squad(said: str, right: list[str], f1: float) -> None:
    assert token_f1(said, right) == pytest.approx(f1)


@given(WORDS, WORDS)
def test_f1_is_even_and_best_on_the_answer_itself(one: list[str], other: list[str]) -> None:
    said, right = " ".join(one), " ".join(other)
    assert 0 <= token_f1(said, [right]) <= 1
    assert token_f1(said, [right]) == token_f1(right, [said])
    assert token_f1(right, [right]) == 1
    assert is_exact(said, [right]) == (normal(said) == normal(right))


def test_an_answer_is_held_word_by_word() -> None:
    assert holds("Granted for a 10-year term.", ["10-year term"])
    assert not holds("Granted for 110 years", ["10 years"])
    assert not holds("anything", ["the"])  # nothing is left of it to look for


def test_yes_and_no_are_told_by_their_first_word() -> None:
    assert [polar(each) for each in ("Yes.", "No, unless", "Nobody", "")] == ["yes", "no", "", ""]


def test_figures_are_right_within_rounding_whatever_their_scale() -> None:
    assert figures_in("$ 5,813 and (0.5)% in FY2022") == [5813.0, 0.5]
    assert is_figure_right("$5.41 billion", "$5409.00")
    assert is_figure_right("65.4%", "65.4%") and not is_figure_right("66.4%", "65.4%")
    assert not is_figure_right("none", "65.4%")
    assert is_numeric("-0.02") and is_numeric("24.26 days") and not is_numeric("No, it fell by 3")


def test_area_under_the_curve_counts_ties_half() -> None:
    assert area_under_roc([0.9, 0.5, 0.5, 0.1], [True, True, False, False]) == 0.875
    assert risk_at([0.9, 0.8, 0.2], [False, True, True], 1 / 3) == 1.0


def test_a_smaller_sample_is_part_of_a_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [f"question {number}" for number in range(50)]
    samples = []
    for count in ("7", "20", "0"):
        monkeypatch.setenv(QUESTIONS, count)
        samples.append(sampled(items, str))
    assert [len(each) for each in samples] == [7, 20, 50]
    assert samples[1][:7] == samples[0] and samples[2] == items


def test_heads_of_a_table_are_joined_and_bars_in_cells_do_not_cut_them() -> None:
    table = {"column_header": [["Year", ""]], "row_header": [], "data": [["a | b"]]}
    assert ait_qa.as_markdown(table).splitlines()[-1] == "| a / b |"


def test_plain_questions_are_sixty_with_a_place_and_twenty_without() -> None:
    asked = plain_questions.read_asked()
    assert len([each for each in asked if each.place and each.answers]) == 60
    assert len([each for each in asked if not each.place and not each.answers]) == 20
    assert len({each.question for each in asked}) == 80


def test_places_of_plain_questions_on_the_samples_are_there(tmp_path: Path) -> None:
    from experiments.indexes import make_index, opened_at
    from pincite.model.settings import Settings

    settings = Settings().changed({"search.preset": "lexical"})
    make_index(plain_questions.files_of(tmp_path, "samples"), tmp_path / "index", [settings])
    own = [each for each in plain_questions.read_asked() if each.set == "samples" and each.place]
    with opened_at(tmp_path / "index", settings) as index:
        missing = [each.place for each in own if not plain_questions.places_of(index, each)]
    assert missing == []
