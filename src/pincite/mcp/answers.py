"""Answers of tools from what an index says, each within the tokens that were asked for."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent

from pincite.answer.values import Answer
from pincite.check.values import CheckedClaim, CheckReport
from pincite.maintain.editions import EditionChange
from pincite.mcp import models
from pincite.mcp.models import LentIndex, ToolAnswer
from pincite.model.markup import plain
from pincite.model.tables import find_cells, parse_table
from pincite.model.types import Chunk, Span, by_id
from pincite.read.chunks import estimated_tokens
from pincite.search.browse import GrepResult, OutlineEntry
from pincite.search.lookup import TableCell
from pincite.search.neighbours import Reference
from pincite.search.passages import Passage
from pincite.search.reader import Result

RESULT_CHARS = 600  # of one result: eight of them are about 1,500 tokens
EVIDENCE_CHARS = 200
HOLDS_CHARS = 80  # of a claim that holds: enough to know which one
MAX_CHILDREN = 50
MAX_REFERENCES = 40
MAX_VERIFIED = 200
MAX_DOCUMENTS = 200
TOKEN_CHARS = 8  # more than a token ever has in a long text
_CARD = ("kind", "issuer", "parties", "period", "date", "edition")
_ROOM = {"left_out": "999999 of 999999 characters left out: go on with start=999999. " * 2}


def as_text(values: dict[str, Any]) -> str:
    """Return what a model reads: JSON without blanks."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def told(answer: ToolAnswer, most: int, start: int = 0) -> CallToolResult:
    """Return an answer of at most so many tokens, which says what it leaves out.

    ``start`` is how many entries of its last list were passed over.
    """
    values = _values(answer)
    said = [answer.left_out] if answer.left_out else []
    if _tokens(values) > most:
        for path in answer.LISTS:
            said += _cut_list(values, path, most, answer, start)
        if any([_cut_text(values, path, most) for path in answer.TEXTS]):
            said.append("texts are cut: ask with more max_tokens")
    if said:
        values["left_out"] = ". ".join(dict.fromkeys(said)) + "."
    content = TextContent(type="text", text=as_text(values))
    return CallToolResult(content=[content], structured_content=values)


def _values(answer: ToolAnswer) -> dict[str, Any]:
    """Return an answer as plain values, without those that say nothing."""
    return answer.model_dump(mode="json", exclude_defaults=True)


def _tokens(values: dict[str, Any]) -> int:
    return estimated_tokens(as_text({**values, **_ROOM}))


def _cut_list(
    values: dict[str, Any], path: str, most: int, answer: ToolAnswer, start: int
) -> list[str]:
    """Leave the end of a list out, as much as it takes, and return how that is told."""
    above, _, name = path.rpartition(".")
    owner = values[above] if above else values
    whole = owner.get(name, [])
    is_last = path == answer.LISTS[-1] and not above

    def tokens(count: int) -> int:
        owner[name] = whole[:count]
        return _tokens(values)

    fitting = bisect_right(range(len(whole) + 1), most, key=tokens) - 1
    kept = max(min(len(whole), 1) if is_last else 0, fitting)
    owner[name] = whole[:kept]
    if not kept:
        owner.pop(name)
    if kept == len(whole):
        return []
    how = f": {answer.GO_ON.format(next=start + kept)}" if is_last else ""
    return [f"{len(whole) - kept} of {len(whole)} {name} left out{how}"]


def _cut_text(values: dict[str, Any], path: str, most: int) -> bool:
    """Cut a text that is too long to fit, in the first entry if it is one of a list."""
    above, _, name = path.rpartition(".")
    owner = values.get(above) if above else values
    owner = next(iter(owner), None) if isinstance(owner, list) else owner
    over = _tokens(values) - most
    if not owner or name not in owner or over <= 0:
        return False
    text = owner[name]
    owner[name] = first_words(text, max(0, estimated_tokens(as_text({"": text})) - over - 8))
    return True


def first_words(text: str, most: int) -> str:
    """Return the beginning of a text that has at most so many tokens, in whole words."""
    text, whole = text[: most * TOKEN_CHARS], len(text)
    end = bisect_right(
        range(len(text) + 1), most, key=lambda n: estimated_tokens(as_text({"": text[:n]}))
    )
    end = max(0, end - 1)
    if end == whole:
        return text
    return text[: max(text.rfind(" ", 0, end), text.rfind("\n", 0, end)) + 1 or end]


def found_answer(reader: LentIndex, result: Result, start: int) -> models.SearchAnswer:
    """Return passages with the words that matter, and notes on what is not there."""
    results = [
        models.McpResult(
            **reader.named_place(passage.place),
            text=_shown(passage),
            citation=passage.citation,
            page=passage.page,
        )
        for passage in result.passages[start:]
    ]
    return models.SearchAnswer(results=results, notes=_notes(reader, result))


