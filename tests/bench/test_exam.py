"""bench/exam.py as a user runs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
QUESTIONS = [
    {
        "id": "q1",
        "question": "How far apart do two earth rods have to be?",
        "options": ["1.2 m", "2.4 m", "4.8 m", "10 m"],
        "answer": "B",
        "gold": "250.56(B)",
    },
    {
        "id": "q2",
        "question": "Can gas piping be used as an earth electrode?",
        "options": ["Yes, always", "No, gas piping shall not be used as an electrode"],
        "answer": "B",
        "gold": "250.52",
    },
    {
        "id": "q3",
        "question": "Who was the first emperor of <b>Rome</b>?",
        "options": ["Augustus", "Nero"],
        "answer": "A",
        "gold": {"none": "not about wiring"},
    },
    {
        "id": "q4",
        "question": "What does 999.9 say about rods?",
        "options": ["2.4 m", "9 m"],
        "answer": "B",
        "gold": "999.9",
    },
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, pincite: Callable[..., Any]) -> Path:
    home = tmp_path_factory.mktemp("exam")
    code = SAMPLES / "electrical-code-2024.md"
    done = pincite("ingest", code, "--index", home / "index", "--set", "embedding.model=none")
    assert done.code == 0, done.err
    (home / "exam.json").write_text(json.dumps(QUESTIONS), encoding="utf-8")
    return home


def test_exam_as_json_and_as_a_page(folder: Path, program: Callable[..., Any]) -> None:
    done = program(
        "bench/exam.py", folder / "exam.json", "-i", folder / "index", "--json",
        "--html", folder / "report.html", "--require", "0.5",
    )  # fmt: skip
    assert done.code == 0, done.err
    values = done.json
    assert (values["questions"], values["counted"]) == (4, 3)
    assert values["figures"]["accuracy"]["n"] == 3
    rows = {row["id"]: row for row in values["rows"]}
    assert (rows["q1"]["chosen"], rows["q1"]["outcome"]) == ("B", "right")
    assert "2.4 m" in rows["q1"]["quote"]
    assert rows["q1"]["rank"] == 1
    assert rows["q3"]["unanswerable"] == "not about wiring"
    assert rows["q4"]["unanswerable"] == "999.9 is not in the documents"
    assert values["unanswerable"]["by_key"] == 1
    assert values["unanswerable"]["place_missing"] == 1
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<b>Rome</b>" not in page
    assert "&lt;b&gt;Rome&lt;/b&gt;" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_exam_in_words_and_its_exit_codes(folder: Path, program: Callable[..., Any]) -> None:
    done = program(
        "bench/exam.py", folder / "exam.json", "-i", folder / "index", "--rows",
        "--abstain-below", "1", "--require", "0.5",
    )  # fmt: skip
    assert done.code == 1
    assert "abstained" in done.out
    assert "1 have no answer by the key: abstained in 1" in done.out
    assert "not about wiring" in done.out
    folds = program("bench/exam.py", folder / "exam.json", "-i", folder / "index", "--folds", "2")
    assert folds.code == 0
    assert "fitted on other sections in 2 folds" in folds.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["missing.json"], 3, "cannot be read as an exam"),
        (["exam.json", "--model"], 2, "--model needs a language model"),
        (["exam.json", "--model", "--set", "answer.url=http://127.0.0.1:9/v1"], 2, "answer.model"),
    ],
)
def test_what_is_wrong_is_told(
    folder: Path, program: Callable[..., Any], arguments: list[str], code: int, words: str
) -> None:
    done = program("bench/exam.py", *arguments, "-i", "index", cwd=folder)
    assert done.code == code
    assert words in done.err
