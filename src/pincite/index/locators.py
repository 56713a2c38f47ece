"""Places by name: how a locator is written in many ways and looked up in one.

``§ 97.113 (a)(4)``, ``section 97.113(a)(4)`` and ``97.113(A)(4)`` share one key. Keys are stored
beside the chunks; a query is searched for mentions of places before anything is ranked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core.locators import locator_key
from pincite.core.types import Chunk, Loaded

_NUMBER = r"\d+[A-Za-z]?(?:[.\-–]\d+[A-Za-z]?)*"
_ITEMS = r"(?:\s?\([0-9A-Za-z]{1,5}\))*"
_NAMED = (
    r"(?:table|chapter|article|art\.|part|subpart|appendix|annex|schedule|figure|rule|title|"
    r"chapitre|titre|annexe|articolo|capo|titolo|allegato|tabella|tableau)"
)
# A number with one of these is a quantity. What follows may be an exponent, but not a letter.
_UNITS = (
    r"[kmµ]?(?:m|g|v|a|w|va|hz|pa|ω|f|s|l)|cm|ft|feet|foot|inch(?:es)?|[mg]hz|kwh|db|lbs?|psi|"
    r"percent|seconds?|minutes?|hours?|days?|weeks?|months?|years?|thousand|million|billion|"
    r"points?|amps?|amperes?|volts?|watts?|ohms?|met(?:er|re)s?|miles?|degrees?|dollars?|euros?"
)
_MENTION = re.compile(
    rf"""
    (?P<named>\b{_NAMED}\s+(?:{_NUMBER}|[IVXLC]+\b|[A-Z]\b){
        _ITEMS
    }(?:\s+(?:table|exception|note)\b)?)
  | (?P<alternate>\b{_NUMBER}\s+alternate\s+[IVX]+\b{_ITEMS})
  | (?P<strong>(?:§+\s*|\b(?:sections?|sec\.|paragraphs?|clauses?|rules?)\s+){_NUMBER}{_ITEMS})
  | (?P<items>\b{_NUMBER}(?:\s?\([0-9A-Za-z]{{1,5}}\))+)
  | (?<![\w.$€£])(?P<bare>\d+(?:\.\d+)+(?:-\d+(?!\.?\d))?)(?!\w|\s*(?:[%°]|(?:{_UNITS})(?![a-z])))
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Cheap to look for, and without one of these nothing is named.
_HINT = re.compile(rf"\d|\b{_NAMED}\s", re.IGNORECASE)
_RANGE = re.compile(r"^\s*(?:-|–|—|to|through|thru|and)\s*$", re.IGNORECASE)
_ITEM_RANGE = re.compile(
    r"(?<=\))\s*(?:-|–|—|to|through|thru)\s*\(([0-9A-Za-z]{1,5})\)", re.IGNORECASE
)
MAX_RANGE = 50


@dataclass(frozen=True, slots=True)
class Mention:
    """A place that a query names: one key, or the first and the last of a range."""

    first: str
    last: str = ""


def keys_of(loaded: Loaded) -> list[tuple[str, str]]:
    """Return the keys by which chunks are found: locators, headings, defined terms and aliases."""
    keys = []
    for chunk in loaded.chunks:
        if chunk.locator:
            keys.append((locator_key(chunk.locator), chunk.id))
        if chunk.title and chunk.kind in ("section", "table", "document"):
            keys.append((locator_key(chunk.title), chunk.id))
        facts = loaded.facts.get(chunk.id)
        if facts is not None:
            keys += [(locator_key(name), chunk.id) for name in (*facts.terms, *facts.aliases)]
    return keys


def mentions(query: str) -> list[Mention]:
    """Return the places that a query names, in its order.

    >>> mentions("Does Table 310.16 override 240.4(D)?")
    [Mention(first='table 310.16', last=''), Mention(first='240.4(d)', last='')]
    >>> mentions("52.202-1 and 97.301-97.305")
    [Mention(first='52.202-1', last=''), Mention(first='97.301', last='97.305')]
    >>> mentions("a 2.5 mm conductor at 1.5 kV")
    []
    """
    found: list[Mention] = []
    if not _HINT.search(query):
        return found
    previous_end = 0
    for match in _MENTION.finditer(query):
        key = locator_key(match.group())
        if items := _ITEM_RANGE.match(query, match.end()):
            found.append(Mention(key, f"{key[: key.rindex('(')]}({items.group(1).casefold()})"))
            previous_end = items.end()
            continue
        between = query[previous_end : match.start()]
        if found and not found[-1].last and _RANGE.match(between) and "and" not in between.lower():
            found[-1] = Mention(found[-1].first, key)
        else:
            found.append(Mention(key))
        previous_end = match.end()
    return found


def mention_spans(text: str) -> list[tuple[str, int, int]]:
    """Return the key of every place that a text names, with where it does.

    >>> mention_spans("See Table 310.16.")
    [('table 310.16', 4, 16)]
    """
    if not _HINT.search(text):
        return []
    return [(locator_key(m.group()), m.start(), m.end()) for m in _MENTION.finditer(text)]


def in_range(chunks: Sequence[Chunk], first: str, last: str) -> list[Chunk]:
    """Return the chunks of a document from one place to another, at the level of the first."""
    keys = [locator_key(chunk.locator) for chunk in chunks]
    if first not in keys or last not in keys:
        return []
    start, end = keys.index(first), keys.index(last)
    parent_depth = _depth(keys[start])
    inside = [
        c
        for c, key in zip(chunks[start : end + 1], keys[start : end + 1], strict=True)
        if _depth(key) == parent_depth and c.kind == chunks[start].kind
    ]
    return inside[:MAX_RANGE]


def _depth(key: str) -> int:
    return key.count("(")
