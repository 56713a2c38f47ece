"""Editions: which documents are the same work at different times."""

from __future__ import annotations

import re

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_EDITION = re.compile(
    r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|new|revised)?\s*"
    r"(?:edition|version|release|revision|rev\.?|issue)\b(?:\s*\d+(?:\.\d+)*)?",
    re.IGNORECASE,
)


def years(*names: str) -> set[int]:
    """Return the years that the names mention.

    >>> sorted(years("Code, 2021 Edition", "code-2024.md"))
    [2021, 2024]
    """
    return {int(year) for name in names for year in _YEAR.findall(name)}


def work_of(title: str) -> str:
    """Return the title without what tells editions apart.

    >>> work_of("Harbour Code, 2021 Edition") == work_of("Harbour Code, 2024 edition")
    True
    """
    bare = _EDITION.sub(" ", _YEAR.sub(" ", title))
    return " ".join(re.sub(r"[^\w]+", " ", bare).casefold().split())
