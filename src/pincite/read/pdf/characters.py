"""Characters of a page with their places and styles."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import pypdfium2 as pdfium
import pypdfium2.raw as c

from pincite.read.pdf.page import Word

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


class PdfStyles:
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


MAX_CHARACTERS = 200_000  # of one page; a page of small print has 10,000

# pdfium writes U+FFFE (U+0002 when asked one by one) for a hyphen at the end of a line and lets
# the next line follow at once.
_HYPHEN = "\ufffe\x02"
_WORD = re.compile(rf"[^\s\x00{_HYPHEN}]+[{_HYPHEN}]?|[{_HYPHEN}]")
_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_NOTHING = ("\u200b", "\ufeff", "\x7f", *map(chr, range(32)))
_PLAIN = str.maketrans(
    _LIGATURES | {"\u00a0": " "} | dict.fromkeys(_NOTHING, "") | dict.fromkeys(_HYPHEN, "-")
)

Place = Callable[[float, float], tuple[float, float]]


class Unseen(NamedTuple):
    """A word that readers may not see, and why."""

    word: Word
    why: Hidden
    position: int  # among the words: where it would stand, or stands
    source: int = 0  # the address of its text object


@dataclass(frozen=True, slots=True)
class Frame:
    """The page's size as seen and how points of the file are placed in it."""

    width: float
    height: float
    rotation: int
    place: Place


def frame_of(page: pdfium.PdfPage) -> Frame:
    """Return the visible frame of a page, with its rotation."""
    box = c.FS_RECTF()
    if not c.FPDF_GetPageBoundingBox(page.raw, box):
        box = c.FS_RECTF(0.0, 792.0, 612.0, 0.0)
    left, right = sorted((box.left, box.right))
    bottom, top = sorted((box.bottom, box.top))
    rotation = c.FPDFPage_GetRotation(page.raw) % 4
    places: tuple[Place, ...] = (
        lambda x, y: (x - left, top - y),
        lambda x, y: (y - bottom, x - left),
        lambda x, y: (right - x, y - bottom),
        lambda x, y: (top - y, right - x),
    )
    width, height = right - left, top - bottom
    if rotation % 2:
        width, height = height, width
    return Frame(max(width, 1.0), max(height, 1.0), rotation * 90, places[rotation])


@dataclass(frozen=True, slots=True)
class Characters:
    """The words of a page in the order of its content, and what was left out."""

    words: list[Word]
    sources: list[int]  # the address of each word's text object
    unseen: list[Unseen]
    left_out: int  # characters beyond the limit


def words_of(textpage: pdfium.PdfTextPage, frame: Frame) -> Characters:
    """Return the page's words, those that can be seen apart from those that cannot."""
    raw = textpage.raw
    count = max(0, c.FPDFText_CountChars(raw))
    kept = min(count, MAX_CHARACTERS)
    reader = _CharacterReader(raw, frame)
    for match in _WORD.finditer(_text(raw, kept)):
        reader.add(match.group(), match.start())
    return Characters(reader.words, reader.sources, reader.unseen, count - kept)


def _text(raw: object, count: int) -> str:
    """Return one code point for each of pdfium's characters."""
    buffer = (ctypes.c_ushort * (count + 1))()
    written = c.FPDFText_GetText(raw, 0, count, buffer)
    text = bytes(buffer)[: 2 * count].decode("utf-16-le", "replace")
    # Characters without a code or beyond U+FFFF shift the bulk answer against the indices.
    if written - 1 == count == len(text) and "\ufffd" not in text:
        return text
    codes = (c.FPDFText_GetUnicode(raw, index) for index in range(count))
    return "".join(chr(code) if 0 < code < 0xD800 or code > 0xDFFF else "\0" for code in codes)


Span = tuple[float, float, float, float]


