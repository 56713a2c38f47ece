"""Laws in the XML of Justice Canada; those in other XML are handed on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pincite.model.dates import as_iso
from pincite.model.errors import SourceError
from pincite.read.extracted import ExtractedText
from pincite.read.formats import law_dialects
from pincite.read.formats.blocks import (
    MAX_COLUMNS,
    BlockWriter,
    GridCell,
    Inline,
    Row,
    TableText,
    one_line,
    spread,
    titled,
)
from pincite.read.formats.xml import Element, ElementSpans, elements, local_name, parse_xml
from pincite.read.structure.clauses import TERM

_GAPS = {"LineBreak": "\n", "Leader": " ", "LeaderRightJustified": " … ", "Separator": " "}
_APART = {
    *("Text", "Provision", "Label", "FormulaTerm", "FormulaText", "AlternateText", "Caption"),
    "Repealed",
}
_LEFT_OUT = {"HistoricalNote", "Image"}


def words_of(element: Element) -> str:
    """Return all words of an element as one paragraph."""
    words = Inline()
    read_words(element, words)
    return words.text()


def labelled(element: Element) -> tuple[str, str]:
    """Return an item's label and its first words, with its marginal note as a run-in title."""
    label, note, text = (element.find(tag) for tag in ("Label", "MarginalNote", "Text"))
    words = words_of(text) if text is not None else ""
    title = one_line(words_of(note)).rstrip(".:").replace("*", "") if note is not None else ""
    if title:
        words = f"*{title}.* {words}"
    return (one_line(words_of(label).replace("*", "")) if label is not None else ""), words


def defined_term(element: Element, language: str) -> str:
    """Return the term that a definition defines, in the language of the document."""
    text = element.find("Text")
    if text is None:
        return ""
    first, second = ("DefinedTermFr", "DefinedTermEn")[:: 1 if language == "fr" else -1]
    found = next((term for tag in (first, second) for term in text.iter(tag)), None)
    return one_line("".join(found.itertext())) if found is not None else ""


def read_words(
    element: Element, words: Inline, *, bold: bool = False, italic: bool = False
) -> None:
    """Add the words of an element to a paragraph."""
    name = local_name(element)
    style = element.get("style", "") if name == "Emphasis" else ""
    bold = bold or style == "bold" or name in ("DefinedTermEn", "DefinedTermFr")
    italic = italic or style == "italic"
    if _read_mark(element, name, words):
        return
    words.add(element.text or "", bold=bold, italic=italic)
    for child in elements(element):
        gap = " " if local_name(child) in _APART else ""
        words.add(gap)
        read_words(child, words, bold=bold, italic=italic)
        words.add(gap)
        words.add(child.tail or "", bold=bold, italic=italic)


def _read_mark(element: Element, name: str, words: Inline) -> bool:
    """Add an element that is no plain words, and return whether it was one."""
    inner = one_line("".join(element.itertext())) if name in ("Sup", "Sub", "FootnoteRef") else ""
    if name == "Sup":
        words.raised(inner)
    elif name == "Sub":
        words.lowered(inner)
    elif name == "FootnoteRef":
        words.add(f"[^{inner}]")
    elif name in _GAPS:
        words.add(_GAPS[name])
    elif name == "FormBlank" and len(element) == 0 and not (element.text or "").strip():
        words.add(" ____ ")
    else:
        return name in _LEFT_OUT
    return True


def table_of(table: Element, caption: str) -> TableText:
    """Return the table with head and body as full rows."""
    title = table.find("title")
    words = one_line(words_of(title)) if title is not None else ""
    head: list[Row] = []
    body: list[Row] = []
    for group in table.iter("tgroup"):
        columns = {
            spec.get("colname", ""): place for place, spec in enumerate(group.findall("colspec"))
        }
        width = _number(group.get("cols"), len(columns))
        head += _rows(group.findall("thead/row"), columns, width)
        body += _rows([*group.findall("tbody/row"), *group.findall("tfoot/row")], columns, width)
    return TableText(head, body, " ".join(part for part in (caption, words) if part))


