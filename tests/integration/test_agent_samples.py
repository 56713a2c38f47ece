"""The planner on the samples: the questions about tables and those that take several places."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite import Index, find_files, ingest_files
from pincite.answer.agent.agent import Agent, AgentAnswer
from pincite.model.types import Filters

SAMPLES = Path(__file__).parents[2] / "samples"
QUESTIONS = {
    item["id"]: item
    for item in map(json.loads, (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines())
}
# What the answer has to say; the values are those of the questions' own answers.
LOOKED_UP = {
    "code-027": "75 °C (A): 120 A",
    "code-028": "90 °C (A): 250 A",
    "code-029": "Copper (mm²): 16 mm²",
    "code-030": "Copper (mm²): 16 mm²",
    "code-031": "copper (mm²): 35 mm²",
    "code-032": "Opposite side is earthed (m): 1.10 m",
    "code-033": "75 °C conductor: 0.81",
    "code-034": "Factor (%): 72 %",
    "code-035": "Receptacle rating (A): 63 A",
    "code-036": "Unit load (W/m²): 15 W/m²",
    "code-037": "Factor (%): 59 %",
    "code-038": "Volume (cm³): 690 cm³",
    "code-039": "Colour of insulation: Violet",
    "code-041": "33.0 kW",
    "code-042": "Smallest breaking capacity (kA): 18 kA",
    "code-055": "60 °C (A): 62 A",
    "code-056": "Copper (mm²): 6 mm²",
    "code-057": "copper (mm²): 25 mm²",
    "code-059": "22 W/m² * 150 m² = 3300 W",
    "code-060": "90 °C conductor: 0.81",
    "rule-012": "Damage: 1d10",
    "rule-013": "Normal (miles per watch): 16",
    "rule-014": "Total XP: 100",
    "rule-015": "Crew needed: 6",
    "man-001": "Meaning: Misting pressure low",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("samples")
    list(ingest_files(find_files([SAMPLES]), folder))
    with Index.open(folder) as opened:
        yield opened


def answered(index: Index, name: str) -> AgentAnswer:
    filters = Filters(as_of="2024-12-31")
    return Agent(index).answer(QUESTIONS[name]["question"], filters=filters)


@pytest.mark.parametrize("name", LOOKED_UP)
def test_tables_are_looked_up(index: Index, name: str) -> None:
    found = answered(index, name)
    assert LOOKED_UP[name] in found.answer.text
    assert found.how == "planned"
    for citation in found.answer.citations:
        if citation.span is not None:
            text = index.snapshot.document(citation.span.doc_id).text
            assert text[citation.span.start : citation.span.end] == citation.quote
    assert found.answer.citations[0].locator


@pytest.mark.parametrize(
    "name", [name for name, item in QUESTIONS.items() if item["kind"] in ("paraphrase", "locator")]
)
def test_other_questions_are_not_taken_for_look_ups(index: Index, name: str) -> None:
    assert answered(index, name).how == "quoted"


def test_rule_is_applied_before_the_table(index: Index) -> None:
    found = answered(index, "code-060")
    assert [step.tool for step in found.trace.steps][-2:] == ["calculate", "lookup_table"]
    assert "32 °C + 18 °C = 50 °C" in found.answer.text
    assert {each.locator for each in found.answer.citations} == {"310.15(D)", "Table 310.15(B)"}
