"""What a manifest and a listing may name: plain files of the index folder, and nothing else.

An index may come from a stranger, with checksums that fit. Whatever it names lies inside its own
folder, and what is not of the right kind is damage like any other.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, StoreError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")


def is_name(value: Any) -> bool:
    """Tell whether this names a file or folder right here.

    >>> is_name("000007-0"), is_name("../secret"), is_name("/etc"), is_name(".hidden"), is_name(5)
    (True, False, False, False, False)
    """
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def checked_entry(values: Any) -> dict[str, Any]:
    """Return what a manifest says of a segment or its vectors; ValueError if it cannot be so."""
    kinds = {"documents": int, "chunks": int, "windows": int, "dropped": list}
    for key, value in values.items():
        if type(value) is not kinds.get(key, str):
            raise ValueError(f"{key} is {value!r:.40}")
    if not is_name(values["name"]) or not is_name(values.get("segment", "x")):
        raise ValueError(f"{values['name']!r:.40} is no name")
    if not all(isinstance(each, str) for each in values.get("dropped", ())):
        raise ValueError("dropped are no names")
    return dict(values)


def listed_files(listing: Path) -> dict[str, tuple[int, str]]:
    """Return the files that a listing names, each with its size and its checksum."""
    try:
        files = json.loads(listing.read_bytes())["files"]
        if not all(is_name(name) for name in files):
            raise ValueError("names")
        return {name: (int(f["bytes"]), str(f["sha256"])) for name, f in files.items()}
    except MALFORMED as error:
        raise StoreError(
            f"{listing} is no listing of files: {error!r:.80}", hint="run: pincite doctor"
        ) from error
