"""Cross references in the words of clauses, as links to the keys of the places they mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pincite.core.types import Chunk, Document, Link, Span
from pincite.ingest.references.columns import Columns, cell_targets, head_columns
from pincite.ingest.references.names import names
from pincite.ingest.references.places import Places
from pincite.ingest.references.resolve import INSIDE, Resolver, Target
from pincite.model.locators import locator_key

_NEAR = re.compile(
    r"\b(?:the\s+)?(?:(?P<next>following|accompanying|next)|(?P<last>preceding|previous))\s+table\b"
    r"|\b(?:the\s+)?table\s+(?:(?P<below>below|that\s+follows|following)|(?P<above>above))\b",
    re.IGNORECASE,
)
_RESERVED = re.compile(r"[.\s]*\[reserved\]", re.IGNORECASE)
_LABEL_END = re.compile(r"[:—]")
_EXCEPTION = re.compile(r"^(?P<of>.*?)\s*\bExceptions?(?: .*)?$")
_LINE = re.compile(r"[^\n]*")


def references(document: Document, chunks: Sequence[Chunk]) -> list[Link]:
    """Return the cross references of a document, and what its exceptions are exceptions to.

    The source is the deepest clause that holds the words. The target is a key as
    ``locator_key`` makes it; whether there is such a place, the store knows.
    """
    places = Places(chunks)
    resolver = Resolver(document.text, places, document.title)
    columns: dict[str, Columns] = {}  # of tables, for their rows
    links: dict[Link, None] = {}
    for chunk in places.chunks:
        if chunk.kind == "exception":
            links.update(dict.fromkeys(_exception(document, chunk, places)))
        found = _targets(document.text, chunk, resolver)
        if chunk.kind == "table":
            columns[chunk.id] = head_columns(document.text, chunk, found)
        if heads := columns.get(chunk.id) or columns.get(chunk.parent or ""):
            found += cell_targets(document.text, chunk, heads)
        for target in found:
            span = Span(document.id, target.start, target.end)
            links[Link(chunk.id, target.relation, target.key, span)] = None
    return list(links)


def _targets(text: str, chunk: Chunk, resolver: Resolver) -> list[Target]:
    """Return what the own words of a chunk refer to, in their order."""
    start, heading_end = _words(text, chunk)
    found = [
        target
        for citation in resolver.citations(text, start, chunk.own_end)
        if not _RESERVED.match(text, citation.end)
        for target in resolver.targets(citation, chunk)
    ]
    found += _named(text, start, chunk, resolver)
    told = (t for t in found if t.key and not _names_itself(text, chunk, t, heading_end))
    return sorted(told, key=lambda target: target.start)


def _names_itself(text: str, chunk: Chunk, target: Target, heading_end: int) -> bool:
    """Return whether the words are the label of a heading or caption, or repeat its place."""
    if target.start >= heading_end:
        return False
    is_first = not text[chunk.span.start : target.start].strip("#*_ \t")
    return is_first or locator_key(chunk.locator).startswith(target.key)


def _named(text: str, start: int, chunk: Chunk, resolver: Resolver) -> Iterator[Target]:
    """Yield references by the name of a heading, and to a table above or below."""
    places = resolver.places
    for name in names(text, start, chunk.own_end, places):
        yield Target(name.key, INSIDE, name.start, name.end)
    for match in _NEAR.finditer(text, start, chunk.own_end):
        is_above = bool(match["last"] or match["above"])
        key = locator_key(places.table_near(chunk, match.start(), is_above=is_above))
        yield Target(key, INSIDE, *match.span())


def _words(text: str, chunk: Chunk) -> tuple[int, int]:
    """Return where the words of a chunk begin behind its label, and where its heading ends."""
    start, end = chunk.span.start, chunk.own_end
    if chunk.kind in ("exception", "note"):
        label = _LABEL_END.search(text, start, min(end, start + 120))
        return (label.end() if label else start), start
    if chunk.kind in ("section", "table", "document"):
        line = _LINE.match(text, start, end)
        heading_end = line.end() if line else start
        return start, heading_end if chunk.kind != "table" or text[start] != "|" else start
    return start, start


def _exception(document: Document, chunk: Chunk, places: Places) -> Iterator[Link]:
    """Yield the link from an exception to the clause it modifies."""
    match = _EXCEPTION.match(chunk.locator)
    of = match["of"] if match else ""
    if not of and chunk.parent:
        of = places.by_id[chunk.parent].locator
    if of:
        end = _words(document.text, chunk)[0]
        span = Span(document.id, chunk.span.start, end)
        yield Link(chunk.id, "exception_to", locator_key(of), span)
