"""--help speaks of texts and numbers, not of Python's types."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from pincite.cli.main import COMMANDS, app


def shown(*command: str) -> str:
    done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "100", "TERM": "dumb"})
    assert done.exit_code == 0, done.output
    return re.sub(r"\x1b\[[\d;]*m", "", done.output)


ALL = [[], *([name] for name in COMMANDS), ["keys", "add"], ["judgements", "import"]]


@pytest.mark.parametrize("command", ALL)
def test_no_help_names_types_of_python(command: list[str]) -> None:
    text = shown(*command)
    assert not re.search(r"<(?:bool|str|int|float|path|list)|\{\w+\}", text), text


def test_values_are_named_and_flags_have_none() -> None:
    text = shown("search")
    assert "search [OPTIONS] QUERY" in text and re.search(r"QUERY +A question, words", text)
    assert re.search(r"-k INTEGER RANGE +How many passages; 10 unless search\.k is set", text)
    assert re.search(r"-d, --document TEXT ", text)
    assert re.search(r"--save PATH ", text)
    assert re.search(r"--json +Print JSON", text) and re.search(r"--help +Show this", text)
    assert "ingest [OPTIONS] PATHS..." in shown("ingest")
    assert re.search(r"-p, --port INTEGER RANGE +Port to listen at", shown("serve"))


def test_a_missing_argument_is_named_as_the_help_names_it() -> None:
    done = CliRunner().invoke(app, ["search"])
    assert done.exit_code == 2 and "'QUERY'" in done.output
