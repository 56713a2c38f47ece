"""The stretch of a document that is shown around a place: its clauses, with references as links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core.types import Chunk, Link
from pincite.search.reader import IndexReader
from pincite.serve.page.text import Block, Words
from pincite.store.graph import Place

# So many characters are shown at once, and of a single table.
STRETCH_CHARS = 20_000
TABLE_CHARS = 200_000
# Names of the chunk itself, places outside, and traits that hundreds of chunks share.
NOT_LINKS = ("describes", "defines", "alias_of", "refers_outside", "has_trait")
# A name that more places have than this, none of them in the same document, means none of them.
MOST_HOMES = 8


@dataclass(frozen=True, slots=True)
class Node:
    """One clause of the stretch."""

    chunk: Chunk
    depth: int  # below the top of the stretch
    is_lit: bool
    blocks: list[Block]


@dataclass(frozen=True, slots=True)
class Reference:
    """A place that words of the stretch lead to."""

    doc: str
    at: tuple[int, int]
    locator: str
    relation: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """Clauses of a document in order, and what they refer to."""

    low: int
    high: int
    size: int  # of the whole document
    nodes: list[Node]
    references: list[Reference]


def stretch(index: IndexReader, doc: str, at: tuple[int, int] | None, begin: int | None) -> Stretch:
    """Return the clauses around a place, or those from an offset on."""
    text = index.snapshot.text(doc)
    low, high = _bounds(index, doc, at or (0, 0), begin, len(text))
    chunks = _inside(index, doc, low, high)
    tables = [c.span.end for c in chunks if c.kind == "table" and len(c.span) <= TABLE_CHARS]
    if max(tables, default=0) > high:  # a table is shown whole
        high = max(tables)
        chunks = _inside(index, doc, low, high)
    shown = [c for c in chunks if c.kind != "row" and c.own_end > low]
    links, references = _references(index, doc, chunks, low, high)
    whole = {c.id for c in shown if at and at[0] <= c.span.start and c.span.end <= at[1]}
    # Whole clauses are lit by their edge; words only where they are a part of one.
    lit = [(at[0] - low, at[1] - low)] if at and not whole else []
    words = Words(text[low:high], low, lit=lit, links=links)
    depths, ends = _depths(shown), _ends(chunks)
    nodes = [
        Node(c, depths[c.id], c.id in whole, blocks)
        for c in shown
        if (blocks := words.blocks(max(low, c.span.start) - low, ends[c.id] - low))
    ]
    return Stretch(low, high, len(text), nodes, references)


def _inside(index: IndexReader, doc: str, low: int, high: int) -> list[Chunk]:
    return [c for c in index.snapshot.chunks_within(doc, low, high) if c.kind != "piece"]


def _bounds(
    index: IndexReader, doc: str, at: tuple[int, int], begin: int | None, size: int
) -> tuple[int, int]:
    """Return where the stretch begins and ends: a section that is not too long, if there is one."""
    if begin is None:
        around = _inside(index, doc, at[0], max(at[1], at[0] + 1))
        holding = [c.span for c in around if c.kind != "row"]
        holding = [span for span in holding if span.start <= at[0] and at[1] <= span.end]
        fitting = [span for span in holding if len(span) <= STRETCH_CHARS]
        widest = max(fitting, key=len, default=None)
        if widest and len(widest) > STRETCH_CHARS // 4:
            return widest.start, widest.end
        # What holds it is too long to be shown whole: some of what comes before it, and more after.
        above = max((span.start for span in holding if span not in fitting), default=0)
        begin = max(above, at[0] - STRETCH_CHARS // 4)
    here = _inside(index, doc, min(begin, size - 1), begin + 1)
    starts = [c.span.start for c in here if c.kind != "row" and begin - c.span.start < TABLE_CHARS]
    low = max(starts, default=begin)
    if low + STRETCH_CHARS >= size:
        return low, size
    # To the next beginning of a clause, so that no line is cut.
    behind = _inside(index, doc, low + STRETCH_CHARS, low + STRETCH_CHARS + 1)
    ends = [c.own_end for c in behind if c.own_end > low + STRETCH_CHARS]
    return low, min(ends, default=size)


def _ends(chunks: Sequence[Chunk]) -> dict[str, int]:
    """Return where the own words of each clause end; a table has its rows."""
    ends = {chunk.id: chunk.own_end for chunk in chunks}
    for chunk in chunks:
        if chunk.kind == "row" and chunk.parent in ends:
            ends[chunk.parent] = max(ends[chunk.parent], chunk.span.end)
    return ends


def _depths(chunks: Sequence[Chunk]) -> dict[str, int]:
    depths: dict[str, int] = {}
    for chunk in chunks:  # parents come before their children
        depths[chunk.id] = min(8, depths.get(chunk.parent or "", -1) + 1)
    return depths


def _references(
    index: IndexReader, doc: str, chunks: Sequence[Chunk], low: int, high: int
) -> tuple[list[tuple[int, int]], list[Reference]]:
    """Return where references stand in the stretch, and where each leads."""
    rows = index.snapshot.graph_rows()
    links = rows.links_from([c.id for c in chunks], NOT_LINKS)
    inside = [x for x in links if low <= x.span.start and x.span.end <= high]
    homes = rows.named(sorted({link.target for link in inside}))
    found: dict[tuple[int, int], Reference] = {}
    for link in inside:
        home = _home(link, homes.get(link.target, []), doc)
        if home is not None:
            place = (link.span.start - low, link.span.end - low)
            at = (home.start, home.end)
            found.setdefault(place, Reference(home.doc_id, at, home.locator, link.relation))
    return list(found), list(found.values())


def _home(link: Link, places: Sequence[Place], doc: str) -> Place | None:
    """Return the place that a link means: one of its own document, if that has one."""
    whole = [p for p in places if p.kind not in ("piece", "text")] or list(places)
    own = [p for p in whole if p.doc_id == doc]
    chosen = own or (whole if len(whole) <= MOST_HOMES else [])
    # A clause that names itself leads nowhere.
    around = [p for p in chosen if not (p.doc_id == doc and p.start <= link.span.start < p.end)]
    return around[0] if around else None
