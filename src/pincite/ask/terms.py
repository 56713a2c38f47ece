"""Questions for the meaning of a term, and texts that give it."""

from __future__ import annotations

import re

_ASKS_MEANING = re.compile(
    r"(?:what does|what do) (?:an? |the )?[\"“]?(.{1,60}?)[\"”]? mean\??"
    r"|what (?:is|are) (?:meant by )?(?:an? )?(?!the\b|my\b)[\"“]?([\w’' -]{1,40}?)[\"”]?\?"
    r"|(?:define|definition of|meaning of) [\"“]?(.{1,60}?)[\"”]?\??",
    re.IGNORECASE,
)
_SAYS = re.compile(r"[\"”*_]{0,3}(?:\s\([^)]{1,20}\)[*_]{0,2})?\s?(?:(?:is|are|means?)\b|:|—|–)")


def asked_term(question: str) -> str:
    """Return the term whose meaning a question asks for; empty if it asks for something else.

    >>> asked_term("What does drag mean?"), asked_term("What is the range of it?")
    ('drag', '')
    """
    match = _ASKS_MEANING.fullmatch(" ".join(question.split()))
    return next((group for group in match.groups() if group), "").strip() if match else ""


def defined(term: str, text: str) -> bool:
    """Return whether a text says what a term means: the term stands first, or marked, or with "is".

    >>> defined("drag", "If you have **drag**, roll three dice."), defined("drag", "They drag it.")
    (True, False)
    """
    at = text.casefold().find(term.casefold())
    if at < 0:
        return False
    before, after = text[max(0, at - 2) : at], text[at + len(term) : at + len(term) + 30]
    return before.endswith(("**", "“", '"', "*", "_")) or bool(_SAYS.match(after))
