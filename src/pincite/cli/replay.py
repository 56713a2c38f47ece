"""pincite replay: a saved search, run again and compared."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.options import DEFAULT_INDEX, IndexOption, JsonOption, err, out, print_json, told

MAX_SHOWN = 20


def replay(
    file: Annotated[Path, typer.Argument(help="What 'pincite search --save' wrote.")],
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Run a saved search again; say what differs, with exit code 1 if anything does."""
    from pincite.replay import replay as run_again

    with told(as_json=as_json, index=index):
        found = run_again(file, index)
    if as_json:
        then, now = found.generations
        print_json(
            {
                "same": not found.differences,
                "same_index": found.is_same_index,
                "generation": {"then": then, "now": now},
                "differences": list(found.differences),
            }
        )
    else:
        if not found.is_same_index:
            then, now = found.generations
            words = f"note: the index is not the same (generation {then} then, {now} now)"
            err.print(words, markup=False, soft_wrap=True)
        for line in found.differences[:MAX_SHOWN]:
            out.print(line, markup=False, soft_wrap=True)
        more = len(found.differences) - MAX_SHOWN
        if more > 0:
            out.print(f"… and {more} more", markup=False)
        if not found.differences:
            out.print("the same, byte for byte")
    raise typer.Exit(1 if found.differences else 0)
