"""Who may see a document: the tags that its front matter names."""

from __future__ import annotations

import re
from itertools import chain

from pincite.core.errors import SourceError

_ACCESS = re.compile(r"access[ \t]*:(.*)", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")


def access_tags(text: str, name: str = "") -> dict[str, str]:
    """Return ``access`` with its tags, separated by commas; nothing where all may see it.

    Whoever writes ``access:`` wants to keep something back, so one that names no tag is refused.

    >>> access_tags("---\\ntitle: Plots\\naccess: [gm, author]\\n---\\n# Plots\\n")
    {'access': 'gm,author'}
    >>> access_tags("# Rules\\n")
    {}
    """
    lines = _front_matter(text)
    for at, line in enumerate(lines):
        if found := _ACCESS.match(line):
            listed = [found.group(1)]
            for below in lines[at + 1 :]:
                item = _ITEM.match(below)
                if item is None:
                    break
                listed.append(item.group(1))
            parts = (_COMMENT.sub("", each).strip(" \t[]").split(",") for each in listed)
            tags = [tag for part in chain(*parts) if (tag := part.strip(" \t\"'"))]
            if not tags:
                raise SourceError(
                    f"{name}: access names nobody", hint="write access: gm, or take the line out"
                )
            return {"access": ",".join(tags)}
    return {}


def _front_matter(text: str) -> list[str]:
    """Return the lines between two lines of dashes at the very top; none without them."""
    lines = text.splitlines() if text.startswith("---") else []
    if not lines or lines[0].rstrip() != "---":
        return []
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return lines[1:at]
    return []
