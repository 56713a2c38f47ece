"""Heads without a rule under them: what stands in the middle of several columns spans them."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.ingest.formats.pdf_tables.columns import Interval
from pincite.ingest.formats.pdf_tables.rows import Placed
from pincite.ingest.formats.pdf_tables.textlines import Segment

Spans = list[tuple[Segment, list[int]]]

CENTRAL = 4.0  # points from the middle


def centred(spans: Spans, below: Sequence[Placed], columns: Sequence[Interval]) -> Spans:
    """Parts of a head line widened to the free columns beside them whose middle they mark.

    Only columns with heads of their own further down are taken in, and only when the part does
    not stand in the middle of the columns it touches already.
    """
    taken = {column for _, hits in spans for column in hits}
    headed = {column for placed in below for column in placed.places}
    extents = _extents(below, columns)
    return [(segment, _widest(segment, hits, taken, headed, extents)) for segment, hits in spans]


def _extents(below: Sequence[Placed], columns: Sequence[Interval]) -> list[Interval]:
    """How far each column reaches, the heads further down included."""
    found = list(columns)
    for placed in below:
        for segment, hits in placed.parts:
            if len(hits) == 1:
                start, end = found[hits[0]]
                found[hits[0]] = (min(start, segment.x0), max(end, segment.x1))
    return found


def _widest(
    segment: Segment,
    hits: list[int],
    taken: set[int],
    headed: set[int],
    extents: Sequence[Interval],
) -> list[int]:
    """The columns around `hits` in whose middle the segment stands; `hits` when none fit better."""
    if hits[0] == 0 or _off_middle(segment, hits[0], hits[-1], extents) <= CENTRAL:
        return hits
    low, high = hits[0], hits[-1]
    while low - 1 > 0 and low - 1 in headed - taken:
        low -= 1
    while high + 1 < len(extents) and high + 1 in headed - taken:
        high += 1
    choices = [
        (_off_middle(segment, first, last, extents), first, last)
        for first in range(low, hits[0] + 1)
        for last in range(hits[-1], high + 1)
        if last > first and set(range(first, last + 1)) <= headed
    ]
    best = min(choices, default=None)
    if best is None or best[0] > CENTRAL:
        return hits
    return list(range(best[1], best[2] + 1))


def _off_middle(segment: Segment, first: int, last: int, extents: Sequence[Interval]) -> float:
    middle = (extents[first][0] + extents[last][1]) / 2
    return abs(segment.centre - middle)
