"""Laws in USLM, Akoma Ntoso, Formex and the XML of the eCFR: numbered units within units.

They differ in names alone, so there is one vocabulary; no name means two things in it. A unit has
a number or a heading. Units down to sections and articles are headings, the ones below are items.
"""

from __future__ import annotations

import re
from dataclasses import replace

from pincite.model.dates import as_iso
from pincite.model.locators import heading_label
from pincite.read.extracted import ExtractedText, SourceIdentifier
from pincite.read.formats.blocks import (
    BlockWriter,
    GridCell,
    Inline,
    TableText,
    one_line,
    spread,
    titled,
)
from pincite.read.formats.xml import (
    MAX_IDENTIFIER,
    Element,
    ElementSpans,
    elements,
    local_name,
)
from pincite.read.structure.clauses import TERM

ROOTS = {
    *("akomaNtoso", "akomantoso", "lawDoc", "uscDoc", "cfrDoc", "statuteCompilation", "pLaw"),
    *(
        "bill",
        "resolution",
        "amendment",
        "engrossedAmendment",
        "presidentialDoc",
        "statutesAtLarge",
    ),
    *("frDoc", "ECFR", "DLPSTEXTCLASS", "CFRDOC", "CFRGRANULE", "ACT", "CONS.ACT", "ANNEX", "AGR"),
    *(f"DIV{number}" for number in range(1, 10)),
}
_HEADS = {
    *("title", "subtitle", "chapter", "subchapter", "part", "subpart", "division", "subdivision"),
    *("book", "tome", "annex", "appendix", "schedule", "hcontainer", "crossHeading", "preliminary"),
    *(
        "compiledAct",
        "reorganizationPlan",
        "appropriations",
        "courtRules",
        "debateSection",
        "level",
    ),
    *("attachment", "DIVISION", "ANNEX", "CONS.ANNEX", "GR.SEQ", "TITLE.GROUP", "SUBPART", "PART"),
    *(f"DIV{number}" for number in range(1, 10)),
}
_SECTIONS = {"section", "article", "rule", "courtRule", "ARTICLE", "SECTION"}
_ITEMS = {
    *("subsection", "paragraph", "subparagraph", "clause", "subclause", "item", "subitem"),
    *("subsubitem", "point", "indent", "alinea", "list", "sublist", "subrule", "transitional"),
    *("subarticle", "recital", "tblock", "listItem", "PARAG", "NP", "CONSID"),
}
_UNITS = _HEADS | _SECTIONS | _ITEMS
_NUMBERS = {"num", "TI.ART", "NO.PARAG", "NO.P", "SECTNO"}
_HEADINGS = {"heading", "STI.ART", "HEAD", "TITLE", "SUBJECT", "TI.GR.SEQ"}
_BLOCKS = _UNITS | {
    *("p", "content", "chapeau", "continuation", "text", "intro", "wrapUp", "wrap", "block"),
    *("listIntroduction", "listWrapUp", "blockList", "quotedContent", "quotedStructure", "table"),
    *("longTitle", "docTitle", "officialTitle", "enactingFormula", "preface", "preamble", "note"),
    *("editorialNote", "explanationNote", "conclusions", "signature", "footnote", "authorialNote"),
    *("subheading", "heading", "authority", "source", "sourceCredit", "figure", "container"),
    *("P", "FP", "ALINEA", "TXT", "TBL", "GPOTABLE", "TABLE", "NOTE", "EXTRACT", "HD1", "HD2"),
    *("HD3", "AUTH", "SOURCE", "CITA", "LIST", "ITEM", "VISA", "TI", "STI", "QUOT.S", "HEAD"),
    *("li", "ul", "ol", "toc", "TITLE", "DIV", "div", "EDNOTE", "SECAUTH", "GR.NOTES"),
}
_TABLES = {"table", "TBL", "GPOTABLE", "TABLE"}
_QUOTED = {"quotedContent", "quotedStructure", "QUOT.S"}
_FOOTNOTES = {"footnote", "authorialNote", "NOTE", "FTNT"}
_LEFT_OUT = {
    *("meta", "toc", "page", "sidenote", "leftRunningHead", "rightRunningHead", "endMarker", "ear"),
    *("index", "img", "BIB.INSTANCE", "BIB.DATA", "INFO.CONSLEG", "INFO.PROD", "FAM.COMP", "TOC"),
    *("TEIHEADER", "HEADER", "EIPC", "PRTPAGE", "FDSYS", "CONTENTS", "toc", "remark", "processed"),
}
_BOLD = {"b", "term", "def", "HT.BOLD", "strong", "B"}
_ITALIC = {"i", "I", "HT.ITALIC", "em", "E"}
_SPACE = re.compile(r"\s+")
_GAPS = {"br", "eol", "LB", "BR"}
_NUMBER = re.compile(r"\d(?:[\w.-]*\w)?|\b[A-Z]{1,2}(?:-?\d+)?\b|\b[IVXLC]+\b")


