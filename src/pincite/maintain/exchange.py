"""An index as plain files and back: for other programs, for a look with a text editor, for moving.

    index.json        settings that shaped the index
    documents.jsonl   id, title, meta, text, findings, boxes: one document a line
    chunks.jsonl      enriched chunks: place, span, path, text and facts: one chunk a line
    graph.jsonl       links: source, relation, target and their evidence: one link a line; and which
                      places are the same as those of the edition before ("same_as"); where asked
                      for, which chunks of other sections say nearly the same ("similar_to")
    queries.jsonl     where asked for: questions with the places that answer them, one a line

Reading back takes the first four: questions are made from them again.

Lines of one document stand together, in the same order in all files, so reading them back needs
the memory of one document only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

from pincite.index.builder import IndexBuilder
from pincite.model.editions import earlier_editions, places_of, same_places
from pincite.model.errors import SourceError
from pincite.model.settings import Settings
from pincite.model.types import (
    Box,
    Chunk,
    Document,
    Enrichment,
    Link,
    ParsedDocument,
    ReaderWarning,
    Span,
)
from pincite.search.similar import Similar
from pincite.store.files import explained
from pincite.store.snapshot import Snapshot

FILES = ("documents.jsonl", "chunks.jsonl", "tuning.graph.jsonl")
SAME_AS, SIMILAR_TO = "same_as", "similar_to"
# These follow from the documents and their vectors, and are not read back.
DERIVED = (SAME_AS, SIMILAR_TO)
# Who makes questions is evaluation's affair, a layer above: it is handed in.
Ask = Callable[[Snapshot, ParsedDocument], Iterable[dict[str, Any]]]
_PLAIN = [f.name for f in fields(Chunk) if f.name not in ("id", "span", "text", "path")]


def export_index(
    snapshot: Snapshot, folder: Path, *, ask: Ask | None = None, similar: Similar | None = None
) -> Iterator[str]:
    """Write the index as plain files and yield each document's id when it is written.

    Args:
        ask: makes the questions of a document; without it no queries are written.
        similar: finds what is near in meaning, which takes a search for each chunk.
    """
    snapshot.verify()
    with explained("write to", folder), ExitStack() as stack:
        folder.mkdir(parents=True, exist_ok=True)
        shape = json.dumps(snapshot.manifest.shape, indent=1, sort_keys=True)
        (folder / "index.json").write_text(shape + "\n", encoding="utf-8")
        documents, chunks, graph = (
            stack.enter_context((folder / name).open("w", encoding="utf-8")) for name in FILES
        )
        earlier = earlier_editions(snapshot.editions())
        queries = folder / "queries.jsonl"
        queries.unlink(missing_ok=True)  # of an earlier export, maybe of other documents
        asked = stack.enter_context(queries.open("w", encoding="utf-8")) if ask else None
        for segment in snapshot.segments:
            for entry in segment.entries():
                loaded = entry.loaded
                _line(documents, _document_record(loaded))
                for chunk in loaded.chunks:
                    _line(chunks, _chunk_record(chunk, loaded.facts.get(chunk.id)))
                before = earlier.get(loaded.document.id)
                for record in _edges(snapshot, loaded, before, similar):
                    _line(graph, record)
                if ask and asked:
                    for record in ask(snapshot, loaded):
                        _line(asked, record)
                yield loaded.document.id


def import_index(folder: Path, index: str | Path) -> Iterator[str]:
    """Build an index from plain files and yield each document's id when it is in."""
    try:
        shape = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        settings = Settings.from_shape(shape, origin=str(folder / "index.json"))
        profile = str(shape.get("profile", {}).get("fingerprint", ""))
        with ExitStack() as stack:
            files = [stack.enter_context((folder / name).open(encoding="utf-8")) for name in FILES]
            builder = stack.enter_context(
                IndexBuilder(index, settings, rebuild=True, profile=profile)
            )
            for loaded in _loaded(*files):
                builder.put(loaded)
                yield loaded.document.id
            builder.flush()
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise SourceError(
            f"{folder} is not an exported index: {error}", hint="make one with: pincite export"
        ) from error


def _line(stream: TextIO, record: dict[str, Any]) -> None:
    stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _document_record(loaded: ParsedDocument) -> dict[str, Any]:
    document = loaded.document
    return {
        "document": document.id,
        "title": document.title,
        "meta": dict(document.meta),
        "text": document.text,
        "findings": [asdict(finding) for finding in loaded.findings],
        "boxes": [[getattr(box, f.name) for f in fields(Box)] for box in loaded.boxes],
    }


