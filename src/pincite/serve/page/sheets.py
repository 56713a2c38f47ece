"""Pages of a PDF: pictures with the passage boxed, and their words to be selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pincite.model.errors import PinciteError
from pincite.model.markup import plain
from pincite.model.types import Box
from pincite.search.reader import IndexReader
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.look import Look
from pincite.store.snapshot import source_file

# Lines of a passage are one box if they are this near, in heights of a line.
NEAR_LINES = 1.2
WIDTHS = (1000, 2000)  # pixels of a drawn page, and for fine screens
AROUND = 1  # pages that are sent before and behind the open one; more come as one scrolls
AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Rect:
    """A box on a page, in percent of its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class WordsOnPage:
    """A line of words and where it stands, in thousandths of the page's width."""

    text: str
    start: int  # in the document
    x: float
    y: float  # of its base
    size: float
    length: float


@dataclass(frozen=True, slots=True)
class Sheet:
    """One page: its picture, what is boxed on it, its words."""

    number: int
    label: str  # what is printed on it, if that is another number
    width: int
    height: int
    points: int  # its width as printed
    images: tuple[str, ...]
    frame: tuple[Rect, ...] = ()  # of the table whose row is boxed
    rects: tuple[Rect, ...] = ()
    short: tuple[Rect, ...] = ()
    words: tuple[WordsOnPage, ...] = ()


class Sheets:
    """The pages of one document."""

    def __init__(self, index: IndexReader, look: Look, drawing: Drawing) -> None:
        self._index, self._look, self._drawing = index, look, drawing
        self._meta = index.snapshot.meta(look.doc) or {}
        self._file: Path = source_file(self._meta, index.snapshot.folder)
        self._pages = index.snapshot.pages(look.doc)
        self._text = index.snapshot.text(look.doc)

    def __call__(self, first: int, last: int) -> list[Sheet]:
        """Return the pages from one to another; fewer where the document ends."""
        count = self.facts(max(1, first)).count
        return [self._sheet(n) for n in range(max(1, first), min(last, count) + 1)]

    def facts(self, page: int) -> Any:
        return self._drawing.facts(self._file, self._meta["sha256"], page)

    def _sheet(self, number: int) -> Sheet:
        facts, look = self.facts(number), self._look
        height = round(WIDTHS[0] * facts.height / facts.width)
        boxes = [box for box in self.boxed(look.at) if box.page == number]
        if look.rest.get("find"):
            boxes = narrowed(boxes, look.at or (0, 0))
        short = [b for at in look.short for b in narrowed(self.boxed(at), at) if b.page == number]
        frame = [box for box in self.boxed(self._table()) if box.page == number]
        address = look.alone(doc=look.doc)
        return Sheet(
            number,
            self._pages.labels.get(number, ""),
            WIDTHS[0],
            height,
            round(facts.width),
            tuple(
                address.url("/page-image", page=str(number), width=str(width)) for width in WIDTHS
            ),
            tuple(whole(rects(frame))),
            tuple(rects(boxes)),
            tuple(rect for box in short for rect in rects([box])),
            tuple(self._words(number, height)),
        )

    def boxed(self, at: tuple[int, int] | None) -> list[Box]:
        return self._index.snapshot.boxes(self._look.doc, at) if at else []

    def _table(self) -> tuple[int, int] | None:
        """Return where the table is whose row is open."""
        if not self._look.at:
            return None
        start, end = self._look.at
        around = self._index.snapshot.chunks_within(self._look.doc, start, max(end, start + 1))
        rows = [c for c in around if c.kind == "row" and c.span.start <= start <= end <= c.span.end]
        tables = [c for c in around if rows and c.id == rows[0].parent]
        return (tables[0].span.start, tables[0].span.end) if tables else None

    def _words(self, number: int, height: int) -> list[WordsOnPage]:
        """Return the words of a page, line by line as they were read."""
        starts, ends = self._pages.starts, [*self._pages.starts[1:], len(self._text)]
        stretches = zip(starts, ends, self._pages.numbers, strict=False)
        mine = [(start, end) for start, end, page in stretches if page == number]
        boxes = [box for at in mine for box in self.boxed(at) if box.page == number]
        return [
            WordsOnPage(
                words,
                box.start,
                round(WIDTHS[0] * box.x0, 1),
                round(height * (box.y1 - 0.22 * (box.y1 - box.y0)), 1),
                round(height * (box.y1 - box.y0), 1),
                round(WIDTHS[0] * (box.x1 - box.x0), 1),
            )
            for box in dict.fromkeys(boxes)
            if (words := line_words(self._text[box.start : box.end]))
        ]


