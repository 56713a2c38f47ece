"""The planner on a small document: clause, table, row, cell, arithmetic; and when it holds back."""

from __future__ import annotations

import pytest

from pincite.agent.agent import Agent
from pincite.api import Index


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
