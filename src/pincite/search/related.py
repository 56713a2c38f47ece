"""What belongs beside a place: companions of hits, references, and what says nearly the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from pincite.index.filters import NOTHING
from pincite.index.opened import OpenIndex, Rows
from pincite.index.vectors import VectorIndex
from pincite.model.locators import locator_key
from pincite.model.types import Chunk, Link, Span, by_id
from pincite.search.diversity import section_of
from pincite.search.neighbours import MAX_USES, NOT_FOLLOWED, Homes, Neighbour, Neighbours
from pincite.search.scoring import MeaningScores
from pincite.store.files import Array
from pincite.store.graph import GraphRows, Place
from pincite.store.snapshot import Snapshot

# What a hit does not stand without comes first.
ORDER = ("table", "exception", "definition", "clause", "introduction")
# Companions of the first hits; further down nobody reads them.
MAX_HITS = 20
EVIDENCE_CHARS = 200
NOWHERE = Span("", 0, 0)
MAX_SIMILAR = 5
# Below this cosine two clauses share a subject, not what they say of it.
MIN_COSINE = 0.7
# So many of the nearest are looked at: those of the same section are not wanted.
LOOKED_AT = 64
OUTSIDE = "refers_outside"
# A name with more links than this would take too long to read, and nobody would.
MAX_INCOMING = 1000
_SKIPPED = tuple(relation for relation in NOT_FOLLOWED if relation != OUTSIDE)
_PARTS = ("piece", "text")  # stand for a part of a place of the same name


@dataclass(frozen=True, slots=True)
class Companion:
    """A chunk that belongs beside a hit, and the words that say so."""

    chunk_id: str
    of: str  # the hit's chunk id
    relation: str  # one of ORDER
    evidence: str  # as the document has it: "see Table 250.122"; empty for an introduction


class _CompanionCandidate(NamedTuple):
    """Sorts by usefulness, then by the hit's rank, then the less crowded, then by id."""

    usefulness: int
    rank: int
    degree: int
    chunk_id: str
    of: str
    evidence: Span | None


def companions(
    ids: Sequence[str],
    neighbours: Neighbours,
    limit: int,
    keep: Callable[[Sequence[str]], set[str]] | None = None,
) -> list[Companion]:
    """Return at most ``limit`` companions of some hits, the most useful first, each chunk once.

    None of them is a hit itself. ``keep`` says which chunks the query's filters allow.
    """
    hits = ids[:MAX_HITS]
    known = neighbours.of(hits)
    others = {n.chunk_id for edges in known.values() for n in edges} - set(ids)
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
    best: dict[str, _CompanionCandidate] = {}
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
) -> Iterator[_CompanionCandidate]:
    for edge in edges:
        # Of a section that is meant as a whole, its beginning is enough.
        if edge.chunk_id in allowed and edge.share == 1:
            relation = _relation(edge, chunks[edge.chunk_id])
            if relation:
                usefulness = ORDER.index(relation)
                yield _CompanionCandidate(
                    usefulness, rank, edge.degree, edge.chunk_id, hit, edge.evidence
                )


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


@dataclass(frozen=True, slots=True)
class Reference:
    """One link of a place; ``chunk_id`` is its other end, None if no place has that name."""

    chunk_id: str | None
    name: str
    relation: str
    direction: Literal["out", "in"]
    evidence: Span


def references(snapshot: Snapshot, place: Chunk) -> list[Reference]:
    """Return the links of a place and of what is inside it, outgoing ones first, in text order.

    Of a link that appears several times the first one counts.
    """
    rows = snapshot.graph_rows()
    inside = {each.id for each in rows.inside([place.id]).get(place.id, [])}
    found: dict[tuple[str | None, str, str], Reference] = {}
    for each in (*_outgoing(rows, place, inside), *_incoming(rows, place, inside)):
        name = each.name if each.chunk_id is None else ""
        found.setdefault((each.chunk_id, each.direction + each.relation, name), each)
    return list(found.values())


