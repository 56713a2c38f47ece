"""A place as other software cites it: what is known of it, and one function for each style.

Plain words, Markdown and HTML are for people; BibTeX, RIS and CSL-JSON for reference managers;
Bluebook and OSCOLA for lawyers; a W3C annotation for whoever has to find the words again.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, NamedTuple, cast, get_args
from urllib.parse import quote

from pincite.model.editions import edition_of, parse_date, years
from pincite.model.errors import ConfigError
from pincite.model.languages import language_code
from pincite.model.locators import singular
from pincite.model.markup import plain
from pincite.model.patterns import lazy_pattern
from pincite.model.types import Chunk, PageRef

CitingStyle = Literal[
    "plain", "markdown", "html", "bibtex", "ris", "csl-json", "bluebook", "oscola", "annotation"
]
STYLES: tuple[str, ...] = get_args(CitingStyle)
CONTEXT_CHARS = 40  # before and behind a quotation, to tell it from its like
FRAGMENT_WORDS = 8  # of a text link, at each end


class PartForm(NamedTuple):
    """How a part of a work is called in CSL (1.0.2), in Bluebook and in OSCOLA."""

    csl: str
    bluebook: str
    oscola: str


_SECTION = PartForm("section", "§", "s")
_FORMS = {
    "section": _SECTION,
    "article articolo artículo artikel": PartForm("article-locator", "art.", "art"),
    "rule règle regola regla regel": PartForm("rule", "r.", "r"),
    "regulation": PartForm("section", "reg.", "reg"),
    "paragraph paragraphe paragrafo párrafo": PartForm("paragraph", "¶", "para"),
    "chapter chapitre capitolo capo capítulo kapitel": PartForm("chapter", "ch.", "ch"),
    "part partie parte teil": PartForm("part", "pt.", "pt"),
    "subpart": PartForm("part", "subpt.", "subpt"),
    "title titre titolo título titel": PartForm("title-locator", "tit.", "title"),
    "table tableau tabella tabelle tabla": PartForm("table", "tbl.", "table"),
    "figure figura abbildung": PartForm("figure", "fig.", "fig"),
    "appendix appendice apéndice anhang": PartForm("appendix", "app.", "app"),
    "annex annexe allegato anexo anlage": PartForm("appendix", "annex", "annex"),
    "schedule": PartForm("appendix", "sched.", "sch"),
    "note": PartForm("note", "n.", "n"),
}
_BY_WORD = {word: form for words, form in _FORMS.items() for word in words.split()}
_NAMED = lazy_pattern(r"(?P<word>[^\W\d_]{2,20}\.?)\s+(?P<number>[\dA-Z(].*)", re.DOTALL)
# In Britain the kind of an instrument says what its parts are called.
_INSTRUMENT = lazy_pattern(r"\b(Regulations|Order|Rules)\s+(?:1[89]|20)\d\d\b")
_INSTRUMENTS = {"Regulations": "reg", "Order": "art", "Rules": "r"}
_CODE = lazy_pattern(r"\b(?P<title>\d{1,2})\s?(?P<code>C\.?F\.?R|U\.?S\.?C)\b")
_USLM_CODE = lazy_pattern(r"/us/(?P<code>usc|cfr)/t(?P<title>\w{1,4})(?:/|$)")
_TYPES = {  # of a card's kind: in CSL, in RIS
    "act": ("legislation", "STAT"),
    "regulation": ("regulation", "STAT"),
    "code": ("legislation", "STAT"),
    "standard": ("standard", "STAND"),
    "report": ("report", "RPRT"),
    "manual": ("book", "BOOK"),
    "rulebook": ("book", "BOOK"),
    "paper": ("article", "UNPB"),
    "slides": ("speech", "SLIDE"),
    "letter": ("personal_communication", "PCOMM"),
}
_FILING = lazy_pattern(r"(?:\d+-[KQ]|\d+-F|S-\d).*|earnings release")


@dataclass(frozen=True, slots=True)
class PlaceToCite:
    """A place, and what its document is called, by whom, since when, and where it is found."""

    title: str  # the document's
    place: Chunk
    page: PageRef
    meta: Mapping[str, str] = field(default_factory=dict)  # the document's card
    identifiers: tuple[str, ...] = ()  # that the source has for the place, then for the work
    before: str = ""  # words on both sides of the place
    after: str = ""
    links: str = ""  # where the documents stand on the web

    @property
    def name(self) -> str:
        return self.title or self.place.span.doc_id

    @property
    def locator(self) -> str:
        """The place's name in its document; empty for a document without parts."""
        is_whole = self.place.locator == self.name or self.place.kind == "document"
        return "" if is_whole else self.place.locator

    @property
    def part(self) -> tuple[PartForm | None, str]:
        """What kind of part the place is, and its number; no kind for one that has only a name."""
        locator = self.locator
        named = _NAMED.match(locator)
        if named and (form := _BY_WORD.get(singular(named["word"]))):
            return form, named["number"]
        if locator[:1].isdigit() or locator.startswith("§"):
            return _SECTION, locator.lstrip("§ ")
        return None, locator

    @property
    def issued(self) -> tuple[int, ...]:
        """Year, month and day since when the document counts; a year alone if it says no more."""
        told = (parse_date(self.meta.get(name, "")) for name in ("effective", "date"))
        days = [day for day in told if day]
        edition = edition_of(self.place.span.doc_id, self.title, self.meta).effective
        fitting = [day for day in days if edition is None or day.year == edition.year]
        if fitting:
            return fitting[0].year, fitting[0].month, fitting[0].day
        return (edition.year,) if edition else ()

    @property
    def year(self) -> str:
        return "".join(map(str, self.issued[:1]))

    @property
    def key(self) -> str:
        """A name for the citation in a bibliography, of letters that all programs allow."""
        words = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.place.span.doc_id}-{self.locator}")
        return words.strip("-") or "document"

    @property
    def printed(self) -> str:
        """The page as it is printed, else its number in the file; empty without pages."""
        return self.page.label or ("" if self.page.number is None else str(self.page.number))

    @property
    def address(self) -> str:
        """Where the document is: its name, below the links that were given."""
        base = f"{self.links.rstrip('/')}/" if self.links else ""
        return base + quote(self.place.span.doc_id)

    @property
    def link(self) -> str:
        """An address that opens the document at the place: a PDF at its page, else at its words."""
        if self.place.span.doc_id.lower().endswith(".pdf"):
            return self.address if self.page.number is None else self._at_page()
        fragment = text_fragment(self.place.text)
        return f"{self.address}#{fragment}" if fragment else self.address

    def _at_page(self) -> str:
        return f"{self.address}#page={self.page.number}"

    def cite(self, style: str = "plain") -> str:
        """Return the citation in one of the styles."""
        if style not in STYLES:
            raise ConfigError(f"no style {style!r} of citing", hint=f"known: {', '.join(STYLES)}")
        return _STYLES[cast(CitingStyle, style)](self)


