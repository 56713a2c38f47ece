"""pincite publish: an index as collections of MongoDB for other programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

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
from pincite.core.locations import redact_url


def publish(
    url: Annotated[
        str, typer.Argument(help="Database: mongodb://host:27017/name.", show_default=False)
    ],
    ruleset: Annotated[str, typer.Option(help="What the documents are called together.")],
    run: Annotated[str, typer.Option(help="Name of the run; made of the generation.")] = "",
    keep: Annotated[int, typer.Option(min=1, help="So many runs of the ruleset stay.")] = 2,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write chunks, vectors and graph to MongoDB for other programs, as one run."""
    with told(as_json=as_json, index=index):
        from pincite.publish.mongodb import publish as write_run

        store = settings_from(config, sets).store
        done = write_run(index, url, ruleset, run_id=run, kept=keep, settings=store)
    if as_json:
        print_json(asdict(done))
        return
    words = f"run {done.run_id}: {done.books} books, {done.chunks:,} chunks, {done.edges:,} edges"
    out.print(
        f"{words} {'written to' if done.is_new else 'was already in'} {redact_url(url)}",
        markup=False,
        soft_wrap=True,
    )
    if not done.is_validated:
        out.print("the server keeps no validators: it takes documents of any shape", markup=False)
