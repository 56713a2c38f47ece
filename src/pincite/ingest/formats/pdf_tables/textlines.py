"""Words to lines, and lines to segments: the runs of words that belong to one cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.geometry import grouped, overlap

# Wider than a space in justified prose, narrower than the gap between most columns.
SEGMENT_GAP = 1.0  # of the font size
NUMBER_GAP = 0.45  # the same where figures stand on both sides: they are hardly ever prose
WHOLE_GAP = 0.27  # the same where both have a point or comma, so "1 234" is not meant

_NUMBER = re.compile(
    r"[($€£¥<>≤≥~±+\-–—−#]*\s*(?:US)?[$€£]?\s*[.]?\d[\d,.'’\s/:–—−-]*(?:[%‰)°*†‡§¹²³]|\s?[€$£]|\(?[a-z0-9]\)|[a-zA-Z])*"
)
_PLACEHOLDER = re.compile(r"[-–—−.…:*]{1,4}|n\.?\s?[ar]\.?|N/?A|[($€£%]{1,2}|\(?[XZDSx]\)?|nil|NA")
_WHOLE = re.compile(r"\d[.,]\d")
_LEADER = re.compile(r"[.·…_]{3,}|[.·…]")
_TYPED_RULE = re.compile(r"[-–—_=]{8,}|[-=_]{3,}")
_MARKER = re.compile(r"[•●▪■–—\-*◦‣o§□✓➢\uf0b7\uf0a7]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]")
_YEAR = re.compile(r"(?:19|20)\d\d(?:[-–/](?:19|20)?\d\d)?[*ef]{0,2}")


@dataclass(frozen=True)
class Segment:
    """Words of one line without a wide gap between them."""

    words: tuple[Word, ...]

    @cached_property
    def x0(self) -> float:
        return self.words[0].x0

    @cached_property
    def x1(self) -> float:
        return max(word.x1 for word in self.words)

    @property
    def centre(self) -> float:
        return (self.x0 + self.x1) / 2

    @cached_property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @cached_property
    def is_number(self) -> bool:
        return is_number(self.text)


@dataclass(frozen=True)
class Line(Segment):
    """Words side by side, in the order of reading."""

    @cached_property
    def y0(self) -> float:
        return median(word.y0 for word in self.words)

    @cached_property
    def y1(self) -> float:
        return median(word.y1 for word in self.words)

    @cached_property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2

    @cached_property
    def size(self) -> float:
        return median(word.size for word in self.words)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        return tuple(split_segments(self.words, self.size))

    @property
    def is_tabular(self) -> bool:
        return len(self.segments) > 1


def is_number(text: str) -> bool:
    """Whether a cell's text is a figure or what stands in for one.

    >>> [is_number(t) for t in ("1 234.5%", "(12)", "n.a.", "-", "Table 3")]
    [True, True, True, True, False]
    """
    return bool(_NUMBER.fullmatch(text) or _PLACEHOLDER.fullmatch(text))


def is_year(text: str) -> bool:
    """Whether a text is a year or a span of years, as heads of columns often are."""
    return bool(_YEAR.fullmatch(text))


def is_marker(text: str) -> bool:
    """Whether a text is only the bullet or the number of a list item."""
    return bool(_MARKER.fullmatch(text))


def without_leaders(words: Iterable[Word]) -> list[Word]:
    """Words without the dots that lead the eye from a label to its figures."""
    kept = []
    for word in words:
        if len(word.text) > 3 and word.text.endswith(("...", "…", "___")):
            text = word.text.rstrip(".…_ ")
            end = word.x0 + len(text) / len(word.text) * (word.x1 - word.x0)
            word = word._replace(text=text, x1=end)
        if word.text and (len(word.text) == 2 or not _LEADER.fullmatch(word.text)):
            kept.append(word)
    return kept


def is_typed_rule(line: Line) -> bool:
    """Whether a line is a rule typed with dashes."""
    return all(_TYPED_RULE.fullmatch(word.text) for word in line.words)


def text_lines(words: Iterable[Word]) -> list[Line]:
    """Upright words put into lines, top to bottom, each from left to right."""
    groups: list[list[Word]] = []
    top = bottom = 0.0  # of the tallest word in the last line
    for word in sorted((w for w in words if not w.angle), key=lambda w: (w.y0 + w.y1) / 2):
        common = overlap(word.y0, word.y1, top, bottom)
        if groups and common >= 0.55 * min(word.y1 - word.y0, bottom - top):
            groups[-1].append(word)
            tallest = max(groups[-1], key=lambda w: (w.y1 - w.y0, -w.y0))
            top, bottom = tallest.y0, tallest.y1
        else:
            groups.append([word])
            top, bottom = word.y0, word.y1
    return [Line(tuple(sorted(group, key=lambda w: w.x0))) for group in groups]


def split_segments(words: Sequence[Word], size: float) -> list[Segment]:
    """The runs of a line's words between wide gaps."""
    runs = grouped(words, lambda run, word: not _is_apart(run[-1], word, size))
    return [Segment(tuple(run)) for run in runs]


def _is_apart(left: Word, right: Word, size: float) -> bool:
    gap = right.x0 - left.x1
    if gap > SEGMENT_GAP * size:
        return True
    if gap <= WHOLE_GAP * size or not (is_number(left.text) and is_number(right.text)):
        return False
    return gap > NUMBER_GAP * size or bool(_WHOLE.search(left.text) and _WHOLE.search(right.text))


def cell_text(words: Sequence[Word]) -> str:
    """The words of a cell, line by line, with single spaces where they are not glued."""
    lines = [list(line.words) for line in text_lines(words)]
    lines.extend(_turned_lines([word for word in words if word.angle]))
    parts: list[str] = []
    for line in lines:
        for word in line:
            parts.extend((word.text,) if word.glued or not parts else (" ", word.text))
    return "".join(parts)


def _turned_lines(words: Sequence[Word]) -> list[list[Word]]:
    """Lines of words that run up or down the page, as in heads of narrow columns."""
    downwards = sum(word.angle == 90 for word in words) * 2 > len(words)
    lines = grouped(
        sorted(words, key=lambda w: -w.x0 if downwards else w.x0),
        lambda line, w: overlap(w.x0, w.x1, line[0].x0, line[0].x1) > 0.5 * w.size,
    )
    return [sorted(line, key=lambda w: w.y0 if downwards else -w.y0) for line in lines]
