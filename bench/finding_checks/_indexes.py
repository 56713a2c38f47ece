"""The index that a check asks: made of files, and kept where `PINCITE_BENCH_INDEXES` says."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from experiments.indexes import Files, make_index
from pincite.model.settings import Settings


@contextmanager
def index_folder(name: str, files: Files, pipelines: Sequence[Settings]) -> Iterator[Path]:
    """Give the folder of an index of the files that has all that the pipelines need.

    A kept index is taken as it is: its name tells it from others.
    """
    kept = os.environ.get("PINCITE_BENCH_INDEXES")
    if kept:
        folder = Path(kept) / name
        if not folder.exists():
            make_index(files, folder, pipelines, lenient=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        make_index(files, Path(scratch) / "0", pipelines, lenient=True)
        yield Path(scratch) / "0"
