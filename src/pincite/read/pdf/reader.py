"""PDF to canonical text with pages and boxes."""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise, takewhile
from statistics import median
from typing import Any

import pypdfium2 as pdfium

from pincite.model.errors import SourceError, require
from pincite.model.locators import HEADING_RANK, TABLE_WORD, heading_label
from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText, spared
from pincite.read.formats.blocks import TITLE_CHARS, titled
from pincite.read.pdf.characters import MAX_CHARACTERS, Frame, frame_of, words_of
from pincite.read.pdf.figures import mark_figures
from pincite.read.pdf.headings import (
    BookmarkTarget,
    contents_span,
    mark_bookmarked,
    named_words,
    styles_of,
)
from pincite.read.pdf.hidden import hidden_finding, visible_words
from pincite.read.pdf.layout import furniture_of, page_lines, without_furniture
from pincite.read.pdf.lines import Joiner, Line
from pincite.read.pdf.page import (
    Bookmark,
    FoundTable,
    Word,
    bookmarks_of,
    load_page,
    open_pdf,
    stated_title,
)
from pincite.read.pdf.page_numbers import page_labels, printed_numbers
from pincite.read.pdf.paragraphs import (
    Paragraph,
    Paragraphs,
    mark_typographic,
    measure,
    set_edges,
    settle_footnotes,
    with_titles,
)
from pincite.read.pdf.tables.find import find_tables
from pincite.read.pdf.tables.geometry import is_number
from pincite.read.pdf.write import ParagraphWriter
from pincite.read.structure.sections import with_sections

# Dots per inch to render at: small print needs 150, and more costs time without better words.
DPI = 150
# Below this the recogniser is guessing.
MIN_SCORE = 0.5


def is_available() -> bool:
    """Return whether the extra is installed."""
    return find_spec("rapidocr") is not None


def recognised_words(page: pdfium.PdfPage) -> list[Word]:
    """Return the words of a page's picture with their places, as sure as the recogniser is."""
    scale = DPI / 72
    picture = page.render(scale=scale).to_numpy()
    result = _engine()(picture)
    words: list[Word] = []
    if result.txts is None:
        return words
    lines = [
        (str(text), box / scale)
        for text, box, score in zip(result.txts, result.boxes, result.scores, strict=True)
        if score >= MIN_SCORE
    ]
    usual = median(float(box[:, 1].max() - box[:, 1].min()) for _, box in lines) if lines else 0.0
    for text, box in lines:
        words += _words(text, box, usual)
    return words


def _words(text: str, box: Any, usual: float) -> list[Word]:
    """Return the words of a recognised line; each gets its share of the line's width."""
    x0, y0 = (float(value) for value in box.min(axis=0))
    x1, y1 = (float(value) for value in box.max(axis=0))
    step = (x1 - x0) / max(1, len(text))
    # The height of a line depends on its letters: only a clear difference is another size.
    height = usual if 0.7 * usual <= y1 - y0 <= 1.4 * usual else y1 - y0
    words, at = [], 0
    for part in text.split():
        at = text.index(part, at)
        left, right = x0 + at * step, x0 + (at + len(part)) * step
        words.append(Word(part, left, y0, right, y1, size=height * 0.8, base=y1))
        at += len(part)
    return words


@lru_cache(maxsize=1)
def _engine() -> Any:
    engine = require("rapidocr", extra="ocr").RapidOCR()
    logging.getLogger("RapidOCR").setLevel(logging.WARNING)
    return engine


_FOOT, _HEAD = 0.6, 0.25  # shares of the page: where the one must end and the other begin
_NEAR = 4.0  # points that the edges of one column may differ from page to page
_SMALL = 0.93  # of the body's size: footnotes
_LONGEST_CAPTION = 4  # lines: company, title, units, period
_CONTINUED = (
    r"\(?\b(?:continued|continues|cont(?:inue)?[’']d|cont\.|suite|segue|continua|fortsetzung)"
)
_AT_END = re.compile(rf"{_CONTINUED}(?: (?:on|from) [\w ]{{1,30}})?[).: ]*$", re.IGNORECASE)
_AFTER_NUMBER = re.compile(rf"{TABLE_WORD} \S{{1,12}}[ ,:—–-]*{_CONTINUED}", re.I)
_NUMBER = re.compile(rf"{TABLE_WORD} ([\w.–-]*\w)", re.IGNORECASE)
_NOT_WORDS = re.compile(r"[\W_]+")

Row = Sequence[str]