def read(root: Element, name: str) -> ExtractedText:
    """Return the law with its units, tables and footnotes, and what the source calls each."""
    writer = BlockWriter(name)
    title = titled(name, *(one_line("".join(e.itertext())) for e in _titles(root)))
    writer.heading(1, title)
    walk = _UnitWalk(writer, root)
    walk.children(root)
    walk.flush()
    language = next((e.get("language", "") for e in root.iter("{*}FRBRlanguage")), "")
    language = language or root.get("{http://www.w3.org/XML/1998/namespace}lang", "")
    dates = (as_iso(e.get("date", "")) for e in root.iterfind(".//{*}FRBRExpression/{*}FRBRdate"))
    since = next(filter(None, dates), "")
    parsed = writer.parsed(title, language)
    found = walk.spans.identifiers(root)
    works = (e.get("value", "").strip() for e in root.iterfind(".//{*}FRBRWork/{*}FRBRuri"))
    if work := next(filter(None, works), ""):  # often the law's ELI
        found.append(SourceIdentifier(work[:MAX_IDENTIFIER], 0, writer.end))
    return replace(parsed, meta={"effective": since} if since else {}, identifiers=found)


def _titles(root: Element) -> list[Element]:
    """Return the elements that may say what the law is called, the best first."""
    paths = (
        *(".//{*}meta/{*}citableAsShortTitle", ".//{*}shortTitle", ".//{*}docTitle"),
        *(".//{*}meta/{*}title", ".//{*}officialTitle", "./TITLE/TI", "./HEAD", ".//HEAD"),
    )
    return [found for path in paths if (found := root.find(path)) is not None]


