"""Cutting a long stretch of text where a reader would: paragraphs, lines, sentences, words."""

from __future__ import annotations

import re
from collections.abc import Callable

# From the best place to cut to the worst. Each pattern ends where the next part starts.
_BOUNDARIES = (
    re.compile(r"\n[ \t\r\f]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?;:])\s+"),
    re.compile(r"\s+"),
)

Size = Callable[[str], int]


def split_spans(
    text: str, start: int, end: int, *, limit: int, size: Size, level: int = 0
) -> list[tuple[int, int]]:
    """Return contiguous spans of at most ``limit`` that cover ``text[start:end]``.

    Parts are cut at the best boundary that makes them fit and then filled greedily, so a piece
    ends early rather than in mid-sentence. A single word that is too long is cut anywhere.
    ``level`` is the first kind of boundary that is tried.
    """
    if size(text[start:end]) <= limit:
        return [(start, end)]
    if level == len(_BOUNDARIES):
        # Nothing to cut at: halves are cheap to find and always get there.
        if end - start <= 1:
            return [(start, end)]
        middle = (start + end) // 2
        halves = (start, middle), (middle, end)
        return [
            span
            for half in halves
            for span in split_spans(text, *half, limit=limit, size=size, level=level)
        ]
    cuts = [m.end() for m in _BOUNDARIES[level].finditer(text, start, end) if m.end() < end]
    parts = list(zip([start, *cuts], [*cuts, end], strict=True))
    return _filled(text, parts, limit, size, level)


def _filled(
    text: str, parts: list[tuple[int, int]], limit: int, size: Size, level: int
) -> list[tuple[int, int]]:
    """Join neighbouring parts while they fit; cut the ones that do not fit at the next level."""
    spans: list[tuple[int, int]] = []
    open_start, used = parts[0][0], 0
    for start, end in parts:
        cost = size(text[start:end])
        if used and used + cost > limit:
            spans.append((open_start, start))
            open_start, used = start, 0
        if cost > limit:
            *whole, last = split_spans(text, start, end, limit=limit, size=size, level=level + 1)
            spans.extend(whole)
            open_start, used = last[0], size(text[last[0] : last[1]])
        else:
            used += cost
    spans.append((open_start, parts[-1][1]))
    return spans
