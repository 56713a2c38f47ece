"""Word documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText, spared
from pincite.read.formats.blocks import (
    MAX_COLUMNS,
    BlockWriter,
    Inline,
    Row,
    TableText,
    across_columns,
    one_line,
    titled,
)
from pincite.read.formats.docx_parts import (
    DocxStyles,
    Numbering,
    W,
    WordArchive,
    is_on,
    number,
    value,
)
from pincite.read.formats.xml import Element, elements, local_name

_SIGNS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}
# Deleted words, instructions, and the second version of what newer programs show.
_LEFT_OUT = {"del", "moveFrom", "delText", "instrText", "Fallback", "pPr", "rPr", "annotationRef"}
_NOTES = {"footnoteReference": "footnote", "endnoteReference": "endnote"}


@dataclass
class Content:
    """What a paragraph holds: its words, its notes, the boxes anchored in it."""

    words: Inline = field(default_factory=Inline)
    notes: list[tuple[str, str]] = field(default_factory=list)  # kind and id
    boxes: list[Element] = field(default_factory=list)
    hidden: int = 0  # characters set as hidden
    field_depth: int = 0  # inside the instruction of so many fields
    is_text: bool = True

    @property
    def text(self) -> str:
        return self.words.text()


class WordReader:
    """Reads paragraphs with the styles of one document."""

    def __init__(self, styles: DocxStyles) -> None:
        self.styles = styles
        self.numbers: dict[tuple[str, str], str] = {}  # of footnotes, in the order of use

    def read(self, paragraph: Element) -> Content:
        """Return the content of a paragraph."""
        content = Content()
        properties = paragraph.find(W + "pPr")
        style = value(properties, "pStyle") or self.styles.default
        self._inside(paragraph, content, style)
        return content

    def note_number(self, kind: str, id_: str) -> str:
        """Return the number of a note; they count in the order in which they are first read."""
        prefix = "" if kind == "footnote" else "e"
        of_kind = sum(1 for known, _ in self.numbers if known == kind)
        return self.numbers.setdefault((kind, id_), f"{prefix}{of_kind + 1}")

    def _inside(self, parent: Element, content: Content, style: str) -> None:
        for child in elements(parent):
            name = local_name(child)
            if name in _LEFT_OUT:
                continue
            if name == "r":
                self._run(child, content, style)
            elif name == "txbxContent":
                content.boxes.append(child)
            else:
                self._inside(child, content, style)

    def _run(self, run: Element, content: Content, style: str) -> None:
        properties = run.find(W + "rPr")
        own = value(properties, "rStyle") or ""
        states = {
            switch: self._state(properties, own, style, switch) for switch in ("b", "i", "vanish")
        }
        raised = value(properties, "vertAlign")
        for child in elements(run):
            self._piece(child, content, states, raised, style)

    def _state(self, properties: Element | None, own: str, style: str, switch: str) -> bool:
        """Return a switch of a run: its own, its style's, for ``vanish`` the paragraph's too."""
        found = is_on(properties, switch)
        if found is None and own:
            found = self.styles.emphasis(own, switch)
        if found is None and switch == "vanish":
            found = self.styles.emphasis(style, switch)
        return bool(found)

    def _piece(
        self,
        piece: Element,
        content: Content,
        states: dict[str, bool],
        raised: str | None,
        style: str,
    ) -> None:
        name = local_name(piece)
        if name == "fldChar":
            _field(piece, content)
        elif name in _LEFT_OUT or not content.is_text:
            return
        elif name == "t" or name in _SIGNS:
            words = piece.text or "" if name == "t" else _SIGNS[name]
            if states["vanish"]:
                content.hidden += len(words)
            elif raised == "superscript":
                content.words.raised(words)
            elif raised == "subscript":
                content.words.lowered(words)
            else:
                content.words.add(words, bold=states["b"], italic=states["i"])
        elif name in _NOTES:
            note = (_NOTES[name], piece.get(W + "id", ""))
            content.notes.append(note)
            content.words.add(f"[^{self.note_number(*note)}]")
        else:
            self._inside(piece, content, style)


def _field(piece: Element, content: Content) -> None:
    """Follow a field: only its result is shown, not its instruction."""
    kind = piece.get(W + "fldCharType")
    if kind == "begin":
        content.field_depth += 1
        content.is_text = False
    elif kind == "separate":
        content.is_text = True
    elif kind == "end":
        content.field_depth = max(0, content.field_depth - 1)
        content.is_text = True


def table_rows(table: Element) -> Iterator[Element]:
    """Yield the rows that are not deleted, also those inside content controls."""
    for child in elements(table):
        name = local_name(child)
        if name == "tr" and child.find(f"{W}trPr/{W}del") is None:
            yield child
        elif name in ("sdt", "sdtContent", "ins", "customXml"):
            yield from table_rows(child)


def row_cells(row: Element) -> Iterator[Element]:
    """Yield the cells of a row."""
    for child in elements(row):
        if local_name(child) == "tc":
            yield child
        elif local_name(child) in ("sdt", "sdtContent", "customXml"):
            yield from row_cells(child)


def is_box(table: Element) -> bool:
    """Return whether a table is only a frame around paragraphs: it has one cell."""
    return sum(1 for row in table_rows(table) for _ in row_cells(row)) == 1


def table_of(table: Element, words_of: Callable[[Element], str]) -> TableText:
    """Return the table; its first row is the head where no row is marked as one."""
    rows: list[Row] = []
    heads = 0
    for row in table_rows(table):
        if bool(is_on(row.find(W + "trPr"), "tblHeader")) and heads == len(rows):
            heads += 1
        rows.append(_row(row, rows[-1] if rows else [], words_of))
    width = max(map(len, rows), default=0)
    rows = [row + [""] * (width - len(row)) for row in rows]
    heads = heads if 0 < heads < len(rows) else min(1, max(0, len(rows) - 1))
    return TableText(rows[:heads], rows[heads:])


def _row(row: Element, above: Row, words_of: Callable[[Element], str]) -> Row:
    before = number(value(row.find(W + "trPr"), "gridBefore")) or 0
    found: Row = [""] * min(max(before, 0), MAX_COLUMNS)
    for cell in row_cells(row):
        properties = cell.find(W + "tcPr")
        span = max(1, number(value(properties, "gridSpan")) or 1)
        merge = value(properties, "vMerge")
        is_continued = merge is not None and merge != "restart"
        at = len(found)
        words = above[at] if is_continued and at < len(above) else words_of(cell)
        found += across_columns(words, min(span, MAX_COLUMNS - len(found)))
    return found


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


def read(data: bytes, name: str) -> ExtractedText:
    """Return the document as Word shows it, without hidden and deleted words."""
    archive = WordArchive(data, name)
    document = _Document(archive)
    body = archive.document().find(W + "body")
    parts = list(document.parts(body)) if body is not None else []
    document.number(parts)
    writer = BlockWriter(name)
    _Output(document, writer).write(_without_contents(parts, writer))
    if document.hidden:
        message = f"{document.hidden:,} characters set as hidden were left out"
        writer.find(ReaderWarning("hidden_text", message))
    headings = [part for part in parts if isinstance(part, _Paragraph) and part.level == 1]
    only = one_line(headings[0].content.words.text(plain=True)) if len(headings) == 1 else ""
    named = [p for p in parts if isinstance(p, _Paragraph) and p.style == "title"]
    own = one_line(named[0].content.words.text(plain=True)) if named else ""
    core = archive.part("docProps/core.xml")
    stated = core.findtext("{http://purl.org/dc/elements/1.1/}title") if core is not None else None
    return writer.parsed(titled(name, only if only.startswith(own) else own, stated))


class _Document:
    """The parts of a document and what its styles and lists make of them."""

    def __init__(self, archive: WordArchive) -> None:
        self.styles = DocxStyles(archive.related("styles"))
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
    parts: Sequence[_Paragraph | _Table], writer: BlockWriter
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
        writer.find(ReaderWarning("skipped_content", message))
    return kept


class _Output:
    """Writes paragraphs and tables."""

    def __init__(self, document: _Document, writer: BlockWriter) -> None:
        self.document = document
        self.writer = writer

    def write(self, parts: Sequence[_Paragraph | _Table]) -> None:
        first = next((one_line(p.text) for p in parts if isinstance(p, _Paragraph) and p.level), "")
        for part in parts:
            if isinstance(part, _Table):
                self._table(part.element)
                continue
            self._paragraph(part, is_repeated=first.startswith(one_line(part.text)))
            with spared("a footnote", self.writer.findings):
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

        is_read = False
        with spared("the rows of a table", self.writer.findings):
            self.writer.table(table_of(element, words_of))
            is_read = True
        if not is_read:
            self.writer.paragraph("\n".join(map(words_of, element.iter(W + "tc"))))
        for note in dict.fromkeys(notes):
            self.writer.paragraph(self.document.note(*note))
