"""Text that no reader of the page sees, and pages that are pictures of text.

Hidden text is how instructions are smuggled into a search index, so it is left out and reported.
Invisible text over a scan, or text below it, is different: that is the text of the picture,
written there by OCR.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pypdfium2 as pdfium

from pincite.ingest.formats.pdf.characters import Characters, Frame, Unseen
from pincite.ingest.formats.pdf.covered import survey, suspects, without_effect
from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.parsed import Finding

_PICTURE = 0.5  # of the page's area in one picture: a scan
_FEW_CHARACTERS = 25  # a page number or a stamp beside the picture
_SHOWN = 60  # characters of hidden text in a message


def visible_words(
    page: pdfium.PdfPage, read: Characters, frame: Frame
) -> tuple[list[Word], list[Unseen], bool]:
    """Return the words a reader can see, those that are hidden, and whether the page is a scan."""
    covers, texts = survey(page, frame)
    doubtful = suspects(read, covers, texts, frame)
    doubtful += (entry for entry in read.unseen if entry.why == "white")
    unseen = [entry for entry in read.unseen if entry.why != "white"]
    if doubtful:
        unseen += without_effect(page, frame, doubtful, texts, read)
    is_scan = False
    letters = sum(len(word.text) for word in read.words)
    if letters < _FEW_CHARACTERS or any(e.why in ("invisible", "covered") for e in unseen):
        boxes = (cover.box for cover in covers if cover.is_picture)
        largest = max(((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in boxes), default=0.0)
        is_scan = largest / (frame.width * frame.height) >= _PICTURE
    if is_scan:  # what OCR wrote is not hidden: it writes most words of a page
        below = sum(entry.why == "covered" for entry in unseen)
        layer = ("invisible", "covered") if 2 * below > len(read.words) else ("invisible",)
        unseen = [entry for entry in unseen if entry.why not in layer]
    unseen.sort(key=lambda entry: entry.position)
    return _shown(read, unseen), unseen, is_scan


def _shown(read: Characters, hidden: Sequence[Unseen]) -> list[Word]:
    """Return the words in their order: those that can be seen after all come in, hidden ones go."""
    gone = {id(entry.word) for entry in hidden}
    back = [entry for entry in read.unseen if id(entry.word) not in gone]
    merged: list[Word] = []
    done = 0
    for entry in back:
        merged += read.words[done : entry.position]
        merged.append(entry.word)
        done = entry.position
    merged += read.words[done:]
    return [word for word in merged if id(word) not in gone] if gone else merged


def hidden_finding(unseen: Sequence[Unseen], page: int) -> Finding | None:
    """Return what to tell about the hidden words of a page, None if there are none."""
    if not unseen:
        return None
    kinds = ", ".join(f"{why}" for why, _ in Counter(e.why for e in unseen).most_common())
    words = " ".join(entry.word.text for entry in unseen)
    start = words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"
    count = "1 word" if len(unseen) == 1 else f"{len(unseen)} words"
    message = f"page {page}: {count} that no reader sees ({kinds}) left out: {start!r}"
    return Finding("hidden_text", message, page)
