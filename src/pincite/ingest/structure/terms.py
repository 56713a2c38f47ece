"""Definitions: a paragraph that opens with a term and says what it means."""

from __future__ import annotations

import re

from pincite.ingest.structure.numbering import Mark

TERM = "“{}”"  # how a term stands where other items have a label
_DEFINITION = re.compile(
    r"(?P<signs>\*{1,3}|_{1,3}|\")?(?P<quoted>“)?(?P<term>[^\s*_\"“”.;:][^*_\"“”.;:\r\n]{0,80})"
    r"(?(quoted)”)(?(signs)(?P=signs)|(?(quoted)|(?!)))"
    r"(?=[^.;:\r\n]{0,120}?(?:\b(?:means?|has the (?:same )?meaning|includes?|refers? to|désigne"
    r"|signifie|s[’']entend)\b|—[ \t]*$))",
    re.MULTILINE,
)


def term_mark(text: str, start: int, end: int) -> Mark | None:
    """Return the term that a paragraph defines as the label of an item, if it defines one.

    >>> term_mark("*Bid sample* means a product sample.", 0, 36).label
    '“Bid sample”'
    >>> term_mark("*Fees.* This includes taxes.", 0, 28)
    """
    match = _DEFINITION.match(text, start, end)
    if match is None:
        return None
    return Mark(start, match.end(), TERM.format(match["term"].strip()), as_text=2.0)


def defined(label: str) -> str:
    """Return the term that a label stands for, empty for a letter or a number."""
    return label[1:-1] if label.startswith("“") else ""