def _number(words: str | None, default: int) -> int:
    return min(int(words), MAX_COLUMNS) if words and words.isdecimal() else default


def _rows(rows: Sequence[Element], columns: dict[str, int], width: int) -> list[Row]:
    return spread([[_cell(e, columns) for e in row.iter("entry")] for row in rows], width=width)


def _cell(entry: Element, columns: dict[str, int]) -> GridCell:
    """Return a cell; its column is named, or the next that is free."""
    first = columns.get(entry.get("namest") or entry.get("colname") or "", -1)
    last = columns.get(entry.get("nameend") or "", first)
    return GridCell(
        one_line(words_of(entry)),
        columns=max(1, last - first + 1),
        rows=1 + _number(entry.get("morerows"), 0),
        column=first,
    )


_LIMS = "{http://justice.gc.ca/lims}"
_DATES = ("lastAmendedDate", "pit-date", "inforce-start-date")
ROOTS = ("Regulation", "Statute")
_SECTION_LEVEL = 6  # below every heading of the body
_LEFT_OUT_BLOCKS = {
    "HistoricalNote",
    "RecentAmendments",
    "PageBreak",
    "Identification",
    "MarginalNote",
}
_ITEMS = {
    *("Subsection", "Paragraph", "Subparagraph", "Clause", "Subclause", "Subsubclause"),
    *("Provision", "FormulaParagraph"),
}
_TEXTS = {
    *("Text", "Formula", "FormulaConnector", "FormulaDefinition", "Reserved", "Repealed"),
    *("OriginatingRef", "Caption"),
}


def read(data: bytes, name: str) -> ExtractedText:
    """Return a consolidated act or regulation with its sections, definitions and tables."""
    root = parse_xml(data, name)
    if local_name(root) in law_dialects.ROOTS:
        return law_dialects.read(root, name)
    if local_name(root) not in ROOTS:
        raise SourceError(
            f"{name} is XML of an unknown kind: <{local_name(root)}>",
            hint="known are laws in USLM, Akoma Ntoso, Formex, the XML of the eCFR and of Canada",
        )
    writer = BlockWriter(name)
    title = titled(name, root.findtext(".//ShortTitle"), _line(root.find(".//LongTitle")))
    writer.heading(1, title)
    _identify(writer, root)
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang", "en")
    walk = _Walk(writer, language)
    walk.children(root)
    # Since when the law has had these words: its last amendment, else its beginning.
    dates = (as_iso(root.get(f"{_LIMS}{attribute}", "")) for attribute in _DATES)
    since = next(filter(None, dates), "")
    meta = {"effective": since} if since else {}
    found = walk.spans.identifiers(root)
    return replace(writer.parsed(title, language), meta=meta, identifiers=found)


def _identify(writer: BlockWriter, root: Element) -> None:
    """Write what the law is called besides its title, and what it rests on."""
    identification = root.find("Identification")
    if identification is None:
        return
    for tag in ("InstrumentNumber", "Chapter", "EnablingAuthority"):
        writer.paragraph(_line(identification.find(tag)))
    if identification.find("ShortTitle") is not None:
        writer.paragraph(_line(identification.find("LongTitle")))


def _line(element: Element | None) -> str:
    return one_line(words_of(element)) if element is not None else ""


