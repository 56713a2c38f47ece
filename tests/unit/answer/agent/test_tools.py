"""The tools: what they find, what they refuse, how steps are counted."""

from __future__ import annotations

import pytest

from pincite.answer.agent.tools import OutOfSteps, Toolbox
from pincite.api import Index
from pincite.model.types import Filters

NAMES = ["search", "show", "lookup_table", "follow_references", "calculate"]


def test_schemas_say_what_each_tool_takes(rules: Index) -> None:
    tools = Toolbox(rules).tools
    assert list(tools) == NAMES
    for tool in tools.values():
        parameters = tool.schema["function"]["parameters"]
        assert set(parameters["required"]) <= set(parameters["properties"])
        assert parameters["additionalProperties"] is False


def test_each_tool_finds_what_it_is_for(rules: Index) -> None:
    box = Toolbox(rules)
    assert "10.2" in [p.locator for p in box.call("search", {"query": "load of circuit"}).places]
    assert "80 percent" in box.call("show", {"locator": "10.2"}).text
    cell = box.call("lookup_table", {"table": "Table 10.1", "row": "20 m", "column": "Fuse"})
    assert cell.text == "Table 10.1 > Over 10 through 50 > Fuse (A): 10 A"
    named = box.call("follow_references", {"locator": "10.2"})
    assert [place.locator for place in named.places] == ["10.1"]
    assert "table 99 (not in the documents)" in named.text
    assert box.call("calculate", {"expression": "80 % of 20 A"}).text == "80 % of 20 A = 16 A"
    assert [step.tool for step in box.trace.steps] == NAMES
    assert [step.number for step in box.trace.steps] == [1, 2, 3, 4, 5]
    assert all(step.ms >= 0 for step in box.trace.steps)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("delete_all", {}, "there is no tool 'delete_all'"),
        ("search", {}, "search needs 'query'"),
        ("search", {"query": "x", "limit": 3}, "search has no 'limit'"),
        ("search", {"query": 3}, "'query' of search must be words"),
        ("search", {"query": " "}, "'query' of search must be words"),
        ("search", {"query": "x", "k": 1000}, "'k' of search must be 1 to 20"),
        ("search", {"query": "x", "k": True}, "'k' of search must be a whole number"),
        ("search", {"query": "x" * 1001}, "longer than 1000 characters"),
        ("show", {"locator": "77.7"}, "no place '77.7'"),
        ("lookup_table", {"table": "10.2", "row": "3"}, "'10.2' is not a table"),
        ("lookup_table", {"table": "Table 10.1", "row": "99 m"}, "has no cell"),
        ("calculate", {"expression": "1 m + 1 s"}, "cannot add a length and a time"),
    ],
)
def test_a_bad_call_is_a_step_with_an_error(
    rules: Index, name: str, arguments: dict[str, object], words: str
) -> None:
    box = Toolbox(rules)
    assert words in box.call(name, arguments).error
    assert len(box.trace.steps) == 1


def test_steps_have_an_end(rules: Index) -> None:
    box = Toolbox(rules, most_steps=2)
    for _ in range(2):
        box.call("calculate", {"expression": "1 + 1"})
    with pytest.raises(OutOfSteps):
        box.call("calculate", {"expression": "1 + 1"})


def test_what_filters_forbid_is_not_read(rules: Index) -> None:
    box = Toolbox(rules, Filters(documents=("other.md",)))
    assert not box.call("search", {"query": "load of circuit"}).places
    assert "not in the documents that may be read" in box.call("show", {"locator": "10.2"}).error
    table = {"table": "Table 10.1", "row": "20 m"}
    assert box.call("lookup_table", table).error
    assert box.call("follow_references", {"locator": "10.2"}).error
