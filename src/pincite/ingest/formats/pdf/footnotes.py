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
    ends = [len(paragraphs)] * len(paragraphs)  # for each paragraph, where the next heading stands
    for place in range(len(paragraphs) - 1, 0, -1):
        ends[place - 1] = place if paragraphs[place].kind == "heading" else ends[place]
    marked: defaultdict[tuple[int, str], set[int]] = defaultdict(set)  # where their sections end
    moved: defaultdict[int, list[Paragraph]] = defaultdict(list)
    stays: list[tuple[int, Paragraph]] = []
    place = 0
    while place < len(paragraphs):
        paragraph = paragraphs[place]
        if paragraph.kind != "footnote":
            for line in paragraph.lines:
                for words in _MARK.findall(line.text):
                    marked[line.page, words].add(ends[place])
            stays.append((place, paragraph))
            place += 1
            continue
        after = _end_of_note(paragraphs, place, small)
        first = paragraph.lines[0]
        mark = _OWN_MARK.match(first.text)
        found = marked[first.page, mark[1] if mark else ""]
        target = next(iter(found)) if len(found) == 1 else place
        note = paragraphs[place:after]
        if target < place:
            moved[target] += note
        else:
            stays += enumerate(note, place)
        place = after
    return [p for place, stay in stays for p in (*moved[place], stay)]


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
