"""Places by name: the one form that all ways to write a locator share."""

from __future__ import annotations

import re
import unicodedata

# Words that name the kind of a place and are no part of its number.
_PREFIX = re.compile(
    r"^(?:§+\s*|(?:(?:sec|para)\.\s*|(?:(?:sub)?sections?|paragraphs?|clauses?|rules?|items?)\s+)"
    r"(?=[\d(]|[A-Z]\b|[IVXLC]+\b))",
    re.IGNORECASE,
)


def locator_key(locator: str) -> str:
    """Return the form that all ways to write a locator share.

    >>> locator_key("§ 97.113 (a) (4)"), locator_key("TABLE 250.122")
    ('97.113(a)(4)', 'table 250.122')
    """
    text = unicodedata.normalize("NFKC", locator).strip().rstrip(".:;,")
    text = _PREFIX.sub("", text)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r"\s*([(>)])\s*(?=[(>]|$)|\s+(?=\()", r"\1", text).casefold().strip()
