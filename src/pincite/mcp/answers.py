"""From what the library found to what the tools answer."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError

from pincite.answer.passage import Passage
from pincite.answer.values import Answer
from pincite.core.tables import find_cells, parse_table
from pincite.core.types import Chunk, Span, by_id
from pincite.mcp import models
from pincite.mcp.places import SCHEME, Reader
from pincite.search.reader import Result, TableCell
from pincite.search.related import Reference

RESULT_CHARS = 600  # of one result: eight of them are about 1,500 tokens
EVIDENCE_CHARS = 200
MAX_CHILDREN = 50
MAX_REFERENCES = 40
MAX_DOCUMENTS = 200


def search_answer(reader: Reader, result: Result) -> models.SearchAnswer:
    """Return the results of a search with what the asker should know of it."""
    return models.SearchAnswer(
        results=[_found(reader, passage) for passage in result.passages],
        notes=_notes(reader, result),
    )


def _found(reader: Reader, passage: Passage) -> models.Found:
    place = passage.place
    # A row needs the names of its columns, which the snippet has.
    is_short = len(place.text) <= RESULT_CHARS and place.kind != "row"
    return models.Found(
        id=reader.id_of(place),
        title=title_of(place),
        url=reader.url_of(place),
        text=place.text.strip() if is_short else passage.snippet,
        citation=passage.citation,
        document=place.span.doc_id,
        locator=place.locator,
        path=list(place.path),
        page=place.page,
        kind=place.kind,
        score=passage.hit.score,
    )


def _notes(reader: Reader, result: Result) -> list[str]:
    filters = result.query.filters
    notes = [
        f"There is no place {place} in these documents"
        + (f"; the nearest is {nearest}." if nearest else ".")
        for place, nearest in reader.index.missing_places(result.query.text, filters)
    ]
    notes += [
        f"No document has the word {written!r}; {taken!r} was searched for."
        for written, taken in result.corrections.items()
    ]
    notes += [note for note in (reader.index.explain_filters(filters),) if note]
    notes += result.notes
    if not result.passages:
        notes.append("Nothing found. Try other words, or fewer.")
    return notes


def title_of(chunk: Chunk) -> str:
    """Return a place's number with its heading."""
    if chunk.locator.endswith(chunk.title):
        return chunk.locator
    return f"{chunk.locator} {chunk.title}"


def fetched(reader: Reader, chunk: Chunk, start: int, limit: int) -> models.Fetched:
    """Return a place's text from a character on, up to a limit, and where it stands."""
    size = len(chunk.text)
    if start and start >= size:
        raise ToolError(f"start is {start}, and the place has {size} characters. Use less.")
    parent = reader.index.snapshot.get([chunk.parent])[0] if chunk.parent else None
    below = reader.index.children(chunk)[:MAX_CHILDREN]
    return models.Fetched(
        id=reader.id_of(chunk),
        title=title_of(chunk),
        text=chunk.text[start : start + limit],
        url=reader.url_of(chunk),
        metadata=models.PlaceFacts(
            document=chunk.span.doc_id,
            document_title=reader.title_of(chunk.span.doc_id),
            locator=chunk.locator,
            kind=chunk.kind,
            path=list(chunk.path),
            page=chunk.page,
            citation=reader.citation_of(chunk),
            parent=reader.id_of(parent) if parent else None,
            children=[reader.id_of(child) for child in below],
            start=start,
            characters=size,
            truncated=start + limit < size,
        ),
    )


def cells_answer(
    reader: Reader, chunks: Sequence[Chunk], row: str, column: str
) -> models.CellsAnswer:
    """Return the cells that a row and a column mean; ToolError with the columns if none."""
    tables = [(chunk, parse_table(chunk.text)) for chunk in chunks]
    parsed = [(chunk, table) for chunk, table in tables if table is not None]
    if not parsed:
        raise ToolError(f"{chunks[0].locator!r} is not a table. Use show to read it.")
    found = [
        TableCell(chunk, cell) for chunk, table in parsed for cell in find_cells(table, row, column)
    ]
    if not found:
        chunk, table = parsed[0]
        names = " | ".join(table.columns)
        raise ToolError(
            f"no cell for row {row!r} and column {column!r} in {chunk.locator}, whose columns are "
            f"{models.seen(names)}. Use fetch with {reader.id_of(chunk)!r} to read it."
        )
    return models.CellsAnswer(cells=[_cell(reader, each) for each in found])


