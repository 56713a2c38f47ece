"""Figures of answers, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pincite.measure.answers import AnswerRecord, answer_figures, confidence_in, summarise_answers
from pincite.measure.answers_report import page
from pincite.measure.questions import question


def record(said: str, *right: str, **more: Any) -> AnswerRecord:
    values = {
        "id": said,
        "question": "q",
        "right": right,
        "is_answerable": bool(right),
        "group": said,
        "state": "found",
        "said": said,
        "quotation": f"It is {said} here.",
        "places": ("Rules, 1",),
        "confidence": 0.9,
        "seconds": 0.1,
    }
    return AnswerRecord(**(values | more))


EXACT = record("2.4 m", "2.4 m", "2.4 metres")
HALF = record("two earth rods", "earth rods or plates", confidence=0.8)
WRONG = record("yes", "no", confidence=0.6)
REFUSED = record("ten", "ten", state="candidates", confidence=0.2)
RIGHTLY = record("zz", state="not_found", confidence=0.1)
MADE_UP = record("forty", confidence=0.3)
PLACED = record("some words", is_answerable=True)  # its answer is not known in words
ALL = [EXACT, HALF, WRONG, REFUSED, RIGHTLY, MADE_UP, PLACED]


def test_each_answer_is_judged() -> None:
    assert (EXACT.f1, EXACT.is_exact, EXACT.is_quoted, EXACT.is_right) == (1.0, True, True, True)
    assert HALF.f1 == pytest.approx(4 / 7) and HALF.is_right and not HALF.is_exact
    assert not WRONG.is_right and record("Yes, it may", "yes").is_right
    # Words that were not given as an answer are none, right as they may be.
    assert (REFUSED.f1, REFUSED.is_quoted, REFUSED.is_right) == (0.0, False, False)
    assert not MADE_UP.is_right


def test_figures_count_what_they_can_be_taken_of() -> None:
    found = {name: (each["value"], each["n"]) for name, each in answer_figures(ALL).items()}
    assert found["F1"] == (pytest.approx((1 + 4 / 7) / 4), 4)
    assert found["exact match"] == (0.25, 4)
    assert found["right"] == (0.5, 4)
    assert found["quotation holds the answer"] == (0.25, 4)
    assert found["refused of answerable"] == (pytest.approx(1 / 5), 5)
    assert found["refused of unanswerable"] == (0.5, 2)
    # Right .9 and .8, wrong .6 and .3 (an answer to a question that has none).
    assert found["AUC of confidence"] == (1.0, 4)
    assert found["calibration error"] == (pytest.approx((0.1 + 0.2 + 0.6 + 0.3) / 4), 4)


def test_risk_grows_with_coverage() -> None:
    sure = confidence_in(ALL)
    assert sure is not None
    assert sure.risk_coverage == ((0.25, 0.0), (0.5, 0.0), (0.75, pytest.approx(1 / 3)), (1.0, 0.5))
    assert confidence_in([EXACT, RIGHTLY]) is None


def test_the_page_escapes_what_was_said() -> None:
    bad = record("<script>alert(1)</script>", "x")
    told = {"questions": "<b>set", "hash": "0", "pipeline": "default"}
    shown = page([{**told, **summarise_answers([bad, EXACT])}], "1")
    assert "<script>alert" not in shown and "<b>set" not in shown
    assert "&lt;script&gt;alert(1)" in shown and "Risk and coverage" in shown


def test_a_question_may_have_answers_and_no_place() -> None:
    told = {"id": "q", "question": "how far?", "answer": "2.4 m", "answers": ["2.4 m", "8 feet"]}
    asked = question(told, "here")
    assert asked.right == ("2.4 m", "8 feet") and asked.is_answerable and not asked.needs
    assert question(asked.plain(), "again") == asked
    none = question({"id": "q", "question": "who?", "gold": {"none": "not in here"}}, "here")
    assert not none.is_answerable and question(none.plain(), "again") == none
