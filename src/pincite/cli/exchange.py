"""pincite export and import: an index as plain files and back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.encoding import embed
from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    counted,
    err,
    out,
    print_json,
    settings_from,
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
    from pincite.search.related import Similar, model_of

    with told(as_json=as_json, index=index):
        opened = OpenIndex.open(index, store_alone().store)
        model = model_of(opened)
        if with_similar and not model:
            raise ConfigError("the index has no vectors", hint="see: pincite ingest --help")
        similar = Similar(opened, model) if with_similar else None
        with opened.snapshot as snapshot:
            written = export_index(snapshot, folder, ask=records, similar=similar)
            count = _counted(written)
    if as_json:
        print_json({"documents": count, "folder": str(folder)})
        return
    out.print(f"{counted(count, 'document')} written to {folder}", markup=False, soft_wrap=True)


def load(
    folder: FolderArgument,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build the index again from the files that 'pincite export' wrote, and compute its vectors."""
    from pincite.exchange import import_index
    from pincite.store.location import exists

    with told(as_json=as_json):
        settings = settings_from(config, sets)
        if exists(index, settings.store):
            raise ConfigError(
                f"{shown(index)} has an index already", hint="import into a new one with --index"
            )
        count = _counted(import_index(folder, index))
        encoded = embed(index, settings, as_json=as_json)
    if as_json:
        print_json({"documents": count, "folder": shown(index), "vectors": encoded})
        return
    vectors = f", vectors in {encoded['seconds']:.1f} s" if encoded else ""
    if settings.embedding.model == "none":
        vectors = ", no vectors: embedding.model is none"
    words = f"{counted(count, 'document')} read into {shown(index)}{vectors}"
    out.print(words, markup=False, soft_wrap=True)


def _counted(documents: Iterator[str]) -> int:
    from rich.progress import track

    return sum(1 for _ in track(documents, "documents", console=err, transient=True))
