"""Judged questions become examples and a model; OHR-Bench with learned rankers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.api import Index
from pincite.measure.learning import examples_of, first_right, fit_calibrated, read_judged
from pincite.model.errors import SourceError
from pincite.model.settings import Settings
from pincite.search.feature_table import NAMES

RULES = "\n\n".join(
    f"## {n}.1 Thing {n}\n\nThe {colour} {thing} shall be {n} metres long."
    for n, (colour, thing) in enumerate(
        [("red", "beam"), ("blue", "rope"), ("green", "pipe"), ("grey", "cable"), ("white", "rod")],
        start=1,
    )
)


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index({"rules.md": f"# Rules\n\n{RULES}\n"}, Settings())


def lines(*items: dict[str, Any]) -> str:
    return "\n".join(json.dumps(item) for item in items)


def test_questions_become_examples_and_a_model(index: Index, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    asked = [
        {"id": word, "question": f"How long is the {word}?", "gold": {"any": [place]}}
        for word, place in [
            ("red beam", {"document": "rules.md", "locator": "1.1"}),
            ("blue rope", {"document": "rules.md", "locator": "2.1"}),
            ("green pipe", {"document": "rules.md", "locator": "3.1"}),
            ("grey cable", {"document": "rules.md", "section": "4.1"}),
        ]
    ]
    gone = {
        "id": "gone",
        "question": "And?",
        "gold": {"any": [{"document": "rules.md", "locator": "9.9"}]},
    }
    file.write_text(
        lines(*asked, gone, {"id": "no", "question": "Why?", "gold": {"none": "not in it"}})
    )
    judged = read_judged(file, index)
    assert [each.section for each in judged] == ["1.1", "2.1", "3.1", "4.1"]
    examples = examples_of(index, judged, 5)
    assert len(set(examples.groups)) == 4  # one document: kept together by section
    assert len(examples.table) == examples.sizes.sum()
    assert first_right(examples, examples.table[:, NAMES.index("bm25_rank")]) == 1.0
    assert first_right(examples, -examples.grades) < 1.0
    model, scores = fit_calibrated("logistic", examples, NAMES, {})
    assert len(scores) == len(examples.table) and model.k == 5
    assert np.isfinite(scores).all() and model.slope > 0


@pytest.mark.parametrize("text", ["", "[1]", '{"question": 5, "gold": {"any": [{}]}}', "{"])
def test_other_files_are_one_clear_error(index: Index, tmp_path: Path, text: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(text)
    with pytest.raises(SourceError) as error:
        read_judged(file, index)
    assert error.value.hint
