"""What a reader needs beside the hits: tables, exceptions, definitions, clauses they name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pincite.core.types import Chunk, Ranking, Span, by_id
from pincite.retrieve.neighbours import Neighbour, Neighbours

# What a hit does not stand without comes first.
ORDER = ("table", "exception", "definition", "clause", "introduction")
# Companions of the first hits; further down nobody reads them.
MAX_HITS = 20
EVIDENCE_CHARS = 200
NOWHERE = Span("", 0, 0)


@dataclass(frozen=True, slots=True)
class Companion:
    """A chunk that belongs beside a hit, and the words that say so."""

    chunk_id: str
    of: str  # the hit's chunk id
    relation: str  # one of ORDER
    evidence: str  # as the document has it: "see Table 250.122"; empty for an introduction


class _Candidate(NamedTuple):
    """Sorts by usefulness, then by the hit's rank, then the less crowded, then by id."""

    usefulness: int
    rank: int
    degree: int
    chunk_id: str
    of: str
    evidence: Span | None


def companions(
    ranking: Ranking,
    neighbours: Neighbours,
    limit: int,
    keep: Callable[[Sequence[str]], set[str]] | None = None,
) -> list[Companion]:
    """Return at most ``limit`` companions of the hits, the most useful first, each chunk once.

    None of them is a hit. ``keep`` says which chunks the query's filters allow.
    """
    hits = ranking.ids[:MAX_HITS]
    known = neighbours.of(hits)
    others = {n.chunk_id for edges in known.values() for n in edges} - set(ranking.ids)
    if keep is not None:
        others &= keep(sorted(others))
    chunks = by_id(neighbours.snapshot.get(sorted({*hits, *others})))
    found = sorted(
        (
            candidate
            for rank, hit in enumerate(hits)
            for candidate in _candidates(hit, rank, known.get(hit, ()), chunks, others)
        ),
        key=lambda each: (each[:5], each.evidence or NOWHERE),
    )
    best: dict[str, _Candidate] = {}
    for each in found:
        best.setdefault(each.chunk_id, each)
    return [
        Companion(each.chunk_id, each.of, ORDER[each.usefulness], _words(each.evidence, chunks))
        for each in list(best.values())[:limit]
    ]


def _candidates(
    hit: str,
    rank: int,
    edges: Sequence[Neighbour],
    chunks: dict[str, Chunk],
    allowed: set[str],
) -> Iterator[_Candidate]:
    for edge in edges:
        # Of a section that is meant as a whole, its beginning is enough.
        if edge.chunk_id in allowed and edge.share == 1:
            relation = _relation(edge, chunks[edge.chunk_id])
            if relation:
                usefulness = ORDER.index(relation)
                yield _Candidate(usefulness, rank, edge.degree, edge.chunk_id, hit, edge.evidence)


def _relation(edge: Neighbour, chunk: Chunk) -> str:
    """Return what a neighbour is to a hit; empty if the hit can be read without it."""
    is_out = edge.direction == "out"
    if edge.relation in ("refers_to", "contains") and is_out and chunk.kind == "table":
        return "table"
    if edge.relation == "exception_to":
        return "clause" if is_out else "exception"
    if edge.relation == "contains":
        return "" if is_out else "introduction"
    if is_out:
        return {"uses": "definition", "refers_to": "clause"}.get(edge.relation, "")
    return ""


def _words(span: Span | None, chunks: dict[str, Chunk]) -> str:
    """Return the words of the evidence, which stand in the hit or in its companion."""
    if span is None:
        return ""
    for chunk in chunks.values():
        if chunk.span.overlap(span) == len(span):
            start = span.start - chunk.span.start
            return " ".join(chunk.text[start : start + len(span)].split())[:EVIDENCE_CHARS]
    return ""
