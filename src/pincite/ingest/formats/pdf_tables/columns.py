"""Columns of text: the vertical gaps that stay white down a block of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from pincite.ingest.formats.pdf_tables.geometry import overlap
from pincite.ingest.formats.pdf_tables.textlines import Line, Segment, is_number

Interval = tuple[float, float]

STEP = 0.5  # resolution of the projection, points
MIN_GAP = 0.3  # of the font size: narrower white is chance
FLUSH = 2.0  # points from a column's edge or middle
WIDE_SPACE = 0.5  # of the font size
MIN_CROWDED = 0.3  # of a column's lines: with two segments in it, the column is two
BRIDGES = 12  # one line in so many may cross a gap: a heading or a long label


def find_columns(lines: Sequence[Line]) -> list[Interval]:
    """Intervals of x that hold the columns of these lines, left to right.

    Lines with figures decide where there are enough of them: heads and notes run over gaps.
    """
    data = data_lines(lines)
    if not data:
        return []
    size = sorted(line.size for line in data)[len(data) // 2]
    found: list[Interval] = []
    for column in _project([line.segments for line in data], size):
        left, right = column
        inside = [[s for s in line.segments if left <= s.centre <= right] for line in data]
        crowded = [segments for segments in inside if len(segments) > 1]
        is_double = len(crowded) >= max(3, MIN_CROWDED * sum(map(bool, inside)))
        found.extend(_project(crowded, size) if is_double else [column])
    return found


def _project(lines: Sequence[Sequence[Segment]], size: float) -> list[Interval]:
    """The intervals of x that segments cover in more lines than may cross a gap."""
    left = min(segment.x0 for line in lines for segment in line)
    right = max(segment.x1 for line in lines for segment in line)
    cover = np.zeros(int((right - left) / STEP) + 2, dtype=np.int32)
    for segment in chain.from_iterable(lines):
        start, end = int((segment.x0 - left) / STEP), int((segment.x1 - left) / STEP)
        cover[max(start, 0) : end + 1] += 1
    gap = MIN_GAP * size / STEP
    found: list[tuple[int, int]] = []
    for start, end in _runs(cover > 0):
        inner = _wide_apart(_runs(cover[start:end] > len(lines) // BRIDGES), gap)
        found += [(start + a, start + b) for a, b in inner] if len(inner) > 1 else [(start, end)]
    return [(left + a * STEP, left + b * STEP) for a, b in _wide_apart(found, gap)]


def data_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines that show the columns: those with figures, or all tabular ones."""
    tabular = [line for line in lines if line.is_tabular]
    figures = [line for line in tabular if any(s.is_number for s in line.segments[1:])]
    return figures if len(figures) >= max(2, 0.4 * len(tabular)) else tabular


def _runs(mask: np.ndarray) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], mask.astype(np.int8), [0]))))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _wide_apart(runs: Iterable[tuple[int, int]], gap: float) -> list[tuple[int, int]]:
    """Runs with those joined that stand nearer than `gap`."""
    found: list[tuple[int, int]] = []
    for start, end in runs:
        if found and start - found[-1][1] < gap:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def touched(segment: Segment, columns: Sequence[Interval]) -> list[int]:
    """Numbers of the columns a segment stands in; the nearest one if it stands between."""
    hits = []
    for number, (start, end) in enumerate(columns):
        common = overlap(segment.x0, segment.x1, start, end)
        if common > 0.25 * min(end - start, segment.x1 - segment.x0) or common > 12.0:
            hits.append(number)
    if hits:
        return list(range(hits[0], hits[-1] + 1))
    return [min(range(len(columns)), key=lambda n: abs(sum(columns[n]) / 2 - segment.centre))]


def refit(segment: Segment, columns: Sequence[Interval]) -> list[tuple[Segment, list[int]]]:
    """A segment's parts by column: split where a gap between columns falls between its words.

    Words with an ordinary space between them stay together unless figures begin there: a head
    over two columns must not fall apart.
    """
    hits = touched(segment, columns)
    if len(hits) == 1 or len(segment.words) == 1:
        return [(segment, hits)]
    parts: list[tuple[Segment, list[int]]] = []
    are_apart = True
    for word in segment.words:
        alone = Segment((word,))
        where = touched(alone, columns)
        if parts and parts[-1][1] == where:
            parts[-1] = (Segment((*parts[-1][0].words, word)), where)
        else:
            if parts and not is_number(word.text):
                gap = word.x0 - parts[-1][0].words[-1].x1
                are_apart = are_apart and gap / max(word.size, 1.0) > WIDE_SPACE
            parts.append((alone, where))
    if any(len(where) > 1 for _, where in parts):
        return [(segment, hits)]
    edges = ((part.x0 - columns[n][0], part.x1 - columns[n][1]) for part, (n,) in parts)
    is_flush = len(parts) > 2 and all(min(abs(a), abs(b), abs(a + b) / 2) < FLUSH for a, b in edges)
    return parts if are_apart or is_flush else [(segment, hits)]
