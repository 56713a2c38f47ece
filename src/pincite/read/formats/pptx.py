"""PowerPoint slides: each is a page with its title as heading, then its words, tables and notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pincite.model.types import Pages, ReaderWarning
from pincite.read.extracted import ExtractedText, SourceIdentifier
from pincite.read.formats.archive import Archive
from pincite.read.formats.blocks import (
    BlockWriter,
    GridCell,
    Inline,
    TableText,
    counted,
    one_line,
    spread,
    titled,
)
from pincite.read.formats.docx_parts import related_parts, whole_office_file
from pincite.read.formats.xml import Element, elements, local_name

_TITLES = ("title", "ctrTitle")
_FURNITURE = ("sldNum", "dt", "ftr", "hdr")  # repeated on every slide


def read(data: bytes, name: str) -> ExtractedText:
    """Return the slides that are shown, in their order."""
    whole_office_file(data, name, "ppt", "pptx")
    archive = Archive(data, name, "PPTX")
    main = related_parts(archive, "").first("officeDocument") or "ppt/presentation.xml"
    root = archive.part(main)
    if root is None:
        raise archive.broken(f"it has no {main}")
    parts = related_parts(archive, main)
    writer = BlockWriter(name)
    deck = _Deck(archive, writer)
    for number, slide in enumerate(root.iterfind("{*}sldIdLst/{*}sldId"), 1):
        target = next((v for k, v in slide.attrib.items() if k.endswith("}id")), "")
        deck.slide(parts.by_id.get(target, ""), number)
    parsed = writer.parsed(titled(name, deck.title))
    pages = Pages(deck.starts, deck.numbers)
    return replace(parsed, pages=pages, identifiers=deck.identifiers)


class _Deck:
    """Writes slide after slide."""

    def __init__(self, archive: Archive, writer: BlockWriter) -> None:
        self.archive, self.writer = archive, writer
        self.title = ""
        self.starts: list[int] = []
        self.numbers: list[int] = []
        self.identifiers: list[SourceIdentifier] = []

    def slide(self, path: str, number: int) -> None:
        root = self.archive.part(path)
        if root is None:
            return
        if root.get("show") in ("0", "false"):
            message = f"slide {number} is hidden and was left out"
            self.writer.find(ReaderWarning("hidden_text", message, page=number))
            return
        before = self.writer.end
        shapes = list(_shapes(root))
        title = next((s for s in shapes if _placeholder(s) in _TITLES), None)
        words = one_line(" ".join(_paragraphs(title, plain=True))) if title is not None else ""
        self.title = self.title or words
        self.writer.heading(2, words or f"Slide {number}")
        for shape in shapes:
            if shape is not title and _placeholder(shape) not in _FURNITURE:
                self.shape(shape)
        notes = self.archive.part(related_parts(self.archive, path).first("notesSlide"))
        for shape in _shapes(notes) if notes is not None else ():
            if _placeholder(shape) == "body":
                for line in _paragraphs(shape):
                    self.writer.paragraph(f"Note: {line}")
        start = self.writer.start_after(before)
        if start is not None:
            self.starts.append(start)
            self.numbers.append(number)
            self.identifiers.append(SourceIdentifier(f"Slide {number}", start, self.writer.end))

    def shape(self, shape: Element) -> None:
        table = shape.find(".//{*}tbl")
        if table is not None:
            rows = [
                [_cell(cell) for cell in row.iterfind("{*}tc") if not _is_covered(cell)]
                for row in table.iterfind("{*}tr")
            ]
            full = spread(rows)
            heads = min(1, max(0, len(full) - 1))
            self.writer.table(TableText(full[:heads], full[heads:]))
            return
        is_list = _placeholder(shape) in ("body", "", "obj") and len(list(_written(shape))) > 1
        counts: dict[int, int] = {}  # of numbered lines, by level
        for paragraph in _written(shape):
            level, marker = _marker(paragraph, counts, "-" if is_list else "")
            words = _words(paragraph).text()
            if marker:
                self.writer.line(marker, words, level)
            else:
                self.writer.paragraph(words)


def _marker(paragraph: Element, counts: dict[int, int], bullet: str) -> tuple[int, str]:
    """Return the level of a line and the number or bullet that it shows."""
    looks = paragraph.find("{*}pPr")
    if looks is None:
        counts.clear()
        return 0, bullet
    words = looks.get("lvl", "0")
    level = int(words) if words in ("0", "1", "2", "3", "4", "5", "6", "7", "8") else 0
    for deeper in [each for each in counts if each > level]:
        del counts[deeper]
    number = looks.find("{*}buAutoNum")
    if number is None:
        counts.pop(level, None)
        return level, "" if looks.find("{*}buNone") is not None else bullet
    first = number.get("startAt", "1")
    counts.setdefault(level, int(first) - 1 if first.isdecimal() and len(first) < 6 else 0)
    counts[level] += 1
    kind = number.get("type", "arabicPeriod")
    style = next((name for start, name in _COUNTERS.items() if kind.startswith(start)), "decimal")
    label = counted(counts[level], style)
    return level, _SIGNS.get(next((s for s in _SIGNS if kind.endswith(s)), ""), "{}").format(label)


_COUNTERS = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}
_SIGNS = {"ParenBoth": "({})", "ParenR": "{})", "Period": "{}."}


def _shapes(root: Element) -> Iterator[Element]:
    """Yield the shapes of a slide in their order, also those of groups."""
    for tree in root.iterfind("{*}cSld/{*}spTree"):
        yield from _inside(tree)


def _inside(group: Element) -> Iterator[Element]:
    for child in elements(group):
        name = local_name(child)
        if name in ("grpSp", "AlternateContent", "Choice"):
            yield from _inside(child)
        elif name in ("sp", "graphicFrame", "pic") and not _is_hidden(child):
            yield child


def _is_hidden(shape: Element) -> bool:
    return any(e.get("hidden") in ("1", "true") for e in shape.iterfind("*/{*}cNvPr"))


def _placeholder(shape: Element) -> str | None:
    """Return what a shape is on its slide, None for one that is no placeholder."""
    found = shape.find("*/{*}nvPr/{*}ph")
    return found.get("type", "") if found is not None else None


def _written(shape: Element) -> Iterator[Element]:
    for paragraph in shape.iterfind("{*}txBody/{*}p"):
        if any((t.text or "").strip() for t in paragraph.iter("{*}t")):
            yield paragraph


def _paragraphs(shape: Element, *, plain: bool = False) -> Iterator[str]:
    for paragraph in _written(shape):
        yield _words(paragraph).text(plain=plain)


def _words(paragraph: Element) -> Inline:
    words = Inline()
    for run in elements(paragraph):
        if local_name(run) == "br":
            words.add("\n")
        for text in run.iterfind("{*}t"):
            looks = run.find("{*}rPr")
            looks = looks.attrib if looks is not None else {}
            baseline = looks.get("baseline", "0")
            if baseline not in ("", "0") and baseline.lstrip("-").isdecimal():
                add = words.lowered if baseline.startswith("-") else words.raised
                add(text.text or "")
            else:
                bold, italic = (looks.get(sign) in ("1", "true") for sign in "bi")
                words.add(text.text or "", bold=bold, italic=italic)
    return words


def _is_covered(cell: Element) -> bool:
    return any(cell.get(name) in ("1", "true") for name in ("hMerge", "vMerge"))


def _cell(cell: Element) -> GridCell:
    words = " ".join(_words(paragraph).text() for paragraph in cell.iterfind("{*}txBody/{*}p"))
    across, down = (cell.get(name, "1") for name in ("gridSpan", "rowSpan"))
    spans = (int(each) if each.isdecimal() and len(each) < 5 else 1 for each in (across, down))
    return GridCell(one_line(words), *spans)
