"""The drawn lines of a pdfium page: stroked lines, thin bars and the edges of boxes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from itertools import islice, pairwise

import pypdfium2
import pypdfium2.raw as pdfium

from pincite.ingest.formats.pdf.characters import frame_of
from pincite.ingest.formats.pdf.objects import (
    Matrix,
    matrix_of,
    matrix_to,
    painted_objects,
    times,
)
from pincite.ingest.formats.pdf_tables.geometry import Rulings
from pincite.ingest.formats.pdf_tables.pieces import Piece, Point, join_pieces

# A page with more paths than this is a drawing or a map; reading on costs time for nothing.
MAX_PATHS = 20_000
MAX_SEGMENTS = 400  # of one path: longer ones are curves of a chart or a letter's outline


def read_rulings(page: pypdfium2.PdfPage) -> Rulings:
    """The lines drawn on a page, as the page is seen."""
    frame = frame_of(page)
    to_seen = matrix_to(frame.place)
    pieces: list[Piece] = []
    paths = (found for found in painted_objects(page) if found.kind == pdfium.FPDF_PAGEOBJ_PATH)
    for _, handle, outer in islice(paths, MAX_PATHS):
        pieces.extend(_pieces(handle, times(times(matrix_of(handle), outer), to_seen)))
    return join_pieces(pieces, (frame.width, frame.height))


def _pieces(handle: object, matrix: Matrix) -> Iterator[Piece]:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(handle, fill, stroke)
    line_colour = _colour(handle, pdfium.FPDFPageObj_GetStrokeColor) if stroke.value else -1
    fill_colour = _colour(handle, pdfium.FPDFPageObj_GetFillColor) if fill.value else -1
    if line_colour < 0 and fill_colour < 0:
        return
    count = pdfium.FPDFPath_CountSegments(handle)
    if not 2 <= count <= MAX_SEGMENTS:
        return
    for line in _polylines(handle, count, matrix):
        if line_colour >= 0:
            yield from (Piece(*a, *b) for a, b in pairwise(line))
        elif len(line) >= 4:
            xs, ys = zip(*line, strict=True)
            yield Piece(min(xs), min(ys), max(xs), max(ys), fill_colour)


def _colour(handle: object, read: Callable[..., bool]) -> int:
    """The colour as one number, -1 when it does not show on white paper."""
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    read(handle, red, green, blue, alpha)
    if alpha.value <= 16 or min(red.value, green.value, blue.value) >= 250:
        return -1
    return red.value << 16 | green.value << 8 | blue.value


def _polylines(handle: object, count: int, matrix: Matrix) -> Iterator[list[Point]]:
    """The path's straight runs; a curve ends one."""
    a, b, c, d, e, f = matrix
    x, y = ctypes.c_float(), ctypes.c_float()
    line: list[Point] = []
    for number in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(handle, number)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        point = (a * x.value + c * y.value + e, b * x.value + d * y.value + f)
        if kind == pdfium.FPDF_SEGMENT_LINETO:
            line.append(point)
        else:
            yield line
            line = [point]
        if pdfium.FPDFPathSegment_GetClose(segment) and line:
            line.append(line[0])
    yield line
