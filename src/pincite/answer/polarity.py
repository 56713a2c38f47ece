"""Yes or no by the words of the clause that decides: it forbids, permits, requires, or denies.

The reader finds the clause. Which of the two it says takes more text than a small model has read,
and these rules read it better (decision 38): a clause that speaks of what is asked affirms it,
unless it says "not" where the question does not.
"""

from __future__ import annotations

import re
from typing import Literal

Polar = Literal["yes", "no", ""]

_ASKS_LEAVE = re.compile(
    r"\b(?:may|can|could)\b(?! not\b)|\b(?:allowed|permitted|lawful|legal|permissible|entitled"
    r"|authorized|authorised|possible)\b",
    re.IGNORECASE,
)
_ASKS_DUTY = re.compile(
    r"\b(?:must|shall|should|mandatory|obliged|obligated)\b(?! not\b)|\b(?:has|have) to\b"
    r"|\b(?:required|necessary)\b|\bneeds?\b",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\b(?:not|without|never|no|nor|cannot|n['’]t)\b|n['’]t\b", re.IGNORECASE)
_NOT_REQUIRED = re.compile(
    r"\bnot (?:be )?(?:required|necessary|mandatory|obliged|obligated)\b|\bneed not\b"
    r"|\b(?:do|does|did) not (?:have|need) to\b|\bno [\w ,-]{1,60}? (?:is|are|shall be) required\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:shall|may|must|can|could|will|should)(?: not\b|n['’]t\b)|\bcannot\b"
    r"|\b(?:no|neither)\s[^.:;]{1,80}?\b(?:shall|may|must|can|will)\b"
    r"|\b(?:prohibited|forbidden|prohibits?|forbids?|unlawful|impermissible)\b"
    r"|\bnot (?:be )?(?:permitted|allowed|authorized|authorised|lawful)\b|\bnever\b",
    re.IGNORECASE,
)
_REQUIRES = re.compile(
    r"\b(?:shall|must)\b|\b(?:is|are|be) (?:required|obliged|obligated|mandatory|necessary)\b"
    r"|\b(?:has|have) to\b|\brequires?\b",
    re.IGNORECASE,
)
_PERMITS = re.compile(
    r"\b(?:may|can)\b"
    r"|\b(?:is|are|be) (?:permitted|allowed|authorized|authorised|entitled|lawful)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|none|nothing|exclud\w{1,5}|other than|immaterial)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
# These say "not" or "no" and deny nothing.
_DENIES_NOTHING = re.compile(
    r"\bbut not limited to\b|\bwhether or not\b|\bnot only\b|\bno\.\s?\d"
    r"|\bnot? (?:later|less|more|fewer|longer) than\b",
    re.IGNORECASE,
)


def yes_or_no(question: str, clause: str) -> Literal["yes", "no"]:
    """Return what a clause that speaks of what is asked says to it.

    >>> yes_or_no("Is the Manual a final document?", "The Manual is not a final document.")
    'no'
    >>> yes_or_no("Does it cover travel?", "It covers costs, including but not limited to travel.")
    'yes'
    """
    if told := decided(question, clause):
        return told
    said, asked = (_DENIES_NOTHING.sub(" ", each) for each in (clause, question))
    return "no" if _DENIES.search(said) and not _DENIES.search(asked) else "yes"


def decided(question: str, clause: str) -> Polar:
    """Return yes or no where the words of a clause decide a question of leave or duty.

    >>> decided("May a station transmit music?", "No station shall transmit: (4) Music")
    'no'
    >>> decided("Must the gate be closed?", "The gate need not be closed.")
    'no'
    >>> decided("Can it be sold without consent?", "Neither party may sell it without consent.")
    'no'
    >>> decided("Is the fee 45 euros?", "The fee is 45 euros.")
    ''
    """
    forbids, permits = bool(_FORBIDS.search(clause)), bool(_PERMITS.search(clause))
    if negated := _NEGATED.findall(question):
        # What is forbidden without something is asked about without it: "without consent".
        is_same = {each.lower() for each in negated} == {"without"} and "without" in clause.lower()
        return "no" if is_same and forbids and _ASKS_LEAVE.search(question) else ""
    if _ASKS_DUTY.search(question):
        if _NOT_REQUIRED.search(clause) or forbids:
            return "no"
        return "yes" if _REQUIRES.search(clause) else ""
    if _ASKS_LEAVE.search(question):
        if forbids:
            return "no"
        return "yes" if permits else ""
    return ""
