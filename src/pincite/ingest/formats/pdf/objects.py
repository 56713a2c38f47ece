"""What a page paints, in the order in which it is painted: text, paths, pictures, shadings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as c

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
