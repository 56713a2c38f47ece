"""Two nodes, one of which is killed while documents are read: nobody can tell from the index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# Two nodes are more than two cores can start beside other tests in the time that Ray gives them.
pytestmark = [pytest.mark.slow, pytest.mark.alone]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script that measures it says for 200 documents."""
    pytest.importorskip("ray", reason="needs the extra ray")
    file = tmp_path_factory.mktemp("cluster") / "report.json"
    command = [sys.executable, "bench/cluster.py"]
    done = subprocess.run(
        [*command, "--documents", "200", "--encode", "0", "--json", str(file)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def test_the_index_is_the_same_to_the_byte(report: dict[str, Any]) -> None:
    assert report["two nodes, one killed"]["files"] == {"added": 200}
    assert report["two nodes, one killed"]["is_the_same"]


def test_both_nodes_read_until_one_was_killed(report: dict[str, Any]) -> None:
    assert len(report["two nodes, one killed"]["by_node"]) == 2


def test_what_was_finished_is_not_read_again(report: dict[str, Any]) -> None:
    again = report["stopped and asked again"]
    assert again["before"] == {"added": 100}
    assert again["files"] == {"unchanged": 100, "added": 100}
