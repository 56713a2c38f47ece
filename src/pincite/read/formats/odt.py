"""OpenDocument texts: headings by level, numbers as they are computed, tables, notes."""

from __future__ import annotations

from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText
from pincite.read.formats.blocks import (
    MAX_COLUMNS,
    BlockWriter,
    GridCell,
    Inline,
    TableText,
    one_line,
    spread,
    titled,
)
from pincite.read.formats.odf import (
    Emphasis,
    OdfStyles,
    attribute,
    content,
    document_title,
    gap_of,
    repeated,
)
from pincite.read.formats.xml import Element, elements, local_name

_LEFT_OUT = {
    *("tracked-changes", "table-of-content", "alphabetical-index", "illustration-index"),
    *("table-index", "object-index", "user-index", "bibliography", "annotation", "forms"),
    *("sequence-decls", "variable-decls", "user-field-decls", "ruby-text"),
}
_INDEXES = {name for name in _LEFT_OUT if name.endswith(("-index", "-content"))}
_MAX_ROWS = 10_000


def read(data: bytes, name: str) -> ExtractedText:
    """Return what the document shows."""
    archive, root = content(data, name, "ODT")
    styles = OdfStyles(root, archive.part("styles.xml"))
    writer = BlockWriter(name)
    walk = _TextWalk(writer, styles)
    body = root.find("{*}body/{*}text")
    if body is None:
        raise archive.broken("its content is no text")
    walk.blocks(body)
    walk.write_notes()
    if walk.hidden:
        message = f"{walk.hidden:,} characters of hidden text were left out"
        writer.find(ReaderWarning("hidden_text", message))
    return writer.parsed(titled(name, walk.title or document_title(archive), walk.first_heading))


