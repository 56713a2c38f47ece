"""Charts have rulings and figures too: their scales stand at the ends of the lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.geometry import Box, Rule, overlap
from pincite.ingest.formats.pdf_tables.textlines import is_number

BESIDE = 25.0  # points between a figure and the line it belongs to
MIN_FIGURES = 4
MIN_SLANTED = 6  # lines; four are the corners of a round frame
MIN_REACH = 0.3  # of the box's width
MAX_SHARE = 0.3  # of the figures: a label that spans two rows stands at a line's end too


def has_scale(words: Iterable[Word], rules: Sequence[Rule]) -> bool:
    """Whether many figures stand at the ends of horizontal lines, as on a chart's axis."""
    figures = [word for word in words if is_number(word.text)]
    if len(figures) < MIN_FIGURES:
        return False
    on_scale = sum(
        any(
            abs(rule.at - word.middle[1]) < 0.2 * word.size
            and -BESIDE < overlap(rule.start, rule.end, word.x0, word.x1) < 2.0
            for rule in rules
        )
        for word in figures
    )
    return on_scale > MAX_SHARE * len(figures)


def has_drawing(box: Box, slanted: Sequence[tuple[float, float]]) -> bool:
    """Whether slanted lines run through a box, as curves do through a chart."""
    x0, y0, x1, y1 = box
    inside = [(x, y) for x, y in slanted if x0 < x < x1 and y0 < y < y1]
    if len(inside) < MIN_SLANTED:
        return False
    width = max(x for x, _ in inside) - min(x for x, _ in inside)
    return width > MIN_REACH * (x1 - x0)
