"""The drawn lines of a pdfium page: stroked lines, thin bars and the edges of boxes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from pincite.ingest.formats.pdf_tables.geometry import Rule, Rulings

# A page with more paths than this is a drawing or a map; reading on costs time for nothing.
MAX_PATHS = 20_000
MAX_SEGMENTS = 400  # of one path: longer ones are curves of a chart or a letter's outline
MAX_DEPTH = 6  # of forms inside forms
THICK = 3.0  # a filled bar up to this is a line, above it is an area
STRAIGHT = 0.8  # how much a line may lean
SHORT = 2.0  # pieces below this are corners and dots; joined ones still count
JOIN = 3.0  # gap between pieces of one line
LARGE = 0.8  # of the page: an area beyond is the background
SAME = 1.2  # distance between lines that are one

Matrix = tuple[float, float, float, float, float, float]
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Piece:
    """A straight piece of a path as seen, or an area filled with a colour."""

    x0: float
    y0: float
    x1: float
    y1: float
    colour: int = -1  # of an area


def read_rulings(page: pypdfium2.PdfPage) -> Rulings:
    """The lines drawn on a page, as the page is seen."""
    to_seen = seen_matrix(page)
    pieces = []
    for count, (handle, matrix) in enumerate(_paths(page)):
        if count >= MAX_PATHS:
            break
        pieces.extend(_pieces(handle, _times(matrix, to_seen)))
    return join_pieces(pieces, page.get_size())


def seen_matrix(page: pypdfium2.PdfPage) -> Matrix:
    """From PDF user space to points from the top left of the page as it is seen."""
    left, bottom, right, top = page.get_cropbox()
    return {
        0: (1.0, 0.0, 0.0, -1.0, -left, top),
        90: (0.0, 1.0, 1.0, 0.0, -bottom, -left),
        180: (-1.0, 0.0, 0.0, 1.0, right, -bottom),
        270: (0.0, -1.0, -1.0, 0.0, top, right),
    }[page.get_rotation()]


def _times(a: Matrix, b: Matrix) -> Matrix:
    return (
        a[0] * b[0] + a[1] * b[2],
        a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2],
        a[2] * b[1] + a[3] * b[3],
        a[4] * b[0] + a[5] * b[2] + b[4],
        a[4] * b[1] + a[5] * b[3] + b[5],
    )


def _matrix_of(handle: object) -> Matrix:
    found = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(handle, found)
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def _paths(page: pypdfium2.PdfPage) -> Iterator[tuple[object, Matrix]]:
    """Path objects with their matrix, those inside form XObjects too."""
    identity: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    for number in range(pdfium.FPDFPage_CountObjects(page)):
        yield from _paths_in(pdfium.FPDFPage_GetObject(page, number), identity, 0)


def _paths_in(handle: object, outer: Matrix, depth: int) -> Iterator[tuple[object, Matrix]]:
    kind = pdfium.FPDFPageObj_GetType(handle)
    if kind == pdfium.FPDF_PAGEOBJ_PATH:
        yield handle, _times(_matrix_of(handle), outer)
    elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
        inner = _times(_matrix_of(handle), outer)
        for number in range(pdfium.FPDFFormObj_CountObjects(handle)):
            yield from _paths_in(pdfium.FPDFFormObj_GetObject(handle, number), inner, depth + 1)


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
            yield from (Piece(*a, *b) for a, b in zip(line, line[1:], strict=False))
        elif len(line) >= 4:
            yield _area(line, fill_colour)


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


def _area(line: list[Point], colour: int) -> Piece:
    xs, ys = [x for x, _ in line], [y for _, y in line]
    return Piece(min(xs), min(ys), max(xs), max(ys), colour)


def join_pieces(pieces: Iterable[Piece], size: tuple[float, float]) -> Rulings:
    """Rulings from pieces of lines and filled areas, collinear pieces joined."""
    horizontal: list[Rule] = []
    vertical: list[Rule] = []
    areas: list[Piece] = []
    for piece in pieces:
        x0, x1 = sorted((piece.x0, piece.x1))
        y0, y1 = sorted((piece.y0, piece.y1))
        thick = STRAIGHT if piece.colour < 0 else THICK
        if x1 < 0 or y1 < 0 or x0 > size[0] or y0 > size[1]:
            continue
        if y1 - y0 <= thick and x1 - x0 > y1 - y0:
            horizontal.append(Rule((y0 + y1) / 2, x0, x1))
        elif x1 - x0 <= thick:
            vertical.append(Rule((x0 + x1) / 2, y0, y1))
        elif piece.colour >= 0 and (x1 - x0) * (y1 - y0) < LARGE * size[0] * size[1]:
            areas.append(piece)
    flat, upright = edges_of_areas(areas)
    return Rulings(_joined(horizontal + flat), _joined(vertical + upright))


def edges_of_areas(areas: Sequence[Piece]) -> tuple[list[Rule], list[Rule]]:
    """The sides of filled areas, without those at which an area of the same colour goes on.

    Shading is often painted line by line or cell by cell; only where the colour ends is an edge.
    """
    flat: dict[tuple[int, int], list[Rule]] = {}
    upright: dict[tuple[int, int], list[Rule]] = {}
    for area in areas:
        for at in (area.y0, area.y1):
            _toggle(flat, area.colour, Rule(at, area.x0, area.x1))
        for at in (area.x0, area.x1):
            _toggle(upright, area.colour, Rule(at, area.y0, area.y1))
    return ([r for rules in flat.values() for r in rules],
            [r for rules in upright.values() for r in rules])


def _toggle(sides: dict[tuple[int, int], list[Rule]], colour: int, side: Rule) -> None:
    """Adds a side, or takes away the equal one of the area next to it."""
    key = round(side.at)
    for near in (key - 1, key, key + 1):
        for other in sides.get((colour, near), ()):
            ends = abs(other.start - side.start) + abs(other.end - side.end)
            if abs(other.at - side.at) <= SAME and ends <= 2 * SAME:
                sides[colour, near].remove(other)
                return
    sides.setdefault((colour, key), []).append(side)


def _joined(rules: list[Rule]) -> list[Rule]:
    """Rules with touching collinear ones made one; what stays a dot is dropped."""
    groups: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda rule: rule.at):
        if groups and rule.at - groups[-1][0].at <= SAME:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    found = []
    for group in groups:
        at = sum(rule.at for rule in group) / len(group)
        for start, end in _united(group):
            if end - start > 4 * SHORT:
                found.append(Rule(at, start, end))
    return found


def _united(group: list[Rule]) -> Iterator[tuple[float, float]]:
    ordered = sorted((rule.start, rule.end) for rule in group)
    start, end = ordered[0]
    for next_start, next_end in ordered[1:]:
        if next_start > end + JOIN:
            yield start, end
            start, end = next_start, next_end
        else:
            end = max(end, next_end)
    yield start, end
