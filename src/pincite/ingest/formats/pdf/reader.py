"""The PDF reader: pages to lines, lines to paragraphs and headings, those to canonical text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import pypdfium2 as pdfium

from pincite.core.errors import SourceError
from pincite.ingest.formats.canonical import TITLE_CHARS, titled
from pincite.ingest.formats.pdf.characters import MOST_CHARACTERS, Frame, frame_of, words_of
from pincite.ingest.formats.pdf.contents import contents_span
from pincite.ingest.formats.pdf.continued import mark_continued
from pincite.ingest.formats.pdf.footnotes import settle_footnotes
from pincite.ingest.formats.pdf.furniture import without_furniture
from pincite.ingest.formats.pdf.headings import (
    Target,
    mark_bookmarked,
    named_words,
    styles_of,
)
from pincite.ingest.formats.pdf.hidden import hidden_finding, visible_words
from pincite.ingest.formats.pdf.hyphens import Joiner
from pincite.ingest.formats.pdf.layout import page_lines
from pincite.ingest.formats.pdf.lines import Line
from pincite.ingest.formats.pdf.ocr import is_available, recognised_words
from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf.paragraphs import Paragraph, Paragraphs, measure, set_edges
from pincite.ingest.formats.pdf.source import (
    Bookmark,
    bookmarks_of,
    load_page,
    open_pdf,
    stated_title,
)
from pincite.ingest.formats.pdf.typography import mark_typographic
from pincite.ingest.formats.pdf.write import Writer
from pincite.ingest.formats.pdf_tables import find_tables
from pincite.ingest.parsed import Finding, Parsed

_FEW_CHARACTERS = 25  # on a scanned page: a page number or a stamp, not its text


@dataclass(slots=True)
class _Read:
    """What was read of the document so far."""

    pages: list[list[Line]] = field(default_factory=list)
    frames: list[Frame | None] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def read(data: bytes, name: str) -> Parsed:
    """Return the document in a PDF's bytes; SourceError if it has no text that can be read."""
    document = open_pdf(data, name)
    try:
        bookmarks = bookmarks_of(document)
        title = stated_title(document)
        pages = _read_pages(document, bookmarks)
    finally:
        document.close()
    if not any(pages.pages):
        raise _no_text(name, pages)
    paragraphs = _paragraphs(pages, bookmarks)
    writer = Writer(Joiner(line for lines in pages.pages for line in lines))
    for paragraph in paragraphs:
        writer.add(paragraph)
    early = [p for p in paragraphs[:12] if p.kind == "heading" and p.lines[0].page <= 2]
    largest = max(early, key=lambda p: p.lines[0].size).text if early else ""
    title = " ".join(titled(name, title, largest).split())
    return Parsed(
        writer.text,
        title[:TITLE_CHARS],
        writer.blocks,
        writer.pages(len(pages.pages)),
        writer.boxes,
        pages.findings,
    )


def _no_text(name: str, pages: _Read) -> SourceError:
    kinds = Counter(finding.kind for finding in pages.findings)
    count = "page 1" if len(pages.pages) == 1 else f"pages 1–{len(pages.pages)}"
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


def _read_pages(document: pdfium.PdfDocument, bookmarks: Sequence[Bookmark]) -> _Read:
    read = _Read()
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
            read.findings.append(Finding("bad_page", message, index + 1))
        else:
            frame = frame_of(page)
            lines = _read_page(page, frame, index + 1, titles[index], read.findings)
            page.close()
        read.pages.append(lines)
        read.frames.append(frame)
    return read


def _read_page(
    page: pdfium.PdfPage, frame: Frame, number: int, titles: Sequence[str], findings: list[Finding]
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
        message = f"page {number} has {left_out:,} characters more than {MOST_CHARACTERS:,}"
        findings.append(Finding("skipped_content", message, number))
    named = named_words(words, titles)
    tables = find_tables(page, [word for word in words if word not in named] if named else words)
    if tables:
        free = (w for w in words if w in named or not any(t.holds(*w.middle) for t in tables))
        words = list(free)
    return page_lines(words, tables, page=number, width=frame.width, height=frame.height)


def _of_picture(page: pdfium.PdfPage, number: int, words: list[Word]) -> tuple[list[Word], Finding]:
    """Return a scanned page's words by OCR where that is installed, and what to tell the user."""
    told = "its text cannot be read without OCR"
    if is_available():
        words = recognised_words(page)
        told = f"{len(words)} words were read by OCR, check them"
    return words, Finding("scanned_page", f"page {number} is a picture: {told}", number)


def _paragraphs(read: _Read, bookmarks: Sequence[Bookmark]) -> list[Paragraph]:
    """Return the paragraphs of the document, headings among them."""
    pages = read.pages = without_furniture(read.pages)
    targets: defaultdict[int, list[Target]] = defaultdict(list)
    for bookmark in bookmarks:
        frame = read.frames[bookmark.page]
        y = None
        if frame and bookmark.y is not None and frame.rotation == 0:
            y = min(max(frame.place(0.0, bookmark.y)[1] / frame.height, 0.0), 1.0)
        targets[bookmark.page].append(Target(bookmark.title, bookmark.level, y))
    mark_bookmarked(pages, targets)
    usual = measure(pages)
    mark_continued(pages, usual.body)
    grouped = Paragraphs(usual)
    contents = range(0)
    for lines in pages:
        set_edges(lines)
        contents = contents_span(lines, goes_on=bool(contents))
        grouped.add_page(lines, contents)
    mark_typographic(grouped.found, usual, styles_of(pages))
    return settle_footnotes(grouped.found, grouped.small)
