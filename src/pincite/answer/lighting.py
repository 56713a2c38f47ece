"""Where words of a document stand in a quotation as a reader sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_WORD = re.compile(r"\w+")


def lit(shown: str, quote: str, start: int, end: int) -> tuple[int, int] | None:
    """Return where the words ``quote[start:end]`` stand in ``shown``; None if they do not.

    What is shown may lack markup and line ends, and a row has the names of its columns before its
    values: words are compared, and of the same words at several places those that are as many
    from the end.

    >>> lit("Fee: 5; Tax: $5 (net)", "| 5 | **$5** (net) |", 8, 10)
    (13, 15)
    """
    inside = quote[start:end].strip()
    marks = list(_WORD.finditer(inside))
    wanted = [mark.group() for mark in marks]
    places = list(_occurrences(wanted, shown)) if wanted else []
    if not places:
        return None
    # Of those in the quotation, how many come after this one?
    after = sum(first >= end for first, _ in _occurrences(wanted, quote))
    low, high = places[max(0, len(places) - 1 - after)]
    before, behind = inside[: marks[0].start()], inside[marks[-1].end() :]
    low -= len(before) if shown.endswith(before, 0, low) else 0
    high += len(behind) if shown.startswith(behind, high) else 0
    return low, high


def _occurrences(words: Sequence[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield where words stand one after the other in a text."""
    found = list(_WORD.finditer(text))
    for at in range(len(found) - len(words) + 1):
        if all(found[at + n].group() == word for n, word in enumerate(words)):
            yield found[at].start(), found[at + len(words) - 1].end()
