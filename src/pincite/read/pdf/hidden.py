"""Characters that a reader of the page does not see."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pypdfium2 as pdfium
import pypdfium2.raw as c

from pincite.model.types import ReaderWarning
from pincite.read.pdf.characters import Characters, Frame, Unseen, address_of
from pincite.read.pdf.page import IDENTITY, Matrix, Painted, Word, painted_objects

_MAX_OBJECTS = 50_000
_CELLS = 240  # of the grid over the page, each way: 2.5 points by 3.3 on a letter
_SMALLEST = 3.0  # points: lower and narrower shapes cover no word
_OPAQUE = 224  # of 255: through less, black words can be read
_DIFFERENCE = 12  # of 255 in one colour, at the point that changes most
_MAX_PIXELS = 4_000_000
_COVERING_NOTES = {
    c.FPDF_ANNOT_FREETEXT,
    c.FPDF_ANNOT_SQUARE,
    c.FPDF_ANNOT_CIRCLE,
    c.FPDF_ANNOT_POLYGON,
    c.FPDF_ANNOT_STAMP,
}
_PICTURES = {c.FPDF_PAGEOBJ_IMAGE, c.FPDF_PAGEOBJ_SHADING}

Colour = tuple[int, int, int, int]
Box = tuple[float, float, float, float]
Pixels = npt.NDArray[np.int16]


class Cover(NamedTuple):
    """Something that fills an area of the page."""

    order: int  # when it is painted
    colour: Colour | None  # None: a picture, or more than one colour
    box: Box  # as seen
    is_picture: bool = False


class Text(NamedTuple):
    """A text object: when it is painted, and pdfium's handle."""

    order: int
    handle: object


Texts = Mapping[int, Text]  # by the object's address


def survey(page: pdfium.PdfPage, frame: Frame) -> tuple[list[Cover], Texts]:
    """Return the covers of a page from the lowest to the uppermost, and its text objects."""
    covers: list[Cover] = []
    texts: dict[int, Text] = {}
    for order, found in enumerate(painted_objects(page)):
        if order >= _MAX_OBJECTS:
            break
        if found.kind == c.FPDF_PAGEOBJ_TEXT:
            texts[address_of(found.handle)] = Text(order, found.handle)
        elif cover := _cover(found, order, frame):
            covers.append(cover)
    covers += (Cover(_MAX_OBJECTS, None, box) for box in _notes(page, frame))
    return covers, texts


def suspects(read: Characters, covers: Sequence[Cover], texts: Texts, frame: Frame) -> list[Unseen]:
    """Return the words that a cover may hide or whose ground may have their colour."""
    if not covers:
        return []
    uppermost = _uppermost(covers, frame)
    found: list[Unseen] = []
    for position, (word, source) in enumerate(zip(read.words, read.sources, strict=True)):
        x, y = word.middle
        number = uppermost[_cell(y, frame.height), _cell(x, frame.width)]
        text = texts.get(source)
        if number < 0 or text is None:
            continue
        cover = covers[number]
        if cover.order > text.order:
            found.append(Unseen(word, "covered", position, source))
            continue
        ground, fill = cover.colour, _fill(text.handle) if cover.colour else None
        apart = max(abs(a - b) for a, b in zip(ground, fill, strict=True)) if ground and fill else 0
        if apart < 2 * _DIFFERENCE:
            found.append(Unseen(word, "same colour", position, source))
    return found


def _cell(at: float, size: float) -> int:
    return min(max(int(_CELLS * at / size), 0), _CELLS - 1)


def _uppermost(covers: Sequence[Cover], frame: Frame) -> npt.NDArray[np.int32]:
    """Return the number of the uppermost cover for each cell of the page, -1 for bare paper."""
    grid = np.full((_CELLS, _CELLS), -1, dtype=np.int32)
    for number, cover in enumerate(covers):
        x0, y0, x1, y1 = cover.box
        rows = slice(_cell(y0, frame.height), _cell(y1, frame.height) + 1)
        grid[rows, _cell(x0, frame.width) : _cell(x1, frame.width) + 1] = number
    return grid


def _cover(found: Painted, order: int, frame: Frame) -> Cover | None:
    if found.kind not in _PICTURES and found.kind != c.FPDF_PAGEOBJ_PATH:
        return None
    box = seen_box(found.handle, found.outer, frame)
    if box is None or min(box[2] - box[0], box[3] - box[1]) < _SMALLEST:
        return None
    if found.kind in _PICTURES:
        return Cover(order, None, box, found.kind == c.FPDF_PAGEOBJ_IMAGE)
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    c.FPDFPath_GetDrawMode(found.handle, fill, stroke)
    if not fill.value:
        width = ctypes.c_float()
        is_known = stroke.value and c.FPDFPageObj_GetStrokeWidth(found.handle, width)
        return Cover(order, None, box) if is_known and width.value >= _SMALLEST else None
    colour = _fill(found.handle)
    return None if colour and colour[3] < _OPAQUE else Cover(order, colour, box)


def _fill(handle: object) -> Colour | None:
    """Return an object's colour, None where it is a pattern."""
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not c.FPDFPageObj_GetFillColor(handle, red, green, blue, alpha):
        return None
    return red.value, green.value, blue.value, alpha.value


