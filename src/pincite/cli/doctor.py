"""pincite doctor: is everything in order here?"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from pincite import __version__
from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.core.errors import PinciteError, StoreError
from pincite.core.locations import is_server, shown
from pincite.core.settings import Settings

if TYPE_CHECKING:
    from pincite.store.manifest import Manifest


def doctor(
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check the installation and the index: every checksum of a folder, or what a server has."""
    facts = {"pincite": __version__, "python": platform.python_version()}
    with told(as_json=as_json):
        settings = settings_from(config, sets)
    problems, hint = _check(index, settings, facts)
    if as_json:
        print_json({"ok": not problems, "facts": facts, "problems": problems, "hint": hint})
    else:
        for name, value in facts.items():
            out.print(f"{name:<12} {value}", markup=False, soft_wrap=True)
        for problem in problems:
            out.print(Text.assemble(("problem      ", "bold red"), problem), soft_wrap=True)
        if problems:
            out.print(Text.assemble(("hint         ", "bold"), hint), soft_wrap=True)
        else:
            out.print("all is well", style="green")
    if problems:
        raise typer.Exit(StoreError.exit_code)


def _check(index: str, settings: Settings, facts: dict[str, str]) -> tuple[list[str], str]:
    """Return what is wrong and what to do about it; fill in what is known."""
    from pincite.store.manifest import current, damage

    facts["index"] = shown(index)
    hint = f"build it again: pincite ingest FILES --index {shown(index)} --rebuild"
    try:
        if is_server(index):
            problems = _check_server(index, settings, facts)
        else:
            _count(current(Path(index)), facts)
            problems = damage(Path(index))
    except PinciteError as error:
        is_there = not is_server(index) and (Path(index) / "CURRENT").exists()
        return [error.message], hint if is_there else error.hint
    return problems, hint


def _check_server(index: str, settings: Settings, facts: dict[str, str]) -> list[str]:
    """Return what is missing in a server; it answers for its own bytes."""
    from pincite.store.location import open_snapshot, server_of

    facts["server"] = server_of(index, settings.store)
    with open_snapshot(index, settings.store) as snapshot:
        _count(snapshot.manifest, facts)
        return [
            f"segment {part.entry.name} has {found} documents, not {part.entry.documents}"
            for part in snapshot.segments
            if (found := len(part.doc_ids()) + len(part.dropped)) != part.entry.documents
        ]


def _count(manifest: Manifest, facts: dict[str, str]) -> None:
    facts["generation"] = str(manifest.generation)
    facts["segments"] = str(len(manifest.segments))
    live = sum(entry.documents - len(entry.dropped) for entry in manifest.segments)
    facts["documents"] = str(live)
    facts["chunks"] = str(sum(entry.chunks for entry in manifest.segments))
    facts["vectors"] = str(sum(entry.windows for entry in manifest.vectors))
