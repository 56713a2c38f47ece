"""Tables of contents and indexes look like tables and are none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.rows import Placed
from pincite.ingest.formats.pdf_tables.textlines import text_lines

# Dots that lead to nothing but page numbers: "Preface . . . . iv", "awk.......3, 11, 27".
_ENTRY = re.compile(
    r"(?:[.·…_]\s*){3,}\s*(?:\d{1,4}|[ivxl]+)(?:\s*,\s*\d{1,4})*(?=\s+[^\d\s.,$%()-]|\s*$)"
)
_LEADER = re.compile(r"(?:[.·…_]\s?){4,}")
MAX_ENTRIES = 0.4  # of the lines of a table
MAX_PAGES = 3000


def entry_heights(words: Iterable[Word]) -> list[float]:
    """The y of every line whose leaders end in page numbers."""
    found = []
    for line in text_lines(words):
        leaders = len(_LEADER.findall(line.text))
        if 0 < leaders <= len(_ENTRY.findall(line.text)):
            found.append(line.middle)
    return found


def is_contents(lines: Sequence[Placed], entries: Sequence[float]) -> bool:
    """Whether the lines are entries with leaders, or titles with page numbers that never fall."""
    led = sum(any(abs(placed.line.middle - y) < 3 for y in entries) for placed in lines)
    if led > MAX_ENTRIES * len(lines):
        return True
    pages = [page for placed in lines if (page := _page_number(placed)) is not None]
    rising = all(a <= b for a, b in pairwise(pages))
    return rising and len(pages) >= max(3, 0.6 * len(lines)) and pages[-1] < MAX_PAGES


def _page_number(placed: Placed) -> int | None:
    """The figure at the end of a line that has no other, a section's number left aside."""
    segments = [segment for segment, _ in placed.parts]
    if not segments[-1].text.isdecimal() or any(s.is_number for s in segments[1:-1]):
        return None
    return int(segments[-1].text) if 2 <= len(segments) <= 3 else None
