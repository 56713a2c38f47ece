"""pincite --version: facts of the build, and which extras are whole."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import pytest

from pincite import __version__
from pincite.cli import about
from pincite.store.manifest import FORMAT


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
    requires = [
        "numpy>=2.0",
        'fastapi<1,>=0.130; extra == "serve"',
        'jinja2<4,>=3.1; extra == "serve"',
        "psycopg[binary]<4,>=3.3; extra == 'postgres'",
    ]
    monkeypatch.setattr(metadata, "distribution", lambda _: SimpleNamespace(requires=requires))
    here = {"fastapi", "psycopg"}

    def version(name: str) -> str:
        if name not in here:
            raise metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(metadata, "version", version)
    assert about.extras_present() == ["postgres"]
    here.add("jinja2")
    assert about.extras_present() == ["postgres", "serve"]