class _Walk:
    """Goes through the elements in order and writes them."""

    def __init__(self, writer: BlockWriter, language: str) -> None:
        self.writer = writer
        self.spans = ElementSpans(writer)
        self.language = language
        self.base = 1  # headings of the body are this much deeper than they say
        self.level = 1  # of the last heading
        self.depth = 0  # of the next item
        self.is_quoted = False  # inside the words of an amendment
        self.handlers: dict[str, Callable[[Element], None]] = {
            "Heading": self.heading,
            "Section": self.section,
            "Schedule": self.schedule,
            "ScheduleFormHeading": self.schedule_heading,
            "Definition": self.definition,
            "TableGroup": self.table,
            "Footnote": self.footnote,
            "AmendedText": self.amended,
            "ImageGroup": self.image,
            **dict.fromkeys(_TEXTS, self.text),
            **dict.fromkeys(_ITEMS, self.item),
        }

    def children(self, parent: Element, left_out: Element | None = None) -> None:
        """Write what an element holds; of those without a meaning to us the words."""
        for child in elements(parent):
            name = local_name(child)
            if child is left_out or name in _LEFT_OUT_BLOCKS or name == "Label":
                continue
            with self.spans.of(child):
                if name in self.handlers:
                    self.handlers[name](child)
                elif name.startswith("Continued"):  # of what holds the items before it
                    self.writer.goes_on(words_of(child), self.depth)
                elif (child.text or "").strip() or len(child) == 0:
                    self.text(child)
                else:
                    self.children(child)

    def below(self, element: Element, depth: int) -> None:
        """Write the children of an item but its first words, which stand with its label."""
        before, self.depth = self.depth, depth
        self.children(element, left_out=element.find("Text"))
        self.depth = before

    def text(self, element: Element) -> None:
        self.writer.paragraph(words_of(element))

    def heading(self, element: Element) -> None:
        words = one_line(f"{_line(element.find('Label'))} {_line(element.find('TitleText'))}")
        if self.is_quoted:
            self.writer.caption(words)
            return
        level = element.get("level", "1")
        self.level = self.base + (int(level) if level in ("1", "2", "3", "4", "5", "6") else 1)
        self.writer.heading(self.level, words)

    def section(self, element: Element) -> None:
        """Write a section: its number and marginal note as a heading, then what it says."""
        before = self.level, self.depth
        self.level, self.depth = max(_SECTION_LEVEL, self.level + 1), 0
        note = _line(element.find("MarginalNote"))
        self.writer.heading(
            self.level, law_dialects.numbered_heading(_line(element.find("Label")), note)
        )
        self.children(element)
        self.level, self.depth = before

    def schedule(self, element: Element) -> None:
        before = self.base, self.level
        is_of_part = local_name(element.getparent()) == "Body"
        self.base = self.level = 3 if is_of_part else 2
        self.children(element)
        self.base, self.level = before

    def schedule_heading(self, element: Element) -> None:
        words = one_line(f"{_line(element.find('Label'))} {_line(element.find('TitleText'))}")
        if local_name(element.getparent()) == "Schedule":
            self.writer.heading(self.base, words)
        else:
            self.writer.caption(words)
        for reference in element.findall("OriginatingRef"):
            self.text(reference)

    def item(self, element: Element) -> None:
        """Write an item and what is below it; one without a label is a paragraph."""
        label, words = labelled(element)
        if label:
            self.writer.item(label, words, self.depth)
        else:
            self.writer.paragraph(words)
        self.below(element, self.depth + bool(label))

    def definition(self, element: Element) -> None:
        _, words = labelled(element)
        term = defined_term(element, self.language)
        if term:
            self.writer.item("", words, self.depth, name=TERM.format(term))
        else:
            self.writer.paragraph(words)
        self.below(element, self.depth + bool(term))

    def amended(self, element: Element) -> None:
        """Write the words that an amendment puts in place; they are quoted, not in force here."""
        before, self.is_quoted = self.is_quoted, True
        self.children(element)
        self.is_quoted = before

    def footnote(self, element: Element) -> None:
        text = element.find("Text")
        words = words_of(text) if text is not None else ""
        self.writer.paragraph(f"[^{_line(element.find('Label'))}]: {words}")

    def image(self, element: Element) -> None:
        words = Inline()
        for child in elements(element):
            read_words(child, words)
            words.add(" ")
        self.writer.paragraph(words.text() and f"[Image: {one_line(words.text())}]")

    def table(self, element: Element) -> None:
        for table in element.iter("table"):
            self.writer.table(table_of(table, _line(element.find("Caption"))))
        for note in element.findall("Footnote"):
            self.footnote(note)
