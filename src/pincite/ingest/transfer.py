"""A parsed document as JSON and back: between processes, and never as code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from pincite.core.errors import SourceError
from pincite.core.types import Box, Chunk, Document, Facts, Finding, Link, Loaded, Span

_FACT_FIELDS = [each.name for each in fields(Facts)]
_CHUNK_FIELDS = [each.name for each in fields(Chunk) if each.name not in ("text", "span", "path")]


def to_json(result: Loaded | SourceError) -> bytes:
    """Return the result as bytes; texts of chunks are left out, for they are in the document."""
    if isinstance(result, SourceError):
        return json.dumps({"error": [result.message, result.hint]}).encode()
    document = result.document
    value = {
        "document": [document.id, document.text, document.title, dict(document.meta)],
        "chunks": [_chunk_row(chunk) for chunk in result.chunks],
        "links": [
            [link.source, link.relation, link.target, link.span.start, link.span.end]
            for link in result.links
        ],
        "facts": {chunk_id: _plain(facts) for chunk_id, facts in result.facts.items()},
        "findings": [asdict(finding) for finding in result.findings],
        "boxes": [[getattr(box, each.name) for each in fields(Box)] for box in result.boxes],
    }
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def from_json(data: bytes) -> Loaded | SourceError:
    """Return what :func:`to_json` wrote."""
    value = json.loads(data.decode("utf-8", "surrogatepass"))
    if "error" in value:
        message, hint = value["error"]
        return SourceError(message, hint=hint)
    document = Document(*value["document"])
    return Loaded(
        document=document,
        chunks=tuple(_chunk(row, document) for row in value["chunks"]),
        links=tuple(
            Link(source, relation, target, Span(document.id, start, end))
            for source, relation, target, start, end in value["links"]
        ),
        facts={name: Facts.from_plain(facts) for name, facts in value["facts"].items()},
        findings=tuple(Finding(**finding) for finding in value["findings"]),
        boxes=tuple(Box(*row) for row in value["boxes"]),
    )


def _plain(facts: Facts) -> dict[str, Any]:
    """Return the facts by name, without the copy of each value that ``asdict`` makes."""
    return {name: getattr(facts, name) for name in _FACT_FIELDS}


def _chunk_row(chunk: Chunk) -> list[Any]:
    rest = [getattr(chunk, name) for name in _CHUNK_FIELDS]
    return [chunk.span.start, chunk.span.end, list(chunk.path), *rest]


def _chunk(row: Sequence[Any], document: Document) -> Chunk:
    start, end, path, *rest = row
    return Chunk(
        span=Span(document.id, start, end),
        text=document.text[start:end],
        path=tuple(path),
        **dict(zip(_CHUNK_FIELDS, rest, strict=True)),
    )
