"""Text that no reader of the page sees, and pages that are pictures of text.

Hidden text is how instructions are smuggled into a search index, so it is left out and reported.
Invisible text over a scan is different: that is the text of the picture, written there by OCR.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Sequence

import pypdfium2 as pdfium
import pypdfium2.raw as c

from pincite.ingest.formats.pdf.characters import Characters, Frame, Unseen
from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.parsed import Finding

_COVERED = 0.5  # of the page's area by pictures: a scan
_FEW_CHARACTERS = 25  # a page number or a stamp beside the picture
_CONTRAST = 24  # grey levels between the lightest and the darkest point of a word
_MOST_PIXELS = 4_000_000
_MOST_OBJECTS = 20_000
_SHOWN = 60  # characters of hidden text in a message


def visible_words(
    page: pdfium.PdfPage, read: Characters, frame: Frame
) -> tuple[list[Word], list[Unseen], bool]:
    """Return the words a reader can see, those that are hidden, and whether the page is a scan."""
    is_scan = False
    unseen: Sequence[Unseen] = read.unseen
    letters = sum(len(word.text) for word in read.words)
    if letters < _FEW_CHARACTERS or any(entry.why == "invisible" for entry in unseen):
        is_scan = _picture_share(page, frame) >= _COVERED
    shown: list[Unseen] = []
    if is_scan:
        shown += [entry for entry in unseen if entry.why == "invisible"]
    white = [entry for entry in unseen if entry.why == "white"]
    if white:
        shown += _with_contrast(page, frame, white)
    if not shown:
        return read.words, list(unseen), is_scan
    kept = {id(entry) for entry in shown}
    hidden = [entry for entry in unseen if id(entry) not in kept]
    return _merged(read.words, shown), hidden, is_scan


def _merged(words: Sequence[Word], shown: Sequence[Unseen]) -> list[Word]:
    """Return the words with those that can be seen after all in their places."""
    merged: list[Word] = []
    done = 0
    for entry in sorted(shown, key=lambda entry: entry.position):
        merged += words[done : entry.position]
        merged.append(entry.word)
        done = entry.position
    return merged + list(words[done:])


def _picture_share(page: pdfium.PdfPage, frame: Frame) -> float:
    """Return the share of the page that its largest picture covers."""
    largest = 0.0
    count = c.FPDFPage_CountObjects(page.raw)
    for index in range(min(count, _MOST_OBJECTS)):
        found = c.FPDFPage_GetObject(page.raw, index)
        kind = c.FPDFPageObj_GetType(found)
        if kind == c.FPDF_PAGEOBJ_IMAGE or (kind == c.FPDF_PAGEOBJ_FORM and _has_picture(found)):
            largest = max(largest, _area(found, frame))
    return largest / (frame.width * frame.height)


def _has_picture(form: object) -> bool:
    count = min(c.FPDFFormObj_CountObjects(form), _MOST_OBJECTS)
    return any(
        c.FPDFPageObj_GetType(c.FPDFFormObj_GetObject(form, index)) == c.FPDF_PAGEOBJ_IMAGE
        for index in range(count)
    )


def _area(found: object, frame: Frame) -> float:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not c.FPDFPageObj_GetBounds(found, left, bottom, right, top):
        return 0.0
    x0, y0 = frame.place(left.value, top.value)
    x1, y1 = frame.place(right.value, bottom.value)
    width = min(max(x0, x1), frame.width) - max(min(x0, x1), 0.0)
    height = min(max(y0, y1), frame.height) - max(min(y0, y1), 0.0)
    return max(width, 0.0) * max(height, 0.0)


def _with_contrast(page: pdfium.PdfPage, frame: Frame, entries: Sequence[Unseen]) -> list[Unseen]:
    """Return the white words that stand out from what is behind them, by painting the page."""
    boxes = [entry.word for entry in entries]
    left, top = max(0.0, min(w.x0 for w in boxes)), max(0.0, min(w.y0 for w in boxes))
    right = min(frame.width, max(w.x1 for w in boxes))
    bottom = min(frame.height, max(w.y1 for w in boxes))
    if right - left < 1 or bottom - top < 1:
        return []
    scale = min(1.5, (_MOST_PIXELS / ((right - left) * (bottom - top))) ** 0.5)
    crop = (left, frame.height - bottom, frame.width - right, top)
    bitmap = page.render(scale=scale, crop=crop, grayscale=True, may_draw_forms=False)
    pixels = bitmap.to_numpy()
    shown: list[Unseen] = []
    for entry in entries:
        word = entry.word
        rows = _pixels(word.y0 - top, word.y1 - top, scale)
        columns = _pixels(word.x0 - left, word.x1 - left, scale)
        region = pixels[rows, columns]
        if region.size and int(region.max()) - int(region.min()) >= _CONTRAST:
            shown.append(entry)
    bitmap.close()
    return shown


def _pixels(start: float, end: float, scale: float) -> slice:
    return slice(max(0, int(start * scale)), int(end * scale) + 1)


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
