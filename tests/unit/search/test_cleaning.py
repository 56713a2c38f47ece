"""Cleaning questions: each rule, its threshold, and the counts."""

from __future__ import annotations

import pytest

from pincite.measure.learning import RULES, Cleaning, clean

GOOD = {
    "questions": "What is the ampacity of 12 AWG?",
    "answers": "20",
    "doc_name": "law/code",
    "evidence_context": "12 AWG: 20",
}


def rule_of(rules: Cleaning | None = None, **change: object) -> str | None:
    kept, removed = clean([{**GOOD, **change}], rules, has_document=lambda name: name == "law/code")
    assert len(kept) + sum(removed.values()) == 1
    return next((rule for rule, count in removed.items() if count), None)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({}, None),
        ({"answers": 0}, None),
        ({"answers": None}, "missing_field"),
        ({"evidence_context": "  "}, "missing_field"),
        ({"questions": "Что такое ток? " + "x" * 20}, "other_script"),
        ({"questions": "Which year 年 was it, and why so?"}, None),  # 1 of 33 characters
        ({"questions": "これは何ですか"}, "other_script"),
        ({"questions": "Why is that so?"}, None),  # 15 characters
        ({"questions": "Why is that so"}, "too_short"),
        ({"questions": "x" * 500}, None),
        ({"questions": "x" * 501}, "too_long"),
        ({"questions": "a" * 13 + "#" * 7}, None),  # 35 % of 20
        ({"questions": "a" * 12 + "#" * 8}, "special_characters"),
        ({"questions": "Où est l'échelle « été » de Müller ?"}, None),  # Latin letters all
        ({"doc_name": "law/other"}, "no_document"),
    ],
)
def test_rules(change: dict[str, object], rule: str | None) -> None:
    assert rule_of(None, **change) == rule


def test_thresholds_are_settings_and_languages_can_be_kept() -> None:
    assert rule_of(Cleaning(min_chars=3), questions="Why?") is None
    assert rule_of(Cleaning(max_chars=10)) == "too_long"
    russian = "Какова допустимая нагрузка?"
    assert rule_of(Cleaning(keep_scripts=("cyrillic",)), questions=russian) is None
    assert rule_of(Cleaning(keep_scripts=("korean",)), questions=russian) == "other_script"
    assert rule_of(Cleaning(keep_scripts=("all",)), questions=russian) is None


def test_counts_add_up_and_a_question_counts_once() -> None:
    items = [GOOD, {**GOOD, "questions": "?", "answers": ""}, {**GOOD, "questions": "?"}]
    kept, removed = clean(items)
    assert list(removed) == list(RULES)
    assert removed["missing_field"] == removed["too_short"] == 1
    assert kept == [GOOD]
