"""The canonical text of a PDF, with its blocks, pages and boxes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from pincite.model.types import Box, Pages
from pincite.read.extracted import Block, BlockKind
from pincite.read.formats.blocks import TableText, pipe_table
from pincite.read.pdf.headings import without_leader
from pincite.read.pdf.lines import MARK, Joiner, Line
from pincite.read.pdf.paragraphs import BULLET, Paragraph

_NUMBERED = re.compile(r"[0-9]{1,9}[.)] ")
_MARKUP = re.compile(r"#{1,6} |[|>] ?|```")
_FOOTNOTE_MARK = re.compile(rf"(?<=\w){MARK}+$")
_HEAD_LINES = 2  # of a pipe table: the names and the rule below
_LETTER_WIDTH = 0.55  # of the size, in typewriter faces
LineBox = tuple[float, float, float, float]


def _row_box(line: Line, first: int, end: int) -> LineBox:
    """Return the box of some rows of a table in shares of the page; of all where it has no rows."""
    table, (x0, y0, x1, y1) = line.table, line.box
    if not table or not table.bands or first == end:
        return line.box
    share = (y1 - y0) / max(table.y1 - table.y0, 1.0)
    top, bottom = table.bands[first][0] - table.y0, table.bands[end - 1][1] - table.y0
    return x0, y0 + share * top, x1, y0 + share * bottom


class ParagraphWriter:
    """Writes paragraphs one after the other and remembers where each line came to stand."""

    def __init__(self, joiner: Joiner) -> None:
        self.blocks: list[Block] = []
        self.boxes: list[Box] = []
        self._joiner = joiner
        self._parts: list[str] = []
        self._length = 0
        self._starts: list[int] = []  # where another page begins in the text
        self._numbers: list[int] = []  # and which that is
        self._block = 0  # where the current block began

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self._parts) + ("\n" if self._parts else "")

    def pages(self, labels: Mapping[int, str]) -> Pages:
        """Return where pages begin in the text, with what is printed on them."""
        return Pages([0, *self._starts[1:]], self._numbers, labels) if self._starts else Pages()

    def add(self, paragraph: Paragraph) -> None:
        """Write one paragraph as the block it is."""
        lines = paragraph.lines
        if paragraph.kind == "table":
            self._table(lines)
        elif paragraph.kind == "code":
            self._code(lines)
        elif paragraph.kind == "contents":
            # Their numbers are labels of other places, so nobody must look for items in them.
            start = self._begin("code")
            for place, line in enumerate(lines):
                self._put("\n" if place else "")
                self._put_line(line, without_leader(line.text))
            self._end("code", start)
        elif paragraph.kind == "heading":
            level = min(paragraph.level, 6)
            lines[-1].text = _FOOTNOTE_MARK.sub("", lines[-1].text)
            self._running("heading", "#" * level + " ", lines, level=level)
        elif bullet := BULLET.match(lines[0].text):
            self._running("list", "- ", lines, skip=bullet.end())
        elif _NUMBERED.match(lines[0].text):
            self._running("list", "", lines)
        else:
            self._running("paragraph", "\\" if _MARKUP.match(lines[0].text) else "", lines)

    def _running(
        self, kind: BlockKind, lead: str, lines: Sequence[Line], *, skip: int = 0, level: int = 0
    ) -> None:
        """Write lines as running text."""
        texts = [" ".join(line.text.split()) if line.mono else line.text for line in lines]
        texts[0] = texts[0][skip:].lstrip()
        joins = [self._joiner.join(a, b) if a else (0, "") for a, b in pairwise(texts)]
        start = self._begin(kind)
        self._put(lead)
        for line, text, (drop, between) in zip(lines, texts, [*joins, (0, "")], strict=True):
            self._put_line(line, text[: len(text) - drop])
            self._put(between)
        self._end(kind, start, level)

    def _code(self, lines: Sequence[Line]) -> None:
        start = self._begin("code")
        self._put("```\n")
        left = min(line.x0 for line in lines)
        for line in lines:
            indent = round((line.x0 - left) / (_LETTER_WIDTH * max(line.size, 1.0)))
            self._put(" " * min(indent, 60))
            self._put_line(line, line.text.replace("```", "'''"))
            self._put("\n")
        self._put("```")
        self._end("code", start)

    def _table(self, lines: Sequence[Line]) -> None:
        """Write a table, which may go on over pages: each of them has a box for its rows."""
        tables = [(line, line.table) for line in lines if line.table]
        first = tables[0][1]
        head = list(map(list, first.rows[: first.header_rows]))
        rows = [
            (line, number)
            for line, table in tables
            for number in range(line.repeated if line.continues else len(head), len(table.rows))
        ]
        held = [(line.table, number) for line, number in rows if line.table]
        body = [list(table.rows[number]) for table, number in held]
        indents = [table.indents[number] if table.indents else 0 for table, number in held]
        texts = pipe_table(TableText(head, body, indents=indents)).split("\n")
        start = self._begin("table")
        self._put_line(
            tables[0][0], "\n".join(texts[:_HEAD_LINES]), _row_box(tables[0][0], 0, len(head))
        )
        for (line, number), text in zip(rows, texts[_HEAD_LINES:], strict=True):
            self._put("\n")
            self._put_line(line, text, _row_box(line, number, number + 1))
        self._end("table", start)

    def _begin(self, kind: BlockKind) -> int:
        if self.blocks:
            goes_on = kind == "list" and self.blocks[-1].kind == "list"
            self._put("\n" if goes_on else "\n\n")
        self._block = self._length
        return self._length

    def _end(self, kind: BlockKind, start: int, level: int = 0) -> None:
        if kind == "list" and self.blocks and self.blocks[-1].kind == "list":
            start = self.blocks.pop().start
        self.blocks.append(Block(kind, start, self._length, level))

    def _put_line(self, line: Line, text: str, box: LineBox | None = None) -> None:
        if self._numbers[-1:] != [line.page]:
            is_first = not self.boxes or self.boxes[-1].start < self._block
            self._starts.append(self._block if is_first else self._length)
            self._numbers.append(line.page)
        for each in (box or line.box, line.figure):
            if each:
                self.boxes.append(Box(self._length, self._length + len(text), line.page, *each))
        self._put(text)

    def _put(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
