"""Access tags that are given from outside: by who ingests, or by a file in a folder.

A PDF has no front matter, and a folder of personnel files should not need one in each of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from pincite.model.errors import SourceError

# Tags in a file of this name are those of all documents in its folder and below that name none.
FILE = ".pincite-access"
# Of a document: the tags that were given from outside; they stay until others are given.
GIVEN = "access_given"
_TAG = re.compile(r"[\w.@+-]{1,100}(?: [\w.@+-]{1,100}){0,9}")


def tags_of(written: str, name: str) -> str:
    """Return tags as an index keeps them, separated by commas; SourceError for what is no tag.

    >>> tags_of(" staff, board\\n", "--access")
    'staff,board'
    """
    tags = [tag for part in written.replace("\n", ",").split(",") if (tag := part.strip())]
    wrong = [tag for tag in tags if not _TAG.fullmatch(tag)]
    if wrong or not tags:
        told = f"no access tag: {wrong[0][:40]!r}" if wrong else "access names nobody"
        raise SourceError(f"{name}: {told}", hint="write tags with commas, as staff, board")
    return ",".join(tags)


def given_access(file: Path, told: str | None) -> str | None:
    """Return the tags that a file is given; None if nobody gives any, "" if all may see it.

    Args:
        told: of who ingests it; otherwise the nearest folder counts that has tags.
    """
    if told is not None:
        return tags_of(told, "access") if told.strip() else ""
    for folder in file.resolve().parents:
        if (found := folder / FILE).is_file():
            return _read(found, found.stat().st_mtime_ns)
    return None


@lru_cache(maxsize=1000)
def _read(file: Path, _: int) -> str:
    """Return the tags of a folder, read again when its file is another one."""
    try:
        return tags_of(file.read_text(encoding="utf-8"), str(file))
    except (OSError, ValueError) as error:
        raise SourceError(f"{file} cannot be read", hint="write tags into it") from error