def _cell(reader: Reader, found: TableCell) -> models.CellFound:
    cell, table = found.cell, found.table
    return models.CellFound(
        value=cell.value,
        unit=cell.unit,
        row=cell.row_name,
        column=cell.column_name,
        notes=list(cell.notes),
        found_by=cell.key,
        citation=f"{reader.title_of(table.span.doc_id)}, {found.citation}",
        id=reader.id_of(table),
        url=reader.url_of(table),
        document=table.span.doc_id,
    )


def references_answer(reader: Reader, found: Sequence[Reference]) -> models.ReferencesAnswer:
    """Return references with the beginnings of the places at their other ends."""
    known = [(each, each.chunk_id) for each in found if each.chunk_id is not None][:MAX_REFERENCES]
    missing = [each for each in found if each.chunk_id is None][:MAX_REFERENCES]
    chunks = reader.index.snapshot.get([chunk_id for _, chunk_id in known])
    return models.ReferencesAnswer(
        references=[
            models.ReferenceFound(
                direction=each.direction,
                relation=each.relation,
                evidence=_words(reader, each.evidence),
                id=reader.id_of(chunk),
                title=title_of(chunk),
                url=reader.url_of(chunk),
                citation=reader.citation_of(chunk),
                text=_where_named(chunk, each.name),
            )
            for (each, _), chunk in zip(known, chunks, strict=True)
        ],
        missing=[
            models.NotFound(
                name=each.name, relation=each.relation, evidence=_words(reader, each.evidence)
            )
            for each in missing
        ],
    )


def _where_named(chunk: Chunk, name: str) -> str:
    """Return the beginning of a place; of many definitions in one place, the one that is meant."""
    lines = chunk.text.casefold().splitlines(keepends=True)
    start = 0
    for line in lines:
        if line.lstrip('*_"“ ').startswith(name.casefold()):
            return chunk.text[start : start + RESULT_CHARS].strip()
        start += len(line)
    return chunk.text[:RESULT_CHARS].strip()


def _words(reader: Reader, span: Span) -> str:
    text = reader.index.snapshot.text(span.doc_id)
    return " ".join(text[span.start : min(span.end, span.start + EVIDENCE_CHARS)].split())


def documents_answer(reader: Reader, words: Sequence[str]) -> models.DocumentsAnswer:
    """Return the documents whose id or title has all the words."""
    named = [(doc_id, reader.title_of(doc_id)) for doc_id in reader.index.documents()]
    found = [
        (doc_id, title)
        for doc_id, title in named
        if all(word in f"{doc_id} {title}".casefold() for word in words)
    ]
    return models.DocumentsAnswer(
        documents=[_document(reader, *each) for each in found[:MAX_DOCUMENTS]], total=len(found)
    )


def _document(reader: Reader, doc_id: str, title: str) -> models.DocumentFound:
    edition = reader.index.snapshot.edition(doc_id)
    return models.DocumentFound(
        id=doc_id,
        title=title,
        uri=SCHEME + quote(doc_id),
        in_force_from=edition.effective.isoformat() if edition.effective else None,
        in_force_until=edition.until.isoformat() if edition.until else None,
    )


def ask_answer(reader: Reader, answer: Answer) -> models.AskAnswer:
    """Return an answer with its citations, or why there is none."""
    sources = {source.number: source for source in answer.sources}
    cited = {(each.source, each.quote): each for each in answer.citations}
    ids = sorted({sources[number].chunk_id for number, _ in cited})
    chunks = by_id(reader.index.snapshot.get(ids))
    citations = [
        models.CitationFound(
            source=number,
            id=reader.id_of(chunks[sources[number].chunk_id]),
            url=reader.url_of(chunks[sources[number].chunk_id]),
            citation=sources[number].cited(each),
            quote=quoted,
        )
        for (number, quoted), each in cited.items()
    ]
    none = answer.abstention
    return models.AskAnswer(
        answer=answer.text,
        is_answered=none is None,
        citations=citations,
        unsupported=[each.text for each in answer.sentences if each.verdict == "unsupported"],
        why_not=none.reason if none else "",
        nearest=[f"{place.document}#{place.locator}" for place in none.nearest] if none else [],
    )