def mark_continued(pages: Sequence[list[Line]], body: float) -> None:
    """Mark tables that go on with the last one of the page before; their captions are dropped.

    Only tables with the same columns are joined, at the foot of one page and at the head of the
    next, with nothing between but footnotes and words that say "continued".
    """
    head: Sequence[Row] = ()  # of the table that is open
    above: list[str] = []  # what stands on its first page before it
    for before, after in pairwise(pages):
        last = next((line for line in reversed(before) if line.table), None)
        first = next((place for place, line in enumerate(after) if line.table), None)
        if last is None or last.table is None or first is None:
            continue
        if not last.continues:
            head = last.table.rows[: max(1, last.table.header_rows)]
            above = [line.text for line in before[: before.index(last)]]
        again = {line.text for line in after[first + 1 :]}
        rest = _between_pages(before, last, again)
        is_alone = _is_noted(rest, body) and _is_same_caption(after[:first], above)
        if is_alone and _goes_on(last, after[first], head):
            table = after[first].table
            after[first].continues = True
            after[first].repeated = _repeated(head, table.rows if table else ())
            del after[:first]
            before[before.index(last) + 1 :] = rest


def _between_pages(before: Sequence[Line], last: Line, again: set[str]) -> list[Line]:
    """Return the lines below a table that say more than that it goes on.

    What stands below its end once more, "See accompanying notes", is no text between.
    """
    rest = before[before.index(last) + 1 :]
    return [line for line in rest if line.text not in again and not _AT_END.search(line.text)]


def _is_noted(rest: Sequence[Line], body: float) -> bool:
    """Return whether lines below a table are footnotes."""
    return all(line.size < _SMALL * body for line in rest) and (not rest or rest[0].marked)


def _is_same_caption(caption: Sequence[Line], above: Sequence[str]) -> bool:
    """Return whether the lines above a table only say that the one before it goes on.

    They do if they say so, or are the very lines above that one: a title printed again.
    """
    if not caption:
        return True
    texts = [line.text for line in caption]
    words = " ".join(texts)
    if len(caption) > _LONGEST_CAPTION:
        return False
    if texts == above[-len(texts) :]:
        return True
    if any(line.heading for line in caption):
        return False
    if not (_AT_END.search(words) or _AFTER_NUMBER.match(words)):
        return False
    number = _NUMBER.match(words)
    earlier = [found for text in above if (found := _NUMBER.match(text))]
    return not number or not earlier or earlier[-1][1] == number[1]


def _goes_on(last: Line, line: Line, head: Sequence[Row]) -> bool:
    one, other = last.table, line.table
    if one is None or other is None or last.turned or line.turned:
        return False
    if line.page != last.page + 1 or last.box[3] < _FOOT or line.box[1] > _HEAD:
        return False
    if not one.rows or not other.rows or len(one.rows[0]) != len(other.rows[0]):
        return False
    if not _same_columns(one, other) or _has_same_rows(one, other):
        return False
    return bool(_repeated(head, other.rows)) or _begins_with_data(one, other)


def _has_same_rows(one: FoundTable, other: FoundTable) -> bool:
    """Return whether rows of the same names come again: the same table of another time."""
    first, second = ({row[0] for row in table.rows[1:] if row[0]} for table in (one, other))
    return len(first & second) > 0.5 * min(len(first), len(second))


def _same_columns(one: FoundTable, other: FoundTable) -> bool:
    """Return whether the columns stand alike, seen from the left edge of each table."""
    if not one.columns or len(one.columns) != len(other.columns):
        return False
    shift = other.columns[0][0] - one.columns[0][0]
    # Left and right pages of a book have different margins, but then the tables are as wide.
    if abs(shift) > _NEAR and abs(other.columns[-1][1] - one.columns[-1][1] - shift) > _NEAR:
        return False
    for (a0, a1), (b0, b1) in zip(one.columns, other.columns, strict=True):
        starts, ends = abs(b0 - a0 - shift), abs(b1 - a1 - shift)
        middles = abs((b0 + b1) / 2 - (a0 + a1) / 2 - shift)
        if min(starts, ends, middles) > _NEAR:
            return False
    return True


def _repeated(head: Sequence[Row], rows: Sequence[Row]) -> int:
    """Return how many rows of the head stand at the beginning of these rows: all or none."""
    pairs = zip(head, rows, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: _bare(pair[0]) == _bare(pair[1]), pairs))
    return same if same == len(head) < len(rows) and any(map(any, head)) else 0


def _bare(row: Row) -> list[str]:
    return [_NOT_WORDS.sub("", _AT_END.sub("", cell)).casefold() for cell in row]


