"""A text as the units that one would quote: sentences, list items, rows of tables, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

UnitKind = Literal["sentence", "row", "header", "heading"]

_LINE = re.compile(r"[^\n]*\n?")
# What begins a new unit at the start of a line: a list item, a numbered paragraph, a named value.
_ITEM = re.compile(r"\s*(?:[-*•–]\s|\(\w{1,5}\)\s|\d{1,3}[.)]\s|\*\*[^*\n]{1,40}\*\*\s)")
# "(B) Kitchens." and "**Tide line.**" are headings inside their paragraph: they are quoted with the
# sentence behind them.
_RUN_IN = re.compile(
    r"(?:(?:\(\w{1,5}\)|\d[\d.]{0,8})\s[^.!?:;]{1,60}\.|\*\*[^*]{1,60}\*\*\.?|_[^_]{1,60}_\.?)$"
)
_RULER = re.compile(r"[\s:|-]*$")  # with two dashes in it
_HEADING = re.compile(r"\s{0,3}#{1,6}\s|\s*\*\*[^*\n]{1,200}\*\*\s*$")
_QUOTES = re.compile(r"[\"“”«»]")
LONGEST_QUOTE = 400  # a quotation that does not end by then was none
# A full stop may be followed by closing marks, emphasis or a footnote's mark, and then by space.
_STOP = re.compile(r"[.!?…][\"”’»)\]*_]{0,4}(?:\^[^^\s]{1,3}\^)?(?=\s)")
_STARTS = re.compile(r"\s+[\"“‘«(\[*_]{0,4}[^\W_]")
# Behind these a full stop ends no sentence.
_SHORT = frozenset(
    re.findall(
        r"\S+",
        "e.g i.e etc cf vs no nos sec secs art arts fig figs ch par paras para p pp vol ed al dr "
        "mr mrs ms st approx max min incl excl resp u.s u.k inc ltd co corp jan feb mar apr jun "
        "jul aug sep sept oct nov dec z.b bzw ca s nr",
    )
)
_LAST_WORD = re.compile(r"([^\s(\[“\"]{1,12})$")
LONGEST_WORD = 14


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of a text that is quoted as a whole, without white space around it."""

    start: int
    end: int
    kind: UnitKind = "sentence"


def units(text: str) -> list[Unit]:
    """Return the units of a text in order; together they hold every word of it, each once.

    >>> text = "It is 2.5 m. See e.g. Table 3. Done."
    >>> [text[unit.start : unit.end] for unit in units(text)]
    ['It is 2.5 m.', 'See e.g. Table 3.', 'Done.']
    """
    found: list[Unit] = []
    for start, end, kind in _blocks(text):
        if kind == "sentence":
            found += (Unit(*each) for each in _sentences(text, start, end))
        elif trimmed := _trimmed(text, start, end):
            found.append(Unit(*trimmed, kind))
    return found


def begins_item(line: str) -> bool:
    """Return whether a line begins a unit of its own: an item, a numbered paragraph.

    >>> begins_item("(a) a horn"), begins_item("a horn")
    (True, False)
    """
    return _ITEM.match(line) is not None


def _blocks(text: str) -> Iterator[tuple[int, int, UnitKind]]:
    """Yield stretches of lines that belong together: a paragraph, an item, a row, a heading."""
    begun: int | None = None
    in_table = False
    at = 0
    for line in _LINE.findall(text):
        start, at = at, at + len(line)
        kind = _line_kind(line, in_table)
        in_table = kind in ("row", "header", "ruler")
        is_new = kind != "sentence" or not line.strip() or _ITEM.match(line)
        if begun is not None and is_new:
            yield begun, start, "sentence"
            begun = None
        if kind == "sentence":
            if line.strip() and begun is None:
                begun = start
        elif kind != "ruler":
            yield start, at, kind
    if begun is not None:
        yield begun, len(text), "sentence"


def _line_kind(line: str, in_table: bool) -> Literal[UnitKind, "ruler"]:
    if line.lstrip().startswith("|"):
        if "--" in line and _RULER.match(line):
            return "ruler"
        return "row" if in_table else "header"
    return "heading" if _HEADING.match(line) else "sentence"


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for stop in _STOP.finditer(text, start, end):
        if _STARTS.match(text, stop.end(), end) and not is_short(text, stop.start()):
            if _goes_on(text[start : stop.end()].lstrip()):
                continue
            if trimmed := _trimmed(text, start, stop.end()):
                yield trimmed
            start = stop.end()
    if trimmed := _trimmed(text, start, end):
        yield trimmed


def _goes_on(words: str) -> bool:
    """Return whether a sentence goes on behind a full stop: a quotation is open in it."""
    if len(words) <= LONGEST_QUOTE and len(_QUOTES.findall(words)) % 2:
        return True
    return _RUN_IN.match(words) is not None


def is_short(text: str, stop: int) -> bool:
    """Return whether the full stop at a place belongs to a word: an abbreviation or an initial.

    >>> is_short("see e.g. there", 7), is_short("the end. There", 7)
    (True, False)
    """
    if text[stop] != ".":
        return False
    match = _LAST_WORD.search(text, max(0, stop - LONGEST_WORD), stop)
    word = match.group(1) if match else ""
    return word.casefold() in _SHORT or (len(word) == 1 and word.isupper())


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    inner = text[start:end]
    left = len(inner) - len(inner.lstrip())
    words = inner.strip()
    return (start + left, start + left + len(words)) if words else None
