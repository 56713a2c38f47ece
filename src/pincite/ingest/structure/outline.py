"""The headings of a document as nested sections with unique names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.ingest.structure.captions import is_table_caption
from pincite.ingest.tree import Block
from pincite.model.locators import HeadingLabel, heading_label, plain_words

_UNDERLINE = re.compile(r"(?<![\r\n])[\r\n]+[ \t]*(?:=+|-+)[ \t]*$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the blocks up to the next heading."""

    start: int
    label: str
    locator: str
    title: str
    path: tuple[str, ...]  # headings down to this one
    parent: int  # index among the sections; -1 for the document
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class _Heading:
    block: Block
    words: str
    name: HeadingLabel
    blocks: tuple[Block, ...]
    is_title: bool = False


def outline(text: str, blocks: Sequence[Block]) -> tuple[tuple[Block, ...], list[Section]]:
    """Return the blocks that belong to the document itself, and its sections in order.

    A first-level heading at the very beginning is the title: nothing nests below it.
    """
    opening, headings = _headings(text, blocks)
    parents, paths = _nested(headings)
    shared = _shared_suffixes(headings, paths)
    taken: set[str] = set()
    sections: list[Section] = []
    for heading, parent, path in zip(headings, parents, paths, strict=True):
        name = heading.name
        locator = name.canonical or _unique_suffix(path, shared)
        if name.scheme == "item" and parent >= 0:
            locator = sections[parent].locator + name.canonical
        elif locator in taken and parent >= 0:
            # Numbers begin anew in schedules and books: the first keeps the plain name.
            locator = f"{sections[parent].locator} > {locator}"
        taken.add(locator)
        names = name.label, locator, name.title
        sections.append(Section(heading.block.start, *names, path, parent, heading.blocks))
    return opening, sections


def _headings(text: str, blocks: Sequence[Block]) -> tuple[tuple[Block, ...], list[_Heading]]:
    starts = [i for i, block in enumerate(blocks) if _opens_section(text, blocks, i)]
    lines = [_UNDERLINE.sub("", text[blocks[i].start : blocks[i].end]) for i in starts]
    names = _supported([heading_label(line) for line in lines])
    stops = [*starts[1:], len(blocks)] if starts else []
    headings = []
    opening = tuple(blocks[: starts[0]] if starts else blocks)
    for i, stop, line, name in zip(starts, stops, lines, names, strict=True):
        content = tuple(blocks[i + 1 : stop])
        is_title = i == 0 and blocks[i].level == 1
        if is_title and not name.label:
            opening = content
            continue
        words = plain_words(line)
        words = words[:-1] if words.endswith(".") and name.label else words
        headings.append(_Heading(blocks[i], words, name, content, is_title))
    return opening, headings


def _opens_section(text: str, blocks: Sequence[Block], position: int) -> bool:
    """Return whether a block is a heading, and not one set above a table as its caption."""
    block = blocks[position]
    if block.kind != "heading":
        return False
    above_table = position + 1 < len(blocks) and blocks[position + 1].kind == "table"
    return not (above_table and is_table_caption(text[block.start : block.end]))


def _supported(names: Sequence[HeadingLabel]) -> list[HeadingLabel]:
    """Return the names, where a bare number is a label only if other headings bear it out.

    "4 Requirements" is a label beside "3 Terms" or "4.1 Tests"; "7 Ways to Pack" is not.
    """
    bare = {int(name.label) for name in names if name.scheme == "bare"}
    roots = {name.canonical.split(".")[0] for name in names if name.scheme == "decimal"}
    found = []
    for name in names:
        if name.scheme == "bare":
            value = int(name.label)
            if name.label not in roots and not {value - 1, value + 1} & bare:
                name = HeadingLabel("", "", f"{name.label} {name.title}", "")
        found.append(name)
    return found


def _nested(headings: Sequence[_Heading]) -> tuple[list[int], list[tuple[str, ...]]]:
    parents: list[int] = []
    paths: list[tuple[str, ...]] = []
    open_: list[int] = []
    for position, heading in enumerate(headings):
        number, level = heading.name.canonical, heading.block.level
        while open_:
            above = headings[open_[-1]]
            name = above.name.canonical
            extends = bool(name) and number.startswith((f"{name}.", f"{name}("))
            if extends or level > above.block.level:
                break
            open_.pop()
        parent = open_[-1] if open_ else -1
        parents.append(parent)
        paths.append((*(paths[parent] if parent >= 0 else ()), heading.words))
        if not heading.is_title:
            open_.append(position)
    return parents, paths


def _shared_suffixes(
    headings: Sequence[_Heading], paths: Sequence[tuple[str, ...]]
) -> Counter[tuple[str, ...]]:
    """Return how many headings each ending of a path stands for, names of sections included."""
    counts: Counter[tuple[str, ...]] = Counter()
    for path in paths:
        counts.update(path[-length:] for length in range(1, len(path) + 1))
    # A plain heading must not be mistaken for a numbered one either: "Rule 5" and "**Rule 5**".
    counts.update({(h.name.canonical,) for h in headings if h.name.canonical})
    return counts


def _unique_suffix(path: tuple[str, ...], shared: Counter[tuple[str, ...]]) -> str:
    for length in range(1, len(path)):
        if shared[path[-length:]] == 1:
            return " > ".join(path[-length:])
    return " > ".join(path)
