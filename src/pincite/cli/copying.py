"""pincite copy: an index from one store into another."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.options import (
    ConfigOption,
    JsonOption,
    SetOption,
    err,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.core.locations import redact_url

Place = typer.Argument(help="Folder or URL.", show_default=False)


def copy(
    source: Annotated[str, Place],
    target: Annotated[str, Place],
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy an index to another folder or server, compared piece by piece; again to go on."""
    from rich.progress import Progress

    from pincite.copying import copy_index

    with told(as_json=as_json):
        store = settings_from(config, sets).store
        documents = new = chunks = 0
        with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
            task = bar.add_task("copying", total=None)
            for part in copy_index(source, target, store):
                documents, chunks = part.done, chunks + part.chunks
                new += part.documents if part.is_new else 0
                bar.update(task, total=part.total, completed=part.done)
    if as_json:
        report = {
            "source": redact_url(source),
            "target": redact_url(target),
            "documents": documents,
        }
        print_json({**report, "new": new, "chunks": chunks})
    else:
        words = f"{documents} documents, {chunks:,} chunks: {new} copied, the rest was there"
        line = f"{words}; both are the same: {redact_url(source)} → {redact_url(target)}"
        out.print(line, markup=False, soft_wrap=True)