class _UnitWalk:
    """Goes through the elements in order; words wait in ``line`` until a block ends."""

    def __init__(self, writer: BlockWriter, root: Element) -> None:
        self.writer = writer
        self.root = root  # its heading is the title
        self.spans = ElementSpans(writer)
        self.line = Inline()
        self.lead: tuple[str, str, str] | None = None  # label, name and title of an item to open
        self.level = 1  # of the last heading
        self.depth = 0  # of the next item
        self.open_depth = 0  # one more than that of the last item
        self.in_section = False
        self.quoted = 0  # inside the words of an amendment
        self.notes: list[Element] = []
        # What holds a block is one: only its own words are words.
        self.holders = {
            above
            for element in root.iter()
            if local_name(element) in _BLOCKS
            for above in element.iterancestors()
        }

    def children(self, parent: Element, *, bold: bool = False, italic: bool = False) -> None:
        """Add what an element holds: words to the line, blocks as blocks."""
        is_structure = parent in self.holders and not (parent.text or "").strip()
        self.line.add(_SPACE.sub(" ", parent.text or ""), bold=bold, italic=italic)
        for child in elements(parent):
            name = local_name(child)
            if name in _NUMBERS or name in _HEADINGS:
                if local_name(parent) not in _UNITS and parent is not self.root:
                    self.block(child)
                else:  # it stands with its unit
                    self.notes += [e for e in child.iter() if local_name(e) in _FOOTNOTES]
            elif name in _FOOTNOTES and not self.in_note(child):
                self.footnote(child)
            elif name in _BLOCKS or child in self.holders or is_structure:
                self.block(child)
            elif name not in _LEFT_OUT:
                self.inline(child, name, bold=bold, italic=italic)
            self.line.add(_SPACE.sub(" ", child.tail or ""), bold=bold, italic=italic)

    def in_note(self, element: Element) -> bool:
        """Tell whether a NOTE is no footnote: in the eCFR it is a note to a section."""
        return local_name(element) == "NOTE" and element.find("HED") is not None

    def inline(self, element: Element, name: str, *, bold: bool, italic: bool) -> None:
        if name in _GAPS:
            self.line.add("\n")
        elif name in ("sup", "SU"):
            self.line.raised("".join(element.itertext()))
        elif name in ("sub", "FR"):
            self.line.lowered("".join(element.itertext()))
        elif "footnoteRef" in element.get("class", ""):
            self.line.add(f"[^{one_line(''.join(element.itertext()))}]")
        else:
            bold, italic = bold or name in _BOLD, italic or name in _ITALIC
            self.children(element, bold=bold, italic=italic)

    def block(self, element: Element) -> None:
        """Write an element that begins a line of its own."""
        name = local_name(element)
        if name in _LEFT_OUT:
            return
        self.flush()
        number, heading = _plain(element, _NUMBERS), _plain(element, _HEADINGS)
        term = "" if number or heading or name not in _ITEMS else _defined(element)
        is_unit = name in _UNITS and bool(number or heading or term)
        if is_unit or name in _TABLES:
            self.open_item()
        with self.spans.of(element):
            if name in _TABLES:
                self.table(element)
            elif is_unit:
                self.unit(element, name, number, heading or term)
            else:
                self.quoted += name in _QUOTED
                self.children(element)
                self.flush()
                self.quoted -= name in _QUOTED

    def unit(self, element: Element, name: str, number: str, heading: str) -> None:
        is_item = name in _ITEMS and not (heading and not self.in_section)
        if is_item or self.quoted or (self.in_section and name not in _HEADS):
            self.item(element, number, heading)
        elif self.in_section:  # a heading among items: what follows is still of the section
            self.writer.caption(f"{number} {heading}")
            self.children(element)
            self.flush()
        else:
            self.section(element, name, number, heading)

    def section(self, element: Element, name: str, number: str, heading: str) -> None:
        before = self.level, self.depth, self.in_section
        self.level, self.depth, self.open_depth = self.level + 1, 0, 0
        self.in_section = name not in _HEADS or element.get("TYPE") in ("SECTION", "APPENDIX")
        numbered = numbered_heading if self.in_section else _titled
        self.writer.heading(self.level, numbered(number, heading))
        self.children(element)
        self.flush()
        self.write_notes()
        self.level, self.depth, self.in_section = before
        self.open_depth = 0

    def item(self, element: Element, number: str, heading: str) -> None:
        """Write an item; what an amendment quotes is named in words, it is no item of this law."""
        is_named = bool(self.quoted or not number)
        name = TERM.format((number or heading).strip('“”"«»—– ')) if is_named else ""
        title = heading.rstrip(".:—– ").replace("*", "") if number else ""
        has_heading = not number and _plain(element, _HEADINGS)
        self.lead = number or (f"*{heading}*" if has_heading else ""), name, title
        self.depth += 1
        self.children(element)
        self.flush()
        self.open_item()
        self.depth -= 1

    def open_item(self) -> None:
        """Write an item that has no words of its own before what is below it."""
        if self.lead is not None:
            self.put("")

    def flush(self) -> None:
        """End the line."""
        words = self.line.text()
        self.line.clear()
        # A sign behind a quotation is no paragraph.
        if any(map(str.isalnum, words)):
            self.put(words)

    def put(self, words: str) -> None:
        """Write words: the first of an item behind its label, others where they belong."""
        if self.lead is not None:
            label, name, title = self.lead
            self.lead = None
            lead = f"*{title}.* {words}" if title else words
            self.writer.item(label, lead, self.depth - 1, name=name)
            self.open_depth = self.depth
        elif self.open_depth > self.depth:
            self.writer.goes_on(words, self.depth)
            self.open_depth = self.depth
        else:
            self.writer.paragraph(words)

    def footnote(self, element: Element) -> None:
        """Keep a footnote for the end of its section; its mark stands in the text."""
        if marker := element.get("marker"):
            self.line.add(f"[^{marker}]")
        self.notes.append(element)

    def write_notes(self) -> None:
        for note in self.notes:
            with self.spans.of(note):
                sign = note.find("{*}sup")
                mark = note.get("marker") or ("".join(sign.itertext()) if sign is not None else "")
                words = one_line("".join(note.itertext())).removeprefix(mark).strip()
                self.writer.paragraph(f"[^{mark}]: {words}" if mark else words)
        self.notes = []

    def table(self, element: Element) -> None:
        captions = ("caption", "TTITLE", "CAPTION", "TITLE")
        caption = next((_words(e) for e in element.iter() if local_name(e) in captions), "")
        head: list[list[GridCell]] = []
        body: list[list[GridCell]] = []
        for row in element.iter():
            if local_name(row) not in ("tr", "TR", "ROW", "BOXHD"):
                continue
            cells = [e for e in elements(row) if local_name(e) in _CELLS]
            ancestors = {local_name(e) for e in row.iterancestors()}
            is_head = not body and (
                ancestors & {"thead", "THEAD"}
                or row.get("TYPE") == "HEADER"
                or (cells and all(local_name(e) in ("th", "TH", "CHED") for e in cells))
            )
            (head if is_head else body).append([_cell(e) for e in cells])
        full = spread([*head, *body])
        self.writer.table(TableText(full[: len(head)], full[len(head) :], caption))


