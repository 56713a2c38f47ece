"""What a PDF page is made of, for the text reader and the table finder alike.

Everything is in PDF points as the page is seen (rotation applied), with the origin at the top left
of the visible page box: x grows to the right, y grows downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Word(NamedTuple):
    """A run of characters without a space between them; a tuple, for a page has many."""

    text: str
    x0: float
    y0: float  # top of the font's box, not of the ink: the same for all words of a line
    x1: float
    y1: float  # bottom of the font's box
    size: float  # of the font, in points as seen
    bold: bool = False
    italic: bool = False
    mono: bool = False
    base: float = 0.0  # y of the baseline
    angle: int = 0  # in which the text runs, in degrees clockwise: 0 is upright, 90 downwards
    raised: int = 0  # 1: a superscript such as a footnote mark, -1: a subscript
    glued: bool = False  # no space between it and the word before ("1" in "mark¹")

    @property
    def middle(self) -> tuple[float, float]:
        return (self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table on a page: its box and what stands in its cells, row by row."""

    x0: float
    y0: float
    x1: float
    y1: float
    rows: Sequence[Sequence[str]]
    header_rows: int = 1
    columns: Sequence[tuple[float, float]] = ()  # left and right; none where they do not matter

    @property
    def box(self) -> tuple[float, float, float, float]:
        return self.x0, self.y0, self.x1, self.y1

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies in the table."""
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1
