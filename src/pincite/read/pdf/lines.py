"""Characters to words, lines and pieces of lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pincite.read.formats.blocks import Inline
from pincite.read.pdf.page import FoundTable, Word

_JOINED = 1.0  # a wider gap than this share of the size begins a new piece
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
# A footnote's mark as Markdown writes it, at the end of a line.
MARK = r"(?:\^[^\s^]{1,4}\^)"


@dataclass(slots=True)
class LinePiece:
    """Words that stand close together on a line, or a whole table."""

    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    words: list[Word] = field(default_factory=list)
    table: FoundTable | None = None

    def add(self, word: Word) -> None:
        """Let a word be the next one."""
        self.words.append(word)
        if word.x0 < self.x0:
            self.x0 = word.x0
        if word.x1 > self.x1:
            self.x1 = word.x1
        if word.size > self.size and not word.raised:
            self.y0, self.y1 = word.y0, word.y1
            self.base, self.size = word.base, word.size


@dataclass(slots=True)
class Line:
    """A line of text in reading order, with what its looks tell about it."""

    text: str
    page: int
    x0: float
    y0: float
    x1: float
    y1: float
    base: float
    size: float
    bold: bool
    italic: bool
    mono: bool
    first_width: float  # of its first word: would that have fitted on the line before?
    box: tuple[float, float, float, float]  # in shares of the page as seen
    left: float = 0.0  # the edges of its column
    right: float = 0.0
    column: int = 0
    marked: bool = False  # begins with a raised mark, as footnotes do
    turned: bool = False  # runs sideways on the page
    table: FoundTable | None = None
    continues: bool = False  # a table that goes on with the one of the page before
    repeated: int = 0  # rows of that one's head, printed again
    figure: tuple[float, float, float, float] | None = None  # box of the picture it captions
    heading: int = 0  # the level of the heading it belongs to
    heading_group: int = 0  # lines of one heading have the same
    gap: float = 0.0  # the widest between two words, in sizes
    lead: int = 0  # characters in bold at the beginning of a line that goes on otherwise
    lead_x: float = 0.0  # where those end


def pieces_of(words: Sequence[Word]) -> list[LinePiece]:
    """Return the words, in the order of the content, as pieces of lines."""
    pieces: list[LinePiece] = []
    for word in words:
        if pieces and _follows(pieces[-1], word):
            pieces[-1].add(word)
        else:
            box = word.x0, word.y0, word.x1, word.y1
            pieces.append(LinePiece(*box, word.base, word.size, [word]))
    return pieces


def _follows(piece: LinePiece, word: Word) -> bool:
    last = piece.words[-1]
    if word.glued:
        return True
    size = last.size if last.size > word.size else word.size
    if not -0.4 * size <= word.x0 - last.x1 <= _JOINED * size:
        return False
    reach = 0.5 if min(last.size, word.size) < 0.85 * size else 0.2
    return min(abs(word.base - last.base), abs(word.base - piece.base)) <= reach * size


def table_piece(table: FoundTable) -> LinePiece:
    """Return a table as something that stands on the page."""
    return LinePiece(table.x0, table.y0, table.x1, table.y1, table.y1, 10.0, table=table)


def rows_of(pieces: Sequence[LinePiece]) -> list[list[LinePiece]]:
    """Return pieces of one column as rows from top to bottom, each from left to right."""
    rows: list[list[LinePiece]] = []
    base = size = 0.0
    for piece in sorted(pieces, key=lambda p: (p.base, p.x0)):
        near = 0.3 * max(size, piece.size)
        if rows and not piece.table and not rows[-1][0].table and piece.base - base <= near:
            rows[-1].append(piece)
        else:
            rows.append([piece])
        base, size = piece.base, max(piece.size, 1.0)
    return [sorted(row, key=lambda p: p.x0) for row in rows]


def line_of(row: Sequence[LinePiece], page: int) -> Line:
    """Return a row as a line; its edges and box are still those of the row."""
    table = row[0].table
    words = [word for piece in row for word in piece.words]
    x0, x1 = min(p.x0 for p in row), max(p.x1 for p in row)
    y0, y1 = min(p.y0 for p in row), max(p.y1 for p in row)
    box = (x0, y0, x1, y1)
    if table or not words:
        return Line("", page, *box, y1, 10.0, False, False, False, x1 - x0, box, table=table)
    size, bold, italic, mono = _look(words)
    lead, lead_x = _lead(words)
    return Line(
        _text(words, size, mono=mono),
        page,
        *box,
        base=max(row, key=lambda p: len(p.words)).base,
        size=size,
        bold=bold,
        italic=italic,
        mono=mono,
        first_width=words[0].x1 - words[0].x0,
        box=box,
        marked=_is_mark(words),
        gap=max((b.x0 - a.x1 for a, b in pairwise(words)), default=0.0) / max(size, 1.0),
        lead=lead,
        lead_x=lead_x,
    )


def split_lead(line: Line, length: int) -> tuple[Line, Line]:
    """Return some of the bold words at the beginning of a line and the rest as two lines.

    The beginning of a paragraph is set as its heading in many manuals.
    """
    x0, y0, x1, y1 = line.box
    end = line.x0 + (line.lead_x - line.x0) * length / line.lead
    share = (end - line.x0) / max(line.x1 - line.x0, 0.1)
    cut = round(x0 + share * (x1 - x0), 4)
    text, box = line.text[:length].rstrip(), (x0, y0, cut, y1)
    head = replace(line, text=text, x1=end, box=box, bold=True, lead=0)
    rest = replace(line, text=line.text[length:].lstrip(), x0=end, box=(cut, y0, x1, y1), lead=0)
    return head, rest


def _lead(words: Sequence[Word]) -> tuple[int, float]:
    count = next((n for n, word in enumerate(words) if not word.bold), 0)
    if not count or any(word.glued for word in words[: count + 1]):
        return 0, 0.0
    return len(" ".join(word.text for word in words[:count])), words[count - 1].x1


def _look(words: Sequence[Word]) -> tuple[float, bool, bool, bool]:
    """Return size, bold and italic of most characters, and whether they are code."""
    looks: Counter[tuple[float, bool, bool, bool]] = Counter()
    for word in words:
        looks[word.size, word.bold, word.italic, word.mono] += len(word.text)
    if len(looks) == 1:
        size, bold, italic, mono = next(iter(looks))
        return round(size * 4) / 4, bold, italic, mono
    half = sum(looks.values()) / 2
    sizes: Counter[float] = Counter()
    for look, count in looks.items():
        sizes[round(look[0] * 4) / 4] += count
    # Small capitals are the larger part of their lines; raised marks are never a seventh.
    size = max(size for size, count in sizes.items() if count >= 0.28 * half or len(sizes) == 1)
    bold, italic = (sum(n for look, n in looks.items() if look[p]) > half for p in (1, 2))
    # A line of running text may end in code; a line of code is nothing else.
    mono = sum(n for look, n in looks.items() if not look[3]) <= 0.2 * half and words[0].mono
    return size, bold, italic, mono


def _is_mark(words: Sequence[Word]) -> bool:
    """Return whether the first word is a small raised mark before words in larger type."""
    first = words[0]
    if len(words) < 2 or len(first.text) > 3:
        return False
    return first.raised > 0 or (
        first.size < 0.85 * words[1].size and first.base < words[1].base - 0.1 * words[1].size
    )


def _text(words: Sequence[Word], size: float, *, mono: bool) -> str:
    parts: list[str] = []
    before: Word | None = None
    for word in words:
        text = word.text
        is_note = (  # the mark of a footnote behind another word
            before is not None
            and word.size < 0.8 * size
            and before.size > 0.9 * size
            and word.text.isdigit()
            and word.base < before.base - 0.15 * size
        )
        if before is None and _is_mark(words):
            text = f"^{text}^ " if words[1].glued else f"^{text}^"
        elif before is not None and (is_note or word.raised > 0):
            text = _raised(text, before.text)
        elif word.raised < 0 and text.isdecimal():
            text = text.translate(_LOWERED)
        if before is not None and not word.glued and not is_note:
            gap = (word.x0 - before.x1) / (0.6 * max(word.size, 1.0))
            parts.append(" " * min(max(1, round(gap)), 40) if mono else " ")
        parts.append(text)
        before = word
    return "".join(parts).rstrip()


def _raised(text: str, before: str) -> str:
    """Return a superscript as Markdown has it; "st" in "1st" and the A of LaTeX are letters."""
    if text.isalpha() and (len(text) > 1 or text.isupper()):
        return text
    words = Inline()
    words.add(before)
    words.raised(text)
    return words.text(plain=True)[len(before) :]


_WORD = re.compile(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*")
_HEAD = re.compile(r"(?P<whole>(?:[^\W\d_]+-)*(?P<head>[^\W\d_]+))[-‐\u00ad]$")
_ADDRESS = re.compile(r"(?:https?:/|www\.|ftp:/)\S*[/_.=&?%-]$")
# Between these no space was broken: "2018–" / "23", "words—" / "words", "and/" / "or".
_DASH = re.compile(r"\S[–—@]$|\d-$|\S[%/]-$|/$")
_LOOKED_AT = 200  # characters on both sides of the break
HYPHENS = ("-", "‐", "\u00ad")


class Joiner:
    """Joins lines with the words of the whole document at hand."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()  # those that stand whole within a line
        is_broken = False
        for line in lines:
            words = _WORD.findall(line.text.casefold())
            first = 1 if is_broken else 0
            is_broken = line.text.endswith(HYPHENS)
            self._words.update(words[first : len(words) - is_broken])

    def join(self, before: str, after: str) -> tuple[int, str]:
        """Return how many characters to drop from the first line, and what to put between.

        A hyphen at the end of a line goes if the joined word occurs elsewhere, stays if the word
        with its hyphen does or if both halves are words of their own, and goes otherwise.
        """
        before = before[-_LOOKED_AT:]
        head = _HEAD.search(before) if before.endswith(HYPHENS) else None
        tail = _WORD.match(after[:_LOOKED_AT])
        if head and tail and tail.group()[0].islower():
            return self._hyphen(before, head, tail.group())
        if before.endswith("\u00ad"):
            return 1, ""
        if head or _DASH.search(before) or _ADDRESS.search(before):
            return 0, ""
        return 0, " "

    def _hyphen(self, before: str, head: re.Match[str], tail: str) -> tuple[int, str]:
        left, right = head["whole"].casefold(), tail.casefold()
        if before.endswith("\u00ad") or left + right in self._words:
            return 1, ""
        is_compound = f"{left}-{right}" in self._words or (
            len(right) > 2 and head["head"].casefold() in self._words and right in self._words
        )
        return (0, "") if is_compound else (1, "")
