"""Where the pictures of figures stand on a PDF's pages: beside their captions.

A figure is not read, but it can be shown: its caption gets the box of the pictures and drawings
that stand right above it, or below it where nothing is above.
"""

from __future__ import annotations

from collections.abc import Sequence

import pypdfium2 as pdfium
import pypdfium2.raw as c

from pincite.read.pdf.characters import Frame
from pincite.read.pdf.hidden import seen_box
from pincite.read.pdf.lines import Line
from pincite.read.pdf.page import painted_objects
from pincite.read.structure.outline import figure_caption

_DRAWN = {c.FPDF_PAGEOBJ_IMAGE, c.FPDF_PAGEOBJ_SHADING, c.FPDF_PAGEOBJ_PATH}
_MAX_OBJECTS = 20_000
_GAP = 40.0  # points between a caption and its picture, or two parts of one
_SMALLEST = 24.0  # points: a lower picture is a rule, an icon or a bullet
_WHOLE = 0.95  # of the page: its ground

Area = tuple[float, float, float, float]


def mark_figures(page: pdfium.PdfPage, frame: Frame, lines: Sequence[Line]) -> None:
    """Give the captions of a page the boxes of their pictures, in shares of the page."""
    captions = [line for line in lines if not line.turned and figure_caption(line.text)]
    if not captions:
        return
    drawn = _drawn(page, frame)
    for line in captions:
        found = _picture(line, drawn, -1) or _picture(line, drawn, 1)
        if found:
            x0, y0, x1, y1 = found
            line.figure = (x0 / frame.width, y0 / frame.height, x1 / frame.width, y1 / frame.height)


def _drawn(page: pdfium.PdfPage, frame: Frame) -> list[Area]:
    """Return where pictures and drawings stand, but for what lies under the whole page."""
    found: list[Area] = []
    for order, each in enumerate(painted_objects(page)):
        if order >= _MAX_OBJECTS:
            break
        box = seen_box(each.handle, each.outer, frame) if each.kind in _DRAWN else None
        if box and not (
            box[2] - box[0] > _WHOLE * frame.width and box[3] - box[1] > _WHOLE * frame.height
        ):
            found.append(box)
    return found


def _picture(line: Line, drawn: Sequence[Area], side: int) -> Area | None:
    """Return the area of what is drawn on one side of a caption (-1: above), without a wide gap."""
    if side < 0:
        beside = [box for box in drawn if box[3] <= line.y0 + 4]
        beside.sort(key=lambda box: -box[3])
    else:
        beside = [box for box in drawn if box[1] >= line.y1 - 4]
        beside.sort(key=lambda box: box[1])
    edge = line.y0 if side < 0 else line.y1
    area: Area | None = None
    for x0, y0, x1, y1 in beside:
        if (edge - y1 if side < 0 else y0 - edge) > _GAP:
            break
        if x1 < min(line.x0, line.left) or x0 > max(line.x1, line.right):
            continue  # in another column
        area = (x0, y0, x1, y1) if area is None else _around(area, (x0, y0, x1, y1))
        edge = area[1] if side < 0 else area[3]
    is_seen = area and min(area[2] - area[0], area[3] - area[1]) >= _SMALLEST
    return area if is_seen else None


def _around(one: Area, other: Area) -> Area:
    return (*map(min, one[:2], other[:2]), *map(max, one[2:], other[2:]))  # type: ignore[return-value]
