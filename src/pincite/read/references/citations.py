"""The grammar of citations in running text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pincite.model.locators import (
    EVERYDAY,
    FRENCH_PARTS,
    INNER,
    NAMED,
    TABLE_WORDS,
    any_of,
    forms_of,
    singular,
)
from pincite.model.units import unit_follows
from pincite.read.structure.numbering import readings

_S = r"(?:[ \t\xa0]{1,4}(?:\r?\n[ \t>]*)?|\r?\n[ \t>]*)"  # a gap, but no paragraph's end
_NUMBER = (
    r"\d{1,5}(?:[A-Za-z]{1,2}(?=[\s.,;:)(–-]|$))?(?:\.\d+[A-Za-z]{0,2})*"
    r"(?:-\d+[A-Za-z]?(?!\.?\d))?(?![A-Za-z0-9])"
)
_LETTERED = r"(?:[A-Z](?:[.-]?\d+(?:\.\d+)*)?|[IVXLC]+)(?![\w’'])"  # "C", "A.4", "IV"
_LABEL = r"\([0-9A-Za-z.]{1,6}\)"
_LABELS = rf"{_LABEL}(?:[ ]?{_LABEL}){{0,7}}"

# Of short forms only these two: "ch. 7" is more often of another law.
_FORMS = [
    form for form in forms_of((*INNER, *NAMED)) if form[-1] != "." or form in ("art.", "sec.")
]
_WORD = any_of((*_FORMS, *(f"{word}(s)" for word in (*INNER, *NAMED))))
_LISTED = rf"(?:,?{_S}(?:(?:and|or|through|to){_S})?)?"  # between two labels, if anything is
_WORKS = ("title", "act", "code", "provision", "regulations", "rules")
_OWN = any_of((*(INNER.keys() - {"step", "item"}), *NAMED, *_WORKS))
_OWN_WORD = rf"(?:this|these|the{_S}present){_S}(?:rule{_S})?{_OWN}"

_HEAD = re.compile(
    rf"""
    (?=[§\d(]|(?<![A-Za-z])[A-Za-z])(?:  # no place begins inside a word: most letters are done
    (?P<law>(?<![\d.])\d{{1,3}}{_S}U\.?{_S}?S\.?{_S}?C\.?)(?:{_S}?§{{1,2}})?{_S}?
        (?:(?P<law_word>(?i:chapter|part)){_S})?(?P<law_number>{_NUMBER})(?P<law_labels>{_LABELS})?
  | (?P<cfr>(?<![\d.])\d{{1,3}}{_S}(?:CFR|C\.F\.R\.))(?:{_S}?§{{1,2}})?{_S}?
        (?:(?P<cfr_word>(?i:parts?|subpart|chapter|appendix)){_S})?
        (?P<cfr_number>{_NUMBER}|{_LETTERED})(?P<cfr_labels>{_LABELS})?
  | (?P<sign>§{{1,2}}){_S}?(?P<sign_number>{_NUMBER})(?P<sign_labels>[ ]?{_LABELS})?
  | (?<![\w-])(?P<this>(?i:this|these){_S})?(?P<word>(?i:{_WORD})){_S}(?:
        (?P<number>{_NUMBER}|{_LETTERED})(?P<labels>[ ]?{_LABELS})? | (?P<only>{_LABELS}))
  | \b(?P<own>(?i:{_OWN_WORD}))\b(?![ ](?:number|title)\b)
  | \b(?:in|under|by|of|per|see|with){_S}(?P<cued>{_LABELS})(?!{_S}(?:an?|the|any|each|all)\b)
  | (?P<loose>(?>{_LABELS}))
        (?=(?>(?:{_LISTED}{_LABEL}){{0,80}}){_S}of{_S}(?i:{_OWN_WORD})\b)
  | (?<![\w.,$€£#/–—-])(?P<bare>\d{{1,5}}(?:\.\d+)+(?:-\d+(?!\.?\d))?(?!\w|\.\d)
        |\d{{1,4}}(?=\([\da-zA-Z]))(?P<bare_labels>[ ]?{_LABELS})?)
    """,
    re.VERBOSE,
)
_JOIN = re.compile(
    rf"(?:(?P<comma>,){_S}?(?:(?:and/or|and|or|et|ou){_S})?|{_S}(?:and/or|and|or|et|ou){_S}"
    rf"|(?P<through>,?{_S}(?:through|thru|to){_S}|[ ]?[–—-][ ]?))"
    rf"(?:(?P<sign>§{{1,2}}){_S}?|(?P<word>(?i:{_WORD})){_S})?"
    rf"(?:(?P<number>{_NUMBER}|[A-Z](?![\w.’']))(?P<labels>[ ]?{_LABELS})?|(?P<only>{_LABELS}))"
)
# In front of a citation: the other work it stands in, as in "CSA C360-03, Table 10".
# or "DORS/2020-130, art. 41" or "L.C. 1990, ch. 7, art. 34".
_STANDARD = re.compile(
    r"\b(?P<name>[A-Z]{3,}(?:[/ ][A-Z]+)?[ /-][A-Z]?\d[\w.-]*"
    r"|(?:[LS]\.C\.|[LR]\.[RS]\.(?:C\.)?)[ ,\d()A-Z-]{0,14}ch?\. ?[\w.-]{1,6}),? ?\(?$"
)
_ASIDE = re.compile(rf",?{_S}(?P<name>Exception(?:{_S}No\.{_S}?\d+)?)(?![\w:])")
_TO_THIS = re.compile(rf"{_S}(?:of|in|to){_S}(?i:{_OWN_WORD}|the{_S}(?:part|section))\b")
_TO_PLACE = re.compile(
    rf"{_S}(?:of|(?P<to>to|in)){_S}(?:the{_S}(?:clause|provision)s?{_S}at{_S})?(?=[§\dA-Za-z(])"
)
_TO_NAME = re.compile(
    rf"(?:,?{_S}(?:and|or){_S}[A-Z]\w+{_S}(?:No\.{_S}?)?\d+)?{_S}"
    rf"(?:(?:(?:of|to){_S}(?:the|that|such|said)|de{_S}(?:la|cette)|du){_S}(?P<name>[A-Z][\w.’'-]*"
    rf"(?:{_S}(?:(?:of|and|on|for|to){_S}(?:the{_S})?)?"
    rf"(?:[A-Z]\.(?={_S}[A-Z])|[A-Z][\w’'-]*|\([A-Z]{{2,}}\)|(?<=of.)\d{{4}})){{0,14}})"
    rf"|(?:of|to){_S}(?P<code>(?i:title){_S}\d+|[A-Z]{{2}}[\w.-]*+(?:{_S}[A-Z]?[\d.-]+\d)?))"
)
_TO_SOMETHING = re.compile(rf"{_S}of{_S}\w")


@dataclass(frozen=True, slots=True)
class Cited:
    """One place of a citation: a number, labels in parentheses, or both."""

    start: int
    end: int
    number: str = ""
    labels: tuple[str, ...] = ()
    ends_range: bool = False  # "through (e)": the place before is the range's first
    is_inner: bool = False  # ", item (b)": below the place before, not beside it
    is_doubtful: bool = False  # a reference only if there is such a place


@dataclass(frozen=True, slots=True)
class Tail:
    """What the words behind a citation say: where its places are."""

    kind: Literal["", "this", "place", "name", "other"] = ""
    word: str = ""  # of "this section"
    name: str = ""  # of "the Communications Act"
    place: CitedPlaces | None = None  # of "§ 97.303"
    end: int = 0


@dataclass(frozen=True, slots=True)
class CitedPlaces:
    """One or more places that are cited together."""

    start: int
    end: int
    word: str  # in the singular; "" for a bare number or bare labels
    cited: tuple[Cited, ...]
    tail: Tail = Tail()
    law: str = ""  # "47 U.S.C.", "47 CFR"
    is_own: bool = False  # "this section" alone, without a number
    is_bare: bool = False
    aside: str = ""  # "Exception No. 1", behind the last place


def citations(text: str, start: int, end: int) -> Iterator[CitedPlaces]:
    """Yield what ``text[start:end]`` cites, in order.

    >>> [found] = citations("as in §§ 97.305(c) and 97.307(f)", 0, 32)
    >>> [(each.number, each.labels) for each in found.cited]
    [('97.305', ('(c)',)), ('97.307', ('(f)',))]
    """
    position = start
    while match := _HEAD.search(text, position, end):
        found = _citation(text, match, end)
        if found is None:
            position = match.start() + 1 if match["cued"] is None else match.start("cued") + 1
            continue
        yield found
        position = max(found.end, position + 1)


def labels_of(text: str) -> tuple[str, ...]:
    """Return the labels of ``(a) (1)(ii)``, none if one of them cannot be a label.

    >>> labels_of("(a) (1)(ii)"), labels_of("(see)")
    (('(a)', '(1)', '(ii)'), ())
    """
    found = tuple(re.findall(_LABEL, text))
    return found if all(_is_label(label) for label in found) else ()


def _is_label(label: str) -> bool:
    core = label.strip("()")
    if not re.fullmatch(r"\d{1,3}[a-z]?(?:\.\d{1,2})?|[a-z]{1,6}(?:\.\d{1,2})?|[A-Z]{1,6}", core):
        return False
    return bool(readings(label))


def _citation(text: str, match: re.Match[str], end: int, depth: int = 0) -> CitedPlaces | None:
    """Return the citation that begins with this match, with all its places and its tail."""
    if match["own"]:
        if match["own"].lower().startswith("these"):
            return None
        word = singular(match["own"].split()[-1])
        return CitedPlaces(match.start(), match.end(), word, (), is_own=True)
    head = _head(match)
    if head is None:
        return None
    first = head.cited[0]
    if head.is_bare and not first.labels and unit_follows(text, first.end):
        return None
    whole = _with_list(text, head, end, plural=_is_plural(match))
    if aside := _ASIDE.match(text, whole.end, end):
        whole = replace(whole, aside=aside["name"], end=aside.end())
    tail = _tail(text, whole, end, depth)
    return replace(whole, tail=tail, end=max(whole.end, tail.end))


def _head(match: re.Match[str]) -> CitedPlaces | None:
    """Return the citation with its first place only."""
    kind = next(k for k in ("law", "cfr", "sign", "word", "cued", "loose", "bare") if match[k])
    if kind in ("cued", "loose"):
        labels = labels_of(match[kind])
        first = Cited(*match.span(kind), labels=labels, is_doubtful=kind == "cued")
        return CitedPlaces(first.start, first.end, "", (first,)) if labels else None
    prefix = "" if kind == "word" else f"{kind}_"
    number = match["bare"] if kind == "bare" else match[f"{prefix}number"] or ""
    raw = match["only"] if kind == "word" and match["only"] else match[f"{prefix}labels"] or ""
    labels = labels_of(raw)
    if not number and (not labels or singular(match["word"]) in NAMED):
        return None
    stop = match.end() if labels or not raw else match.end() - len(raw)
    word = {"word": match["word"], "law": match["law_word"], "cfr": match["cfr_word"]}.get(kind)
    word = singular(word or ("section" if kind == "sign" else ""))
    if number[:1].isalpha() and (word not in NAMED or _is_pronoun(match["word"] or "", number)):
        return None
    if word in EVERYDAY and "." in number:  # the number alone says it: "Acquisition Regulation 3.5"
        return None
    # "sections (a)" is seldom said, and "section(s)" often.
    doubtful = word in EVERYDAY or (not number and INNER.get(word) == 0)
    first = Cited(match.start(), stop, number, labels, is_doubtful=doubtful)
    law = " ".join((match["law"] or match["cfr"] or "").split())
    if standard := _STANDARD.search(match.string, max(0, match.start() - 40), match.start()):
        law = law or standard["name"]
    return CitedPlaces(match.start(), stop, word, (first,), law=law, is_bare=kind == "bare")


def _is_pronoun(word: str, number: str) -> bool:
    """Return whether the letter is a word: "the part I like", "a table A said"."""
    return number in ("I", "A") and word[:1].islower()


def _is_plural(match: re.Match[str]) -> bool:
    word = (match["word"] or "").lower()
    return match["sign"] == "§§" or (bool(word) and singular(word) != word)


def _with_list(text: str, head: CitedPlaces, end: int, *, plural: bool) -> CitedPlaces:
    """Return the citation with the places that are joined to its first."""
    cited = list(head.cited)
    while match := _JOIN.match(text, cited[-1].end, end):
        place = _joined(text, match, head, cited[-1], plural)
        if place is None:
            break
        cited.append(place)
    if plural and head.word not in TABLE_WORDS and len(cited) == 1:
        cited = list(_hyphen_range(cited[0]))
    return replace(head, cited=tuple(cited), end=cited[-1].end)


def _joined(
    text: str, match: re.Match[str], head: CitedPlaces, before: Cited, plural: bool
) -> Cited | None:
    """Return the place that a list goes on with, None if the words are no part of it."""
    word = singular(match["word"] or "")
    is_inner = INNER.get(word, 0) > INNER.get(head.word, 0) and bool(match["comma"])
    if word and word != head.word and not (is_inner and match["only"]):
        return None
    start, ends_range = match.end(), bool(match["through"])
    start = min(s for s in (match.start("number"), match.start("only")) if s >= 0)
    if match["only"]:
        labels = labels_of(match["only"])
        if not labels or not (before.labels or is_inner):
            return None
        return Cited(start, match.end(), "", labels, ends_range, is_inner)
    number, labels = match["number"], labels_of(match["labels"] or "")
    stop = match.end() if labels else match.end("number")
    is_like = (before.number[:1].isalpha(), "." in before.number) == (
        number[:1].isalpha(),
        "." in number,
    )
    if not before.number or not is_like or unit_follows(text, stop):
        return None
    doubtful = not plural and not match["sign"] and not word and "." not in number
    doubtful = doubtful or head.word in EVERYDAY
    return Cited(start, stop, number, labels, ends_range, is_doubtful=doubtful)


def _hyphen_range(cited: Cited) -> Iterator[Cited]:
    """Yield both ends of "chapters 1-3"."""
    first, _, last = cited.number.partition("-")
    is_range = first.isdecimal() and last.isdecimal() and int(first) < int(last)
    if is_range and not cited.labels:  # "Rules 13a-14 and 15d-14" have hyphens of their own
        yield replace(cited, number=first)
        yield replace(cited, number=last, ends_range=True)
    else:
        yield cited


def _tail(text: str, citation: CitedPlaces, end: int, depth: int) -> Tail:
    position = citation.end
    if match := _TO_THIS.match(text, position, end):
        return Tail("this", word=singular(match.group().split()[-1]), end=match.end())
    if match := _TO_PLACE.match(text, position, end):
        takes_to = citation.word in ("appendix", "annex", "table", "schedule", "subpart")
        takes_to = takes_to or not citation.cited[0].number
        head = _HEAD.match(text, match.end(), end) if takes_to or not match["to"] else None
        if head and depth < 3 and (found := _citation(text, head, end, depth + 1)):
            return Tail("place", place=found, end=found.end)
    if match := _TO_NAME.match(text, position, end):
        name = " ".join((match["name"] or match["code"]).split())
        return Tail("name", name=name, end=match.end())
    return Tail("other" if _TO_SOMETHING.match(text, position, end) else "")


SAMPLE_CHARS = 50_000
_FRENCH = re.compile(r"\b(?:le|la|les|des|du|est|une|dans|pour|que|sont|aux|ou|et)\b")
_ENGLISH = re.compile(r"\b(?:the|of|and|to|is|shall|in|for|or|that|are|by|with)\b")

_FRENCH_LABEL = r"(?:\([0-9A-Za-z.]{1,6}\)|[a-z]{1,2}(?:\.\d{1,2})?\))"
_FRENCH_NUMBER = r"\d{1,4}[A-Z]?(?:\.\d+)*(?![\d,]\d)"
_PLACE = (
    rf"(?:(?P<number>{_FRENCH_NUMBER})(?P<labels>{_FRENCH_LABEL}{{0,8}})"
    rf"|(?P<only>{_FRENCH_LABEL}{{1,8}}))(?!\w)"
)
_OWN_WORDS = {**FRENCH_PARTS, "article": "section", "partie": "partie", "annexe": "annexe"}
_FRENCH_WORD = rf"(?P<word>(?i:{'|'.join(FRENCH_PARTS)})s?)"
_OF = rf"{_S}(?:d[ue]s?(?:{_S}(?:l['’]|la{_S}))?|de{_S}l['’]|d['’])(?:{_S})?"
_FRENCH_OWN = rf"(?:présente?|cet|ce|cette){_S}(?P<own>{'|'.join(_OWN_WORDS)})\b"

_FRENCH_HEAD = re.compile(
    rf"(?<![\w-])(?:{_FRENCH_WORD}{_S}{_PLACE}"
    rf"|(?i:présente?){_S}(?P<own>(?i:{'|'.join(_OWN_WORDS)}))\b(?!{_S}?(?:{_FRENCH_NUMBER}|{_FRENCH_LABEL})))"
)
_NOTE = r"(?:\[\^[^\]\s]{1,4}\])?"
_FRENCH_JOIN = re.compile(
    rf"{_NOTE}(?:,{_S}(?:(?:et|ou|ni){_S})?|{_S}(?:et/ou|et|ou|ni|ainsi{_S}que){_S}"
    rf"|(?P<through>{_S}à{_S}))"
    rf"(?:(?:(?:aux?|les?|la|des?|du|à){_S})?(?:[ld]['’])?{_FRENCH_WORD}{_S})?{_PLACE}"
)
_FRENCH_TO_THIS = re.compile(rf"{_S}(?:d[ue]|de{_S}la|au|à{_S}la){_S}{_FRENCH_OWN}")
_FRENCH_TO_PLACE = re.compile(rf"{_OF}(?={_FRENCH_WORD}{_S}{_PLACE})")
_FRENCH_TO_NAME = re.compile(
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


def french_citations(text: str, start: int, end: int) -> Iterator[CitedPlaces]:
    """Yield what a French text cites, in order; what is written as in English included.

    >>> [found] = french_citations("visée aux alinéas (1)b) ou (2)c)", 0, 32)
    >>> [each.labels for each in found.cited]
    [('(1)', '(b)'), ('(2)', '(c)')]
    """
    position = start
    while match := _FRENCH_HEAD.search(text, position, end):
        yield from _others(text, position, match.start(), end)
        found = _french_citation(text, match, end)
        position = found.end if found is not None else match.end()
        # "l'alinéa 3b) du tableau" is a cell, whatever section 3 says.
        if found is not None and not _TO_TABLE.match(text, found.end, end):
            yield found
    yield from _others(text, position, end, end)


def _others(text: str, start: int, stop: int, end: int) -> Iterator[CitedPlaces]:
    """Yield what is cited between, as in English: tables, annexes, parts, bare numbers."""
    for found in citations(text, start, stop):
        if found.tail.kind or found.is_own or found.end > stop:
            yield found
        else:
            tail = _french_tail(text, found, end, depth=0)
            yield replace(found, tail=tail) if tail.kind in ("name", "other") else found


def _french_citation(
    text: str, match: re.Match[str], end: int, depth: int = 0
) -> CitedPlaces | None:
    """Return the citation that begins with this match, with all its places and its tail."""
    if match["own"]:
        word = _OWN_WORDS[match["own"].lower()]
        return CitedPlaces(match.start(), match.end(), word, (), is_own=True)
    word, plural = _singular(match["word"])
    first = _cited(match)
    if word == "article" and not first.number:
        return None
    if word in ("clause", "subclause") and not first.number:  # words of every day, too
        first = replace(first, is_doubtful=True)
    cited = [first]
    while join := _FRENCH_JOIN.match(text, cited[-1].end, end):
        place = _french_joined(text, join, match["word"], cited[-1], plural=plural)
        if place is None:
            break
        cited.append(place)
    whole = CitedPlaces(match.start(), cited[-1].end, word, tuple(cited))
    whole = replace(whole, cited=(replace(first, start=match.start()), *cited[1:]))
    tail = _french_tail(text, whole, end, depth)
    return replace(whole, tail=tail, end=max(whole.end, tail.end))


def _cited(match: re.Match[str]) -> Cited:
    labels = match["labels"] or match["only"] or ""
    found = tuple(f"({label.strip('()')})" for label in re.findall(_FRENCH_LABEL, labels))
    place = "number" if match["number"] else "only"
    return Cited(match.start(place), match.end(), match["number"] or "", found)


def _french_joined(
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


def _french_tail(text: str, citation: CitedPlaces, end: int, depth: int) -> Tail:
    note = _NOTE_SIGN.match(text, citation.end, end)
    position = note.end() if note else citation.end
    if match := _FRENCH_TO_THIS.match(text, position, end):
        return Tail("this", word=_OWN_WORDS[match["own"]], end=match.end())
    if match := _FRENCH_TO_PLACE.match(text, position, end):
        head = _FRENCH_HEAD.match(text, match.end(), end)
        if head and depth < 3 and (found := _french_citation(text, head, end, depth + 1)):
            return Tail("place", place=found, end=found.end)
    if match := _FRENCH_TO_NAME.match(text, position, end) or _TO_WORK.match(text, position, end):
        return Tail("name", name=" ".join(match["name"].split()), end=match.end())
    return Tail("other" if _TO_OTHER.match(text, position, end) else "")
