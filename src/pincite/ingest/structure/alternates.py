"""Alternates of a contract clause: other words for parts of it, under the same labels once more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.ingest.structure.numbering import PAREN, Mark
from pincite.ingest.tree import Block

# "Alternate II (Feb 2009). As prescribed in ..., substitute the following paragraph (b) for ..."
_ALTERNATE = re.compile(
    r"[*_]{0,3}(?P<name>Alternate [IVX]{1,5})[*_]{0,3} ?"
    r"(?:[(] ?[A-Z][a-z]{2,8}\.? ?\d{4}|\[Reserved\])"
)


@dataclass(frozen=True, slots=True)
class Alternate:
    """The blocks of one alternate, or of the clause itself, which has no name here."""

    name: str
    blocks: Sequence[Block]
    announced: frozenset[str] = frozenset()  # labels that its first words speak of


def alternates(text: str, blocks: Sequence[Block]) -> list[Alternate]:
    """Return the blocks below a heading, parted where alternates begin."""
    starts = [
        (at, found)
        for at, block in enumerate(blocks)
        if (found := _ALTERNATE.match(text, block.start, block.end))
    ]
    ends = [*(at for at, _ in starts), len(blocks)]
    parts = [Alternate("", blocks[: ends[0]])]
    for (at, found), end in zip(starts, ends[1:], strict=True):
        told = PAREN.finditer(text, blocks[at].start, blocks[at].end)
        announced = frozenset(f"({match['core']})" for match in told)
        parts.append(Alternate(found["name"], blocks[at:end], announced))
    return parts


def announced_first(marks: Sequence[Mark], announced: frozenset[str]) -> list[Mark]:
    """Return the labels, where the first that was announced may open a list in its middle."""
    first = next((at for at, mark in enumerate(marks) if mark.label in announced), len(marks))
    end = first + 1
    while end < len(marks) and marks[end].joined:  # "(g)(4)"
        end += 1
    told = [replace(mark, preceded=True) if mark.label in announced else mark for mark in marks]
    return [*marks[:first], *told[first:end], *marks[end:]]
