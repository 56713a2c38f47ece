"""What can be learned from an open index, as plain values; runs in threads, knows no HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from hashlib import blake2b
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pincite.encode.models import spec_of
from pincite.model.editions import edition_of, parse_date
from pincite.model.errors import ConfigError, StoreError
from pincite.model.types import CARD_KEYS, Chunk, Filters
from pincite.search.lookup import PlaceReader, TableCell
from pincite.store.snapshot import Snapshot

# Commands that look something up load what is below, and no more.
if TYPE_CHECKING:
    from pincite.search.candidates import Step
    from pincite.search.explain import WhyNot
    from pincite.search.reader import IndexReader

# Candidates that an explanation lists after each stage; all of them are counted.
LISTED = 50
MAX_PLACES = 5000


def seen_generation(snapshot: Snapshot) -> int:
    """Return a number that is another one when another document is seen, or one has changed.

    The generation's own would count documents that are hidden.
    """
    seen = blake2b(digest_size=6)  # JSON's numbers are exact for so many bits
    for header in sorted(snapshot.headers(), key=itemgetter(0)):
        seen.update(repr(header).encode())
    return int.from_bytes(seen.digest())


def generation_of(index: IndexReader) -> int:
    """Return the number that replies tell; for some it counts only what they see."""
    shown = index.shown_generation
    return index.snapshot.manifest.generation if shown is None else shown


def meaning_share(index: IndexReader) -> float:
    """Return which share of the chunks is searched by meaning too; 1 where that is not wanted."""
    spec, snapshot = spec_of(index.settings.embedding), index.snapshot
    if spec is None or not len(snapshot):
        return 1.0
    known = [snapshot.vectors_of(model) for model in (spec.id, spec.stand_in) if model]
    best = [
        max((part.entry.chunks for part in parts if part), default=0)
        for parts in zip(*known, strict=True)
    ]
    return min(1.0, sum(best) / sum(segment.entry.chunks for segment in snapshot.segments))


def search(
    index: IndexReader,
    query: str,
    k: int | None,
    filters: Filters,
    *,
    companions: int = 5,
    budget_ms: int | None = None,
) -> dict[str, Any]:
    """Return the hits, what belongs beside them, and what was asked for and is not there."""
    from pincite.search.passages import companion_values, passage_values

    result = index.search(query, k, filters, budget_ms=budget_ms)
    used = result.query.filters
    beside = index.companions(result, companions) if companions else []
    return {
        "query": query,
        "filters": set_filters(used),
        "note": index.explain_filters(used),
        "notes": list(result.notes),
        "hits": [passage_values(passage) for passage in result.passages],
        "missing": [
            {"place": place, "nearest": nearest or None}
            for place, nearest in index.missing_places(query, used)
        ],
        "corrections": dict(result.corrections),
        "companions": [companion_values(each, chunk) for each, chunk in beside],
        "seconds": dict(result.seconds),
    }


def set_filters(filters: Filters) -> dict[str, Any]:
    """Return the filters that say something."""
    unset = asdict(Filters())
    return {name: value for name, value in asdict(filters).items() if value != unset[name]}


def explain(
    index: IndexReader,
    query: str,
    k: int | None,
    filters: Filters,
    place: str | None = None,
    document: str | None = None,
) -> dict[str, Any]:
    """Return the ranking after every stage, and where a search loses a place."""
    steps, seconds = index.steps(query, k or index.settings.search.k, filters)
    lost = index.why_not(query, place, k, document, filters) if place is not None else []
    return {
        "query": query,
        "stages": [_stage(index, step) for step in steps],
        "seconds": dict(seconds),
        "why_not": [why_not(each) for each in lost],
    }


def _stage(index: IndexReader, step: Step) -> dict[str, Any]:
    hits = step.table.hits(LISTED)
    places = index.snapshot.places([hit.chunk_id for hit in hits])
    return {
        "stage": step.stage,
        "seconds": step.seconds,
        "candidates": len(step.table),
        "hits": [
            {
                "chunk": hit.chunk_id,
                "document": document,
                "locator": locator,
                "score": hit.score,
                "why": dict(hit.features),
                "raw": dict(hit.raw),
            }
            for hit, (document, locator) in zip(hits, places, strict=True)
        ],
    }


def why_not(found: WhyNot) -> dict[str, Any]:
    return {
        "document": found.chunk.span.doc_id,
        "locator": found.chunk.locator,
        "lost_at": found.lost_at or None,
        "reason": found.reason,
        "stages": [asdict(view) for view in found.stages],
    }


def show(
    index: IndexReader, locator: str, document: str | None = None, as_of: str | None = None
) -> list[dict[str, Any]]:
    """Return the places of this name with their words."""
    day = parse_date(as_of) if as_of else None
    if as_of and day is None:
        raise ConfigError(f"as_of {as_of}: no date", hint="write 2022 or 2022-07-15")
    return [_place(index, chunk) for chunk in index.show(locator, document, as_of=day)]


def _place(index: IndexReader, chunk: Chunk) -> dict[str, Any]:
    return {
        "chunk": chunk.id,
        "document": chunk.span.doc_id,
        "title": index.snapshot.title(chunk.span.doc_id),
        "locator": chunk.locator,
        "kind": chunk.kind,
        "heading": chunk.title,
        "path": list(chunk.path),
        **index.snapshot.page_of(chunk).plain(),
        "span": [chunk.span.start, chunk.span.end],
        "text": chunk.text,
        "children": [child.locator for child in index.children(chunk)],
    }


def cited(
    index: PlaceReader,
    place: str,
    style: str,
    document: str | None = None,
    links: str = "",
    as_of: date | None = None,
) -> dict[str, Any]:
    """Return how to cite the first place of a name, and which other documents have one."""
    first, *more = index.show(place, document, as_of=as_of)
    return {
        "document": first.span.doc_id,
        "locator": first.locator,
        "style": style,
        "citation": index.cite(first, style, links=links),
        "others": list(dict.fromkeys(each.span.doc_id for each in more)),
    }


def cells(
    index: IndexReader, table: str, row: str, column: str, document: str | None
) -> list[dict[str, Any]]:
    """Return the cells that are meant; StoreError if there are none."""
    found = index.cells(table, row, column, document)
    if not found:
        raise StoreError(f"no cell for row {row!r} and column {column!r} in {table}")
    return [_cell(each) for each in found]


def _cell(found: TableCell) -> dict[str, Any]:
    return {
        "value": found.cell.value,
        "unit": found.cell.unit,
        "row": found.cell.row_name,
        "column": found.cell.column_name,
        "table": found.table.locator,
        "document": found.table.span.doc_id,
        "citation": found.citation,
        "notes": list(found.cell.notes),
        "scale": found.cell.scale,
        "period": found.cell.period,
    }


def similar(
    index: IndexReader, locator: str, document: str | None, k: int, least: float
) -> list[dict[str, Any]]:
    """Return what other sections say nearly the same as the places of a name."""
    best: dict[str, tuple[Chunk, float]] = {}
    for place in index.show(locator, document):
        for chunk, cosine in index.similar(place, k, least):
            if cosine > best.get(chunk.id, (chunk, -2.0))[1]:
                best[chunk.id] = (chunk, cosine)
    ordered = sorted(best.values(), key=lambda each: (-each[1], each[0].id))[:k]
    return [
        {
            "document": chunk.span.doc_id,
            "locator": chunk.locator,
            "chunk": chunk.id,
            "path": list(chunk.path),
            "text": chunk.text,
            "cosine": cosine,
        }
        for chunk, cosine in ordered
    ]


def documents(index: PlaceReader) -> list[dict[str, Any]]:
    """Return all documents with what is known of them; nothing of where they came from."""
    headers = sorted(index.snapshot.headers(), key=lambda each: each[0])
    return [_document(*header) for header in headers]


def _document(doc_id: str, title: str, meta: Mapping[str, str]) -> dict[str, Any]:
    edition = edition_of(doc_id, title, meta)
    return {
        "id": doc_id,
        "title": title,
        "effective": edition.effective.isoformat() if edition.effective else None,
        "until": edition.until.isoformat() if edition.until else None,
        "card": {key: meta[key] for key in CARD_KEYS if meta.get(key)},
    }


def card_of_document(snapshot: Snapshot, doc_id: str) -> dict[str, str]:
    """Return a document's card: its title and whatever else is known."""
    meta = snapshot.meta(doc_id)
    if meta is None:
        raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")
    known = _document(doc_id, snapshot.title(doc_id), meta)
    return {"document": doc_id, "title": known["title"], **known["card"]}


def document(index: IndexReader, doc_id: str) -> dict[str, Any]:
    """Return one document: what is known of it, and its places in order."""
    meta = index.snapshot.meta(doc_id)
    if meta is None:
        raise StoreError(f"no document {doc_id!r}", hint="see: GET /v1/documents")
    chunks = [chunk for chunk in index.snapshot.chunks(doc_id) if chunk.kind != "piece"]
    return {
        **_document(doc_id, index.snapshot.title(doc_id), meta),
        "language": meta.get("language"),
        "sha256": meta.get("sha256", ""),
        "access": [tag.strip() for tag in meta.get("access", "").split(",") if tag.strip()],
        "findings": [finding.message for finding in index.snapshot.findings(doc_id)[:100]],
        "count": len(chunks),
        "places": [
            {
                "chunk": chunk.id,
                "locator": chunk.locator,
                "heading": chunk.title,
                "kind": chunk.kind,
                "page": chunk.page,
                "span": [chunk.span.start, chunk.span.end],
                "parent": chunk.parent,
            }
            for chunk in chunks[:MAX_PLACES]
        ],
    }