def _begins_with_data(one: FoundTable, other: FoundTable) -> bool:
    """Return whether the first row of a table without the other's head is no head of its own."""
    first = other.rows[0]
    if len(set(first)) == 1:  # a title over all columns
        return False
    is_ruled = all(abs(a[1] - b[0]) < 0.1 for a, b in pairwise(other.columns))
    if not is_ruled and other.header_rows:
        return False
    return not any(
        cell and not is_number(cell) and _is_numeric([row[column] for row in other.rows[1:]])
        for column, cell in enumerate(first)
        if column and _is_numeric([row[column] for row in one.rows[one.header_rows :]])
    )


def _is_numeric(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and sum(map(is_number, filled)) >= 0.6 * len(filled)


_MANY_BOOKMARKS = 5  # of headings with a number
_FEW_CHARACTERS = 25  # on a scanned page: a page number or a stamp, not its text


@dataclass(slots=True)
class _PdfRead:
    """What was read of the document so far."""

    pages: list[list[Line]] = field(default_factory=list)
    frames: list[Frame | None] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)  # what the file calls its pages
    labels: dict[int, str] = field(default_factory=dict)  # what they are called
    furniture: str = ""  # a line each of what repeats on pages and was left out
    findings: list[ReaderWarning] = field(default_factory=list)


def read(data: bytes, name: str) -> ExtractedText:
    """Return the document in a PDF's bytes; SourceError if it has no text that can be read."""
    document = open_pdf(data, name)
    try:
        findings: list[ReaderWarning] = []
        bookmarks: Sequence[Bookmark] = ()
        with spared("bookmarks", findings):
            bookmarks = bookmarks_of(document)
        title = stated_title(document)
        pages = _read_pages(document, bookmarks)
        pages.findings += findings
        with spared("the names of pages", pages.findings):
            pages.stated = [document.get_page_label(index) for index in range(len(document))]
    finally:
        document.close()
    if not any(pages.pages):
        raise _no_text(name, pages)
    paragraphs = _paragraphs(pages, bookmarks)
    writer = ParagraphWriter(Joiner(line for lines in pages.pages for line in lines))
    for paragraph in paragraphs:
        with spared("a paragraph or table", pages.findings, paragraph.lines[0].page):
            writer.add(paragraph)
    early = [p for p in paragraphs[:12] if p.kind == "heading" and p.lines[0].page <= 2]
    largest = max(early, key=lambda p: p.lines[0].size).text if early else ""
    title = " ".join(titled(name, title, largest).split())
    blocks = writer.blocks
    with spared("numbered sections", pages.findings):
        blocks = with_sections(writer.text, blocks, is_told=_is_told(paragraphs))
    return ExtractedText(
        writer.text,
        title[:TITLE_CHARS],
        blocks,
        writer.pages(pages.labels),
        writer.boxes,
        _one_scan(pages.findings, len(pages.pages)),
        {"furniture": pages.furniture} if pages.furniture else {},
    )


def _is_told(paragraphs: Sequence[Paragraph]) -> bool:
    """Tell whether bookmarks name the numbered headings of the document."""
    named = [p for p in paragraphs if p.kind == "heading" and p.lines[-1].heading_group]
    return sum(heading_label(p.text).scheme in HEADING_RANK for p in named) >= _MANY_BOOKMARKS


def _no_text(name: str, pages: _PdfRead) -> SourceError:
    kinds = Counter(finding.kind for finding in pages.findings)
    count = "page 1" if len(pages.pages) == 1 else f"pages 1–{len(pages.pages)}"
    if kinds["reader_failed"]:
        told = next(each.message for each in pages.findings if each.kind == "reader_failed")
        return SourceError(f"{name} has no text", hint=told)
    if kinds["bad_page"] == len(pages.pages):
        return SourceError(
            f"{name} is damaged: {count} cannot be read",
            hint="open it in a viewer and save it again",
        )
    if kinds["hidden_text"] and not kinds["scanned_page"]:
        return SourceError(
            f"{name} has no text that a reader could see: {pages.findings[0].message}",
            hint="print it to a new PDF if its text should be searched",
        )
    what = "scanned" if kinds["scanned_page"] else "empty, or drawn without letters"
    return SourceError(
        f"{name} has no text: {count} {what}",
        hint='read pictures of text with the ocr extra: pip install "pincite[ocr]"',
    )