def _shown(passage: Passage) -> str:
    # A row needs the names of its columns, which the snippet has.
    place = passage.place
    is_short = len(place.text) <= RESULT_CHARS and place.kind != "row"
    return plain(place.text).strip() if is_short else passage.snippet


def _notes(reader: LentIndex, result: Result) -> list[str]:
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


def fetched(reader: LentIndex, chunk: Chunk, start: int, most: int) -> models.Fetched:
    """Return a place's text from a character on, and where it stands."""
    size = len(chunk.text)
    if start and start >= size:
        raise ToolError(f"start is {start}, and the place has {size} characters. Use less.")
    parent = reader.index.snapshot.get([chunk.parent])[0] if chunk.parent else None
    below = reader.index.children(chunk)
    answer = models.Fetched(
        **reader.named_place(chunk),
        text="",
        metadata=models.PlaceFacts(
            citation=reader.citation_of(chunk),
            kind=chunk.kind,
            path=list(chunk.path),
            page=chunk.page,
            parent=reader.id_of(parent) if parent else None,
            children=reader.ids_of(below[:MAX_CHILDREN]),
            start=start,
            characters=size,
        ),
    )
    # A long place is read in parts, and what is below it may be asked for as an outline.
    if (room := most - _tokens(_values(answer))) < most // 2:
        answer.metadata.children, answer.metadata.path = [], []
        answer.left_out = "children left out: see outline" if below else ""
        room = most - _tokens(_values(answer))
    return _with_text(answer, chunk.text, start, room)


def _with_text(answer: models.Fetched, text: str, start: int, room: int) -> models.Fetched:
    """Return a place with as much of its text as there is room for."""
    part = first_words(text[start:], max(room, 0))
    end = start + len(part)
    told = [answer.left_out] if answer.left_out else []
    if end < len(text):
        told.append(f"{len(text) - end} of {len(text)} characters left out: go on with start={end}")
    changes = {"text": models.seen(part), "left_out": ". ".join(told)}
    return answer.model_copy(update=changes)


def shown_answer(
    reader: LentIndex, chunks: Sequence[Chunk], start: int, most: int
) -> models.ShowAnswer:
    """Return the places of a name, each with its share of the tokens."""
    places, said = [], list[str]()
    share = most // len(chunks)
    for chunk in chunks:
        size = len(chunk.text)
        if start and start >= size:
            raise ToolError(f"start is {start}, and the place has {size} characters. Use less.")
        place_id, citation = reader.id_of(chunk), reader.citation_of(chunk)
        bare = {"id": place_id, "citation": citation, "start": start, "characters": size}
        part = first_words(chunk.text[start:], max(0, share - _tokens(bare)))
        if (end := start + len(part)) < size:
            said.append(f"{size - end} of {size} characters left out: go on with start={end}")
        places.append(
            models.ShownPlace(
                id=place_id, citation=citation, text=part, start=start, characters=size
            )
        )
    return models.ShowAnswer(places=places, left_out=". ".join(dict.fromkeys(said)))


def outline_answer(
    reader: LentIndex, entries: Sequence[OutlineEntry], start: int
) -> models.OutlineAnswer:
    """Return the places of a tree from one on."""
    entries = entries[start:]
    ids = reader.ids_of([each.place for each in entries])
    return models.OutlineAnswer(
        places=[
            models.OutlinedPlace(
                id=name,
                title=_heading(entry.place),
                level=entry.level,
                page=entry.place.page,
                characters=entry.characters,
                below=entry.below,
            )
            for name, entry in zip(ids, entries, strict=True)
        ]
    )


def _heading(chunk: Chunk) -> str:
    """Return a heading, if the locator in the id does not say it."""
    return "" if chunk.locator.endswith(chunk.title) else chunk.title


def grep_answer(reader: LentIndex, result: GrepResult, start: int) -> models.GrepAnswer:
    """Return the places that match with their words, and the matches of each document."""
    ids = reader.ids_of([hit.place for hit in result.hits])
    left = []
    if result.more:
        left.append(f"more places left out: go on with start={start + len(result)}")
    if result.unread:
        unread = (
            f"{len(result.unread)} documents, from {result.unread[0]} on, were not read in time"
        )
        left.append(f"{unread}: name them as documents")
    return models.GrepAnswer(
        places=[
            models.GrepPlace(id=name, text=hit.line, matches=hit.count, page=hit.place.page)
            for name, hit in zip(ids, result.hits, strict=True)
        ],
        matches=result.counts,
        left_out=". ".join(left),
    )


def compare_answer(changes: Sequence[EditionChange], start: int) -> models.CompareAnswer:
    """Return changes with the words that are gone and new."""
    return models.CompareAnswer(
        changes=[
            models.EditionDifference(
                kind=each.kind,
                place=each.locator,
                words=plain(each.new or each.old) if not (each.old and each.new) else each.marked(),
            )
            for each in changes[start:]
        ],
        counts=dict(Counter(each.kind for each in changes)),
    )


