"""What every command prints for programs stays what it is; see golden_commands.py."""

from __future__ import annotations

from typing import Any

import golden_commands as commands
import pytest

from pincite.cli.main import COMMANDS

# Those that serve, train, or measure the machine; they have tests of their own.
WITHOUT = {"serve", "mcp", "plan", "publish", "tune", "learn", "adapt"}


@pytest.fixture(scope="module")
def told(
    tmp_path_factory: pytest.TempPathFactory, clean_environment: dict[str, str]
) -> dict[int, dict[str, Any]]:
    return dict(
        enumerate(commands.run(tmp_path_factory.mktemp("golden") / "of", clean_environment))
    )


@pytest.mark.parametrize(
    "number", range(len(commands.CALLS)), ids=lambda n: " ".join(commands.CALLS[n])[:60]
)
def test_a_command_prints_what_is_stored(number: int, told: dict[int, dict[str, Any]]) -> None:
    found = list(commands.differences(commands.stored()[number], told[number]))
    assert not found, "\n".join(found[:20])


def test_every_command_is_called() -> None:
    called = {call[0] for call in commands.CALLS}
    assert set(COMMANDS) - called == WITHOUT