def cite_place(title: str, place: Chunk, page: PageRef, style: str = "plain") -> str:
    """Return how to cite a place, or what stands on one of its pages, of a document of a title.

    >>> from pincite.model.types import Span
    >>> span = Span("code.md", 0, 5)
    >>> rods = Chunk("c", span, "apart", "clause", "250.56(B)", "", (), 5)
    >>> cite_place("Code, 2024", rods, PageRef(12))
    'Code, 2024, 250.56(B), p. 12'
    >>> cite_place("Code, 2024", rods, PageRef(12, "8"), "markdown")
    '*Code, 2024*, **250.56(B)**, p. 8 (PDF 12)'
    """
    return PlaceToCite(title, place, page).cite(style)


_LABEL = lazy_pattern(r"(?:\([\w.]{1,6}\)|[\w.]{1,8}[.)])\s+")
_BARS = lazy_pattern(r"[|:\s-]+")


def text_fragment(text: str) -> str:
    """Return what makes a browser scroll to a text: its first and last words.

    >>> text_fragment("(a) Two rods, or plates, shall stand apart.")
    ':~:text=Two%20rods%2C%20or%20plates%2C%20shall%20stand%20apart.'
    >>> text_fragment("# Rods\\n\\nThey shall be at least 2.4 m apart.")
    ':~:text=Rods,They%20shall%20be%20at%20least%202.4%20m%20apart.'
    """
    cells = (cell for line in text.splitlines() for cell in line.split("|"))
    lines = [words for cell in cells if (words := plain(cell).split()) and not _is_rule(cell)]
    if not lines:
        return ""
    first, last = _without_label(lines[0]), lines[-1]
    if len(lines) == 1 and len(first) <= 2 * FRAGMENT_WORDS:
        return f":~:text={_quoted(first)}"
    return f":~:text={_quoted(first[:FRAGMENT_WORDS])},{_quoted(last[-FRAGMENT_WORDS:])}"


