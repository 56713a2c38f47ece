"""pincite export and import: an index as plain files and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    err,
    out,
    print_json,
    store_alone,
    told,
)
from pincite.core.errors import ConfigError
from pincite.core.locations import shown

FolderArgument = Annotated[Path, typer.Argument(help="Folder of the plain files.")]


def export(
    folder: FolderArgument,
    with_similar: Annotated[
        bool, typer.Option("--similar", help="Link chunks that say nearly the same, by vectors.")
    ] = False,
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Write documents, enriched chunks, the graph and made questions as JSON lines."""
    from pincite.evaluate.synthetic import records
    from pincite.exchange import export_index
    from pincite.index.opened import OpenIndex
    from pincite.retrieve.similar import Similar, model_of

    with told(as_json=as_json, index=index):
        opened = OpenIndex.open(index, store_alone().store)
        model = model_of(opened)
        if with_similar and not model:
            raise ConfigError("the index has no vectors", hint="see: pincite ingest --help")
        similar = Similar(opened, model) if with_similar else None
        with opened.snapshot as snapshot:
            written = export_index(snapshot, folder, ask=records, similar=similar)
            _report(written, "written to", str(folder), as_json=as_json)


def load(
    folder: FolderArgument, index: IndexOption = DEFAULT_INDEX, as_json: JsonOption = False
) -> None:
    """Build the index again from the files that 'pincite export' wrote."""
    from pincite.exchange import import_index
    from pincite.store.location import exists

    with told(as_json=as_json):
        if exists(index, store_alone().store):
            raise ConfigError(
                f"{shown(index)} has an index already", hint="import into a new one with --index"
            )
        _report(import_index(folder, index), "read into", shown(index), as_json=as_json)


def _report(documents: Iterator[str], verb: str, where: str, *, as_json: bool) -> None:
    from rich.progress import track

    count = sum(1 for _ in track(documents, "documents", console=err, transient=True))
    if as_json:
        print_json({"documents": count, "folder": where})
    else:
        out.print(f"{count} documents {verb} {where}", markup=False, soft_wrap=True)