def _outgoing(rows: GraphRows, place: Chunk, inside: set[str]) -> Iterator[Reference]:
    # The words of a piece are its parent's: links start there.
    sources = inside | ({place.parent} if place.kind in _PARTS and place.parent else set())
    links = _in_order(rows.links_from(sorted(sources), _SKIPPED))
    links = [link for link in links if link.span.overlap(place.span) == len(link.span)]
    homes = Homes(rows, {link.target for link in links})
    for link in links:
        is_outside = link.relation == OUTSIDE
        ends = [] if is_outside else _wholes(homes.of(link.target, link.span.doc_id))
        if any(home.id in inside or _holds(home, place) for home in ends):
            continue  # a place that names itself
        for home in ends:
            yield Reference(home.id, link.target, link.relation, "out", link.span)
        if not ends:
            yield Reference(None, link.target, link.relation, "out", link.span)


def _incoming(rows: GraphRows, place: Chunk, inside: set[str]) -> Iterator[Reference]:
    names = {locator_key(place.locator), *(locator_key(n) for _, n in rows.terms([place.id]))}
    if place.title and place.kind in ("section", "table"):
        names.add(locator_key(place.title))
    counts = rows.link_counts(sorted(names))
    followed = sorted(name for name in names if 0 < counts[name] <= MAX_INCOMING)
    links = [
        link
        for link in _in_order(rows.links_to(followed, NOT_FOLLOWED))
        # A term that very many places use is no reference to the place that defines it.
        if link.source not in inside
        and (link.relation != "uses" or counts[link.target] <= MAX_USES)
    ]
    homes = Homes(rows, {link.target for link in links})
    for link in links:
        if any(home.id == place.id for home in homes.of(link.target, link.span.doc_id)):
            yield Reference(link.source, link.target, link.relation, "in", link.span)


def _wholes(places: Sequence[Place]) -> Sequence[Place]:
    return [place for place in places if place.kind not in _PARTS] or places


def _holds(home: Place, place: Chunk) -> bool:
    span = Span(home.doc_id, home.start, home.end)
    return home.kind != "document" and span.overlap(place.span) == len(place.span)


def _in_order(links: Iterable[Link]) -> list[Link]:
    return sorted(links, key=lambda link: (link.span, link.relation, link.target))


class Similar:
    """Finds the nearest chunks of other sections; nothing is stored for it."""

    def __init__(self, index: OpenIndex, model: str) -> None:
        self.snapshot = index.snapshot
        self.rows = Rows(index)
        self.vectors = VectorIndex(index.snapshot, model)

    def of(
        self, ids: Sequence[str], k: int = MAX_SIMILAR, least: float = MIN_COSINE
    ) -> list[tuple[str, float]]:
        """Return at most ``k`` chunks near one of these, with their cosines, nearest first.

        Two chunks are as near as their nearest windows. Those of the sections of ``ids`` are left
        out, in whichever edition of the work they stand.
        """
        own = self.rows.find(ids)
        nearest: dict[int, float] = {}
        for vector in self._windows(own):
            run = MeaningScores(self.vectors, self.rows, vector, self.rows.masks(NOTHING))
            found = run.best(LOOKED_AT, pool=LOOKED_AT)
            for row, cosine in zip(found.tolist(), run.parts(found)[:, 0].tolist(), strict=True):
                nearest[row] = max(cosine, nearest.get(row, -1.0))
        near = np.array([row for row, cosine in nearest.items() if cosine >= least], dtype=np.int64)
        names = self.rows.ids(near).astype(str).tolist()
        mine = set(self._sections(ids))
        found_at = zip(names, near.tolist(), self._sections(names), strict=True)
        others = [(name, nearest[row]) for name, row, section in found_at if section not in mine]
        return sorted(others, key=lambda each: (-each[1], each[0]))[:k]

    def _windows(self, rows: Array) -> list[Array]:
        """Return the vectors of rows."""
        found: list[Array] = []
        for number, (_, inner) in self.rows.by_segment(rows):
            part = self.vectors.segments[number]
            if part is not None:
                chosen = np.flatnonzero(np.isin(part.rows, inner))
                found += list(part.exact[chosen].astype(np.float32))
        return found

    def _sections(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        places = self.snapshot.places(ids)
        works = {doc_id: self.snapshot.work(doc_id) for doc_id, _ in places}
        return [(works[doc_id], section_of(locator)) for doc_id, locator in places]


def model_of(index: OpenIndex) -> str:
    """Return the model of which an index has most vectors; empty if it has none."""
    windows: dict[str, int] = {}
    for each in index.snapshot.vectors:
        windows[each.entry.model] = windows.get(each.entry.model, 0) + each.entry.windows
    return max(sorted(windows), key=lambda model: windows[model], default="")
