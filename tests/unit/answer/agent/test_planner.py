"""The planner on a small document: clause, table, row, cell, arithmetic; and when it holds back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.answer.agent.agent import Agent
from pincite.answer.agent.tools import asked_multiple
from pincite.api import Index

PERMITS = """# Permits

## 4.3 Fees

**Table 3 Fees of Permits**

| Kind of permit | Area (m²) | Fee (€) |
|---|---|---|
| Hot work | Up to 50 | 40 |
| Hot work | Over 50 through 100 | 60 |
| Hot work | Over 100 | 90 |
| Confined space | Any | 120^1^ |
| Work at height | Any | 80 |

^1^ Waived for rescue teams.

## 5 Records

Records of tests shall be kept for 5 years.
"""


def answered(index: Index, question: str) -> tuple[str, list[str]]:
    found = Agent(index).answer(question)
    text = index.snapshot.document("rules.md").text
    for citation in found.answer.citations:
        if citation.span is not None:
            assert text[citation.span.start : citation.span.end] == citation.quote
    return found.answer.text, [step.tool for step in found.trace.steps]


def test_row_is_found_by_range(rules: Index) -> None:
    text, steps = answered(rules, "Which fuse for a cable with a length of 20 m?")
    assert "Table 10.1 > Over 10 through 50 > Fuse (A): 10 A [1]" in text
    assert steps[0] == "search"
    assert "lookup_table" in steps


def test_share_of_the_question_is_calculated_and_its_clause_cited(rules: Index) -> None:
    text, steps = answered(rules, "What is 80 percent of the rating of a 16 A circuit as a load?")
    assert "80 % of 16 A = 12.8 A [1]" in text
    assert "10.2: “The load shall be at most 80 percent of the rating of the circuit.” [1]" in text
    assert steps[-1] == "calculate"


def test_share_of_the_clause_is_calculated(rules: Index) -> None:
    text, _ = answered(rules, "What load may a circuit with a rating of 20 A have?")
    assert "80 % of 20 A = 16 A" in text


def test_place_number_is_no_quantity(rules: Index) -> None:
    found = Agent(rules).answer("What does 10.2 say about loads?")
    assert found.how == "quoted"


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_limit_of_steps_holds(rules: Index, steps: int) -> None:
    found = Agent(rules, most_steps=steps).answer("Which fuse for a cable of a length of 20 m?")
    assert len(found.trace.steps) <= steps
    assert found.answer.text


@pytest.fixture
def permits(make_index: Callable[..., Index]) -> Index:
    return make_index({"rules.md": PERMITS})


@pytest.mark.parametrize(
    ("asked", "expression", "product"),
    [
        ("3 times the fee", "3 * 120", "360"),
        ("Three times the fee", "3 * 120", "360"),
        ("2.5 × the fee", "2.5 * 120", "300"),
        ("twice the fee", "2 * 120", "240"),
        ("half of the fee", "120 / 2", "60"),
        ("a quarter of the fee", "120 / 4", "30"),
    ],
)
def test_a_multiple_of_the_cell_is_calculated(
    permits: Index, asked: str, expression: str, product: str
) -> None:
    text, steps = answered(permits, f"What is {asked} of a confined space permit?")
    assert "Table 3 > Confined space > Fee (€): 120 € (Waived for rescue teams.) [1]" in text
    assert f"{expression} = {product} € [1]" in text
    assert steps[-1] == "calculate"


def test_a_multiple_of_a_calculation_is_calculated(rules: Index) -> None:
    question = "What is twice the load that a circuit with a rating of 20 A may have?"
    assert "2 * (80 % of 20 A) = 32 A" in answered(rules, question)[0]


def test_a_multiple_that_is_not_calculated_is_told(permits: Index) -> None:
    several = Agent(permits).answer("What is twice the fee of a hot work permit?")
    assert [line.partition(": ")[2] for line in several.answer.text.splitlines()] == [
        *("40 € [1]", "60 € [1]", "90 € [1]")
    ]
    quoted = Agent(permits).answer("Is twice the time enough to keep the records of tests?")
    assert quoted.how == "quoted"
    for found in (several, quoted):
        assert found.answer.notes == ("“twice” is not calculated: no single number was looked up",)


@pytest.mark.parametrize(
    "question", ["How many times is the pump tested?", "3 times a day", "half an hour", "Over 3 m"]
)
def test_other_times_are_no_multiple(question: str) -> None:
    assert asked_multiple(question) is None


def test_columns_that_repeat_the_question_are_not_asked_for(permits: Index) -> None:
    text, _ = answered(permits, "How much is a hot work permit for 120 m²?")
    assert text.startswith("Table 3 > Hot work, Over 100 > Fee (€): 90 € [1]")
