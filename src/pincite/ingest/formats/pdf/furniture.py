"""What stands on every page and belongs to none: running heads, feet and page numbers."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from pincite.ingest.formats.pdf.lines import Line
from pincite.ingest.formats.pdf_tables.geometry import grouped

_MARGIN = 0.13  # share of the page at its top and bottom where furniture stands
_FEWEST_PAGES = 3
_USUAL = 0.2  # of the pages have something at a height: whatever stands there is furniture
_HEIGHT = 0.006  # share of the page that two lines at one height may differ
_NUMBERS = re.compile(r"\d+")
_ROMAN = re.compile(r"(?<![^\W_])[ivxlc]{1,7}(?![^\W_])")


def without_furniture(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the pages without what is repeated at one height on three pages or more.

    Numbers do not count as a difference. Where many pages have something at a height, a line
    that stands alone there is furniture too: the running head of a chapter of two pages.
    """
    at: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for number, lines in enumerate(pages):
        for line in lines:
            if _in_margin(line):
                at[_skeleton(line.text)].append((_height(line), number))
    repeated: dict[str, list[float]] = {}  # the heights at which enough pages have the line
    for key, places in at.items():
        runs = grouped(sorted(places), lambda run, place: place[0] - run[-1][0] <= _HEIGHT)
        often = [run for run in runs if len({number for _, number in run}) >= _FEWEST_PAGES]
        repeated[key] = [run[len(run) // 2][0] for run in often]
    usual = _usual(repeated, at, len(pages))
    kept = []
    for lines in pages:
        upright = [line.box for line in lines if not line.turned]
        top = min((box[1] for box in upright), default=0.0)
        bottom = max((box[3] for box in upright), default=1.0)
        ends = (top, bottom)
        kept.append([line for line in lines if not _is_furniture(line, ends, repeated, usual)])
    # Pages of nothing but repeated lines are forms or tests, and their lines are the text.
    return kept if any(kept) else [list(lines) for lines in pages]


def _in_margin(line: Line) -> bool:
    if line.table or not line.text:
        return False
    x0, y0, x1, y1 = line.box
    if line.turned:
        return x1 < _MARGIN or x0 > 1 - _MARGIN
    return y1 < _MARGIN or y0 > 1 - _MARGIN


def _height(line: Line) -> float:
    return line.box[0] if line.turned else line.box[1]


def _skeleton(text: str) -> str:
    text = _NUMBERS.sub("#", text.casefold())
    return _ROMAN.sub("#", text) if len(text) < 8 else text


def _usual(
    repeated: dict[str, list[float]], at: dict[str, list[tuple[float, int]]], pages: int
) -> list[float]:
    """Return the heights at which a good share of all pages has furniture."""
    counts = Counter(
        round(height / _HEIGHT)
        for key, levels in repeated.items()
        for height, _ in at[key]
        if _near(height, levels)
    )
    least = max(_FEWEST_PAGES, _USUAL * pages)
    return [bucket * _HEIGHT for bucket, count in counts.items() if count >= least]


def _near(height: float, levels: Iterable[float]) -> bool:
    return any(abs(height - level) <= _HEIGHT for level in levels)


def _is_furniture(
    line: Line,
    ends: tuple[float, float],
    repeated: dict[str, list[float]],
    usual: Sequence[float],
) -> bool:
    if not _in_margin(line):
        return False
    if _near(_height(line), repeated.get(_skeleton(line.text), ())):
        return True
    if line.turned or len(line.text) > 120 or not _near(_height(line), usual):
        return False
    return line.box[1] <= ends[0] + _HEIGHT or line.box[3] >= ends[1] - _HEIGHT
