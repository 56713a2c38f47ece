"""The clause tree: what readers hand over (blocks) and what numbering makes of it (clauses)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pincite.core.types import Kind

BlockKind = Literal["heading", "paragraph", "list", "item", "table", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the document as its reader sees it. Blocks come in order and do not overlap."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0  # of a heading: 1 is the highest; of an item: 0 is the outermost
    label: str = ""  # of an item whose place the reader knows: "(a)", or “term” for a definition


@dataclass(frozen=True, slots=True)
class Clause:
    """A node of the clause tree, in a list in document order with parents before children.

    Children are contiguous: each ends where the next one starts and the last one ends with its
    parent, so the own spans ``text[start:own_end]`` of all clauses join to the text.
    """

    kind: Kind
    label: str  # as printed: "(a)", "§ 97.113", "Table 3"; empty for a plain heading
    locator: str
    title: str
    start: int
    end: int
    own_end: int
    parent: int  # index in the list; -1 for the document
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opening:
    """A clause of which only the beginning is known yet."""

    kind: Kind
    label: str
    locator: str
    title: str
    start: int
    parent: int
    path: tuple[str, ...]


def closed(openings: Sequence[Opening], length: int) -> list[Clause]:
    """Return the clauses of a text of that length: each lasts until one opens beside or above it.

    Openings come in document order, and a parent is always still open when its child begins.
    """
    ends = [length] * len(openings)
    own_ends = [*(opening.start for opening in openings[1:]), length]
    innermost = -1
    for position, opening in enumerate(openings):
        while innermost != opening.parent:
            ends[innermost] = opening.start
            innermost = openings[innermost].parent
        innermost = position
    return [
        Clause(o.kind, o.label, o.locator, o.title, o.start, end, own_end, o.parent, o.path)
        for o, end, own_end in zip(openings, ends, own_ends, strict=True)
    ]
