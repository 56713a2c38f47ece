"""Texts as windows that fit a model, encoded in batches here or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.encode.models import Encoder
from pincite.model.types import Chunk

# Long enough for a clause, short enough that its vector means one thing (decision 7).
WINDOW_TOKENS = 144
# Neighbouring windows share so much that no sentence is torn in both.
OVERLAP_TOKENS = 24
HEADING_TOKENS = 48
SEPARATOR = " › "


def windows_of(chunk: Chunk, encoder: Encoder) -> list[str]:
    """Return the texts to encode for a chunk; none for one without words."""
    body = chunk.text.strip()
    if not body:
        return []
    starts = encoder.token_starts(body)
    if not starts:
        return []
    heading = _heading(chunk, encoder)
    start = f"{encoder.spec.text_prefix}{heading}\n"
    return [start + body[a:b].strip() for a, b in cut(starts, len(body))]


def cut(
    starts: Sequence[int], end: int, size: int = WINDOW_TOKENS, overlap: int = OVERLAP_TOKENS
) -> list[tuple[int, int]]:
    """Return stretches of at most ``size`` tokens that together cover the text.

    They are as equal as they can be: a short rest would have a vector of its own.

    >>> cut(range(0, 50, 5), 50, size=6, overlap=2)
    [(0, 30), (20, 50)]
    >>> cut([0, 4], 9, size=6, overlap=2)
    [(0, 9)]
    """
    count = len(starts)
    if count <= size:
        return [(0, end)]
    pieces = -(-(count - overlap) // (size - overlap))
    step = (count - size) / (pieces - 1)
    found = []
    for number in range(pieces):
        first = round(number * step)
        last = first + size
        found.append((starts[first] if first else 0, starts[last] if last < count else end))
    return found


def _heading(chunk: Chunk, encoder: Encoder) -> str:
    """Return the headings above a chunk, the nearest ones if they are many."""
    # The first one is the document's title: the same for all of its chunks.
    names = list(chunk.path[1:] if len(chunk.path) > 1 else chunk.path)
    while names:
        line = SEPARATOR.join(names)
        starts = encoder.token_starts(line)
        if len(starts) <= HEADING_TOKENS:
            return line
        if len(names) == 1:
            return line[: starts[HEADING_TOKENS]]
        names.pop(0)
    return ""
