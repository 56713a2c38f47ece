"""What every reader hands over, whatever the format: canonical text and what is known about it.

Readers of all formats write the same canonical text (Markdown: ``#`` headings, pipe tables, items
at the start of a line) and its blocks, so the same words give the same clauses whether they came
as PDF, HTML or Word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pincite.core.errors import SourceError
from pincite.core.types import Box, Finding
from pincite.ingest.tree import Block

__all__ = ["Box", "Finding", "Pages", "Parsed", "decode", "form_feed_pages"]

# Control characters that text does not contain; tab, line and page breaks are fine.
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True, slots=True)
class Pages:
    """Where pages start in a document's text, and what they are called."""

    starts: Sequence[int] = field(default=())
    labels: Sequence[int] = field(default=())

    def at(self, offset: int) -> int | None:
        """Return the page of a character, None where the document has no pages."""
        if not self.starts:
            return None
        return self.labels[max(0, bisect_right(self.starts, offset) - 1)]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A document as its reader understood it."""

    text: str
    title: str
    blocks: Sequence[Block]
    pages: Pages = field(default_factory=Pages)
    boxes: Sequence[Box] = field(default=())
    findings: Sequence[Finding] = field(default=())
    meta: Mapping[str, str] = field(default_factory=dict)  # "effective", "until" as ISO dates
    language: str = ""  # as the document itself says, by code or name


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
