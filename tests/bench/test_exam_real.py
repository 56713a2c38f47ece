"""Real exam questions: the chooser is far better with what was found than with anything else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import part97
from experiments.indexes import make_index
from multiple_choice.questions import read_exam
from multiple_choice.sitting import sit
from multiple_choice.summary import summarise
from pincite.api import Index
from pincite.model.settings import Settings, merged

DATA = Path(__file__).parents[3] / "shared" / "data" / "part97"
LEXICAL = merged(Settings(), {"search": {"preset": "lexical"}}, origin="test")
EVERY = 8  # questions, to be quick


def test_part97_is_chosen_by_evidence(tmp_path: Path) -> None:
    if not DATA.is_dir():
        pytest.skip("Part 97 is not here")
    lettered = replace(LEXICAL, ingest=replace(LEXICAL.ingest, split_depth=1))
    make_index([(DATA / part97.DOCUMENT, part97.DOCUMENT)], tmp_path / "index", [lettered])
    questions = read_exam(DATA / "questions_dev.jsonl")[::EVERY]
    with Index.open(tmp_path / "index", lettered) as index:
        values = summarise(list(sit(index, questions, fold_count=5)))
    figures = values["figures"]
    assert figures["accuracy"]["value"] > 0.55
    assert figures["accuracy"]["value"] > figures["accuracy with random evidence"]["value"] + 0.2
    assert [row["verdict"] for row in values["comparisons"]] == ["better", "better"]
    assert figures["section found @10 by question"]["value"] > 0.85
    assert sum(values["outcomes"].values()) == values["counted"] == len(questions)
