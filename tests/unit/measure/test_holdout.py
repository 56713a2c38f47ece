"""The counter beside a hold-out: every look counts, and an edited file does not forget."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite.measure.questions import JudgedPlace, Question, QuestionSet
from pincite.measure.tune.session import apart, counter_of, look
from pincite.model.errors import ConfigError, SourceError


def asked(*texts: str) -> QuestionSet:
    need = ((JudgedPlace("a.md"),),)
    return QuestionSet("set", [Question(f"q{n}", text, need) for n, text in enumerate(texts)])


def test_looks_are_counted_and_the_second_is_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    assert look(file, asked("how deep?", "how wide?"), "today") == 1
    assert look(file, asked("how deep?", "how wide?"), "today") == 2


def test_an_edited_file_does_not_forget(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    look(file, asked("how deep?", "how wide?"), "today")
    assert look(file, asked("How  DEEP?", "how tall?"), "today") == 2
    assert look(file, asked("quite another one"), "today") == 1


def test_a_damaged_counter_is_not_taken_for_no_look(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    for damaged in ("", "[]", '{"looks": [{}]}', '{"looks": 3}'):
        counter_of(file).write_text(damaged, encoding="utf-8")
        with pytest.raises(SourceError) as error:
            look(file, asked("how deep?"), "today")
        assert error.value.hint


def test_what_is_tuned_on_cannot_be_held_out() -> None:
    apart(asked("one").questions, asked("two").questions)
    with pytest.raises(ConfigError, match="1 of the hold-out"):
        apart(asked("one", "Two").questions, asked("two", "three").questions)
