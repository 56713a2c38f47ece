"""pincite doctor: is everything in order here?"""

from __future__ import annotations

import platform
from pathlib import Path

import typer
from rich.text import Text

from pincite import __version__
from pincite.cli.options import DEFAULT_INDEX, IndexOption, JsonOption, out, print_json
from pincite.core.errors import PinciteError, StoreError
from pincite.core.locations import is_server, shown


def doctor(index: IndexOption = DEFAULT_INDEX, as_json: JsonOption = False) -> None:
    """Check the installation and every checksum of the index."""
    facts = {"pincite": __version__, "python": platform.python_version()}
    problems, hint = _check(index, facts)
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


def _check(index: str, facts: dict[str, str]) -> tuple[list[str], str]:
    """Return what is wrong and what to do about it; fill in what is known."""
    from pincite.store.location import open_snapshot
    from pincite.store.manifest import current, damage

    facts["index"] = shown(index)
    hint = f"build it again: pincite ingest FILES --index {shown(index)} --rebuild"
    try:
        if is_server(index):
            with open_snapshot(index) as snapshot:
                manifest = snapshot.manifest
        else:
            manifest = current(Path(index))
    except PinciteError as error:
        is_there = not is_server(index) and (Path(index) / "CURRENT").exists()
        return [error.message], hint if is_there else error.hint
    facts["generation"] = str(manifest.generation)
    facts["segments"] = str(len(manifest.segments))
    live = sum(entry.documents - len(entry.dropped) for entry in manifest.segments)
    facts["documents"] = str(live)
    # A server answers for its own bytes.
    return [] if is_server(index) else damage(Path(index)), hint
