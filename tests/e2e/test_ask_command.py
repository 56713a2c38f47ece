"""pincite ask as a user sees it: answers, sources, events, errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, pincite: Run) -> Path:
    folder: Path = tmp_path_factory.mktemp("ask") / "index"
    assert pincite("ingest", SAMPLES, "--index", folder).code == 0
    return folder


def test_an_answer_with_its_sources(pincite: Run, index: Path) -> None:
    told = pincite("ask", "how far apart do two earth rods have to be", "-i", index)
    assert told.code == 0
    state, first, *_, last = told.out.strip().splitlines()
    assert state.startswith("Found")
    assert "at least 2.4 m apart. [1]" in first
    assert last == (
        "[1] Harbourline Electrical Code, 2024 Edition, 250.56(B)  (electrical-code-2024.md)"
    )


def test_a_place_that_was_removed(pincite: Run, index: Path) -> None:
    told = pincite("ask", "Show me 240.33 of the 2024 edition", "-i", index)
    assert told.code == 0 and told.out.startswith("Not in these documents\n")
    assert "reason: removed_in_this_edition" in told.out
    assert "2021 Edition" in told.out


def test_events_as_lines(pincite: Run, index: Path) -> None:
    told = pincite("ask", "What does error E-07 mean?", "-i", index, "--stream")
    events = [json.loads(line) for line in told.out.splitlines()]
    names = [event["event"] for event in events]
    assert names[:2] == ["search", "context"] and names[-1] == "complete"
    assert "Misting pressure low" in events[-1]["data"]["text"]
    tokens = "".join(each["data"]["text"] for each in events if each["event"] == "token")
    assert tokens == events[-1]["data"]["text"]


def test_errors_are_told(pincite: Run, index: Path) -> None:
    assert pincite("ask", "  ", "-i", index).code == 2
    told = pincite("ask", "  ", "-i", index, "--stream")
    assert told.code == 2 and json.loads(told.out)["event"] == "error"
    assert pincite("ask", "rods", "-i", index / "nowhere").code == 4
    told = pincite("ask", "rods", "-i", index, "--llm", "http://127.0.0.1:1/v1")
    assert told.code == 2 and "answer.model" in told.err
    assert pincite("ask", "rods", "-i", index, "--model", "m").code == 2


def test_a_service_that_is_not_there_is_told_and_quotations_come(pincite: Run, index: Path) -> None:
    llm = ("--llm", "http://127.0.0.1:1/v1", "--model", "m", "--set", "http.retries=0")
    told = pincite("ask", "how far apart do two earth rods have to be", "-i", index, *llm)
    assert told.code == 0
    assert "2.4 m apart" in told.out
    assert "quoted without a language model" in told.err
    strict = ("--set", "tuning.answer.on_error=raise")
    raised = pincite("ask", "how far apart are earth rods", "-i", index, *llm, *strict)
    assert raised.code == 5
