"""A PDF page by page: its objects, sizes and bookmarks."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as c

from pincite.model.errors import SourceError


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
    bands: Sequence[tuple[float, float]] = ()  # top and bottom of each row; none if not known
    indents: Sequence[int] = ()  # how many steps each row's label is set in; none if not known

    @property
    def box(self) -> tuple[float, float, float, float]:
        return self.x0, self.y0, self.x1, self.y1

    def holds(self, x: float, y: float) -> bool:
        """Return whether a point lies in the table."""
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1


MAX_DEPTH = 6  # of forms inside forms

Matrix = tuple[float, float, float, float, float, float]
Point = tuple[float, float]
IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class Painted(NamedTuple):
    """An object of a page; `outer` takes its coordinates to the page's, for it may be in a form."""

    kind: int  # pdfium's FPDF_PAGEOBJ_*
    handle: object
    outer: Matrix


def painted_objects(page: pdfium.PdfPage) -> Iterator[Painted]:
    """The objects of a page from the lowest to the uppermost, with those inside forms."""
    raw = page.raw
    for number in range(c.FPDFPage_CountObjects(raw)):
        yield from _within(c.FPDFPage_GetObject(raw, number), IDENTITY, 0)


def _within(handle: object, outer: Matrix, depth: int) -> Iterator[Painted]:
    kind = c.FPDFPageObj_GetType(handle)
    if kind != c.FPDF_PAGEOBJ_FORM:
        yield Painted(kind, handle, outer)
    elif depth < MAX_DEPTH:
        inner = times(matrix_of(handle), outer)
        for number in range(c.FPDFFormObj_CountObjects(handle)):
            yield from _within(c.FPDFFormObj_GetObject(handle, number), inner, depth + 1)


def matrix_of(handle: object) -> Matrix:
    """An object's own matrix."""
    found = c.FS_MATRIX()
    c.FPDFPageObj_GetMatrix(handle, found)
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def matrix_to(place: Callable[[float, float], Point]) -> Matrix:
    """The matrix of a mapping of points that only moves, turns and mirrors."""
    (e, f), (ax, ay), (bx, by) = place(0.0, 0.0), place(1.0, 0.0), place(0.0, 1.0)
    return (ax - e, ay - f, bx - e, by - f, e, f)


def times(a: Matrix, b: Matrix) -> Matrix:
    """First a, then b."""
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    )


MAX_PAGES = 5_000
_MAX_BOOKMARKS = 20_000
_JUNK_TITLE = re.compile(
    r"untitled|(?:microsoft )?(?:word|powerpoint|excel)\b|\W*$|document\d*$|title$"
    r"|.*\.(?:docx?|dvi|tex|pdf|indd|fm|qxd|xlsx?)\b",
    re.IGNORECASE,
)
# Where the kinds of views tell how far up the page they begin.
_HEIGHTS = {c.PDFDEST_VIEW_XYZ: 1, c.PDFDEST_VIEW_FITH: 0, c.PDFDEST_VIEW_FITBH: 0}
# Findings tell the user what is wrong; the library's own warnings would say it twice.
logging.getLogger("pypdfium2").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the document's outline and where it leads."""

    title: str
    level: int  # 1 is the highest
    page: int  # index of the page
    y: float | None  # in the page's own coordinates, from its bottom


def open_pdf(data: bytes, name: str) -> pdfium.PdfDocument:
    """Return the opened document; SourceError if it is damaged, locked or far too long."""
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise _refusal(name, error) from error
    if len(document) > MAX_PAGES:
        raise SourceError(
            f"{name} has {len(document):,} pages, more than {MAX_PAGES:,}",
            hint="split it into volumes",
        )
    return document


def _refusal(name: str, error: pdfium.PdfiumError) -> SourceError:
    code = getattr(error, "err_code", None)
    if code == c.FPDF_ERR_PASSWORD:
        return SourceError(
            f"{name} is encrypted and needs a password",
            hint=f"save it without one, for example: qpdf --decrypt --password=… {name} open.pdf",
        )
    if code == c.FPDF_ERR_SECURITY:
        return SourceError(
            f"{name} is encrypted in a way that is not supported",
            hint="save it without encryption",
        )
    words = re.search(r"PDFium: ([^)]+)", str(error))
    reason = words.group(1).strip(" .").lower() if words else str(error)
    reason = "it has no pages" if reason == "success" else reason
    return SourceError(
        f"{name} is damaged or no PDF: {reason}",
        hint="open it in a viewer and save it again, or repair it: qpdf broken.pdf mended.pdf",
    )


def load_page(document: pdfium.PdfDocument, index: int) -> pdfium.PdfPage:
    """Return a page; what was filled into its form fields is made part of it."""
    page = document[index]
    if document.get_formtype() == c.FORMTYPE_NONE:
        return page
    c.FPDFPage_Flatten(page.raw, c.FLAT_NORMALDISPLAY)
    page.close()
    return document[index]


def bookmarks_of(document: pdfium.PdfDocument) -> list[Bookmark]:
    """Return the bookmarks that lead to a page, in order."""
    found: list[Bookmark] = []
    for entry in islice(document.get_toc(), 2 * _MAX_BOOKMARKS):
        target = entry.get_dest()
        page = target.get_index() if target else None
        title = " ".join(entry.get_title().split())
        if not title or page is None or not 0 <= page < len(document):
            continue
        mode, view = target.get_view()
        place = _HEIGHTS.get(mode, len(view))
        y = float(view[place]) if place < len(view) and view[place] else None
        found.append(Bookmark(title, entry.level + 1, page, y))
        if len(found) == _MAX_BOOKMARKS:
            break
    return found


def stated_title(document: pdfium.PdfDocument) -> str:
    """Return the title in the file's properties; empty if it is missing or says nothing."""
    title = " ".join(document.get_metadata_value("Title").replace("\0", "").split())
    return "" if _JUNK_TITLE.match(title) else title