def seen_box(handle: object, outer: Matrix, frame: Frame) -> Box | None:
    """Return where an object stands on the page as seen."""
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not c.FPDFPageObj_GetBounds(handle, left, bottom, right, top):
        return None
    corners = [(x.value, y.value) for x in (left, right) for y in (bottom, top)]
    if outer != IDENTITY:
        a, b, d, e, x0, y0 = outer
        corners = [(a * x + d * y + x0, b * x + e * y + y0) for x, y in corners]
    return _on_page(corners, frame)


def _on_page(corners: Sequence[tuple[float, float]], frame: Frame) -> Box:
    places = [frame.place(x, y) for x, y in corners]
    xs = [min(max(x, 0.0), frame.width) for x, _ in places]
    ys = [min(max(y, 0.0), frame.height) for _, y in places]
    return min(xs), min(ys), max(xs), max(ys)


def _notes(page: pdfium.PdfPage, frame: Frame) -> Iterator[Box]:
    """The boxes of annotations that may cover text."""
    rectangle = c.FS_RECTF()
    for number in range(min(c.FPDFPage_GetAnnotCount(page.raw), _MAX_OBJECTS)):
        note = c.FPDFPage_GetAnnot(page.raw, number)
        if not note:
            continue
        if c.FPDFAnnot_GetSubtype(note) in _COVERING_NOTES and c.FPDFAnnot_GetRect(note, rectangle):
            corners = (rectangle.left, rectangle.top), (rectangle.right, rectangle.bottom)
            yield _on_page(corners, frame)
        c.FPDFPage_CloseAnnot(note)


def without_effect(
    page: pdfium.PdfPage, frame: Frame, entries: Sequence[Unseen], texts: Texts, read: Characters
) -> list[Unseen]:
    """Return the words that can be taken away and the page looks the same."""
    area = _area(entries, frame)
    if area is None:
        return list(entries)
    before = _paint(page, frame, area)
    # Of words that are painted twice at one place pdfium tells the first only, even where that
    # one is covered and the second is what readers see: text objects that gave no words go, too.
    told = {*read.sources, *(entry.source for entry in read.unseen)}
    copies = [text.handle for address, text in texts.items() if address not in told]
    hidden: list[Unseen] = []
    # Apart, for words that stand on a cover must not speak for those below it.
    for is_covered in (True, False):
        if group := [entry for entry in entries if (entry.why == "covered") == is_covered]:
            own = {entry.source for entry in group}
            gone = [texts[source].handle for source in own if source in texts] + copies
            after = _painted_without(gone, lambda: _paint(page, frame, area))
            change = np.abs(before.pixels - after.pixels).max(axis=2)
            hidden += [entry for entry in group if not before.shows(entry, change)]
    return hidden


class _Painting(NamedTuple):
    pixels: Pixels
    left: float
    top: float
    scale: float

    def shows(self, entry: Unseen, change: Pixels) -> bool:
        """Return whether something changes where the word stands."""
        x0, y0, x1, y1 = entry.word[1:5]
        rows, columns = (
            slice(max(0, int(start * self.scale)), max(0, int(end * self.scale) + 1))
            for start, end in ((y0 - self.top, y1 - self.top), (x0 - self.left, x1 - self.left))
        )
        return int(change[rows, columns].max(initial=0)) >= _DIFFERENCE


def _area(entries: Sequence[Unseen], frame: Frame) -> Box | None:
    words = [entry.word for entry in entries]
    left, top = max(0.0, min(w.x0 for w in words)), max(0.0, min(w.y0 for w in words))
    right = min(frame.width, max(w.x1 for w in words))
    bottom = min(frame.height, max(w.y1 for w in words))
    return (left, top, right, bottom) if right - left >= 1 and bottom - top >= 1 else None


def _paint(page: pdfium.PdfPage, frame: Frame, area: Box) -> _Painting:
    left, top, right, bottom = area
    scale = min(1.5, (_MAX_PIXELS / ((right - left) * (bottom - top))) ** 0.5)
    crop = (left, frame.height - bottom, frame.width - right, top)
    bitmap = page.render(scale=scale, crop=crop, may_draw_forms=False)
    pixels = bitmap.to_numpy()[:, :, :3].astype(np.int16)
    bitmap.close()
    return _Painting(pixels, left, top, scale)


def _painted_without(handles: Sequence[object], paint: Callable[[], _Painting]) -> _Painting:
    for handle in handles:
        c.FPDFPageObj_SetIsActive(handle, False)
    try:
        return paint()
    finally:
        for handle in handles:
            c.FPDFPageObj_SetIsActive(handle, True)


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


def hidden_finding(unseen: Sequence[Unseen], page: int) -> ReaderWarning | None:
    """Return what to tell about the hidden words of a page, None if there are none."""
    if not unseen:
        return None
    kinds = ", ".join(f"{why}" for why, _ in Counter(e.why for e in unseen).most_common())
    words = " ".join(entry.word.text for entry in unseen)
    start = words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"
    count = "1 word" if len(unseen) == 1 else f"{len(unseen)} words"
    message = f"page {page}: {count} that no reader sees ({kinds}) left out: {start!r}"
    return ReaderWarning("hidden_text", message, page)
