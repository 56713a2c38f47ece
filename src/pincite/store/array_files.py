"""Folders that are written once: bulk numbers in one mapped file, and a listing with checksums."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pincite.store.files import cleared_on_error, delete, sha256_of, sync

Array = np.ndarray[Any, np.dtype[Any]]
# Where arrays start in their file: a cache line, so that mapped numbers are aligned.
ALIGNMENT = 64
LISTING, ARRAYS = "segment.json", "arrays.bin"
FOOTER_SIZE = 8  # bytes that say how long the layout before them is
_PLAIN = re.compile(r"[<|=]?(?:[biuf][1248]|\|?b1|S\d{1,4})")


def write_folder(
    home: Path,
    arrays: Mapping[str, Array],
    fill: Callable[[Path], Mapping[str, Array]] | None = None,
) -> str:
    """Write a complete folder aside, sync it, put it in place, and return its listing's hash.

    ``fill`` writes other files into it, and returns arrays that come of that.
    """
    aside = home.with_name(f"{home.name}.tmp-{os.getpid()}")
    delete(aside)  # of a killed writer with this process id: in a container all have the same
    with cleared_on_error(aside):
        aside.mkdir()
        if fill is not None:
            arrays = {**arrays, **fill(aside)}
        layout = _write_arrays(aside / ARRAYS, arrays)
        names = [file.name for file in aside.iterdir()]
        (aside / LISTING).write_bytes(listing_of(aside, names, layout))
        for file in aside.iterdir():
            sync(file)
        sync(aside)
        delete(home)  # of a writer that was killed before its commit
        aside.rename(home)
    sync(home.parent)
    return sha256_of(home / LISTING)


def listing_of(folder: Path, names: Iterable[str], layout: Mapping[str, Any]) -> bytes:
    """Return what says which files a folder has, with their checksums, and where arrays stand."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)}
        for name in names
    }
    return json.dumps({"files": files, "arrays": layout}, indent=1, sort_keys=True).encode("ascii")


def _write_arrays(file: Path, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Write all arrays into one file and return where each one stands.

    The file ends with that too, and its size: a listing that is damaged can be written again.
    """
    layout: dict[str, Any] = {}
    with file.open("wb") as stream:
        for name, array in sorted(arrays.items()):
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            where = {"dtype": array.dtype.str, "shape": array.shape, "offset": stream.tell()}
            layout[name] = where
            stream.write(np.ascontiguousarray(array).data)
        footer = json.dumps(layout, sort_keys=True).encode("ascii")
        stream.write(footer + len(footer).to_bytes(FOOTER_SIZE, "little"))
    return layout


def written_layout(file: Path) -> dict[str, Any]:
    """Return where the arrays of a file stand, as its end says; ValueError if it does not."""
    data = file.read_bytes()
    size = int.from_bytes(data[-FOOTER_SIZE:], "little")
    layout = json.loads(data[-FOOTER_SIZE - size : -FOOTER_SIZE])
    if not isinstance(layout, dict):
        raise ValueError("the file does not end with a layout")
    return layout


def read_arrays(home: Path) -> dict[str, Array]:
    """Return the arrays of a folder, mapped into memory, not read."""
    layout = json.loads((home / LISTING).read_bytes())["arrays"]
    file = home / ARRAYS
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
