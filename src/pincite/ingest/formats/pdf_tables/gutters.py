"""Prose in columns side by side is cut apart, so that a table in one of them stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.textlines import is_number, text_lines

STEP = 4.0  # points between the places tried
HALF = 3.0  # half of the narrowest gutter
MIN_HEIGHT = 45.0  # points
MAX_TRIES = 40
MIN_LINES = 7  # of prose on both sides
LONG = 15  # lines of prose on one side, whatever stands on the other
MIN_WORDS = 5  # in the middle one of these lines
MIN_FULL = 0.7  # of the column's width, the middle line
MAX_FIGURES = 0.2  # of the words
MAX_GAPPED = 0.25  # of the lines: those with a wide gap inside


def split_columns(words: Sequence[Word], depth: int = 2) -> list[list[Word]]:
    """Groups of words: each prose column alone, and what runs across or stands apart."""
    found = _best_cut(words) if depth and len(words) > 60 else None
    if found is None:
        return [list(words)]
    at, top, bottom = found
    rest: list[Word] = []
    sides: tuple[list[Word], list[Word]] = ([], [])
    for word in words:
        if top <= word.middle[1] <= bottom:
            sides[word.x1 > at].append(word)
        else:
            rest.append(word)
    parts = [split_columns(rest, depth), *(split_columns(side, depth - 1) for side in sides)]
    return [group for part in parts for group in part if group]


def _best_cut(words: Sequence[Word]) -> tuple[float, float, float] | None:
    """The place and the height of the longest white gutter between two columns of prose."""
    x0, x1 = np.array([w.x0 for w in words]), np.array([w.x1 for w in words])
    middles = np.array([w.middle[1] for w in words])
    left, right = float(x0.min()), float(x1.max())
    places = np.arange(left + 0.15 * (right - left), right - 0.15 * (right - left), STEP)
    crossing = (x0[None, :] < places[:, None] + HALF) & (x1[None, :] > places[:, None] - HALF)
    cuts: dict[tuple[float, float], tuple[float, float, float]] = {}
    for number, at in enumerate(places.tolist()):
        crossed = np.sort(middles[crossing[number]])
        edges = np.concatenate(([middles.min() - 2], crossed, [middles.max() + 2]))
        for n in np.flatnonzero(np.diff(edges) > MIN_HEIGHT):
            top, bottom = float(edges[n]) + 1, float(edges[n + 1]) - 1
            cuts.setdefault((top, bottom), (at, top, bottom))
    longest = sorted(cuts.values(), key=lambda cut: cut[1] - cut[2])
    return next((cut for cut in longest[:MAX_TRIES] if _parts_prose(words, *cut)), None)


def _parts_prose(words: Sequence[Word], at: float, top: float, bottom: float) -> bool:
    held = [word for word in words if top <= word.middle[1] <= bottom]
    left, right = [w for w in held if w.x1 <= at], [w for w in held if w.x1 > at]
    if min(len(left), len(right)) < 20:
        return False
    if is_prose(left) and is_prose(right):
        return True
    return is_prose(left, lines=LONG) or is_prose(right, lines=LONG)


def is_prose(words: Sequence[Word], lines: int = MIN_LINES) -> bool:
    """Whether words are at least so many full lines of running text."""
    found = text_lines(words)
    if len(found) < lines:
        return False
    width = max(line.x1 for line in found) - min(line.x0 for line in found)
    figures = sum(is_number(word.text) for word in words) / len(words)
    gapped = sum(line.is_tabular for line in found)
    full = median(line.x1 - line.x0 for line in found)
    return (
        median(len(line.words) for line in found) >= MIN_WORDS
        and full >= MIN_FULL * width
        and figures <= MAX_FIGURES
        and gapped <= MAX_GAPPED * len(found)
    )
