"""What a format's reader hands on: text, blocks and their tree."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pincite.model.errors import PinciteError, SourceError
from pincite.model.types import Box, Kind, Pages, ReaderWarning

PARAGRAPH = re.compile(r"\S[^\n]*(?:\n(?=[^\n]*\S)[^\n]*)*")  # up to a blank line
BlockKind = Literal["heading", "paragraph", "list", "item", "table", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the document as its reader sees it. Blocks come in order and do not overlap."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0  # of a heading: 1 is the highest; of an item: 0 is the outermost
    # Of an item whose place the reader knows: "(a)", or “term” for a definition; empty for words
    # that go on behind items, as those of what holds that level.
    label: str = ""


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
    body: int = 0  # where the words below its heading begin; 0 without a heading


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
    body: int = 0


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
        Clause(o.kind, o.label, o.locator, o.title, o.start, end, own_end, o.parent, o.path, o.body)
        for o, end, own_end in zip(openings, ends, own_ends, strict=True)
    ]


# Control characters that text does not contain; tab, line and page breaks are fine.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class SourceIdentifier:
    """A name that a source gives a part of itself, and the words that the part became."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """A document as its reader understood it."""

    text: str
    title: str
    blocks: Sequence[Block]
    pages: Pages = field(default_factory=Pages)
    boxes: Sequence[Box] = field(default=())
    findings: Sequence[ReaderWarning] = field(default=())
    # What the file says of itself in fields: "effective", "until" as ISO dates, "title", its card.
    meta: Mapping[str, str] = field(default_factory=dict)
    language: str = ""  # as the document itself says, by code or name
    identifiers: Sequence[SourceIdentifier] = field(default=())


@contextmanager
def spared(
    part: str, findings: list[ReaderWarning] | None, page: int | None = None
) -> Iterator[None]:
    """Let a failure of our own inside cost this part alone: it becomes a finding to report.

    What a reader refuses with reasons, and what needs too much memory, still ends the document; so
    does a failure that nobody collects.
    """
    try:
        yield
    except (PinciteError, MemoryError):
        raise
    except Exception as error:  # a bug, by definition: whatever it raises, the text is worth more
        if findings is None:
            raise
        *_, frame = traceback.extract_tb(error.__traceback__)
        where = f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
        message = f"Pincite failed at {part} and went on without: please report it ({where})"
        if all((each.message, each.page) != (message, page) for each in findings):
            findings.append(ReaderWarning("reader_failed", message, page))


def decode(data: bytes, name: str) -> str:
    """Return the text of the bytes; SourceError for empty, binary or badly encoded ones."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding != "utf-16" and b"\0" in data[:8192]:
        raise SourceError(
            f"{name} is not text: it has zero bytes",
            hint="give the file its true ending, or leave it out",
        )
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{name} is not {encoding.removesuffix('-sig').upper()}: bad byte at {error.start:,}",
            hint=f"convert it first, for example: iconv -f WINDOWS-1252 -t UTF-8 {name}",
        ) from error
    if not text.strip():
        raise SourceError(f"{name} is empty", hint="remove it, or check how it was exported")
    if binary := _BINARY.search(text):
        raise SourceError(
            f"{name} is not text: control character {binary.group()!r} at {binary.start():,}",
            hint="give the file its true ending, or leave it out",
        )
    return text


def form_feed_pages(text: str) -> Pages:
    """Return the pages of a text with form feeds; none without."""
    if "\f" not in text:
        return Pages()
    starts = [0, *(match.end() for match in re.finditer("\f", text))]
    return Pages(starts, range(1, len(starts) + 1))
