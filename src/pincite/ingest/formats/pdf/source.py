"""The file itself: opening it or saying why not, its bookmarks, its title."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from itertools import islice

import pypdfium2 as pdfium
import pypdfium2.raw as c

from pincite.core.errors import SourceError

MOST_PAGES = 5_000
_MOST_BOOKMARKS = 20_000
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
    if len(document) > MOST_PAGES:
        raise SourceError(
            f"{name} has {len(document):,} pages, more than {MOST_PAGES:,}",
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
    for entry in islice(document.get_toc(), 2 * _MOST_BOOKMARKS):
        target = entry.get_dest()
        page = target.get_index() if target else None
        title = " ".join(entry.get_title().split())
        if not title or page is None or not 0 <= page < len(document):
            continue
        mode, view = target.get_view()
        place = _HEIGHTS.get(mode, len(view))
        y = float(view[place]) if place < len(view) and view[place] else None
        found.append(Bookmark(title, entry.level + 1, page, y))
        if len(found) == _MOST_BOOKMARKS:
            break
    return found


def stated_title(document: pdfium.PdfDocument) -> str:
    """Return the title in the file's properties; empty if it is missing or says nothing."""
    title = " ".join(document.get_metadata_value("Title").replace("\0", "").split())
    return "" if _JUNK_TITLE.match(title) else title
