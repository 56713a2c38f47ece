"""Headings that no bookmark names: larger or bolder type, capitals, a number in front."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.ingest.formats.pdf.paragraphs import BULLET, Measure, Paragraph
from pincite.ingest.structure.captions import is_table_caption
from pincite.model.locators import FIGURE_WORD, HEADING_RANK, heading_label

Style = tuple[float, bool]

_LARGER = 1.12
_LONGEST = 200  # characters
_MOST_LINES = 4
_WIDEST_GAP = 3.0  # in sizes, between two words; more is a row of a table
_FIGURE = re.compile(rf"(?i:{FIGURE_WORD}|source|note)\b")
_SENTENCE_END = re.compile(r"[.!?;:,]['”’)]*$")
_LETTERS = re.compile(r"[^\W\d_]")


def mark_typographic(
    paragraphs: Sequence[Paragraph], usual: Measure, known: dict[Style, int]
) -> None:
    """Make headings of paragraphs that are set like headings, with levels by size and weight.

    ``known`` are the levels of styles that bookmarked headings have; other styles come below
    the known ones of at least their size. Where bookmarks tell most headings, only those styles
    and larger type are believed, and nothing on the pages before the first but the title.
    """
    candidates = [p for p in paragraphs if p.kind == "text" and is_heading(p, usual)]
    if known:
        candidates = _credible(paragraphs, candidates, usual, known)
    styles = {style_of(p) for p in candidates}
    levels: dict[Style, int] = {}  # the larger the higher, bold above plain
    deepest = 0
    for style in sorted(styles | set(known), reverse=True):
        deepest = max(deepest, known[style]) if style in known else deepest + 1
        levels[style] = known.get(style, min(deepest, 6))
    for paragraph in candidates:
        paragraph.kind = "heading"
        paragraph.level = levels[style_of(paragraph)]


def _credible(
    paragraphs: Sequence[Paragraph],
    candidates: Sequence[Paragraph],
    usual: Measure,
    known: dict[Style, int],
) -> list[Paragraph]:
    first = next((p.lines[0].page for p in paragraphs if p.kind == "heading"), 0)
    early = [p for p in candidates if p.lines[0].page < first]
    title = max(early, key=lambda p: p.lines[0].size) if early else None
    return [
        p
        for p in candidates
        if p is title
        or style_of(p) in known
        or (p.lines[0].page >= first and p.lines[0].size >= _LARGER * usual.body)
    ]


def style_of(paragraph: Paragraph) -> Style:
    """Return size and weight of a paragraph's first line."""
    return paragraph.lines[0].size, paragraph.lines[0].bold


def is_heading(paragraph: Paragraph, usual: Measure) -> bool:
    """Return whether a paragraph looks like a heading of a document whose body is as usual."""
    lines, text = paragraph.lines, paragraph.text
    if len(lines) > _MOST_LINES or len(text) > _LONGEST or len(_LETTERS.findall(text)) < 2:
        return False
    if BULLET.match(text) or _FIGURE.match(text) or is_table_caption(text) or lines[0].turned:
        return False
    size = lines[0].size
    is_numbered = heading_label(text).scheme in HEADING_RANK
    if not is_numbered and any(line.gap > _WIDEST_GAP for line in lines):
        return False
    if _SENTENCE_END.search(text) and not is_numbered:
        return False
    if size >= _LARGER * usual.body:
        return True
    if size < 0.97 * usual.body:
        return False
    is_bold = all(line.bold for line in lines)
    is_capital = text.isupper() and len(_LETTERS.findall(text)) >= 4
    first = text[:1]
    is_title = len(text) <= 120 and (first.isupper() or first.isdigit() or first in '§(“‘"')
    return (is_bold and is_title) or (is_capital and len(lines) <= 2 and len(text) < 100)
