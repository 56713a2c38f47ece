"""Folders that are written once: bulk numbers in one mapped file, and a listing with checksums."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pincite.store.files import delete, sha256_of, sync

Array = np.ndarray[Any, np.dtype[Any]]
# Where arrays start in their file: a cache line, so that mapped numbers are aligned.
ALIGNMENT = 64
_PLAIN = re.compile(r"[<|=]?(?:[biuf][1248]|\|?b1|S\d{1,4})")


def write_folder(
    home: Path, arrays: Mapping[str, Array], fill: Callable[[Path], None] | None = None
) -> str:
    """Write a complete folder aside, sync it, put it in place, and return its listing's hash."""
    aside = home.with_name(f"{home.name}.tmp-{os.getpid()}")
    delete(aside)  # of a killed writer with this process id: in a container all have the same
    aside.mkdir()
    if fill is not None:
        fill(aside)
    layout = _write_arrays(aside / "arrays.bin", arrays)
    files = {
        file.name: {"bytes": file.stat().st_size, "sha256": sha256_of(file)}
        for file in sorted(aside.iterdir())
    }
    facts = {"files": files, "arrays": layout}
    listing = aside / "segment.json"
    listing.write_text(json.dumps(facts, indent=1, sort_keys=True), encoding="ascii")
    for file in aside.iterdir():
        sync(file)
    sync(aside)
    delete(home)  # of a writer that was killed before its commit
    aside.rename(home)
    sync(home.parent)
    return sha256_of(home / "segment.json")


def _write_arrays(file: Path, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Write all arrays into one file and return where each one stands."""
    layout = {}
    with file.open("wb") as stream:
        for name, array in sorted(arrays.items()):
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            where = {"dtype": array.dtype.str, "shape": array.shape, "offset": stream.tell()}
            layout[name] = where
            stream.write(np.ascontiguousarray(array).data)
    return layout


def read_arrays(home: Path) -> dict[str, Array]:
    """Return the arrays of a folder, mapped into memory, not read."""
    layout = json.loads((home / "segment.json").read_bytes())["arrays"]
    file = home / "arrays.bin"
    if not file.stat().st_size:
        whole: Array = np.zeros(0, dtype=np.uint8)
    else:
        # A plain array over the mapped memory: numpy's memmap class slows every slice.
        whole = np.memmap(file, dtype=np.uint8, mode="r").view(np.ndarray)
    arrays = {}
    for name, where in layout.items():
        # Numpy reads words as a kind with a parser of its own: it sees none but plain ones.
        is_plain = _PLAIN.fullmatch(str(where["dtype"])) is not None
        if not is_plain or where["offset"] < 0 or min(where["shape"], default=0) < 0:
            raise ValueError(f"{name} is no array of plain values")
        dtype = np.dtype(where["dtype"])
        size = dtype.itemsize * math.prod(where["shape"])
        raw = whole[where["offset"] : where["offset"] + size]
        arrays[name] = raw.view(dtype).reshape(where["shape"])
    return arrays