def _is_rule(cell: str) -> bool:
    return bool(_BARS.fullmatch(cell))


def _without_label(words: list[str]) -> list[str]:
    return words[1:] if len(words) > 1 and _LABEL.fullmatch(f"{words[0]} ") else words


def _quoted(words: list[str]) -> str:
    return quote(" ".join(words), safe="").replace("-", "%2D")


# --- For people ----------------------------------------------------------------------------------

_MARKDOWN = lazy_pattern(r"([\\`*_\[\]<>#|])")


def _plain(cited: PlaceToCite) -> str:
    return ", ".join(filter(None, (cited.name, cited.locator))) + str(cited.page)


def _markdown(cited: PlaceToCite) -> str:
    name, where = (_MARKDOWN.sub(r"\\\1", text) for text in (cited.name, cited.locator))
    words = f"*{name}*, **{where}**" if where else f"*{name}*"
    if cited.links:
        words = f"[{words}](<{cited.link}>)"
    return f"{words}{cited.page}"


def _html(cited: PlaceToCite) -> str:
    where = f", {escape(cited.locator)}" if cited.locator else ""
    words = f"<cite>{escape(cited.name)}</cite>{where}{escape(str(cited.page))}"
    return f'<a href="{escape(cited.link)}">{words}</a>'


# --- For lawyers ---------------------------------------------------------------------------------


def _code(cited: PlaceToCite) -> tuple[str, str] | None:
    """Return title and name of the American code that a place is of."""
    known = (_USLM_CODE.match(each) for each in cited.identifiers)
    found = next(filter(None, known), None) or _CODE.search(cited.name)
    return (found["title"], found["code"].replace(".", "").upper()) if found else None


def _bluebook(cited: PlaceToCite) -> str:
    """Return a citation as American lawyers write it: "47 C.F.R. § 97.113(a)(4) (2025)"."""
    form, number = cited.part
    code = _code(cited)
    year = f" ({cited.year})" if cited.year else ""
    if code and form is _SECTION:
        return f"{code[0]} {'.'.join(code[1])}. § {number}{year}"
    author = f"{cited.meta['issuer']}, " if cited.meta.get("issuer") else ""
    author = "" if cited.name.startswith(author.strip(", ") or "\0") else author
    where = f" {form.bluebook} {number}" if form else f", {number}" if number else ""
    page = f", at {cited.printed}" if cited.printed else ""
    named = years(cited.name)
    return f"{author}{cited.name}{where}{page}{'' if named else year}"


def _oscola(cited: PlaceToCite) -> str:
    """Return a citation as British lawyers write it: "Merchant Shipping Act 1995, s 5(2)"."""
    form, number = cited.part
    code = _code(cited)
    year = f" ({cited.year})" if cited.year else ""
    if code and form is _SECTION:
        return f"{code[0]} {code[1]} § {number}{year}"
    author = cited.meta.get("issuer", "")
    author = f"{author}, " if author and not cited.name.startswith(author) else ""
    name = f"{author}{cited.name}{'' if years(cited.name) else year}"
    if form is None:
        return ", ".join(filter(None, (name, number))) + (f" {cited.printed}".rstrip())
    kind = _INSTRUMENT.search(cited.name) if form is _SECTION else None
    where = f", {_INSTRUMENTS[kind[1]] if kind else form.oscola} {number}"
    return f"{name}{where}" + (f", {cited.printed}" if cited.printed else "")


# --- For reference managers ----------------------------------------------------------------------

_TEX = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", **{c: f"\\{c}" for c in "&%$#_"},
}  # fmt: skip


