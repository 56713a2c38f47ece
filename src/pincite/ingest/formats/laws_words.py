"""The words of a law's elements: emphasis, defined terms, raised marks and footnotes."""

from __future__ import annotations

from pincite.ingest.formats.inline import Inline, one_line
from pincite.ingest.formats.xml import Element, elements, local_name

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
