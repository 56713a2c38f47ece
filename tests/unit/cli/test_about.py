"""pincite --version: facts of the build, and which extras are whole."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pincite import __version__
from pincite.cli import about
from pincite.store.format import FORMAT


def test_the_first_line_is_the_version(pincite: Callable[..., Any]) -> None:
    told = pincite("--version")
    assert told.code == 0 and told.out.startswith(f"pincite {__version__} (")
    assert "index format" in told.out and "cross-encoder minilm  sha256 " in told.out


def test_facts_for_programs(pincite: Callable[..., Any]) -> None:
    facts = pincite("--version", "--json").json
    assert facts["version"] == __version__ and facts["index_format"] == FORMAT
    assert all(len(model["sha256"]) == 64 for model in facts["models"].values())


def test_json_without_version_is_refused(pincite: Callable[..., Any]) -> None:
    told = pincite("--json", "search", "rods")
    assert told.code == 2 and "stands behind the command" in told.err


def test_an_extra_is_there_if_all_of_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        about, "EXTRAS", {"all": ("json", "email.message"), "none": ("json", "no.x")}
    )
    assert about.extras_present() == ["all"]


def test_every_extra_is_known() -> None:
    file = Path(__file__).parents[3] / "pyproject.toml"
    extras = tomllib.loads(file.read_text("utf-8"))["project"]["optional-dependencies"]
    assert {name: len(needs) for name, needs in extras.items()} == {
        name: len(modules) for name, modules in about.EXTRAS.items()
    }
