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
        if not isinstance(value, list):
            raise _Unfit("it is no list, and has none of these names")
        entries = [_page_of(item, at) for at, item in enumerate(value, 1)]
    except json.JSONDecodeError as error:
        raise SourceError(f"{name} is not JSON: {error}", hint="write it again") from error
    except MALFORMED as error:
        reason = str(error) if isinstance(error, _Unfit) else "a value in it is of another kind"
        reason = "it is nested too deep" if isinstance(error, RecursionError) else reason
        raise SourceError(
            f'{name} is neither a list of {{"text": ..., "page_idx": ...}} nor a code with '
            f'"chapters", "articles" or "sections": {reason}',
            hint="see docs/formats.md",
        ) from error
    return _pages(entries, name)


class _Unfit(ValueError):
    """What does not fit, in words."""


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


def _page_of(item: Any, at: int) -> tuple[int, str]:
    """Return the number and the text of an entry."""
    if not isinstance(item, dict) or "page_idx" not in item:
        raise _Unfit(f'entry {at} has no "page_idx"')
    try:
        page = int(item["page_idx"])
    except MALFORMED:
        page = -1
    if not 0 <= page < MAX_PAGE:
        raise _Unfit(f'"page_idx" of entry {at} is no page\'s number')
    text = item.get("text")
    if not isinstance(text, str):
        raise _Unfit(f'entry {at} has no "text" that is a string')
    return page, text
