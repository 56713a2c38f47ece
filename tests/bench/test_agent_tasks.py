"""The questions of the agents' benchmark, over the samples: fewer tokens, no less right."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mcp", reason='needs: pip install "pincite[mcp]"')

import anyio

import agent_tasks
import pincite

ROOT = Path(__file__).parents[2]


def test_all_tools_cost_less_than_search_and_fetch(tmp_path: Path) -> None:
    with pincite.open(tmp_path / "index") as index:
        index.ingest(ROOT / "samples")
        done, described = anyio.run(agent_tasks.run, index)
    own, other = ([each for each in done if each["agent"] == name] for name in agent_tasks.AGENTS)
    assert len(own) == len(other) >= 30
    assert sum(each["right"] for each in own) >= sum(each["right"] for each in other) >= 25
    assert sum(each["tokens"] for each in own) <= 0.5 * sum(each["tokens"] for each in other)
    assert max(each["worst"] for each in done) <= 1.0 and described < 4_000
    assert list(agent_tasks.table(done))[-1].startswith("| all | ")


@pytest.mark.parametrize(
    ("task", "answer", "right"),
    [
        ({"kind": "compare", "gold": ["5"]}, "not exceed 6 5 percent", True),
        ({"kind": "compare", "gold": ["5"]}, "1.5 m or 55", False),
        ({"kind": "cell", "gold": "6"}, {"6"}, True),
        ({"kind": "cell", "gold": "6"}, {"6", "7"}, False),
        ({"kind": "there", "gold": False}, False, True),
        ({"kind": "locate", "gold": "1(a)", "document": "a.md"}, "a.md#1", False),
    ],
)
def test_what_is_right_is_told(task: dict[str, object], answer: object, right: bool) -> None:
    assert agent_tasks.is_right(task, answer) is right
