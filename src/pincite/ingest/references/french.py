"""The grammar of French cross references: « l'alinéa (1)b) », « aux paragraphes (2) à (4) ».

It yields the same citations as the English one, whose words for places it takes over: a French
« article » is a section, a « paragraphe » a subsection, an « alinéa » a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from pincite.ingest.references.citations import Citation, Cited, Tail, citations
from pincite.model.locators import FRENCH_PARTS
from pincite.model.units import unit_follows

SAMPLE_CHARS = 50_000
_FRENCH = re.compile(r"\b(?:le|la|les|des|du|est|une|dans|pour|que|sont|aux|ou|et)\b")
_ENGLISH = re.compile(r"\b(?:the|of|and|to|is|shall|in|for|or|that|are|by|with)\b")

_S = r"(?:[ \t\xa0]{1,4}(?:\r?\n[ \t>]*)?|\r?\n[ \t>]*)"  # a gap, but no paragraph's end
_LABEL = r"(?:\([0-9A-Za-z.]{1,6}\)|[a-z]{1,2}(?:\.\d{1,2})?\))"
_NUMBER = r"\d{1,4}[A-Z]?(?:\.\d+)*(?![\d,]\d)"
_PLACE = rf"(?:(?P<number>{_NUMBER})(?P<labels>{_LABEL}{{0,8}})|(?P<only>{_LABEL}{{1,8}}))(?!\w)"
_OWN_WORDS = {**FRENCH_PARTS, "article": "section", "partie": "partie", "annexe": "annexe"}
_WORD = rf"(?P<word>(?i:{'|'.join(FRENCH_PARTS)})s?)"
_OF = rf"{_S}(?:d[ue]s?(?:{_S}(?:l['’]|la{_S}))?|de{_S}l['’]|d['’])(?:{_S})?"
_OWN = rf"(?:présente?|cet|ce|cette){_S}(?P<own>{'|'.join(_OWN_WORDS)})\b"

_HEAD = re.compile(
    rf"(?<![\w-])(?:{_WORD}{_S}{_PLACE}"
    rf"|(?i:présente?){_S}(?P<own>(?i:{'|'.join(_OWN_WORDS)}))\b(?!{_S}?(?:{_NUMBER}|{_LABEL})))"
)
_NOTE = r"(?:\[\^[^\]\s]{1,4}\])?"
_JOIN = re.compile(
    rf"{_NOTE}(?:,{_S}(?:(?:et|ou|ni){_S})?|{_S}(?:et/ou|et|ou|ni|ainsi{_S}que){_S}"
    rf"|(?P<through>{_S}à{_S}))"
    rf"(?:(?:(?:aux?|les?|la|des?|du|à){_S})?(?:[ld]['’])?{_WORD}{_S})?{_PLACE}"
)
_TO_THIS = re.compile(rf"{_S}(?:d[ue]|de{_S}la|au|à{_S}la){_S}{_OWN}")
_TO_PLACE = re.compile(rf"{_OF}(?={_WORD}{_S}{_PLACE})")
_TO_NAME = re.compile(
    rf"{_S}(?:de{_S}la|du|de{_S}l['’]|des){_S}?\**_*(?P<name>(?:Loi|Règlement|Code|Décret|Ordonnance"
    rf"|Norme|Convention|Tarif|Règles)s?(?:{_S}(?!et\b|ou\b)[\wÀ-ÿ’'-]+){{0,12}})"
)
_TO_WORK = re.compile(
    rf"{_OF}(?P<name>(?:(?:cette|cet|ce){_S})?(?:loi|règlement|norme|code|titre|ordonnance|décret"
    rf"|publication|sous-partie)\b(?:{_S}(?:[A-Z]+[ -]?)?[A-Z]?\d[\w.-]*)?)"
)
_TO_TABLE = re.compile(rf"{_OF}tableau\b")
_TO_OTHER = re.compile(
    rf"{_OF}(?:définition|annexe|partie|document|appendice|acte|formule)\b"
    rf"|{_S}de{_S}(?:cette|cet|ce|ces|chacune?){_S}\w"
)
_NOTE_SIGN = re.compile(_NOTE)


def is_french(text: str) -> bool:
    """Return whether the beginning of a text is French.

    >>> is_french("Le présent article et les alinéas du règlement"), is_french("of the code")
    (True, False)
    """
    sample = text[:SAMPLE_CHARS].lower()
    return len(_FRENCH.findall(sample)) > len(_ENGLISH.findall(sample))


def french_citations(text: str, start: int, end: int) -> Iterator[Citation]:
    """Yield what a French text cites, in order; what is written as in English included.

    >>> [found] = french_citations("visée aux alinéas (1)b) ou (2)c)", 0, 32)
    >>> [each.labels for each in found.cited]
    [('(1)', '(b)'), ('(2)', '(c)')]
    """
    position = start
    while match := _HEAD.search(text, position, end):
        yield from _others(text, position, match.start(), end)
        found = _citation(text, match, end)
        position = found.end if found is not None else match.end()
        # "l'alinéa 3b) du tableau" is a cell, whatever section 3 says.
        if found is not None and not _TO_TABLE.match(text, found.end, end):
            yield found
    yield from _others(text, position, end, end)


def _others(text: str, start: int, stop: int, end: int) -> Iterator[Citation]:
    """Yield what is cited between, as in English: tables, annexes, parts, bare numbers."""
    for found in citations(text, start, stop):
        if found.tail.kind or found.is_own or found.end > stop:
            yield found
        else:
            tail = _tail(text, found, end, depth=0)
            yield replace(found, tail=tail) if tail.kind in ("name", "other") else found


def _citation(text: str, match: re.Match[str], end: int, depth: int = 0) -> Citation | None:
    """Return the citation that begins with this match, with all its places and its tail."""
    if match["own"]:
        word = _OWN_WORDS[match["own"].lower()]
        return Citation(match.start(), match.end(), word, (), is_own=True)
    word, plural = _singular(match["word"])
    first = _cited(match)
    if word == "article" and not first.number:
        return None
    if word in ("clause", "subclause") and not first.number:  # words of every day, too
        first = replace(first, is_doubtful=True)
    cited = [first]
    while join := _JOIN.match(text, cited[-1].end, end):
        place = _joined(text, join, match["word"], cited[-1], plural=plural)
        if place is None:
            break
        cited.append(place)
    whole = Citation(match.start(), cited[-1].end, word, tuple(cited))
    whole = replace(whole, cited=(replace(first, start=match.start()), *cited[1:]))
    tail = _tail(text, whole, end, depth)
    return replace(whole, tail=tail, end=max(whole.end, tail.end))


def _cited(match: re.Match[str]) -> Cited:
    labels = match["labels"] or match["only"] or ""
    found = tuple(f"({label.strip('()')})" for label in re.findall(_LABEL, labels))
    place = "number" if match["number"] else "only"
    return Cited(match.start(place), match.end(), match["number"] or "", found)


def _joined(
    text: str, join: re.Match[str], word: str, before: Cited, *, plural: bool
) -> Cited | None:
    """Return the place that a list goes on with, None if the words are no part of it."""
    if join["word"] and _singular(join["word"])[0] != _singular(word)[0]:
        return None
    place = _cited(join)
    if place.number and not place.labels:
        if not before.number or unit_follows(text, place.end):
            return None
        doubtful = not plural and not join["word"] and "." not in place.number
        place = replace(place, is_doubtful=doubtful)
    if not place.number and not before.labels:
        return None
    return replace(place, ends_range=bool(join["through"]))


def _singular(word: str) -> tuple[str, bool]:
    """Return the word for a place in English, and whether there are several."""
    lower = word.lower()
    is_one = lower in FRENCH_PARTS
    return FRENCH_PARTS[lower if is_one else lower[:-1]], not is_one


def _tail(text: str, citation: Citation, end: int, depth: int) -> Tail:
    note = _NOTE_SIGN.match(text, citation.end, end)
    position = note.end() if note else citation.end
    if match := _TO_THIS.match(text, position, end):
        return Tail("this", word=_OWN_WORDS[match["own"]], end=match.end())
    if match := _TO_PLACE.match(text, position, end):
        head = _HEAD.match(text, match.end(), end)
        if head and depth < 3 and (found := _citation(text, head, end, depth + 1)):
            return Tail("place", place=found, end=found.end)
    if match := _TO_NAME.match(text, position, end) or _TO_WORK.match(text, position, end):
        return Tail("name", name=" ".join(match["name"].split()), end=match.end())
    return Tail("other" if _TO_OTHER.match(text, position, end) else "")
