"""A parsed document as JSON and back: between processes, and never as code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from pincite.core.errors import MALFORMED, SourceError
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
        "chunks": [
            [c.span.start, c.span.end, list(c.path), *(getattr(c, name) for name in _CHUNK_FIELDS)]
            for c in result.chunks
        ],
        "links": [
            [link.source, link.relation, link.target, link.span.start, link.span.end]
            for link in result.links
        ],
        # By name, without the copy of each value that ``asdict`` makes.
        "facts": {
            chunk_id: {name: getattr(facts, name) for name in _FACT_FIELDS}
            for chunk_id, facts in result.facts.items()
        },
        "findings": [asdict(finding) for finding in result.findings],
        "boxes": [[getattr(box, each.name) for each in fields(Box)] for box in result.boxes],
    }
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def from_json(data: bytes, doc_id: str | None = None) -> Loaded | SourceError:
    """Return what :func:`to_json` wrote of the document that was asked for.

    It may come from a child that a hostile file took over: whatever is not a document is an error
    of that file, and nothing else suffers.
    """
    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"))
        if "error" in value:
            message, hint = map(str, value["error"])
            return SourceError(message, hint=hint)
        document = Document(*value["document"])
        loaded = Loaded(
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
        _check(loaded, doc_id)
        return loaded
    except MALFORMED as error:
        return SourceError(
            f"{doc_id or 'a file'} made its reader talk nonsense: {error!r:.200}",
            hint="the file may be hostile; leave it out or convert it",
        )


def _check(loaded: Loaded, doc_id: str | None) -> None:
    """Raise ValueError if this is no document, another one, or has places outside itself."""
    document = loaded.document
    named = (document.id, document.text, document.title, *document.meta, *document.meta.values())
    if doc_id not in (None, document.id) or not _are(str, *named):
        raise ValueError("another document")
    ids = {chunk.id for chunk in loaded.chunks}
    end = len(document.text)
    if len(ids) != len(loaded.chunks) or not all(_is_sound(c, ids, end) for c in loaded.chunks):
        raise ValueError("chunks")
    if not all(_is_within(link.span, end) and link.source in ids for link in loaded.links):
        raise ValueError("links")
    if not all(_are(str, link.relation, link.target) for link in loaded.links):
        raise ValueError("links")
    if not ids.issuperset(loaded.facts) or not all(map(_are_facts, loaded.facts.values())):
        raise ValueError("facts")
    numbers = (number for box in loaded.boxes for number in (box.x0, box.y0, box.x1, box.y1))
    if not all(type(number) in (int, float) for number in numbers):
        raise ValueError("boxes")
    if not all(_are(int, b.start, b.end, b.page) and 0 <= b.start <= b.end for b in loaded.boxes):
        raise ValueError("boxes")
    if not all(_are(str, finding.kind, finding.message) for finding in loaded.findings):
        raise ValueError("findings")


def _are(kind: type, *values: Any) -> bool:
    return all(type(value) is kind for value in values)


def _is_within(span: Span, end: int) -> bool:
    return _are(int, span.start, span.end) and 0 <= span.start <= span.end <= end


def _is_sound(chunk: Chunk, ids: set[str], end: int) -> bool:
    words = (chunk.id, chunk.kind, chunk.locator, chunk.title, chunk.context, *chunk.path)
    own_end, span = chunk.own_end, chunk.span
    return (
        _is_within(span, end)
        and type(own_end) is int
        and span.start <= own_end <= span.end
        and _are(str, *words)
        and (chunk.parent is None or chunk.parent in ids)
        and (chunk.page is None or type(chunk.page) is int)
        and type(chunk.searched) is bool
    )


def _are_facts(facts: Facts) -> bool:
    lists = (facts.tags, facts.traits, facts.terms, facts.aliases)
    return (
        _are(str, facts.content_kind)
        and _are(bool, facts.is_rule_bearing)
        and _are(tuple, *lists)
        and all(_are(str, *each) for each in lists)
    )


def _chunk(row: Sequence[Any], document: Document) -> Chunk:
    start, end, path, *rest = row
    return Chunk(
        span=Span(document.id, start, end),
        text=document.text[start:end],
        path=tuple(path),
        **dict(zip(_CHUNK_FIELDS, rest, strict=True)),
    )