def line_words(text: str) -> str:
    """Return a line of a page as it is read there: without signs of headings and cells.

    >>> line_words("| Total **revenue** | 17,606 |")
    'Total revenue 17,606'
    """
    return " ".join(plain(text).replace("|", " ").split())


def page_view(index: IndexReader, look: Look, path: str, drawing: Drawing) -> dict[str, Any]:
    """Return the pages around the open one; why not, if they cannot be drawn."""
    boxes = index.snapshot.boxes(look.doc, look.at) if look.at else []
    pages = sorted({box.page for box in boxes})
    number = look.number("page") or (pages or [1])[0]
    sheets = Sheets(index, look, drawing)
    try:
        count = sheets.facts(number).count
        shown = sheets(number - AROUND, number + AROUND)
    except PinciteError as error:
        text = look.but(rest={"view": "text"}).url(path)
        return {"page": None, "problem": error.message, "hint": error.hint, "text_url": text}

    def address(page: int) -> str:
        return look.but(rest={"view": "page", "page": str(page)}).url(path)

    return {
        "page": number,
        "count": count,
        "sheets": shown,
        "more": look.alone(doc=look.doc, at=look.at, short=look.short).url("/sheets"),
        "before": address(number - 1) if number > 1 else "",
        "after": address(number + 1) if number < count else "",
        "also": [(page, address(page)) for page in pages if page != number],
    }


def whole(some: Sequence[Rect]) -> list[Rect]:
    """Return the one box around several."""
    if not some:
        return []
    x, y = min(r.x for r in some), min(r.y for r in some)
    right, bottom = max(r.x + r.width for r in some), max(r.y + r.height for r in some)
    return [Rect(x, y, round(right - x, 2), round(bottom - y, 2))]


def narrowed(boxes: Sequence[Box], at: tuple[int, int]) -> list[Box]:
    """Return the parts of lines that some offsets take, as if all letters were of one width.

    >>> narrowed([Box(10, 20, 1, 0.1, 0.5, 0.6, 0.52)], (14, 16))
    [Box(start=14, end=16, page=1, x0=0.3, y0=0.5, x1=0.4, y1=0.52)]
    """
    found = []
    for box in boxes:
        start, end = max(box.start, at[0]), min(box.end, at[1])
        letter = (box.x1 - box.x0) / max(1, box.end - box.start)
        x0, x1 = (round(box.x0 + letter * (each - box.start), 6) for each in (start, end))
        if start < end:
            found.append(replace(box, start=start, end=end, x0=x0, x1=x1))
    return found


def rects(boxes: Sequence[Box]) -> list[Rect]:
    """Return the boxes of a passage's lines, lines below each other as one.

    >>> rects([Box(0, 5, 1, 0.1, 0.1, 0.5, 0.12), Box(5, 9, 1, 0.1, 0.12, 0.4, 0.14)])
    [Rect(x=9.4, y=9.8, width=41.2, height=4.4)]
    """
    merged: list[list[float]] = []
    for box in boxes:
        last = merged[-1] if merged else None
        line = box.y1 - box.y0
        if last and _is_below(last, box, line):
            merged[-1] = [min(last[0], box.x0), last[1], max(last[2], box.x1), max(last[3], box.y1)]
        else:
            merged.append([box.x0, box.y0, box.x1, box.y1])
    return [
        Rect(*(round(100 * share, 2) for share in (x0 - 0.006, y0 - 0.002, w, h)))
        for x0, y0, x1, y1 in merged
        for w, h in [(x1 - x0 + 0.012, y1 - y0 + 0.004)]
    ]


def _is_below(last: Sequence[float], box: Box, line: float) -> bool:
    overlap = min(last[2], box.x1) - max(last[0], box.x0)
    is_column = overlap > 0.5 * min(last[2] - last[0], box.x1 - box.x0)
    return is_column and -line <= box.y0 - last[3] <= NEAR_LINES * line
