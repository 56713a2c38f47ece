"""How text on a page looks: size, weight, angle, and whether it can be seen at all."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from typing import Literal, NamedTuple

import pypdfium2.raw as c

Hidden = Literal[
    "", "invisible", "transparent", "tiny", "off page", "white", "covered", "same colour"
]

_SMALLEST = 2.0  # points; smaller type is not for readers
_WHITE = 245  # of 255 in all three colours
_BOLD = re.compile(r"bold|black|heavy|demi|(?:^|\+)(?:cm|sf|ec|la)b(?![a-z]*it\b)|bx|[-,]b$", re.I)
_ITALIC = re.compile(r"ital|obli|(?:^|\+)(?:cm|sf|ec)(?:ti|sl)|[-,]i$", re.I)
_MONO = re.compile(
    r"mono|courier|typewriter|consol|menlo|inconsolata|(?:^|\+)(?:cm|sf|ec)\w*tt|txtt", re.I
)
_FIXED_PITCH, _ITALIC_FLAG, _FORCE_BOLD = 1, 1 << 6, 1 << 18
_FILLS, _STROKES = {0, 2, 4, 6}, {1, 2, 5, 6}


_address = ctypes.c_void_p.from_buffer


def address_of(handle: object) -> int:
    """Return where one of pdfium's objects lies in memory: the same object, the same number."""
    return _address(handle).value or 0  # type: ignore[arg-type]


class Face(NamedTuple):
    """What a font's name and flags tell."""

    bold: bool = False
    italic: bool = False
    mono: bool = False


class Style(NamedTuple):
    """How the characters of one text object look."""

    size: float
    face: Face
    angle: int
    hidden: Hidden
    drop: float  # from the baseline down to the bottom of a character's box
    source: int = 0  # the address of the text object


class Styles:
    """The styles of one page's text objects, each asked of pdfium once."""

    def __init__(self, textpage: object, rotation: int) -> None:
        self._textpage = textpage
        self._rotation = rotation
        self._styles: dict[int, Style] = {}
        self._faces: dict[int, Face] = {}

    def at(self, index: int) -> Style:
        """Return the style of a character. Those of one text object share font and baseline."""
        found = c.FPDFText_GetTextObject(self._textpage, index)
        key = address_of(found)
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._read(found, index)._replace(source=key)
        return style

    def _read(self, found: object, index: int) -> Style:
        matrix = c.FS_MATRIX(1, 0, 0, 1, 0, 0)
        c.FPDFText_GetMatrix(self._textpage, index, matrix)
        scale = math.hypot(matrix.c, matrix.d)
        size = abs(c.FPDFText_GetFontSize(self._textpage, index)) * scale
        if size < 2 * _SMALLEST:
            # Fonts made of drawings lie about their size: how large is a character drawn?
            left, right, bottom, top = (ctypes.c_double() for _ in range(4))
            c.FPDFText_GetCharBox(self._textpage, index, left, right, bottom, top)
            size = max(size, abs(top.value - bottom.value), abs(right.value - left.value))
        turned = math.degrees(math.atan2(matrix.b, matrix.a))
        angle = round((self._rotation - turned) / 90) * 90 % 360
        drop = self._drop(index, angle)
        if not found:
            return Style(size, Face(), angle, "", drop)
        face = Face()
        if font := c.FPDFTextObj_GetFont(found):
            key = address_of(font)
            face = self._faces[key] = self._faces.get(key) or _face_of(font)
        return Style(size, face, angle, self._hidden(found, index, size), drop)

    def _drop(self, index: int, angle: int) -> float:
        """Return how far the box reaches below the baseline; boxes are cheap to ask for later."""
        box, x, y = c.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
        c.FPDFText_GetLooseCharBox(self._textpage, index, box)
        c.FPDFText_GetCharOrigin(self._textpage, index, x, y)
        if angle:
            return 0.0
        upright, inverted = y.value - box.bottom, box.top - y.value
        by_rotation = (upright, box.right - x.value, inverted, x.value - box.left)
        return float(by_rotation[self._rotation // 90])

    def _hidden(self, found: object, index: int, size: float) -> Hidden:
        mode = c.FPDFTextObj_GetTextRenderMode(found)
        if mode in (3, 7):
            return "invisible"
        if size < _SMALLEST:
            return "tiny"
        paints = []
        if mode in _STROKES:
            paints.append(self._colour(c.FPDFText_GetStrokeColor, index))
        if mode in _FILLS or not paints:
            paints.append(self._colour(c.FPDFText_GetFillColor, index))
        if all(alpha < 8 for *_, alpha in paints):
            return "transparent"
        is_white = all(min(red, green, blue) >= _WHITE for red, green, blue, _ in paints)
        return "white" if is_white else ""

    def _colour(self, ask: Callable[..., object], index: int) -> tuple[int, int, int, int]:
        red, green, blue, alpha = (ctypes.c_uint(0) for _ in range(4))
        alpha.value = 255
        ask(self._textpage, index, red, green, blue, alpha)
        return red.value, green.value, blue.value, alpha.value


def _face_of(font: object) -> Face:
    buffer = ctypes.create_string_buffer(256)
    c.FPDFFont_GetBaseFontName(font, buffer, 256)
    name = buffer.value.decode("latin-1")
    flags = max(0, c.FPDFFont_GetFlags(font))
    return Face(
        bold=bool(_BOLD.search(name)) or bool(flags & _FORCE_BOLD),
        italic=bool(_ITALIC.search(name)) or bool(flags & _ITALIC_FLAG),
        mono=bool(_MONO.search(name)) or bool(flags & _FIXED_PITCH),
    )
