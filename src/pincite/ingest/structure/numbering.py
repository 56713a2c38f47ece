"""Labels in front of headings and items: their grammars, as they are printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

# What the words of a heading are worth, 1 being the highest; readers of plain text use it.
HEADING_RANK = {
    **dict.fromkeys(("title", "titre", "titolo", "part", "partie", "parte"), 1),
    **dict.fromkeys(("division", "book", "livre", "libro"), 1),
    **dict.fromkeys(("appendix", "annex", "annexe", "appendice", "allegato", "schedule"), 1),
    **dict.fromkeys(("subpart", "chapter", "chapitre", "capitolo", "capo", "subchapter"), 2),
    **dict.fromkeys(("article", "articolo", "rule", "règle", "regola", "regulation"), 3),
    **dict.fromkeys(("section", "sezione", "§", "decimal", "bare"), 4),
}
_ARABIC = r"[0-9]+(?:er|bis|ter|[A-Za-z])?(?:[.–-](?:[0-9]+[A-Za-z]?|[A-Z]|bis|ter)(?![A-Za-z]))*"
_PARENS = r"(?:\([0-9A-Za-z]{1,4}\))*"
_HYPHENS = r"(?:-[0-9]+[A-Za-z]?(?!\.?[0-9]))*"  # "52.202-1", but no range "1.5-2.5"
_NUMBER = rf"(?:{_ARABIC}|[A-Z][.-][0-9]+(?:\.[0-9]+)*|[IVXLCDM]+|[A-Z])"
_KEYWORD = "|".join(word for word in HEADING_RANK if word not in ("§", "decimal", "bare"))
_SEPARATOR = r"[ \t]*(?:[.:)—–]+|-(?![0-9]))?(?=[\s—–:]|$|(?<=[.:—–-])\S)[ \t]*"
_HEADINGS = (
    re.compile(
        rf"(?P<label>(?P<word>(?i:{_KEYWORD})) (?P<number>{_NUMBER}))(?!\w)"
        rf"(?: (?i:to|of) (?i:part|chapter|subpart|article) {_NUMBER})?{_SEPARATOR}"
    ),
    re.compile(rf"(?P<label>(?P<word>§)§? ?(?P<number>{_ARABIC}{_PARENS}))(?!\w){_SEPARATOR}"),
    re.compile(
        rf"(?P<label>(?P<number>(?:[0-9]+|[A-Z])(?:\.[0-9]+)+[A-Za-z]?{_HYPHENS}{_PARENS}))"
        rf"(?!\w){_SEPARATOR}"
    ),
    re.compile(r"(?P<label>(?P<number>[0-9]{1,3})[.)])(?:[ \t]+|$)"),
    re.compile(r"(?P<label>(?P<bare>[0-9]{1,3}))[ \t]+(?=[A-ZÀ-Þ])"),
    re.compile(r"(?P<label>(?P<item>(?:\([0-9]{1,3}\)|\([a-z]{1,4}\)|\([A-Z]{1,4}\))+))(?:\s+|$)"),
)
_MARKUP = re.compile(r"\*+|`|(?<!\w)_{1,3}|_{1,3}(?!\w)|</?[a-zA-Z][^<>]{0,80}>|\{#[\w-]{1,80}\}")
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,500}\)")
# Lines as a reader sees them, whatever ends them.
LINE = re.compile(r"[^\r\n\f\u2028\u2029]+")


class HeadingLabel(NamedTuple):
    """What a heading line says: the number as printed, its canonical form and the words."""

    label: str
    canonical: str
    title: str
    scheme: str


def plain_words(line: str) -> str:
    """Return the words of a heading or caption without Markdown signs and double spaces.

    >>> plain_words("### **Fire** [Bolt](x.md) ###")
    'Fire Bolt'
    """
    bare = line.strip()
    if bare.startswith("#"):
        bare = re.sub(r"\s#+$", "", bare.lstrip("#"))
    return " ".join(_MARKUP.sub("", _LINK.sub(r"\1", bare)).split())


def heading_label(line: str) -> HeadingLabel:
    """Return label, canonical number, title and scheme of a heading; a plain one has no label.

    >>> heading_label("## § 97.113 Prohibited transmissions.")[:3]
    ('§ 97.113', '97.113', 'Prohibited transmissions')
    >>> heading_label("Chapter 3: Spells")
    HeadingLabel(label='Chapter 3', canonical='Chapter 3', title='Spells', scheme='chapter')
    >>> heading_label("Fireball")
    HeadingLabel(label='', canonical='', title='Fireball', scheme='')
    """
    words = plain_words(line)
    for grammar in _HEADINGS:
        if match := grammar.match(words):
            title = _title(words[match.end() :])
            found = match.groupdict()
            if "bare" in found:
                return HeadingLabel(found["label"], found["label"], title, "bare")
            if "item" in found:
                return HeadingLabel(found["label"], found["label"], title, "item")
            return _numbered(found, title)
    return HeadingLabel("", "", _title(words), "")


def _numbered(found: dict[str, str], title: str) -> HeadingLabel:
    word, number = found.get("word", ""), found["number"]
    scheme = word.lower() or "decimal"
    # A section is cited by its number alone; "Section IV" would be lost among chapters.
    if scheme in ("§", "decimal") or (scheme in ("section", "sezione") and number[0].isdigit()):
        canonical = number
    else:
        canonical = f"{word.capitalize()} {number}"
    return HeadingLabel(found["label"], canonical, title, scheme)


def _title(words: str) -> str:
    words = words.strip(" \t—–:")
    return words[:-1] if words.endswith(".") and not words.endswith("..") else words


@dataclass(frozen=True, slots=True)
class Mark:
    """A label that may open an item, with what speaks against it."""

    start: int  # where the item would begin: at the label or the sign in front of it
    end: int  # just behind the label
    label: str  # as printed: "(a)", "1."
    joined: bool = False  # directly behind another label, or behind the title that one opens
    preceded: bool = False  # the words before name the label before: "(i) …, (ii) …" in mid-line
    as_label: float = 0.0  # the cost of taking it as a label
    as_text: float = 3.0  # the cost of taking it as words


_CORE = (
    r"(?:[0-9]{1,3}(?:\.[0-9]{1,2})?[a-z]?|[ivxlc]{1,8}|[IVXLC]{1,8}"
    r"|(?P<letter>[A-Za-z])(?P=letter){0,2}(?:\.[0-9]{1,2})?)"
)
PAREN = re.compile(rf"\([*_]?(?P<core>{_CORE})[*_]?\)(?![a-z0-9])")
_DOTTED = re.compile(r"(?P<core>[0-9]{1,3}|[ivxlc]{1,6}|[IVXLC]{1,6}|[A-Za-z])\\?[.)](?=\s|$)")
_SIGNS = re.compile(r"[^\S\r\n]*(?P<signs>(?:>[ \t]*)*(?P<bullet>[-*+•–][ \t]+)?[*_]{0,2})")
_BETWEEN = re.compile(r"[*_]{0,3}[ \t]{0,3}[*_]{0,3}(?=\()")
_RUN_IN = re.compile(
    r"[*_]{0,3}[ \t]+[*_]{0,3}[A-Z0-9À-Þ][^\s.:;()]*(?: [^\s.:;()]+){0,8}"
    r"[.:—–]{1,2}[*_]{0,3}[ \t]*(?=\()"
)
_REFERENCE = re.compile(
    r"[*_]*[ \t]*(?:of (?:this|that|these|such|paragraph|subparagraph|section|subsection|article"
    r"|chapter|part|rule|clause|§)|(?:above|below|hereof|thereof)\b|(?:through|to|or|and|and/or|–|-)"
    r" ?(?:paragraphs? |items? )?\(|[,;)]|\.?$)"
)
_POINTER = re.compile(
    r"(?:\b(?:paragraphs?|subparagraphs?|sections?|subsections?|clauses?|items?|articles?|rules?"
    r"|tables?|see|under|with|of|in|by|to|from|the|a|than|per)|§|\() *$",
    re.IGNORECASE,
)
_ENDED = re.compile(r"(?:[.;:!?,—–)\]”\"'’*_|]|[;,] ?(?:and|or))\s*$")
_WRAP = 45  # a shorter line was not broken because it was full
_TAIL = 80  # what is looked at of the line before


def marks(text: str, start: int, end: int, *, dotted: bool) -> Iterator[Mark]:
    """Yield the labels at line starts of ``text[start:end]``, and those joined to them.

    With ``dotted`` also ``1.``, ``1)``, ``a.`` and ``a)`` count, not only labels in parentheses.
    """
    previous = ""
    for line in LINE.finditer(text, start, end):
        yield from _line_marks(text, line.start(), line.end(), previous, dotted)
        previous = line.group()[-_TAIL:]


def _line_marks(text: str, start: int, end: int, previous: str, dotted: bool) -> Iterator[Mark]:
    signs = _SIGNS.match(text, start, end)
    position = signs.end() if signs else start
    opening = signs.start("signs") if signs else start
    found = PAREN.match(text, position, end)
    if found and signs and signs["bullet"] and PAREN.search(text, found.end(), end):
        return  # a choice in one line: "- (a) a sword or (b) a bow"
    is_dotted = found is None and dotted and text[opening : opening + 1] != ">"
    if is_dotted:
        found = _DOTTED.match(text, position, end)
    joined = run_in = False
    while found:
        label = f"({found['core']})" if not is_dotted else found.group().replace("\\", "")
        as_label, as_text = _costs(text[found.end() : end][:60], "" if joined else previous)
        if is_dotted:
            as_label, as_text = as_label + 0.3, min(as_text, 2.0)
        as_text = min(as_text, 1.0) if run_in else as_text
        yield Mark(opening, found.end(), label, joined, False, as_label, as_text)
        joined, is_dotted = True, False
        behind = found.end()
        gap = _BETWEEN.match(text, behind, end) or _RUN_IN.match(text, behind, end)
        run_in = gap is not None and gap.re is _RUN_IN
        found = PAREN.match(text, gap.end(), end) if gap else None
        opening = gap.end() if gap else end


def _costs(after: str, previous: str) -> tuple[float, float]:
    """Return the costs of reading a label as a label and as text, from the words around it."""
    if "[reserved]" in after.lower():
        return 0.0, 3.0
    wrapped = is_wrapped(previous)
    if (_REFERENCE.match(after) and after.strip()) or (previous and _POINTER.search(previous)):
        return 3.0, 0.3
    if wrapped and after.lstrip(" \t*_")[:1].islower():
        return 2.5, 0.5
    return (1.2, 2.0) if wrapped else (0.0, 3.0)


def is_wrapped(previous: str) -> bool:
    """Return whether a line was broken in mid-sentence, so that the next one only goes on."""
    return len(previous) >= _WRAP and not _ENDED.search(previous)
