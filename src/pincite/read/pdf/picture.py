"""A page of a PDF as a picture: PNG, written here, so that no imaging library is needed."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2 as pdfium

from pincite.model.errors import SourceError
from pincite.read.pdf.page import open_pdf

# Pages are drawn so wide, but never higher: posters and strips of paper would be huge.
MAX_WIDTH = 2000
MAX_HEIGHT = 4000
_FAST = 4  # of zlib: a third of the time of its best, a tenth more bytes


@dataclass(frozen=True, slots=True)
class PageFacts:
    """How a page looks before it is drawn; sizes are in points."""

    count: int  # of the document's pages
    width: float
    height: float


def facts_of(document: pdfium.PdfDocument, page: int) -> PageFacts:
    """Return the facts of a page, counted from 1; SourceError if there is no such page."""
    if not 1 <= page <= len(document):
        raise SourceError(
            f"no page {page}: the document has {len(document):,}", hint="pages count from 1"
        )
    width, height = document.get_page_size(page - 1)
    return PageFacts(len(document), max(1.0, float(width)), max(1.0, float(height)))


def draw(document: pdfium.PdfDocument, page: int, width: int) -> bytes:
    """Return a page as PNG of about this width in pixels."""
    facts = facts_of(document, page)
    scale = min(min(width, MAX_WIDTH) / facts.width, MAX_HEIGHT / facts.height)
    loaded = document[page - 1]
    try:
        bitmap = loaded.render(scale=scale, rev_byteorder=True)
        return png(bitmap.to_numpy())
    finally:
        loaded.close()


def png(pixels: Any) -> bytes:
    """Return pixels (rows, columns, red green blue …) as PNG, grey if they are."""
    pixels = np.atleast_3d(pixels)[:, :, :3]
    grey = pixels[:, :, :1]
    is_grey = pixels.shape[2] == 1 or bool((pixels == grey).all())
    shown = grey if is_grey else pixels
    height, width = shown.shape[:2]
    # Each line begins with its filter: the difference to the pixel before packs drawings well,
    # text packs best as it is.
    lines = np.zeros((height, 1 + shown.shape[2] * width), dtype=np.uint8)
    lines[:, 1:] = shown.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if is_grey else 2, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), _FAST)
    parts = (_part(b"IHDR", head), _part(b"IDAT", body), _part(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _part(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def open_file(file: Path) -> pdfium.PdfDocument:
    """Return the PDF in a file."""
    try:
        return open_pdf(file.read_bytes(), file.name)
    except OSError as error:
        raise SourceError(f"{file.name} cannot be read: {error.strerror}") from error
