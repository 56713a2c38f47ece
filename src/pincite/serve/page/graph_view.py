"""The graph around a clause as a picture: what leads to it at the left, where it leads right.

Places are boxes in two columns, grouped by the kind of edge, so that no line crosses a word and the
same clause always looks the same. A list with the same links stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pincite.core.errors import StoreError
from pincite.core.types import Chunk
from pincite.search.neighbours import Neighbour, Neighbours
from pincite.search.reader import IndexReader
from pincite.serve.page.look import Look

MOST_NODES = 30  # with the one in the middle
WIDTH, BOX, LINE, GAP, HEAD = 980, 290, 44, 8, 26
LABEL_CHARS, EVIDENCE_CHARS = 36, 160
# How an edge reads from the middle: along its direction, and against it.
READS = {
    "refers_to": ("refers to", "is referred to by"),
    "exception_to": ("is an exception to", "has the exception"),
    "uses": ("uses the term of", "its term is used by"),
    "contains": ("contains", "is a part of"),
    "next": ("is followed by", "follows"),
}
NEXT = "next"
# What a reader wants first; kinds of a profile come behind.
ORDER = ("exception_to", "refers_to", "uses", "contains", "next")


@dataclass(frozen=True, slots=True)
class Edge:
    """One neighbour as a line of the list and a box of the picture."""

    relation: str
    direction: str
    words: str  # "refers to"
    chunk: Chunk
    title: str  # of its document
    url: str
    evidence: str


def around(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return the picture and the list of what is beside a place."""
    middle = centre(index, look)
    neighbours = Neighbours(index.snapshot).of([middle.id]).get(middle.id, ())
    edges = _edges(index, look, neighbours)
    columns, heights = [], []
    for direction in ("in", "out"):
        mine = [edge for edge in edges if edge.direction == direction]
        column, height = _column(mine, direction)
        columns.append(column)
        heights.append(height)
    height = max(*heights, 3 * LINE) + 10
    return {
        "middle": _box(index, middle, look),
        "columns": [
            {**column, "groups": [_placed(g, height - h) for g in column["groups"]]}
            for column, h in zip(columns, heights, strict=True)
        ],
        "width": WIDTH,
        "height": height,
        "line": LINE,
        "box": BOX,
        "middle_y": height / 2,
        "left_out": len(neighbours) - MOST_NODES + 1 if len(edges) == MOST_NODES - 1 else 0,
        "lists": [(words, list(some)) for words, some in groupby(edges, key=lambda e: e.words)],
    }


def centre(index: IndexReader, look: Look) -> Chunk:
    """Return the searched chunk of a place: it, what holds it, or the first that it holds."""
    first, last = look.at or (0, 0)
    around = index.snapshot.chunks_within(look.doc, first, max(last, first + 1))
    searched = [chunk for chunk in around if chunk.searched]
    if not searched:
        raise StoreError("no such place", hint="the document may have changed")
    holding = [c for c in searched if c.span.start <= first and last <= c.span.end]
    return holding[0] if holding else searched[0]


def _edges(index: IndexReader, look: Look, neighbours: Sequence[Neighbour]) -> list[Edge]:
    said = {_end(n) for n in neighbours if n.relation != NEXT}
    # That a place is next to it says little, where there is more to say of the two.
    telling = [n for n in neighbours if n.relation != NEXT or _end(n) not in said]
    kept = sorted(telling, key=_order)[: MOST_NODES - 1]
    ids = list(dict.fromkeys(each.chunk_id for each in kept))
    chunks = dict(zip(ids, index.snapshot.get(ids), strict=True))
    found = []
    for each in kept:
        chunk = chunks[each.chunk_id]
        along, against = READS.get(each.relation, (_plain(each.relation), ""))
        words = along if each.direction == "out" else against or f"{along}, seen from there"
        found.append(
            Edge(
                each.relation,
                each.direction,
                words,
                chunk,
                index.snapshot.title(chunk.span.doc_id),
                _url(look, chunk),
                _evidence(index, each),
            )
        )
    return found


def _end(neighbour: Neighbour) -> tuple[str, str]:
    return neighbour.chunk_id, neighbour.direction


def _order(neighbour: Neighbour) -> tuple[int, str, str]:
    known = ORDER.index(neighbour.relation) if neighbour.relation in ORDER else 2
    return known, neighbour.relation, neighbour.direction


def _evidence(index: IndexReader, neighbour: Neighbour) -> str:
    span = neighbour.evidence
    if span is None:
        return ""
    words = " ".join(index.snapshot.text(span.doc_id)[span.start : span.end].split())
    return short(words, EVIDENCE_CHARS)


def _plain(relation: str) -> str:
    return relation.replace("_", " ")


def _url(look: Look, chunk: Chunk) -> str:
    at = (chunk.span.start, chunk.span.end)
    return Look(c=look.c, doc=chunk.span.doc_id, at=at).url("/corpus")


def _column(edges: Sequence[Edge], direction: str) -> tuple[dict[str, Any], int]:
    """Return the groups of one side with their heights, from 0 down."""
    groups, top = [], 0
    for words, some in groupby(edges, key=lambda edge: edge.words):
        boxes = []
        head, top = top, top + HEAD
        for edge in some:
            boxes.append((edge, top))
            top += LINE + GAP
        groups.append({"words": words, "head": head, "boxes": boxes})
    return {"direction": direction, "groups": groups}, top


def _placed(group: dict[str, Any], spare: int) -> dict[str, Any]:
    """Return a group moved down, so that the shorter column stands in the middle."""
    down = spare // 2
    boxes = [
        {
            "edge": edge,
            "y": top + down,
            "locator": short(edge.chunk.locator, LABEL_CHARS),
            "title": short(_subtitle(edge.chunk, edge.title), LABEL_CHARS),
        }
        for edge, top in group["boxes"]
    ]
    return {"words": group["words"], "y": group["head"] + down, "boxes": boxes}


def _box(index: IndexReader, chunk: Chunk, look: Look) -> dict[str, Any]:
    title = index.snapshot.title(chunk.span.doc_id)
    at = (chunk.span.start, chunk.span.end)
    return {
        "chunk": chunk,
        "locator": short(chunk.locator, LABEL_CHARS),
        "title": short(_subtitle(chunk, title), LABEL_CHARS),
        "document": title,
        "read": Look(c=look.c, doc=chunk.span.doc_id, at=at).url("/read"),
    }


def _subtitle(chunk: Chunk, document: str) -> str:
    return chunk.title or (chunk.path[-1] if chunk.path else document)


def short(text: str, most: int) -> str:
    """Return the text, cut at a word if it is long.

    >>> short("conductors in parallel", 14)
    'conductors…'
    """
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:") + "…"
