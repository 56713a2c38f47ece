"""pincite remove: documents out of the index."""

from __future__ import annotations

from typing import Annotated

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    out,
    print_json,
    store_alone,
    told,
)
from pincite.core.errors import StoreError


def remove(
    documents: Annotated[
        list[str], typer.Argument(help="Documents, as 'pincite list' names them.")
    ],
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Take documents out of the index; the files stay where they are."""
    from pincite import update

    with told(as_json=as_json, index=index):
        gone = update.remove(index, documents, store_alone().store)
        missing = [doc_id for doc_id in documents if doc_id not in gone]
        if missing:
            raise StoreError(f"not in the index: {', '.join(missing)}", hint="see: pincite list")
    if as_json:
        print_json({"removed": gone})
    else:
        out.print(f"removed {', '.join(gone)}", markup=False, soft_wrap=True)