class _TextWalk:
    """Goes through the blocks in order and writes them."""

    def __init__(self, writer: BlockWriter, styles: OdfStyles) -> None:
        self.writer, self.styles = writer, styles
        self.title = self.first_heading = ""
        self.hidden = 0
        self.marker = "-"  # of the last item
        self.notes: list[tuple[str, Element]] = []
        self.boxes: list[Element] = []  # frames with text, to be written behind their paragraph
        self.counts: dict[str, list[int]] = {}  # of each list style, one number a level
        self.outline: list[int] = []

    def blocks(self, parent: Element) -> None:
        """Write the blocks that an element holds."""
        for child in elements(parent):
            name = local_name(child)
            if name in _LEFT_OUT:
                if name in _INDEXES:
                    message = "a table of contents or an index was left out"
                    self.writer.find(ReaderWarning("skipped_content", message))
            elif name == "h":
                self.heading(child, self.outline_label(child))
            elif name == "p":
                self.paragraph(child, "", 0)
            elif name == "list":
                self.list(child, attribute(child, "style-name"), 1)
            elif name == "table":
                self.table(child)
            elif attribute(child, "display") == "none":
                self.hidden += len("".join(child.itertext()))
            else:
                self.blocks(child)

    def heading(self, element: Element, label: str) -> None:
        words = self.words(element)
        level = repeated(element, "outline-level", 9) + bool(self.title)
        self.writer.heading(level, f"{label} {words.text(plain=True)}")
        self.first_heading = self.first_heading or one_line(words.text(plain=True))
        self.write_boxes()

    def outline_label(self, element: Element) -> str:
        """Return the number of a heading that stands in no list."""
        if attribute(element, "is-list-header") == "true":
            return ""
        depth = repeated(element, "outline-level", 9)
        self.outline = _next(self.outline, depth, self.styles.first("", depth))
        return self.styles.label("", self.outline)

    def paragraph(self, element: Element, label: str, depth: int) -> None:
        style = attribute(element, "style-name")
        text = self.words(element)
        is_title = not self.title and "Title" in self.styles.names("paragraph", style)
        if is_title and text.text():
            self.title = one_line(text.text(plain=True))
            self.writer.heading(1, self.title)
        elif depth:
            self.marker = label or self.marker
            self.writer.line(self.marker, text.text(), depth - 1, goes_on=not label)
        else:
            self.writer.paragraph(text.text())
        self.write_boxes()

    def list(self, element: Element, style: str, depth: int) -> None:
        """Write a list; it counts from its beginning unless it says that it goes on."""
        goes_on = attribute(element, "continue-numbering") == "true"
        if depth == 1 and not goes_on and not attribute(element, "continue-list"):
            self.counts[style] = []
        for item in elements(element):
            is_labelled = local_name(item) == "list-item"
            if is_labelled:
                first = repeated(item, "start-value", 99_999)
                has_start = bool(attribute(item, "start-value"))
                known = self.counts.get(style, [])
                if has_start:
                    self.counts[style] = [*known[: depth - 1], first - 1]
                start = self.styles.first(style, depth)
                if any(local_name(each) in ("p", "h") for each in elements(item)):
                    self.counts[style] = _next(self.counts.get(style, []), depth, start)
            self.item(item, style, depth, is_labelled=is_labelled)

    def item(self, item: Element, style: str, depth: int, *, is_labelled: bool) -> None:
        for child in elements(item):
            name = local_name(child)
            if name == "list":
                self.list(child, attribute(child, "style-name") or style, depth + 1)
            elif name in ("p", "h"):
                label = self.styles.label(style, self.counts.get(style, [])) if is_labelled else ""
                is_labelled = False
                if name == "h":
                    self.heading(child, label)
                else:
                    self.paragraph(child, label, depth)
            elif name == "table":
                self.table(child)

    def words(self, element: Element) -> Inline:
        words = Inline()
        family = self.styles.emphasis("paragraph", attribute(element, "style-name"))
        look = Emphasis(is_hidden=family.is_hidden)  # a whole bold paragraph is its style's affair
        self.add(element, words, look)
        return words

    def add(self, element: Element, words: Inline, look: Emphasis) -> None:
        self.put(element.text or "", words, look)
        for child in elements(element):
            name = local_name(child)
            if (gap := gap_of(child)) is not None:
                self.put(gap, words, look)
            elif name == "span":
                own = self.styles.emphasis("text", attribute(child, "style-name"))
                self.add(child, words, own if not look.is_hidden else look)
            elif name == "note":
                number = one_line("".join(child.find("{*}note-citation").itertext()))
                words.add(f"[^{number}]")
                self.notes.append((number, child))
            elif name in ("text-box", "table"):
                self.boxes.append(child)
            elif name not in _LEFT_OUT:
                self.add(child, words, look)
            self.put(child.tail or "", words, look)

    def put(self, text: str, words: Inline, look: Emphasis) -> None:
        if look.is_hidden:
            self.hidden += len(text)
        elif look.position == "super":
            words.raised(text)
        elif look.position == "sub":
            words.lowered(text)
        else:
            words.add(text, bold=look.bold, italic=look.italic)

    def write_boxes(self) -> None:
        boxes, self.boxes = self.boxes, []
        for box in boxes:
            self.table(box) if local_name(box) == "table" else self.blocks(box)

    def write_notes(self) -> None:
        notes, self.notes = self.notes, []
        for number, note in notes:
            body = note.find("{*}note-body")
            parts = [self.words(p).text() for p in body.iter("{*}p")] if body is not None else []
            self.writer.paragraph(f"[^{number}]: {' '.join(parts)}")

    def table(self, element: Element) -> None:
        """Write a table; its first row is the head where no row is marked as one."""
        rows: list[list[GridCell]] = []
        heads = 0
        for row in element.iter("{*}table-row"):
            above = [local_name(each) for each in row.iterancestors()]
            if above.index("table") != above[::-1].index("table") and above.count("table") > 1:
                continue  # of a table in a cell
            cells = [
                e for e in elements(row) if local_name(e) in ("table-cell", "covered-table-cell")
            ]
            rows.append([self.cell(each) for each in cells if local_name(each) == "table-cell"])
            heads += "table-header-rows" in above
            if len(rows) >= _MAX_ROWS:
                message = f"a table from row {_MAX_ROWS:,} on"
                self.writer.find(ReaderWarning("skipped_content", message))
                break
        full = spread(rows)
        heads = heads if 0 < heads < len(full) else min(1, max(0, len(full) - 1))
        self.writer.table(TableText(full[:heads], full[heads:]))

    def cell(self, element: Element) -> GridCell:
        words = " ".join(self.words(p).text() for p in element.iter("{*}p", "{*}h"))
        columns = repeated(element, "number-columns-spanned", MAX_COLUMNS)
        return GridCell(words, columns, repeated(element, "number-rows-spanned", _MAX_ROWS))


def _next(counts: list[int], depth: int, first: int) -> list[int]:
    """Return the counts after one more item at a depth."""
    known = [*counts, *[1] * (depth - len(counts))] if len(counts) < depth else counts[:depth]
    known = known[:depth]
    known[-1] = counts[depth - 1] + 1 if len(counts) >= depth else first
    return known