class _CharacterReader:
    """Makes words of the characters of one page. This is the reader's innermost loop."""

    def __init__(self, raw: object, frame: Frame) -> None:
        self.words: list[Word] = []
        self.sources: list[int] = []
        self.unseen: list[Unseen] = []
        self._raw = raw
        self._frame = frame
        self._place = frame.place
        self._styles = PdfStyles(raw, frame.rotation)
        self._box = c.FS_RECTF()

    def add(self, text: str, start: int) -> None:
        """Take a word, in pieces where a part of it is raised or lowered."""
        x0, top, x1, bottom = self._span(start)
        style = self._styles.at(start)
        if style.angle:
            return self._add_turned(text, start, style)
        base = bottom - style.drop
        if len(text) > 1:
            end = start + len(text) - 1
            left, last_top, right, last_bottom = self._span(end)
            if last_top != top or last_bottom != bottom:
                last_style = self._styles.at(end)
                is_level = abs(last_bottom - last_style.drop - base) < 0.08 * style.size
                if not is_level or last_style.hidden != style.hidden:
                    return self._add_mixed(text, start)
            x0, x1 = x0 if x0 <= left else left, x1 if x1 >= right else right
        self._add_upright(text, (x0, x1), base, style)

    def _span(self, index: int) -> Span:
        """Return a character's advance box as seen."""
        box = self._box
        c.FPDFText_GetLooseCharBox(self._raw, index, box)
        x0, y0 = self._place(box.left, box.top)
        x1, y1 = self._place(box.right, box.bottom)
        if x0 <= x1 and y0 <= y1:
            return x0, y0, x1, y1
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)

    def _add_upright(
        self, text: str, sides: tuple[float, float], base: float, style: Style, raised: int = 0
    ) -> None:
        size, (bold, italic, mono) = style.size, style.face
        if not text.isascii() or "\x02" in text:
            text = text.translate(_PLAIN)
        # Fonts lie about ascent and descent; these shares of the size fit nearly all of them.
        y0, y1 = base - 0.78 * size, base + 0.22 * size
        x0, x1 = sides
        self._take(Word(text, x0, y0, x1, y1, size, bold, italic, mono, base, 0, raised), style)

    def _add_turned(self, text: str, start: int, style: Style) -> None:
        spans = [self._span(start + offset) for offset in range(len(text))]
        left, tops, right, bottoms = zip(*spans, strict=True)
        box, look = (min(left), min(tops), max(right), max(bottoms)), (style.size, *style.face)
        text = text.translate(_PLAIN)
        self._take(Word(text, *box, *look, base=box[3], angle=style.angle), style)

    def _add_mixed(self, text: str, start: int) -> None:
        """Take the pieces of a word whose characters do not all stand on one line."""
        pieces: list[tuple[str, float, float, float, Style]] = []
        for offset, character in enumerate(text):
            index = start + offset
            x0, _, x1, bottom = self._span(index)
            style = self._styles.at(index)
            base = bottom - style.drop
            if pieces:
                before, left, right, line, look = pieces[-1]
                if abs(line - base) < 0.08 * look.size and style.hidden == look.hidden:
                    bigger = look if look.size >= style.size else style
                    sides = (min(left, x0), max(right, x1))
                    pieces[-1] = (before + character, *sides, line, bigger)
                    continue
            pieces.append((character, x0, x1, base, style))
        body = max(pieces, key=lambda piece: piece[4].size)
        for position, (piece, x0, x1, base, style) in enumerate(pieces):
            raised = 0 if style.size >= 0.9 * body[4].size else 1 if base < body[3] else -1
            count = len(self.words)
            self._add_upright(piece, (x0, x1), base, style, raised)
            if position and len(self.words) > count:
                self.words[-1] = self.words[-1]._replace(glued=True)

    def _take(self, word: Word, style: Style) -> None:
        if not word.text:
            return
        width, height = self._frame.width, self._frame.height
        is_inside = word.x1 >= 0 and word.x0 <= width and word.y1 >= 0 and word.y0 <= height
        if is_inside and not style.hidden:
            self.words.append(word)
            self.sources.append(style.source)
        else:
            why = style.hidden if is_inside else "off page"
            self.unseen.append(Unseen(word, why, len(self.words), style.source))