def _read_pages(document: pdfium.PdfDocument, bookmarks: Sequence[Bookmark]) -> _PdfRead:
    read = _PdfRead()
    titles: defaultdict[int, list[str]] = defaultdict(list)
    for bookmark in bookmarks:
        titles[bookmark.page].append(bookmark.title)
    for index in range(len(document)):
        lines: list[Line] = []
        frame = None
        try:
            page = load_page(document, index)
        except pdfium.PdfiumError as error:
            message = f"page {index + 1} cannot be read: {error}"
            read.findings.append(ReaderWarning("bad_page", message, index + 1))
        else:
            frame = frame_of(page)
            with spared(f"page {index + 1}", read.findings, index + 1):
                lines = _read_page(page, frame, index + 1, titles[index], read.findings)
            page.close()
        read.pages.append(lines)
        read.frames.append(frame)
    return read


def _read_page(
    page: pdfium.PdfPage,
    frame: Frame,
    number: int,
    titles: Sequence[str],
    findings: list[ReaderWarning],
) -> list[Line]:
    textpage = page.get_textpage()
    characters = words_of(textpage, frame)
    textpage.close()
    words, unseen, is_scan = visible_words(page, characters, frame)
    if is_scan and sum(len(word.text) for word in words) < _FEW_CHARACTERS:
        words, told = _of_picture(page, number, words)
        findings.append(told)
    if finding := hidden_finding(unseen, number):
        findings.append(finding)
    if left_out := characters.left_out:
        message = f"page {number} has {left_out:,} characters more than {MAX_CHARACTERS:,}"
        findings.append(ReaderWarning("skipped_content", message, number))
    named, tables = set[Word](), list[FoundTable]()
    with spared(f"tables of page {number}", findings, number):
        named = named_words(words, titles)
        outside = [word for word in words if word not in named] if named else words
        tables = find_tables(page, outside)
    if tables:
        free = (w for w in words if w in named or not any(t.holds(*w.middle) for t in tables))
        words = list(free)
    lines = page_lines(words, tables, page=number, width=frame.width, height=frame.height)
    with spared(f"figures of page {number}", findings, number):
        mark_figures(page, frame, lines)
    return lines


def _of_picture(
    page: pdfium.PdfPage, number: int, words: list[Word]
) -> tuple[list[Word], ReaderWarning]:
    """Return a scanned page's words by OCR where that is installed, and what to tell the user."""
    if is_available():
        words = recognised_words(page)
    return words, ReaderWarning("scanned_page", f"page {number} is a picture", number)


def _one_scan(findings: Sequence[ReaderWarning], count: int) -> list[ReaderWarning]:
    """Return the findings with one for all scanned pages: what to do about them is said once."""
    scans = [each for each in findings if each.kind == "scanned_page"]
    if not scans:
        return list(findings)
    told = f"{len(scans)} of {count} pages are pictures"
    if is_available():
        told += ", read by OCR: check what they say"
    else:
        told += ' and were not read; pip install "pincite[ocr]" and ingest with --rebuild'
    rest = [each for each in findings if each.kind != "scanned_page"]
    return [ReaderWarning("scanned_page", told, scans[0].page), *rest]


def _paragraphs(read: _PdfRead, bookmarks: Sequence[Bookmark]) -> list[Paragraph]:
    """Return the paragraphs of the document, headings among them."""
    targets: defaultdict[int, list[BookmarkTarget]] = defaultdict(list)
    for bookmark in bookmarks:
        frame = read.frames[bookmark.page]
        y = None
        if frame and bookmark.y is not None and frame.rotation == 0:
            y = min(max(frame.place(0.0, bookmark.y)[1] / frame.height, 0.0), 1.0)
        targets[bookmark.page].append(BookmarkTarget(bookmark.title, bookmark.level, y))
    with spared("headings that bookmarks name", read.findings):
        mark_bookmarked(read.pages, targets)
    with spared("heads and feet of pages", read.findings):
        printed, numbers = printed_numbers(read.pages)
        read.labels = page_labels(printed, read.stated)
        whole, read.pages = read.pages, without_furniture(read.pages, numbers)
        read.furniture = furniture_of(whole, read.pages)
    pages = read.pages
    usual = measure(pages)
    with spared("tables over several pages", read.findings):
        mark_continued(pages, usual.body)
    grouped = Paragraphs(usual)
    contents = range(0)
    for lines in pages:
        set_edges(lines)
        goes_on, contents = bool(contents), range(0)
        with spared("a table of contents", read.findings):
            contents = contents_span(lines, goes_on=goes_on)
        grouped.add_page(lines, contents)
    with spared("headings told by their looks", read.findings):
        mark_typographic(grouped.found, usual, styles_of(pages))
    found = with_titles(grouped.found)
    with spared("footnotes", read.findings):
        return settle_footnotes(found, grouped.small)
    return found
