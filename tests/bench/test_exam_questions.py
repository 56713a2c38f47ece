"""Exam files of several kinds become the same questions; bad ones are told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from multiple_choice.questions import read_exam
from pincite.model.errors import SourceError

PLAIN = {"question": "How long?", "options": ["1 m", "2 m"]}


def read(tmp_path: Path, text: str) -> list[Any]:
    file = tmp_path / "exam.json"
    file.write_text(text, encoding="utf-8")
    return read_exam(file)


def test_pool_lines(tmp_path: Path) -> None:
    item = {
        "pool": "p",
        "id": "T1",
        "question": "Who?",
        "answers": ["a", "b"],
        "correct": 1,
        "cited": "[97.101(b), (c)]",
        "gold_sections": ["§ 97.101"],
    }
    (one, other) = read(tmp_path, f"{json.dumps(item)}\n\n{json.dumps({**item, 'id': 'T2'})}\n")
    assert (one.id, other.id, one.correct, one.letter) == ("p/T1", "p/T2", 1, "B")
    assert (one.sections, one.clauses) == (("97.101",), ("97.101(b)", "97.101(c)"))


def test_object_by_id_with_prefixes_and_tables(tmp_path: Path) -> None:
    items = {
        "q01": {
            "question": "Which size?",
            "choices": {"A": "1", "B": "2", "C": "3"},
            "answer": "C",
            "section_prefixes": ["220.82"],
            "table_ids": ["Table220.103"],
        },
        "q14": {**PLAIN, "answer": "A", "section_prefixes": [], "table_ids": []},
    }
    first, second = read(tmp_path, json.dumps(items))
    assert (first.id, first.correct, first.unanswerable) == ("q01", 2, "")
    assert first.sections == ("220.82", "table 220.103")
    assert second.unanswerable == "the key names no place"


@pytest.mark.parametrize(
    ("gold", "sections", "clauses"),
    [
        ("97.3(a)(4)", ("97.3",), ("97.3(a)(4)",)),
        (["97.3", "97.5"], ("97.3", "97.5"), ()),
        ({"any": [{"document": "d", "locator": "97.3(a)"}]}, ("97.3",), ("97.3(a)",)),
    ],
)
def test_gold_in_several_forms(
    tmp_path: Path, gold: Any, sections: tuple[str, ...], clauses: tuple[str, ...]
) -> None:
    (question,) = read(tmp_path, json.dumps([{**PLAIN, "answer": "2 m", "gold": gold}]))
    assert (question.sections, question.clauses, question.correct) == (sections, clauses, 1)


def test_unanswerable_with_a_reason(tmp_path: Path) -> None:
    (question,) = read(tmp_path, json.dumps({**PLAIN, "gold": {"none": "removed in 2023"}}))
    assert question.unanswerable == "removed in 2023"
    assert question.correct is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no questions"),
        ("[", "cannot be read"),
        ("{}", "no questions"),
        ('[{"options": ["a", "b"]}]', "question 1: no 'question'"),
        ('[{"question": "x"}]', "question 1: no 'options'"),
        ('[{"question": "x", "options": ["a"]}]', "2 to 26 options"),
        ('[{"question": " ", "options": ["a", "b"]}]', "the question is empty"),
        ('[{"question": "x", "options": ["a", "b"], "answer": "F"}]', "none of its options"),
        ('[{"question": "x", "options": ["a", "b"], "answer": 2}]', "none of its options"),
        ('[{"question": "x", "options": ["a", "b"], "answer": true}]', "none of its options"),
        ("[1]", "question 1"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SourceError) as caught:
        read(tmp_path, text)
    assert words in caught.value.message
    assert caught.value.hint
