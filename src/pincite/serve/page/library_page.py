"""The library: documents, uploads, what was found about them, the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from pincite.maintain.audit import Audit, Gap, audit
from pincite.measure import charts
from pincite.model.errors import StoreError
from pincite.model.locators import locator_key
from pincite.model.types import Chunk
from pincite.search.neighbours import Neighbour, Neighbours
from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.collections import Jobs
from pincite.serve.document_routes import REMOVE_SECONDS, remove_document, taken_in
from pincite.serve.errors import ServiceError
from pincite.serve.page.look import Look, PageRoute, TheLook, read_all, render, slices, span_of
from pincite.serve.requests import Reader, Visit, Writer

ROWS, MAX_GAPS, MAX_PLACES = 50, 200, 400
# The report of a larger index is made for one document at a time.
MAX_CHUNKS = 50_000
LENGTHS = (100, 200, 400, 800, 1600, 3200)
# What the report's kinds mean to a reader.
KINDS = {
    "dangling_reference": "references that lead nowhere",
    "other_edition": "references into another edition",
    "numbering_hole": "holes in the numbering",
    "numbering_not_understood": "numberings that Pincite did not understand",
    "empty_section": "empty sections",
    "table_not_read": "tables that were not read well",
    "scanned_page": "scanned pages",
    "hidden_text": "hidden text",
    "skipped_content": "content that was left out",
    "bad_page": "pages that cannot be read",
    "reader_failed": "failures of Pincite to report",
    "duplicate_document": "documents with the same text",
}


def listed(index: IndexReader, look: Look, name: str = "") -> dict[str, Any]:
    """Return a page of a collection's documents; those whose title or name has some words."""
    words = look.rest.get("find", "").strip().casefold()
    every = [
        each
        for each in reading.documents(index)
        if words in each["id"].casefold() or words in (each["title"] or "").casefold()
    ]
    every.sort(key=lambda each: (each["title"] or each["id"]).casefold())
    first = look.number("from")

    def address(first: int) -> str:
        rest = {"from": str(first or ""), "find": look.rest.get("find", "")}
        return Look(c=name or look.c, rest=rest).url("/library")

    there = Look(c=name)
    return {
        "name": name,
        "rows": [
            {
                **each,
                "title": each["title"] or each["id"],
                "url": there.but(doc=each["id"]).url("/"),
                "ask": there.but(within=(each["id"],)).url("/"),
                "more": there.but(doc=each["id"]).url("/library"),
            }
            for each in every[first : first + ROWS]
        ],
        "total": len(every),
        **slices(first, ROWS, len(every), address),
    }


