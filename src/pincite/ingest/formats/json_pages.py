"""JSON in S3's form: a list of ``{"text": ..., "page_idx": ...}``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pincite.core.errors import SourceError
from pincite.ingest.parsed import Pages, Parsed, decode
from pincite.ingest.tree import Block


def read(data: bytes, name: str) -> Parsed:
    """Return the document with one block a page."""
    try:
        items = json.loads(decode(data, name))
        entries = [(int(item["page_idx"]), _text_of(item)) for item in items]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SourceError(
            f'{name} is not a list of {{"text": ..., "page_idx": ...}}: {error}',
            hint="see docs/formats.md",
        ) from error
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


def _text_of(item: Any) -> str:
    if not isinstance(item["text"], str):
        raise TypeError("text is not a string")
    return item["text"]
