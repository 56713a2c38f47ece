"""DOCX to canonical text: headings by outline, numbers as Word prints them, tables in place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from pincite.ingest.formats.canonical import Writer, titled
from pincite.ingest.formats.docx.archive import Archive, W, number, value
from pincite.ingest.formats.docx.numbering import Numbering
from pincite.ingest.formats.docx.styles import Styles
from pincite.ingest.formats.docx.tables import is_box, row_cells, table_of, table_rows
from pincite.ingest.formats.docx.words import Content, WordReader
from pincite.ingest.formats.inline import one_line
from pincite.ingest.formats.xml import Element, elements, local_name
from pincite.ingest.parsed import Finding, Parsed

_CONTAINERS = {"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag", "body", "txbxContent"}
_TYPED = re.compile(r"[*_]{0,3}(?:\([0-9A-Za-z]{1,5}\)|[0-9A-Za-z]{1,5}[.)](?=\s))")
# "Table 1: Table 15-1": Word counts tables that have a number of their own.
_COUNTED_TABLE = re.compile(r"^Table \d+[:.] (?=Table [\dA-Z])", re.IGNORECASE)
_TYPED_SHARE = 0.8  # of a list's paragraphs that bring a typed label, for it to be its own
_CONTENTS_RUN = 3  # so many lines that repeat headings are a table of contents


@dataclass
class _Paragraph:
    """A paragraph with what is known of it before anything is written."""

    content: Content
    level: int  # of a heading, else 0
    style: str
    list_id: str = ""
    list_level: int = 0
    label: str = ""
    is_bullet: bool = False

    @property
    def text(self) -> str:
        return self.content.text


@dataclass
class _Table:
    element: Element


def read(data: bytes, name: str) -> Parsed:
    """Return the document as Word shows it, without hidden and deleted words."""
    archive = Archive(data, name)
    document = _Document(archive)
    body = archive.document().find(W + "body")
    parts = list(document.parts(body)) if body is not None else []
    document.number(parts)
    writer = Writer(name)
    _Output(document, writer).write(_without_contents(parts, writer))
    if document.hidden:
        message = f"{document.hidden:,} characters set as hidden were left out"
        writer.find(Finding("hidden_text", message))
    headings = [part for part in parts if isinstance(part, _Paragraph) and part.level == 1]
    only = one_line(headings[0].content.words.text(plain=True)) if len(headings) == 1 else ""
    named = [p for p in parts if isinstance(p, _Paragraph) and p.style == "title"]
    own = one_line(named[0].content.words.text(plain=True)) if named else ""
    core = archive.part("docProps/core.xml")
    stated = core.findtext("{http://purl.org/dc/elements/1.1/}title") if core is not None else None
    return writer.parsed(titled(name, only if only.startswith(own) else own, stated))


class _Document:
    """The parts of a document and what its styles and lists make of them."""

    def __init__(self, archive: Archive) -> None:
        self.styles = Styles(archive.related("styles"))
        self.numbering = Numbering(archive.related("numbering"), self.styles)
        self.words = WordReader(self.styles)
        self.hidden = 0
        self.notes: dict[tuple[str, str], Element] = {}
        for kind in ("footnote", "endnote"):
            root = archive.related(f"{kind}s")
            for note in root.findall(W + kind) if root is not None else ():
                self.notes[kind, note.get(W + "id", "")] = note

    def parts(self, parent: Element) -> Iterator[_Paragraph | _Table]:
        """Yield paragraphs and tables in order, text boxes behind the paragraph they hang on."""
        for child in elements(parent):
            name = local_name(child)
            if name == "p":
                paragraph = self.paragraph(child)
                yield paragraph
                for box in paragraph.content.boxes:
                    yield from self.parts(box)
            elif name == "tbl":
                if is_box(child):
                    for row in table_rows(child):
                        for cell in row_cells(row):
                            yield from self.parts(cell)
                else:
                    yield _Table(child)
            elif name in _CONTAINERS:
                # A table of contents that Word made is left out.
                gallery = child.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
                if gallery is None or gallery.get(W + "val") != "Table of Contents":
                    yield from self.parts(child)

    def paragraph(self, element: Element) -> _Paragraph:
        properties = element.find(W + "pPr")
        style_id = value(properties, "pStyle") or self.styles.default
        content = self.words.read(element)
        self.hidden += content.hidden
        outline = number(value(properties, "outlineLvl"))
        style = self.styles.name(style_id)
        level = self.styles.heading_level(style_id) if style != "title" else 0
        if outline is not None:
            level = outline + 1 if 0 <= outline < 9 else 0
        found = _Paragraph(content, level, style)
        numbered = properties.find(W + "numPr") if properties is not None else None
        if place := self.numbering.place(numbered, style_id):
            found.list_id, found.list_level = place
        return found

    def number(self, parts: Sequence[_Paragraph | _Table]) -> None:
        """Give numbered paragraphs their labels.

        Some programs write the label into the text and number the paragraph as well; a list
        whose paragraphs bring their own labels gets no others.
        """
        numbered = [p for p in parts if isinstance(p, _Paragraph) and p.list_id and p.text]
        total = Counter(p.list_id for p in numbered)
        typed = Counter(p.list_id for p in numbered if _TYPED.match(p.text))
        for paragraph in numbered:
            list_id = paragraph.list_id
            label, paragraph.is_bullet = self.numbering.label(list_id, paragraph.list_level)
            is_typed = typed[list_id] >= _TYPED_SHARE * total[list_id]
            paragraph.label = "" if is_typed and not paragraph.is_bullet else label

    def note(self, kind: str, id_: str) -> str:
        """Return the words of a footnote in one line."""
        element = self.notes.get((kind, id_))
        paragraphs = element.iter(W + "p") if element is not None else ()
        words = [self.words.read(p).text for p in paragraphs]
        return f"[^{self.words.note_number(kind, id_)}]: {one_line(' '.join(words))}"


def _without_contents(
    parts: Sequence[_Paragraph | _Table], writer: Writer
) -> list[_Paragraph | _Table]:
    """Return the parts without tables of contents: lines that only repeat headings."""
    headings = {one_line(p.text) for p in parts if isinstance(p, _Paragraph) and p.level}
    repeats = [
        isinstance(p, _Paragraph)
        and not p.level
        and (re.match(r"toc ?\d|toc heading", p.style) is not None or one_line(p.text) in headings)
        for p in parts
    ]
    kept: list[_Paragraph | _Table] = []
    for is_repeat, run in groupby(zip(parts, repeats, strict=True), key=itemgetter(1)):
        found = [part for part, _ in run]
        kept += [] if is_repeat and len(found) >= _CONTENTS_RUN else found
    if left_out := len(parts) - len(kept):
        message = f"{left_out:,} lines of a table of contents were left out"
        writer.find(Finding("skipped_content", message))
    return kept


class _Output:
    """Writes paragraphs and tables."""

    def __init__(self, document: _Document, writer: Writer) -> None:
        self.document = document
        self.writer = writer

    def write(self, parts: Sequence[_Paragraph | _Table]) -> None:
        first = next((one_line(p.text) for p in parts if isinstance(p, _Paragraph) and p.level), "")
        for part in parts:
            if isinstance(part, _Table):
                self._table(part.element)
                continue
            self._paragraph(part, is_repeated=first.startswith(one_line(part.text)))
            for note in part.content.notes:
                self.writer.paragraph(self.document.note(*note))

    def _paragraph(self, part: _Paragraph, *, is_repeated: bool) -> None:
        plain = one_line(part.content.words.text(plain=True))
        if not plain:
            return
        if part.level or (part.style == "title" and not is_repeated):
            label = "" if part.is_bullet else part.label
            self.writer.heading(part.level or 1, f"{label} {plain}")
        elif part.style == "title":
            self.writer.paragraph(plain)  # the first heading says it again, and more
        elif part.style == "caption":
            self.writer.caption(_COUNTED_TABLE.sub("", plain))
        elif part.label:
            self.writer.line(part.label, part.text, part.list_level if part.is_bullet else 0)
        else:
            self.writer.paragraph(part.text)

    def _table(self, element: Element) -> None:
        notes: list[tuple[str, str]] = []

        def words_of(cell: Element) -> str:
            contents = [self.document.words.read(p) for p in cell.iter(W + "p")]
            for content in contents:
                notes.extend(content.notes)
                self.document.hidden += content.hidden
            return one_line(" ".join(content.text for content in contents))

        table = table_of(element, words_of)
        self.writer.table(table)
        for note in dict.fromkeys(notes):
            self.writer.paragraph(self.document.note(*note))