def document(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return what is known of one document: how it was cut, its gaps, its places."""
    known = {each["id"]: each for each in reading.documents(index)}
    if look.doc not in known:
        raise StoreError(f"no document {look.doc!r}", hint="see the list of documents")
    report = _audit(index, look.doc)
    chunks = index.snapshot.chunks(look.doc)
    counts = report.statistics["places"]
    searched = [len(chunk.text) for chunk in chunks if chunk.searched]
    kinds = [(kind, float(n), str(n)) for kind, n in sorted(counts.items(), key=lambda e: -e[1])]
    lengths = [(name, float(n), str(n)) for name, n in _lengths(searched)]
    relations = Counter(link.relation for link in index.snapshot.links(look.doc))
    return {
        **known[look.doc],
        "statistics": report.statistics,
        "kinds": charts.bars(kinds, title="places by kind"),
        "lengths": charts.bars(lengths, title="length of searched chunks", series=2),
        "relations": relations.most_common(12),
        "gaps": _shown(index, report.gaps, look),
        "places": _places(chunks, look),
        "place_count": sum(chunk.kind != "piece" for chunk in chunks),
        "read": Look(c=look.c, doc=look.doc).url("/"),
    }


def _lengths(sizes: Iterable[int]) -> list[tuple[str, int]]:
    """Return how many chunks there are of each length.

    >>> _lengths([50, 150, 5000])[:2]
    [('up to 100 characters', 1), ('up to 200', 1)]
    """
    counts = Counter(next((top for top in LENGTHS if size <= top), 0) for size in sizes)
    names = [f"up to {top:,}{' characters' if top == LENGTHS[0] else ''}" for top in LENGTHS]
    rows = [(name, counts[top]) for name, top in zip(names, LENGTHS, strict=True)]
    return [*rows, (f"above {LENGTHS[-1]:,}", counts[0])]


def _places(chunks: Sequence[Chunk], look: Look) -> list[dict[str, str]]:
    named = [c for c in chunks if c.kind in ("section", "table") and c.locator]
    return [
        {
            "label": c.locator if c.title in c.locator else f"{c.locator} {c.title}",
            "url": look.place(c, "/library"),
        }
        for c in named[:MAX_PLACES]
    ]


def findings(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return the gap report of all documents; of a large index, where to find it."""
    if len(index.snapshot) > MAX_CHUNKS:
        return {"is_large": True, "kinds": [], "gaps": [], "total": 0}
    report = _audit(index, "")
    kind = look.rest.get("kind_of", "")
    gaps = [gap for gap in report.gaps if kind in ("", gap.kind)]
    counts = report.counts()
    return {
        "is_large": False,
        "kinds": [
            (KINDS.get(name, name), count, _kind_url(look, name), name == kind)
            for name, count in counts.items()
        ],
        "all": (sum(counts.values()), _kind_url(look, ""), not kind),
        "gaps": _shown(index, gaps, look),
        "total": len(gaps),
        "statistics": report.statistics,
    }


def _kind_url(look: Look, kind: str) -> str:
    return Look(c=look.c, rest={"kind_of": kind}).url("/findings")


def _shown(index: IndexReader, gaps: Sequence[Gap], look: Look) -> list[dict[str, Any]]:
    """Return the first gaps with the places that they are about."""
    some = gaps[:MAX_GAPS]
    keys = {locator_key(gap.place) for gap in some if gap.place}
    spots: dict[tuple[str, str], tuple[int, int]] = {}
    for chunk in index.snapshot.found_by(keys):
        spots.setdefault((chunk.span.doc_id, chunk.locator), span_of(chunk))
    return [
        {
            "kind": KINDS.get(gap.kind, gap.kind),
            "document": gap.document,
            "place": gap.place,
            "message": gap.message,
            "url": Look(c=look.c, doc=gap.document, at=at).url("/"),
        }
        for gap in some
        for at in [spots.get((gap.document, gap.place))]
    ]


_audits: WeakKeyDictionary[IndexReader, dict[str, Audit]] = WeakKeyDictionary()
_lock = Lock()


def _audit(index: IndexReader, doc_id: str) -> Audit:
    """Return the report of one document, or of all without a name; made once for an index."""
    with _lock:
        known = _audits.setdefault(index, {})
    if doc_id not in known:
        known[doc_id] = audit(index.snapshot, [doc_id] if doc_id else None)
    return known[doc_id]


MAX_NODES = 30  # with the one in the middle
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
class DrawnEdge:
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
        "left_out": len(neighbours) - MAX_NODES + 1 if len(edges) == MAX_NODES - 1 else 0,
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


def _edges(index: IndexReader, look: Look, neighbours: Sequence[Neighbour]) -> list[DrawnEdge]:
    said = {_end(n) for n in neighbours if n.relation != NEXT}
    # That a place is next to it says little, where there is more to say of the two.
    telling = [n for n in neighbours if n.relation != NEXT or _end(n) not in said]
    kept = sorted(telling, key=_order)[: MAX_NODES - 1]
    ids = list(dict.fromkeys(each.chunk_id for each in kept))
    chunks = dict(zip(ids, index.snapshot.get(ids), strict=True))
    found = []
    for each in kept:
        chunk = chunks[each.chunk_id]
        along, against = READS.get(each.relation, (each.relation.replace("_", " "), ""))
        words = along if each.direction == "out" else against or f"{along}, seen from there"
        found.append(
            DrawnEdge(
                each.relation,
                each.direction,
                words,
                chunk,
                index.snapshot.title(chunk.span.doc_id),
                look.place(chunk, "/library"),
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


def _column(edges: Sequence[DrawnEdge], direction: str) -> tuple[dict[str, Any], int]:
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
    return {
        "chunk": chunk,
        "locator": short(chunk.locator, LABEL_CHARS),
        "title": short(_subtitle(chunk, title), LABEL_CHARS),
        "document": title,
        "read": look.place(chunk, "/"),
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


router = APIRouter(route_class=PageRoute, include_in_schema=False)
# The whole report reads every document; the next one who asks finds it made.
SECONDS = 60.0


@router.get("/library")
async def library(request: Request, look: TheLook, visit: Reader) -> Response:
    """Show the documents and what is on its way; one of them; the graph around a place."""
    if look.doc:
        return await _one(request, look, visit)
    names = [visit.collection(look.c).name] if look.c or len(visit.mine) < 2 else visit.mine
    may_write = visit.caller.may("write")

    def show(indexes: dict[str, IndexReader]) -> Response:
        several = len(visit.mine) > 1
        values: dict[str, Any] = {
            "view": "list",
            "groups": lambda: [
                listed(index, look, name if several else "") for name, index in indexes.items()
            ],
            "jobs": lambda: jobs(visit, names) if may_write else [],
            "may_write": may_write,
            "names": names,
        }
        return render(request, "library.html", look, values, parts=("library", "jobs"))

    return await read_all(visit, names, show, None, SECONDS)


@router.get("/corpus")
async def corpus(look: TheLook) -> Response:
    """Lead to where this is now."""
    path = "/findings" if look.rest.get("view") == "findings" else "/library"
    rest = {name: value for name, value in look.rest.items() if name != "view"}
    return RedirectResponse(look.but(rest=rest).url(path), 307)


async def _one(request: Request, look: Look, visit: Visit) -> Response:
    def show(index: IndexReader) -> Response:
        values: dict[str, Any] = {
            "view": "graph" if look.at else "document",
            "told": lambda: (around if look.at else document)(index, look),
            "may_write": visit.caller.may("write"),
        }
        return render(request, "library.html", look, values, parts=("library",))

    return await visit.read(look.c, show)


@router.get("/findings")
async def all_findings(request: Request, look: TheLook, visit: Reader) -> Response:
    """Show what an audit of all documents finds."""

    def show(index: IndexReader | None) -> Response:
        values: dict[str, Any] = {
            "view": "findings",
            "told": (lambda: findings(index, look)) if index else dict,
            "may_write": False,
        }
        return render(request, "library.html", look, values, parts=("library",))

    return await visit.read_if_any(look.c, SECONDS, show)


STATES = {
    "queued": "waiting",
    "reading": "being read",
    "embedding": "can be searched by words; by meaning soon",
    "done": "ready",
    "rejected": "cannot be read",
    "failed": "failed",
}
SHOWN_JOBS = 30


def jobs(visit: Visit, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the uploads of the last day, newest first; they go on wherever one looks."""
    since = (datetime.now(UTC) - timedelta(days=1)).isoformat(timespec="seconds")
    found = []
    for name in names:
        chosen = visit.service.collection(visit.caller, name)
        there = Look(c=name if len(visit.mine) > 1 else "")
        for job in Jobs(chosen, visit.service.settings).recent(SHOWN_JOBS):
            if job.created >= since or not job.is_ended:
                urls = {
                    "read": there.but(doc=job.document).url("/"),
                    "ask": there.but(within=(job.document,)).url("/"),
                }
                found.append({"job": job, "words": STATES.get(job.state, job.state), **urls})
    return found[:SHOWN_JOBS]


@router.post("/upload")
async def upload(
    visit: Writer, file: list[UploadFile], c: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Take files in; each becomes a job of the server."""
    chosen = visit.collection(c)
    for each in file:
        await taken_in(visit, chosen, Path(each.filename or "").name, each.file)
    return RedirectResponse("/library", 303)


@router.post("/samples")
async def samples(visit: Writer, c: Annotated[str, Form(max_length=100)] = "") -> Response:
    """Take the samples in that Pincite brings along."""
    chosen = visit.collection(c)
    folder = next((each for each in SAMPLES if each.is_dir()), None)
    if folder is None:
        raise ServiceError("the samples are not installed here", 404)
    for file in sorted(each for each in folder.iterdir() if each.suffix in (".md", ".txt")):
        with file.open("rb") as stream:
            await taken_in(visit, chosen, file.name, stream)
    return RedirectResponse("/library", 303)


# In the package as it is installed, and in a checkout.
SAMPLES = [Path(__file__).parents[at] / "samples" for at in (2, 4)]
Named = Annotated[str, Form(max_length=1000)]


@router.post("/library/remove")
async def remove(
    visit: Writer, doc: Named, c: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Take a document out of the index."""
    await remove_document(visit, c, doc)
    return RedirectResponse("/library", 303)


@router.post("/library/rename")
async def rename(
    visit: Writer,
    doc: Named,
    title: Annotated[str, Form(min_length=1, max_length=300)],
    c: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Give a document another title, in citations too."""
    chosen = visit.collection(c)

    def check_there(index: IndexReader) -> None:
        if index.snapshot.meta(doc) is None:
            raise StoreError(f"no document {doc!r}", hint="it may have been removed")

    await visit.read(c, check_there)
    words = " ".join(title.split())
    work = Jobs(chosen, visit.service.settings).rename
    await visit.service.writing.run(visit.caller.id, REMOVE_SECONDS, work, doc, words)
    return RedirectResponse("/library", 303)
