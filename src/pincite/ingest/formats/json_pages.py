"""JSON: a list of pages, or a structured code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, SourceError
from pincite.ingest.formats.json_code import is_code, read_code
from pincite.ingest.parsed import Pages, Parsed, decode
from pincite.ingest.tree import Block

MAX_PAGE = 10_000_000


def read(data: bytes, name: str) -> Parsed:
    """Return the document that the JSON holds, or one error that says which kinds there are."""
    text = decode(data, name)
    try:
        value = json.loads(text)
        if is_code(value):
            return read_code(value, name)
        return _pages([(_page_of(item), _text_of(item)) for item in value], name)
    except MALFORMED as error:
        raise SourceError(
            f'{name} is neither a list of {{"text": ..., "page_idx": ...}} nor a code with '
            f'"chapters", "articles" or "sections": {error!r:.200}',
            hint="see docs/formats.md",
        ) from error


def _pages(entries: list[tuple[int, str]], name: str) -> Parsed:
    """Return pages as a document, one block a page."""
    starts, labels, parts, at = [], [], [], 0
    for page, words in entries:
        starts.append(at)
        labels.append(page)
        parts.append(words + "\n\n")
        at += len(parts[-1])
    text = "".join(parts)
    if not text.strip():
        raise SourceError(f"{name} has no text on any page", hint="leave it out")
    blocks = [Block("paragraph", s, e) for s, e in zip(starts, [*starts[1:], at], strict=True)]
    return Parsed(text, Path(name).stem, blocks, Pages(starts, labels))


def _page_of(item: Any) -> int:
    page = int(item["page_idx"])
    if not 0 <= page < MAX_PAGE:
        raise ValueError(f"page_idx {page:.3g} is no page's number")
    return page


def _text_of(item: Any) -> str:
    if not isinstance(item["text"], str):
        raise TypeError("text is not a string")
    return item["text"]