def _types(cited: PlaceToCite) -> tuple[str, str]:
    kind = cited.meta.get("kind", "")
    return _TYPES["report"] if _FILING.fullmatch(kind) else _TYPES.get(kind, ("document", "GEN"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _bibtex(cited: PlaceToCite) -> str:
    author, year = cited.meta.get("issuer", ""), cited.year
    fields = {
        "title": cited.name,
        "author": author,
        "year": year,
        "note": cited.locator,
        "pages": cited.printed,
        "howpublished": cited.place.span.doc_id,
    }
    safe = {
        name: "".join(_TEX.get(letter, letter) for letter in _one_line(text))
        for name, text in fields.items()
        if text
    }
    if author:
        safe["author"] = f"{{{safe['author']}}}"  # one name, however many words it has
    if cited.links:
        safe["url"] = cited.link
    lines = [f"  {name} = {{{text}}}," for name, text in safe.items()]
    return "\n".join([f"@misc{{{cited.key},", *lines, "}"])


def _ris(cited: PlaceToCite) -> str:
    """Return the record of a place for EndNote, Zotero and the like."""
    lines = [
        ("TY", _types(cited)[1]),
        ("ID", cited.key),
        ("TI", cited.name),
        ("AU", cited.meta.get("issuer", "")),
        ("PY", cited.year),
        ("DA", "/".join(f"{part:02}" for part in cited.issued)),
        ("ET", cited.meta.get("edition", "")),
        ("SE", cited.locator),
        ("SP", cited.printed),
        ("UR", cited.link if cited.links else ""),
        *(("AN", each) for each in cited.identifiers[:1]),
        ("N1", _plain(cited)),
        ("DB", cited.place.span.doc_id),
    ]
    records = [f"{tag}  - {_one_line(text)}" for tag, text in lines if text]
    return "\r\n".join([*records, "ER  - "]) + "\r\n"


def _csl(cited: PlaceToCite) -> str:
    """Return a list with one item, as CSL-JSON has it, with the locator and what it counts."""
    form, number = cited.part
    label = form.csl if form else "section"
    if not number:
        label, number = "page", cited.printed
    issuer = cited.meta.get("issuer", "")
    language = language_code(cited.meta.get("language", ""))
    item: dict[str, Any] = {
        "id": cited.key,
        "type": _types(cited)[0],
        "title": cited.name,
        "author": [{"literal": issuer}] if issuer else [],
        "issued": {"date-parts": [list(cited.issued)]} if cited.issued else {},
        "edition": cited.meta.get("edition", ""),
        "language": language,
        "URL": cited.link if cited.links else "",
        "source": cited.place.span.doc_id,
        "locator": number,
        "label": label if number else "",
    }
    item = {name: value for name, value in item.items() if value}
    page = {"page": cited.printed, "pdf_page": cited.page.number} if cited.printed else {}
    known = {"identifiers": list(cited.identifiers)} if cited.identifiers else {}
    if custom := {**page, **known}:
        item["custom"] = custom
    return json.dumps([item], ensure_ascii=False, indent=2)


def _annotation(cited: PlaceToCite) -> str:
    """Return a W3C annotation whose selectors find the words again; offsets are of our text."""
    span, words = cited.place.span, cited.place.text
    around = {"exact": words, "prefix": cited.before, "suffix": cited.after}
    selectors: list[dict[str, Any]] = [
        {"type": "TextQuoteSelector", **around},
        {"type": "TextPositionSelector", "start": span.start, "end": span.end},
    ]
    if cited.page.number is not None:
        page = {"type": "FragmentSelector", "conformsTo": "http://tools.ietf.org/rfc/rfc3778"}
        selectors.append({**page, "value": f"page={cited.page.number}"})
    told: dict[str, Any] = {"type": "TextualBody", "value": _plain(cited), "format": "text/plain"}
    name = f"{cited.meta.get('sha256', '')} {span.doc_id} {span.start} {span.end}"
    values = {
        "@context": "http://www.w3.org/ns/anno.jsonld",
        "id": uuid.uuid5(uuid.NAMESPACE_URL, name).urn,
        "type": "Annotation",
        "motivation": "identifying",
        "body": [told, *({"id": each} for each in cited.identifiers)],
        "target": {"source": cited.address, "selector": selectors},
    }
    return json.dumps(values, ensure_ascii=False, indent=2)


_STYLES: dict[CitingStyle, Callable[[PlaceToCite], str]] = {
    "plain": _plain,
    "markdown": _markdown,
    "html": _html,
    "bibtex": _bibtex,
    "ris": _ris,
    "csl-json": _csl,
    "bluebook": _bluebook,
    "oscola": _oscola,
    "annotation": _annotation,
}
