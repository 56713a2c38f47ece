"""Places by name: the one form that all ways to write a locator share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache

# Words that name the kind of a place and are no part of its number.
_PREFIX = re.compile(
    r"^(?:§+\s*|(?:(?:sec|para)\.\s*|(?:(?:sub)?sections?|paragraphs?|clauses?|rules?|items?)\s+)"
    r"(?=[\d(]|[A-Z]\b|[IVXLC]+\b))",
    re.IGNORECASE,
)
# Letters that such a word starts with: most names have another, and are spared the look.
_PREFIX_LETTERS = frozenset("§sSpPcCrRiIİı")
_INNER_GAPS = re.compile(r"\s*([(>)])\s*(?=[(>]|$)|\s+(?=\()")
# A number of several parts begins with that of its chapter: 97.113, 52.203-6, 2.4(b).
_NUMBER = re.compile(r"(\d{1,5})(\.\d|(?![\d.-]))")
# A document asks for the keys of its places again and again: for links, for names, for the index.
_REMEMBERED = 8192


@lru_cache(maxsize=_REMEMBERED)
def locator_key(locator: str) -> str:
    """Return the form that all ways to write a locator share.

    >>> locator_key("§ 97.113 (a) (4)"), locator_key("TABLE 250.122")
    ('97.113(a)(4)', 'table 250.122')
    """
    text = locator if locator.isascii() else unicodedata.normalize("NFKC", locator)
    text = text.strip().rstrip(".:;,")
    if text[:1] in _PREFIX_LETTERS:
        text = _PREFIX.sub("", text)
    text = " ".join(text.split())
    if "(" in text or ")" in text or ">" in text:
        text = _INNER_GAPS.sub(r"\1", text)
    return text.casefold().strip()


def means_own(key: str, has_any: Callable[[Sequence[str]], bool]) -> bool:
    """Tell whether a name can only mean a place of the document that it stands in.

    "Section 4" does. "2.4" does where the document has a chapter 2, which then has a 2.1 or so.

    >>> [means_own(key, lambda names: "2.1" in names) for key in ("2.4(b)", "97.3", "4", "table 4")]
    [True, False, True, False]
    """
    found = _NUMBER.match(key)
    if found is None:
        return False
    return not found[2] or has_any([f"{found[1]}{ending}" for ending in ("", ".1", ".2", ".3")])
