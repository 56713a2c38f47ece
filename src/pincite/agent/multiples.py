"""A multiple that a question asks for of what is looked up: "3 times the fee", "half of it"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.agent.lines import Line, calculated
from pincite.agent.tools import Toolbox

_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: str(number) for number, word in enumerate(_WORDS, 2)}
_NAMED = {"twice": "2", "double": "2", "thrice": "3", "triple": "3"}
_PARTS = {"half": "2", "third": "3", "quarter": "4"}
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_KINDS = (
    rf"(?P<count>{_NUMBER}|{'|'.join(_COUNTS)})\s+times",
    rf"(?P<figure>{_NUMBER})\s?[x×*]",
    rf"(?P<named>{'|'.join(_NAMED)})",
    rf"(?:(?:a|one)\s+)?(?P<part>{'|'.join(_PARTS)})",
)
# Only before what it is a multiple of: "3 times a day" and "half an hour" ask for none.
_MULTIPLE = re.compile(
    rf"(?<![\w.,])(?:{'|'.join(_KINDS)})(?:\s+of)?\s+(?=(?:the|that|this|its)\b)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Multiple:
    """A factor or a share, and the question without it."""

    words: str  # as the question has them
    factor: str
    is_part: bool
    rest: str

    def of(self, expression: str) -> str:
        """Return what is to be calculated."""
        inner = f"({expression})" if re.search(r"[*/+]|\bof\b", expression) else expression
        return f"{inner} / {self.factor}" if self.is_part else f"{self.factor} * {inner}"


def asked_multiple(question: str) -> Multiple | None:
    """Return the multiple that a question asks for; None if it asks for none, or for several.

    >>> found = asked_multiple("What is 3 times the fee of a permit?")
    >>> found.of("120"), found.rest
    ('3 * 120', 'What is the fee of a permit?')
    """
    found = list(_MULTIPLE.finditer(question))
    if len(found) != 1:
        return None
    (match,) = found
    (written,) = (each.casefold() for each in match.groups() if each)
    factor = {**_COUNTS, **_NAMED, **_PARTS}.get(written, written)
    rest = question[: match.start()] + question[match.end() :]
    return Multiple(match.group().strip(), factor, written in _PARTS, rest)


def times(multiple: Multiple, lines: Sequence[Line], tools: Toolbox) -> list[Line]:
    """Return the multiple of what was calculated last, or of the one number looked up."""
    given = [line for line in lines if line.amount]
    # A sum that comes before the look-up only led to the row.
    looked_up = [line for line in given if line.quote]
    given = looked_up if given and given[-1].quote else given[-1:]
    if len(given) != 1:
        return []
    (line,) = given
    found = calculated(multiple.of(line.amount), line.place, tools)
    return [
        replace(each, text=f"{each.text} {line.unit}".rstrip(), is_multiple=True) for each in found
    ]
