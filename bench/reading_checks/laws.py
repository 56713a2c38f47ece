"""Laws in XML: does every identifier of the source resolve to its place?

Documents: `canada-regs` (both languages), `legal-xml/uslm`, `legal-xml/akoma-ntoso`. Counted is
every identifier (`identifier`, `id`, `eId`, `GUID`, `lims:id`, `lims:fid` …) of an element of the
law that is a section, article, paragraph, item, definition, schedule or heading, by the names of
its schema, and has a number, a heading or a term to be called by. It resolves if `index.show` gives
a place in that document, whose words begin with the first words of the element: its number, heading
or text, as letters and digits, 40 of them. What is inside a table of contents or the metadata is no
place. Of all other identifiers (`other elements`) it is counted whether some place is shown that
holds the element's first words: notes of history are left out, and words of tables stand in
another order. An identifier that leads to more places than the source itself
gives it to is `ambiguous`.

Half of the documents of each kind, the first by the SHA-256 of their names, were looked at while
the readers were written (`DORS` counts as `SOR`, so that a law is in one half with its
translation); of the others only these figures, four times. After the first time, the sections of
COMPS-1523 that had failed were looked at: the source has headings before numbers there.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

import pincite
from checks import Figure

KINDS = {
    "canada-regs": "canada-regs/*/*.xml",
    "USLM": "legal-xml/uslm/*",
    "Akoma Ntoso": "legal-xml/akoma-ntoso/*",
}
PLACES = {
    *("section", "article", "rule", "subsection", "paragraph", "subparagraph", "clause", "part"),
    *("subclause", "item", "subitem", "point", "indent", "alinea", "title", "subtitle", "chapter"),
    *("subchapter", "subpart", "division", "hcontainer", "appropriations", "level"),
    *("Section", "Subsection", "Paragraph", "Subparagraph", "Clause", "Subclause", "Definition"),
    *("Schedule", "Heading"),
}
NO_TEXT = {"meta", "toc", "TableOfProvisions", "RecentAmendments", "HistoricalNote"}
ATTRIBUTES = ("identifier", "id", "eId", "wId", "GUID", "temporalId", "fid")
_SIGNS = re.compile(r"[\W_]+")
_MARK = re.compile(r"\[\^[^\]]*\]")  # of a footnote
CHARS = 40


def run(data: Path) -> list[Figure]:
    """Return the figures of each kind, for both halves."""
    figures = []
    for kind, pattern in KINDS.items():
        files = [each for each in data.glob(pattern) if each.suffix.lower() == ".xml"]
        if not files:
            figures.append(Figure(f"{kind}: no documents in {data}", 0.0))
            continue
        works = sorted({_work(each) for each in files}, key=_digest)
        seen = set(works[: (len(works) + 1) // 2])
        for half, is_seen in (("looked at", True), ("not looked at", False)):
            chosen = [each for each in files if (_work(each) in seen) == is_seen]
            figures += _figures(f"{kind}, {half}", chosen)
    return figures


def _work(file: Path) -> str:
    return file.name.replace("DORS", "SOR")


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _figures(name: str, files: list[Path]) -> list[Figure]:
    right = {True: 0, False: 0}
    total = {True: 0, False: 0}
    rejected = ambiguous = 0
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            index = pincite.open(folder)
            report = index.ingest([file])
            if not index.documents():
                rejected += 1
                print(f"  {file.name}: {report}")
                continue
            identifiers = list(_identifiers(file))
            used = Counter(identifier for identifier, _, _ in identifiers)
            for identifier, is_place, words in identifiers:
                total[is_place] += 1
                shown = _shown(index, identifier)
                right[is_place] += _is_right(shown, is_place, words)
                ambiguous += len(shown) > used[identifier]
            index.close()
    share = {is_place: right[is_place] / max(1, total[is_place]) for is_place in total}
    return [
        Figure(f"{name}: identifiers of places", share[True], "1.0", total[True]),
        Figure(f"{name}: identifiers of other elements", share[False], "", total[False]),
        Figure(f"{name}: ambiguous", ambiguous, "0"),
        Figure(f"{name}: rejected", rejected, "0", len(files)),
    ]


def _identifiers(file: Path) -> Iterator[tuple[str, bool, str]]:
    """Yield each identifier, whether it is one of a place, and the first words of the element."""
    root = etree.parse(str(file)).getroot()
    for element in root.iter():
        if not isinstance(element.tag, str):
            continue
        above = {etree.QName(e).localname for e in element.iterancestors() if e is not None}
        name = etree.QName(element).localname
        words = _letters(_text(element))
        if not words or name in NO_TEXT or above & NO_TEXT or name == "footnote":
            continue
        for attribute, value in element.attrib.items():
            if etree.QName(attribute).localname in ATTRIBUTES and value.strip():
                yield value, name in PLACES and _is_named(element), words


def _is_named(element: Any) -> bool:
    names = ("num", "heading", "Label", "TitleText", "Text", "ScheduleFormHeading")
    return any(element.find(f"{{*}}{name}") is not None for name in names)


def _text(element: Any) -> str:
    """Return the first words of an element as they are printed: a number, then the heading."""
    name = etree.QName(element).localname
    if name == "Schedule" and (heading := element.find("ScheduleFormHeading")) is not None:
        parts = (heading.find("Label"), heading.find("TitleText"))  # its references stand behind
        return " ".join(_inner(each) for each in parts if each is not None)
    label, note = element.find("Label"), element.find("MarginalNote")
    if name != "Section" and label is not None and note is not None:
        return _inner(label)
    first = [label, note, element.find("{*}num"), element.find("{*}heading")]
    first = [each for each in first if each is not None]
    rest = [each for each in element if each not in first]
    # The number stands first, wherever the source has it.
    return " ".join(
        [element.text or "", *(_inner(each) + (each.tail or "") for each in (*first, *rest))]
    )


def _inner(element: Any) -> str:
    if not isinstance(element.tag, str):
        return ""
    name = etree.QName(element).localname
    left_out = {*NO_TEXT, "sidenote", "footnote", "page", "authorialNote", "Footnote", "sup"}
    left_out |= {"FootnoteRef"}
    if name in left_out or "footnoteRef" in element.get("class", ""):
        return ""
    parts = [element.text or ""]
    for child in element:
        parts += (_inner(child), child.tail or "")
    return " ".join(parts)


def _letters(words: str) -> str:
    return _signs_out(words)[:CHARS]


def _signs_out(words: str) -> str:
    words = _MARK.sub("", words)
    return _SIGNS.sub("", unicodedata.normalize("NFKC", words)).casefold()


def _shown(index: pincite.Index, identifier: str) -> list[str]:
    try:
        return [_signs_out(chunk.text) for chunk in index.show(identifier)]
    except pincite.PinciteError:
        return []


def _is_right(shown: list[str], is_place: bool, words: str) -> bool:
    return any(each.startswith(words) if is_place else words in each for each in shown)