def cells_answer(
    reader: LentIndex, chunks: Sequence[Chunk], row: str, column: str
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
    return models.CellsAnswer(
        cells=[
            models.CellFound(
                value=each.cell.value,
                unit=each.cell.unit,
                scale=each.cell.scale,
                period=each.cell.period,
                row=each.cell.row_name,
                column=each.cell.column_name,
                notes=list(each.cell.notes),
                found_by=each.cell.key,
                citation=f"{reader.title_of(each.table.span.doc_id)}, {each.citation}",
                id=reader.id_of(each.table),
            )
            for each in found
        ]
    )


def references_answer(reader: LentIndex, found: Sequence[Reference]) -> models.ReferencesAnswer:
    """Return references with the beginnings of the places at their other ends."""
    known = [each for each in found if each.chunk_id is not None][:MAX_REFERENCES]
    missing = [each for each in found if each.chunk_id is None][:MAX_REFERENCES]
    chunks = reader.index.snapshot.get([each.chunk_id or "" for each in known])
    return models.ReferencesAnswer(
        references=[
            models.ReferenceFound(
                direction=each.direction,
                relation=each.relation,
                evidence=_words(reader, each.evidence),
                id=name,
                title=_heading(chunk),
                text=_where_named(chunk, each.name),
            )
            for each, chunk, name in zip(known, chunks, reader.ids_of(chunks), strict=True)
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


def _words(reader: LentIndex, span: Span) -> str:
    text = reader.index.snapshot.text(span.doc_id)
    return " ".join(text[span.start : min(span.end, span.start + EVIDENCE_CHARS)].split())


def documents_answer(reader: LentIndex, words: Sequence[str], start: int) -> models.DocumentsAnswer:
    """Return the documents whose id, title or card has all the words."""
    found = []
    for doc_id, title, meta in sorted(reader.index.snapshot.headers(), key=lambda each: each[0]):
        card = {key: meta[key] for key in _CARD if meta.get(key)}
        name = " ".join((doc_id, title, *card.values())).casefold()
        if all(word in name for word in words):
            found.append((doc_id, title or doc_id, card))
    documents = []
    for doc_id, title, card in found[start : start + MAX_DOCUMENTS]:
        edition = reader.index.snapshot.edition(doc_id)
        documents.append(
            models.DocumentFound(
                id=doc_id,
                title=title,
                card=card,
                in_force_from=edition.effective.isoformat() if edition.effective else None,
                in_force_until=edition.until.isoformat() if edition.until else None,
            )
        )
    rest = len(found) - start - len(documents)
    left = (
        f"{rest} documents left out: go on with start={start + MAX_DOCUMENTS}" if rest > 0 else ""
    )
    return models.DocumentsAnswer(documents=documents, total=len(found), left_out=left)


def ask_answer(reader: LentIndex, answer: Answer) -> models.AskAnswer:
    """Return an answer with its citations, or why there is none."""
    sources = {source.number: source for source in answer.sources}
    cited = {(each.source, each.quote): each for each in answer.citations}
    ids = sorted({sources[number].chunk_id for number, _ in cited})
    chunks = by_id(reader.index.snapshot.get(ids))
    citations = [
        models.CitationFound(
            source=number,
            id=reader.id_of(chunk),
            citation=sources[number].cited(each),
            quote=quoted,
        )
        for (number, quoted), each in cited.items()
        for chunk in [chunks[sources[number].chunk_id]]
    ]
    none = answer.abstention
    return models.AskAnswer(
        state=answer.state,
        short=answer.short,
        short_spans=[
            models.SpanFound(document=each.doc_id, span=(each.start, each.end))
            for each in answer.short_spans
        ],
        answer=answer.text,
        citations=citations,
        unsupported=[each.text for each in answer.sentences if each.verdict == "unsupported"],
        why_not=none.reason if none else "",
        nearest=[f"{place.document}#{place.locator}" for place in none.nearest] if none else [],
    )


def verify_answer(report: CheckReport) -> models.VerifyAnswer:
    """Return the verdicts on a draft, with sources and remedies for what does not hold."""
    return models.VerifyAnswer(
        claims=[_verified(claim) for claim in report.claims[:MAX_VERIFIED]],
        failed=len(report.failed),
        notes=list(report.notes),
    )


def _verified(claim: CheckedClaim) -> models.ClaimVerified:
    evidence = claim.evidence
    citation = evidence.citation if evidence else ""
    if not claim.failed:
        text = claim.text[:HOLDS_CHARS]
        return models.ClaimVerified(text=text, verdict=claim.verdict, citation=citation)
    return models.ClaimVerified(
        text=claim.text[:RESULT_CHARS],
        verdict=claim.verdict,
        failed=True,
        reason=claim.reason,
        citation=citation,
        source=evidence.text[:RESULT_CHARS] if evidence else "",
        remedy=claim.remedy[:RESULT_CHARS],
    )
