"""Yes or no by the words of the clause that decides: it forbids, permits, requires, or denies.

The reader finds the clause. Which of the two it says takes more text than a small model has read,
and rules read it better (decision 38): a clause that speaks of what is asked affirms it, unless it
says "not" where the question does not. The words are those by which texts are checked
(``check/rules.py``).
"""

from __future__ import annotations

import re
from typing import Literal

from pincite.check.rules import asked_norm, denies, stated_norms

Polar = Literal["yes", "no", ""]

_NEGATED = re.compile(r"\b(?:not|without|never|no|nor|cannot)\b|n['’]t\b", re.IGNORECASE)


def yes_or_no(question: str, clause: str) -> Literal["yes", "no"]:
    """Return what a clause that speaks of what is asked says to it.

    >>> yes_or_no("Is the Manual a final document?", "The Manual is not a final document.")
    'no'
    >>> yes_or_no("Does it cover travel?", "It covers costs, including but not limited to travel.")
    'yes'
    """
    if told := decided(question, clause):
        return told
    return "no" if denies(clause) and not denies(question) else "yes"


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
    said, asked = stated_norms(clause), asked_norm(question)
    forbids = "must not" in said
    if negated := _NEGATED.findall(question):
        # What is forbidden without something is asked about without it: "without consent".
        is_same = {each.lower() for each in negated} == {"without"} and "without" in clause.lower()
        return "no" if is_same and forbids and asked == "may" else ""
    if forbids and asked:
        return "no"
    if asked == "must" and "need not" in said:
        return "no"
    return "yes" if asked in said else ""
