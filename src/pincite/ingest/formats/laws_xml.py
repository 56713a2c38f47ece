"""Acts and regulations in the XML of the Canadian Department of Justice.

The file itself says what a section, a paragraph and a definition is, so nothing is guessed: items
come with their depth. Notes about the history of a provision are left out; the law is not in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pincite.core.errors import SourceError
from pincite.ingest.dates import as_iso
from pincite.ingest.formats.canonical import Writer, titled
from pincite.ingest.formats.inline import Inline, one_line
from pincite.ingest.formats.laws_tables import table_of
from pincite.ingest.formats.laws_words import defined_term, labelled, read_words, words_of
from pincite.ingest.formats.xml import Element, elements, local_name, parse_xml
from pincite.ingest.parsed import Parsed
from pincite.ingest.structure.terms import TERM
from pincite.model.locators import heading_label

_LIMS = "{http://justice.gc.ca/lims}"
_DATES = ("lastAmendedDate", "pit-date", "inforce-start-date")
ROOTS = ("Regulation", "Statute")
_SECTION_LEVEL = 6  # below every heading of the body
_LEFT_OUT = {"HistoricalNote", "RecentAmendments", "PageBreak", "Identification", "MarginalNote"}
_ITEMS = {
    *("Subsection", "Paragraph", "Subparagraph", "Clause", "Subclause", "Subsubclause"),
    *("Provision", "FormulaParagraph"),
}
_TEXTS = {
    *("Text", "Formula", "FormulaConnector", "FormulaDefinition", "Reserved", "Repealed"),
    *("OriginatingRef", "Caption"),
}


def read(data: bytes, name: str) -> Parsed:
    """Return a consolidated act or regulation with its sections, definitions and tables."""
    root = parse_xml(data, name)
    if local_name(root) not in ROOTS:
        raise SourceError(
            f"{name} is XML of an unknown kind: <{local_name(root)}>",
            hint=f"known are the laws of Canada, <{'> and <'.join(ROOTS)}>",
        )
    writer = Writer(name)
    title = titled(name, root.findtext(".//ShortTitle"), _line(root.find(".//LongTitle")))
    writer.heading(1, title)
    _identify(writer, root)
    language = root.get("{http://www.w3.org/XML/1998/namespace}lang", "en")
    _Walk(writer, language).children(root)
    # Since when the law has had these words: its last amendment, else its beginning.
    dates = (as_iso(root.get(f"{_LIMS}{attribute}", "")) for attribute in _DATES)
    since = next(filter(None, dates), "")
    return replace(writer.parsed(title, language), meta={"effective": since} if since else {})


def _identify(writer: Writer, root: Element) -> None:
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

    def __init__(self, writer: Writer, language: str) -> None:
        self.writer = writer
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
            if child is left_out or name in _LEFT_OUT or name == "Label":
                continue
            if name in self.handlers:
                self.handlers[name](child)
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
        self.writer.heading(self.level, _numbered(_line(element.find("Label")), note))
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


def _numbered(label: str, note: str) -> str:
    """Return a section's heading so that its number is read as a number, note or no note.

    >>> _numbered("2.1", "Fees"), _numbered("7", ""), _numbered("12A", "Tests")
    ('2.1 Fees', '7.', '§ 12A Tests')
    """
    for printed in (label, f"{label}.", f"§ {label}"):
        found = heading_label(f"{printed} {note}")
        if found.canonical == label and found.scheme in ("decimal", "§"):
            return one_line(f"{printed} {note}")
    return one_line(f"{label} {note}")
