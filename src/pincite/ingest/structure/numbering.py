"""Labels in front of items: their grammar as they are printed, and what speaks against one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.model.locators import LABELLED_WORD, PLACE_WORD

# Lines as a reader sees them, whatever ends them.
LINE = re.compile(r"[^\r\n\f\u2028\u2029]+")


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
    rf"[*_]*[ \t]*(?:of (?:this|that|these|such|§|{PLACE_WORD})|(?:above|below|hereof|thereof)\b"
    rf"|(?:through|to|or|and|and/or|–|-) ?(?:{LABELLED_WORD} )?\(|[,;)]|\.?$)"
)
_POINTER = re.compile(
    rf"(?:\b(?:{LABELLED_WORD}|see|under|with|of|in|by|to|from|the|a|than|per)|§|\() *$",
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
