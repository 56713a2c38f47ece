"""Footnotes go to the end of the section that has their mark, not into the next one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from pincite.ingest.formats.pdf.paragraphs import Paragraph

_OWN_MARK = re.compile(r"\^([^\s^]{1,4})\^")
_MARK = re.compile(r"(?<![0-9])\^([^\s^]{1,4})\^")  # behind a figure it is an exponent


def settle_footnotes(paragraphs: Sequence[Paragraph], small: float) -> list[Paragraph]:
    """Return the paragraphs with each footnote before the heading that ends its mark's section.

    A footnote stays where it stands on the page if no heading comes between, or if its mark
    is not found on the page or in more than one section of it.
    """
    ends = _section_ends(paragraphs)
    marked: defaultdict[tuple[int, str], set[int]] = defaultdict(set)  # where their sections end
    moved: defaultdict[int, list[Paragraph]] = defaultdict(list)
    stays: list[tuple[int, Paragraph]] = []
    place = 0
    while place < len(paragraphs):
        paragraph = paragraphs[place]
        if paragraph.kind != "footnote":
            for line in paragraph.lines:
                for mark in _MARK.findall(line.text):
                    marked[line.page, mark].add(ends[place])
            stays.append((place, paragraph))
            place += 1
            continue
        after = _end_of_note(paragraphs, place, small)
        found = marked[paragraph.lines[0].page, _mark_of(paragraph)]
        target = next(iter(found)) if len(found) == 1 else place
        note = paragraphs[place:after]
        if target < place:
            moved[target] += note
        else:
            stays += enumerate(note, place)
        place = after
    return [p for place, stay in stays for p in (*moved[place], stay)]


def _section_ends(paragraphs: Sequence[Paragraph]) -> list[int]:
    """Return for each paragraph where the next heading stands."""
    ends: list[int] = []
    following = len(paragraphs)
    for place in range(len(paragraphs) - 1, -1, -1):
        ends.append(following)
        following = place if paragraphs[place].kind == "heading" else following
    return ends[::-1]


def _mark_of(footnote: Paragraph) -> str:
    mark = _OWN_MARK.match(footnote.lines[0].text)
    return mark[1] if mark else ""


def _end_of_note(paragraphs: Sequence[Paragraph], place: int, small: float) -> int:
    """Return where a footnote ends: code and paragraphs in small type below belong to it."""
    last = paragraphs[place].lines[-1]
    end = place + 1
    while end < len(paragraphs) and paragraphs[end].kind in ("text", "code"):
        lines = paragraphs[end].lines
        if any(line.page != last.page or line.size >= small for line in lines):
            break
        if lines[0].base <= last.base:
            break
        last = lines[-1]
        end += 1
    return end
