"""A model that calls tools: what it may do, what it may not, and what of its words is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pincite.answer.agent.agent import Agent, AgentAnswer
from pincite.api import Index
from pincite.model.errors import ModelError
from pincite.model.settings import Answering

from .conftest import Script, calls


def asked(index: Index, script: Script, steps: int = 6, **settings: Any) -> AgentAnswer:
    own = replace(Answering(url=script.url, model="m", retries=0), **settings)
    return Agent(index, own, most_steps=steps).answer("Which fuse for 20 m of cable?")


def test_tools_are_called_and_the_answer_is_cited(rules: Index, script: Script) -> None:
    script.messages = [
        calls("lookup_table", table="Table 10.1", row="20 m", column="Fuse"),
        {"content": "For cables over 10 through 50 m the fuse is 10 A [1]."},
    ]
    found = asked(rules, script)
    assert found.how == "model"
    assert [step.tool for step in found.trace.steps] == ["lookup_table"]
    assert [each.locator for each in found.answer.citations] == ["Table 10.1"]
    assert found.answer.sentences[0].verdict == "supported"
    assert (found.answer.usage.prompt_tokens, found.answer.usage.completion_tokens) == (20, 10)
    result = json.loads(script.bodies[1]["messages"][-1]["content"])
    assert result["sources"] == {"[1]": "Table 10.1, rules.md"}
    assert result["steps_left"] == 5


def test_what_is_not_in_the_sources_is_marked_or_dropped(rules: Index, script: Script) -> None:
    script.messages = [
        calls("show", locator="Table 10.1"),
        {"content": "The fuse is 99 amperes [1]. The fuse is 10 amperes [4]."},
    ]
    found = asked(rules, script)
    assert [each.verdict for each in found.answer.sentences] == ["unsupported", "unsupported"]
    assert not found.answer.citations
    script.bodies.clear()
    assert asked(rules, script, unsupported="drop").answer.text == ""


def test_documents_cannot_add_tools_steps_or_citations(rules: Index, script: Script) -> None:
    script.messages = [
        calls("show", locator="10.3"),
        calls("delete_all"),
        {"content": "Fuses are 99 A [7]."},
    ]
    found = asked(rules, script)
    offered = [each["function"]["name"] for body in script.bodies for each in body["tools"]]
    assert "delete_all" not in offered
    assert found.trace.steps[1].found.error.startswith("there is no tool 'delete_all'")
    assert not found.answer.citations
    assert found.answer.sentences[0].verdict == "unsupported"
    roles = [message["role"] for message in script.bodies[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]


def test_steps_end_and_then_no_tools_are_offered(rules: Index, script: Script) -> None:
    script.messages = [calls("calculate", expression="1 + 1")] * 2 + [{"content": "It is 2."}]
    found = asked(rules, script, steps=2)
    assert len(found.trace.steps) == 2
    assert "tools" in script.bodies[1]
    assert "tools" not in script.bodies[2]
    assert found.answer.text.startswith("It is 2.")


def test_a_model_that_never_ends_is_ended(rules: Index, script: Script) -> None:
    script.messages = [calls("calculate", expression="1 + 1")]
    with pytest.raises(ModelError, match="empty answer"):
        asked(rules, script, steps=3, on_error="raise")
    assert len(script.bodies) == 4


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "tool_calls": [{"function": {"name": "search", "arguments": "{no"}}]},
        {"content": "", "tool_calls": [{"function": {"name": "search", "arguments": "[1]"}}]},
        {"content": "", "tool_calls": [{"function": {"name": "search", "arguments": {"q": 1}}}]},
    ],
)
def test_bad_arguments_are_told_to_the_model(
    rules: Index, script: Script, message: dict[str, Any]
) -> None:
    script.messages = [message, {"content": "I do not know."}]
    found = asked(rules, script)
    assert found.trace.steps[0].found.error
    assert json.loads(script.bodies[1]["messages"][-1]["content"])["error"]


@pytest.mark.parametrize("message", [{"content": None}, {"tool_calls": "x"}, {"content": 3}])
def test_a_model_that_says_nothing_falls_back(
    rules: Index, script: Script, message: dict[str, Any]
) -> None:
    script.messages = [message]
    found = asked(rules, script)
    assert found.how != "model"
    assert "answered without the language model" in found.answer.notes[0]


def test_a_service_that_fails_falls_back_or_is_told(rules: Index, script: Script) -> None:
    script.messages, script.status = [{"content": "x"}], 500
    assert asked(rules, script).how == "planned"
    with pytest.raises(ModelError):
        asked(rules, script, on_error="raise")
