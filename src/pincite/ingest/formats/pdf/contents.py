"""Tables of contents: their lines look like headings and are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from pincite.ingest.formats.pdf.lines import Line

_DOTS = ".·…_ "
_FEWEST_DOTS = 4
_PAGE = re.compile(r"[0-9A-Za-z-]{0,9}")
_NUMBERED = re.compile(r"\S.*\s([0-9]{1,4})$")
_FEWEST = 4


def is_entry(text: str) -> bool:
    """Return whether a line leads with dots to a page number.

    >>> is_entry("3.1 Fees . . . . . . . 12"), is_entry("3.1 Fees")
    (True, False)
    """
    return _parts(text) is not None


def without_leader(text: str) -> str:
    """Return the line with its dots drawn together.

    >>> without_leader("3.1 Fees . . . . . . . 12")
    '3.1 Fees … 12'
    """
    parts = _parts(text)
    return " … ".join(parts).rstrip() if parts else text


def _parts(text: str) -> tuple[str, str] | None:
    """Return what stands before and behind the dots; None if there are not enough of them."""
    if "..." not in text and ". ." not in text and "…" not in text and "···" not in text:
        return None
    bare = text.rstrip(_DOTS)
    start = max(bare.rfind(mark) for mark in _DOTS) + 1
    if not _PAGE.fullmatch(bare, start):
        return None
    before = text[: start if start < len(bare) else len(text)]
    words = before.rstrip(_DOTS)
    dots = before[len(words) :]
    count = len(dots) - dots.count(" ") + 2 * dots.count("…")
    return (words, bare[start:]) if words and count >= _FEWEST_DOTS else None


def contents_span(lines: Sequence[Line], *, goes_on: bool = False) -> range:
    """Return the lines of a page that are a table of contents.

    It has dotted lines, or numbers at the end of most lines that only grow; where the page before
    ended in one, fewer lines will do.
    """
    dotted = [place for place, line in enumerate(lines) if is_entry(line.text)]
    numbered = [place for place, line in enumerate(lines) if _NUMBERED.match(line.text)]
    numbers = [int(lines[place].text.rsplit(None, 1)[1]) for place in numbered]
    in_order = all(a <= b for a, b in pairwise(numbers))
    is_mostly = in_order and len(numbers) >= max(1 if goes_on else 6, 0.6 * len(lines))
    if len(dotted) >= (1 if goes_on else _FEWEST) or is_mostly:
        places = dotted + (numbered if in_order else [])
        return range(min(places), max(places) + 1)
    return range(0)