_CELLS = {"td", "th", "TD", "TH", "CELL", "ENT", "CHED"}


def _cell(element: Element) -> GridCell:
    def count(*names: str) -> int:
        words = next((element.get(name) for name in names if element.get(name)), "1")
        return max(1, int(words)) if words.isdecimal() and len(words) < 5 else 1

    return GridCell(_words(element), count("colspan", "COLSPAN"), count("rowspan", "ROWSPAN"))


def _words(element: Element) -> str:
    return one_line(" ".join(element.itertext()))


def _plain(element: Element, names: set[str]) -> str:
    """Return the words of the first child with one of the names."""
    for child in elements(element):
        if local_name(child) in names:
            notes = [
                e
                for e in child.iter()
                if local_name(e) in _FOOTNOTES | {"sup"} or "footnoteRef" in e.get("class", "")
            ]
            words = Inline()
            _add_plain(child, words, set(notes))
            return one_line(words.text(plain=True))
    return ""


def _add_plain(element: Element, words: Inline, left_out: set[Element]) -> None:
    words.add(element.text or "")
    for child in elements(element):
        gap = " " if local_name(child) in _GAPS | {"P", "TI", "STI", "p"} else ""
        words.add(gap)
        if child not in left_out:
            _add_plain(child, words, left_out)
        words.add(gap + (child.tail or ""))


def _defined(element: Element) -> str:
    """Return the term that an item without a number begins with."""
    term = next(element.iter("{*}term", "{*}def"), None)
    words = one_line("".join(element.itertext())).strip('“"«( ')
    label = one_line("".join(term.itertext())).strip('“”" ,.') if term is not None else ""
    return label if words.startswith(label) else ""


def _titled(number: str, heading: str) -> str:
    return one_line(f"{number.rstrip('—–-. ')} {heading}")


def numbered_heading(number: str, heading: str) -> str:
    """Return a section's heading so that its number is read as one.

    >>> numbered_heading("SEC. 301.", "GRANTS."), numbered_heading("2.1", "Fees")
    ('SEC. 301. GRANTS.', '2.1 Fees')
    >>> numbered_heading("7", ""), numbered_heading("12A", "Tests")
    ('7.', '§ 12A Tests')
    """
    bare = _NUMBER.search(number)
    plain = one_line(f"{number} {heading}")
    if bare is None or heading_label(plain).scheme not in ("", "bare"):
        return plain
    for printed in (f"{bare.group()}.", f"§ {bare.group()}"):
        found = heading_label(f"{printed} {heading}")
        if found.canonical == bare.group() and found.scheme in ("decimal", "§"):
            return one_line(f"{printed} {heading}")
    return plain
