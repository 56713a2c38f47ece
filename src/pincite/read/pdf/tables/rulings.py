"""Ruled lines of a page."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise

import pypdfium2
import pypdfium2.raw as pdfium

from pincite.read.pdf.characters import frame_of
from pincite.read.pdf.page import Matrix, matrix_of, matrix_to, painted_objects, times
from pincite.read.pdf.tables.geometry import Rule, Rulings, grouped

MAX_AREAS = 4000
THICK = 3.0  # a filled bar up to this is a line, above it is an area
STRAIGHT = 0.8  # how much a line may lean
SLANTED = 4.0  # a leaning line longer than this is part of a drawing
SHORT = 8.0  # what stays below this after joining is a dot or a dash
JOIN = 3.0  # gap between pieces of one line
LARGE = 0.8  # of the page: an area beyond is the background
SAME = 1.2  # distance between lines that are one

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PathPiece:
    """A straight piece of a path as seen, or an area filled with a colour."""

    x0: float
    y0: float
    x1: float
    y1: float
    colour: int = -1  # of an area


def join_pieces(pieces: Iterable[PathPiece], size: tuple[float, float]) -> Rulings:
    """Rulings from pieces of lines and filled areas, collinear pieces joined."""
    horizontal: list[Rule] = []
    vertical: list[Rule] = []
    areas: list[PathPiece] = []
    slanted: list[Point] = []
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
        elif piece.colour < 0 and max(x1 - x0, y1 - y0) > SLANTED:
            slanted.append(((x0 + x1) / 2, (y0 + y1) / 2))
    flat, upright = edges_of_areas(areas[:MAX_AREAS])
    return Rulings(_joined(horizontal + flat), _joined(vertical + upright), slanted)


def edges_of_areas(areas: Sequence[PathPiece]) -> tuple[list[Rule], list[Rule]]:
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
    return list(chain(*flat.values())), list(chain(*upright.values()))


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
    ordered = sorted(rules, key=lambda rule: rule.at)
    found = []
    for group in grouped(ordered, lambda group, rule: rule.at - group[0].at <= SAME):
        at = sum(rule.at for rule in group) / len(group)
        found += [Rule(at, *ends) for ends in _united(group) if ends[1] - ends[0] > SHORT]
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


# A page with more paths than this is a drawing or a map; reading on costs time for nothing.
MAX_PATHS = 20_000
MAX_SEGMENTS = 400  # of one path: longer ones are curves of a chart or a letter's outline


def read_rulings(page: pypdfium2.PdfPage) -> Rulings:
    """The lines drawn on a page, as the page is seen."""
    frame = frame_of(page)
    to_seen = matrix_to(frame.place)
    pieces: list[PathPiece] = []
    paths = (found for found in painted_objects(page) if found.kind == pdfium.FPDF_PAGEOBJ_PATH)
    for _, handle, outer in islice(paths, MAX_PATHS):
        pieces.extend(_pieces(handle, times(times(matrix_of(handle), outer), to_seen)))
    return join_pieces(pieces, (frame.width, frame.height))


def _pieces(handle: object, matrix: Matrix) -> Iterator[PathPiece]:
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
            yield from (PathPiece(*a, *b) for a, b in pairwise(line))
        elif len(line) >= 4:
            xs, ys = zip(*line, strict=True)
            yield PathPiece(min(xs), min(ys), max(xs), max(ys), fill_colour)


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
