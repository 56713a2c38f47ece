"""pincite agent as a user runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, pincite: Callable[..., Any]) -> Path:
    home = tmp_path_factory.mktemp("agent")
    code = SAMPLES / "electrical-code-2024.md"
    done = pincite("ingest", code, "--index", home / "index", "--set", "embedding.model=none")
    assert done.code == 0, done.err
    return home


def test_agent_prints_its_steps_and_a_cited_answer(
    folder: Path, pincite: Callable[..., Any]
) -> None:
    question = "What electrode earthing conductor is needed for a 95 mm² copper service?"
    done = pincite("agent", question, "-i", folder / "index")
    assert done.code == 0, done.err
    assert "1. search(" in done.err
    assert "lookup_table(table='Table 250.66'" in done.err
    assert "Electrode earthing conductor, copper (mm²): 35 mm² [1]" in done.out
    assert "[1] Harbourline Electrical Code, 2024 Edition, Table 250.66" in done.out
    plain = pincite("agent", question, "-i", folder / "index", "--json").json
    assert plain["how"] == "planned"
    assert [step["tool"] for step in plain["steps"]][-1] == "lookup_table"
    assert plain["answer"]["sentences"][0]["citations"][0]["locator"] == "Table 250.66"


def test_agent_tells_what_is_wrong(folder: Path, pincite: Callable[..., Any]) -> None:
    assert pincite("agent", " ", "-i", folder / "index").code == 2
    assert pincite("agent", "x", "-i", folder / "nowhere").code == 4
