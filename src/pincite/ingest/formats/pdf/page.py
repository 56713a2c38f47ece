"""What a PDF page is made of, for the text reader and the table finder alike.

Everything is in PDF points as the page is seen (rotation applied), with the origin at the top left
of the visible page box: x grows to the right, y grows downwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Word:
    """A run of characters without a space between them."""

    text: str
    x0: float
    y0: float  # top
    x1: float
    y1: float  # bottom
    size: float  # of the font, in points as seen
    bold: bool = False
    italic: bool = False
    mono: bool = False
    upright: bool = True  # False: written vertically or at an angle
    raised: bool = False  # a superscript such as a footnote mark
    order: int = 0  # number of its first character in the page's content


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table on a page: its box and what stands in its cells, row by row."""

    x0: float
    y0: float
    x1: float
    y1: float
    rows: Sequence[Sequence[str]]
    header_rows: int = 1


@dataclass(frozen=True, slots=True)
class Page:
    """A page's visible words in the order of its content, and what was left out."""

    number: int  # in the file, from 1
    width: float
    height: float
    words: Sequence[Word] = field(default=())
    hidden: Sequence[str] = field(default=())  # words that no reader would see
    is_scan: bool = False