def _chunk_record(chunk: Chunk, facts: Enrichment | None) -> dict[str, Any]:
    return {
        "chunk_id": chunk.id,
        "document": chunk.span.doc_id,
        "span": [chunk.span.start, chunk.span.end],
        "path": list(chunk.path),
        **{name: getattr(chunk, name) for name in _PLAIN},
        "text": chunk.text,
        "facts": asdict(facts) if facts is not None else None,
    }


def _link_record(link: Link) -> dict[str, Any]:
    return {
        "source": link.source,
        "relation": link.relation,
        "target": link.target,
        "document": link.span.doc_id,
        "span": [link.span.start, link.span.end],
    }


def _edges(
    snapshot: Snapshot, loaded: ParsedDocument, before: str | None, similar: Similar | None
) -> Iterator[dict[str, Any]]:
    """Yield the edges that start in a document: its links, and those that follow from others."""
    yield from map(_link_record, loaded.links)
    if before is not None:
        yield from _same_as(snapshot, before, loaded)
    if similar is not None:
        yield from _similar_to(snapshot, similar, loaded)


def _same_as(snapshot: Snapshot, before: str, loaded: ParsedDocument) -> Iterator[dict[str, Any]]:
    """Yield the edges from a document's places to the same ones of the edition before it.

    They follow from both documents, so they are not read back: an index works them out again.
    """
    old = places_of(snapshot.document(before).text, snapshot.chunks(before))
    new = places_of(loaded.document.text, loaded.chunks)
    for was, place in same_places(old, new):
        span = Span(loaded.document.id, place.chunk.span.start, place.chunk.own_end)
        link = Link(place.chunk.id, SAME_AS, was.key, span)
        yield {**_link_record(link), "target_document": before, "target_chunk": was.chunk.id}


def _similar_to(
    snapshot: Snapshot, similar: Similar, loaded: ParsedDocument
) -> Iterator[dict[str, Any]]:
    """Yield the edges from a document's chunks to those of other sections that are near."""
    for chunk in loaded.chunks:
        near = dict(similar.of([chunk.id])) if chunk.searched else {}
        for other in snapshot.get(list(near)):
            link = Link(chunk.id, SIMILAR_TO, other.locator, chunk.span)
            target = {"target_document": other.span.doc_id, "target_chunk": other.id}
            yield {**_link_record(link), **target, "cosine": round(near[other.id], 4)}


def _loaded(documents: TextIO, chunks: TextIO, graph: TextIO) -> Iterator[ParsedDocument]:
    """Yield the documents of the three files, each with its chunks and links."""
    chunk_groups = _grouped(chunks)
    link_groups = _grouped(graph)
    waiting = next(link_groups, None)
    for line in documents:
        record = json.loads(line)
        document = Document(record["document"], record["text"], record["title"], record["meta"])
        name, chunk_records = next(chunk_groups)
        if name != document.id:
            raise ValueError(f"chunks of {name} stand where those of {document.id} should")
        links: list[dict[str, Any]] = []
        if waiting is not None and waiting[0] == document.id:
            links = waiting[1]
            waiting = next(link_groups, None)
        yield ParsedDocument(
            document,
            tuple(_chunk(each, document) for each in chunk_records),
            tuple(_link(each) for each in links if each["relation"] not in DERIVED),
            {
                each["chunk_id"]: Enrichment.from_plain(each["facts"])
                for each in chunk_records
                if each["facts"]
            },
            tuple(ReaderWarning(**finding) for finding in record["findings"]),
            tuple(Box(*box) for box in record["boxes"]),
        )


def _grouped(stream: TextIO) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    records = (json.loads(line) for line in stream)
    for name, group in groupby(records, key=lambda record: str(record["document"])):
        yield name, list(group)


def _chunk(record: dict[str, Any], document: Document) -> Chunk:
    start, end = record["span"]
    return Chunk(
        id=record["chunk_id"],
        span=Span(document.id, start, end),
        text=document.text[start:end],
        path=tuple(record["path"]),
        **{name: record[name] for name in _PLAIN},
    )


def _link(record: dict[str, Any]) -> Link:
    span = Span(record["document"], *record["span"])
    return Link(record["source"], record["relation"], record["target"], span)
