"""Reading a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from pincite.maintain.editions import EditionChange, diff
from pincite.model.errors import PinciteError, StoreError
from pincite.model.locators import locator_key
from pincite.model.types import Box, Chunk
from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.errors import ServiceError
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.look import Look, PageRoute, TheLook, exact_place, render, span_of
from pincite.serve.page.text import MarkedText, stretch
from pincite.serve.requests import Reader
from pincite.store.snapshot import source_file

# Places of one level that the outline lists, around the open one.
OUTLINE = 120
# Lines of a passage are one box if they are this near, in heights of a line.
NEAR_LINES = 1.2
WIDTHS = (1000, 2000)  # pixels of a drawn page, and for fine screens


@dataclass(frozen=True, slots=True)
class Rect:
    """A box on a page, in percent of its size."""

    x: float
    y: float
    width: float
    height: float


def opened(index: IndexReader, look: Look, path: str, drawing: Drawing) -> dict[str, Any]:
    """Return the open document as the template shows it; empty if none is open."""
    if not look.doc:
        return {}
    meta = index.snapshot.meta(look.doc)
    if meta is None:
        raise StoreError(f"no document {look.doc!r}", hint="it may have been removed")
    look = _placed(index, look)
    above = _above(index, look)
    place = above[-1] if above else None
    boxes = index.snapshot.boxes(look.doc, look.at) if look.at else []
    has_pages = look.doc.lower().endswith(".pdf") and bool(meta.get("source"))
    wanted = look.rest.get("view", "")
    view = "page" if has_pages and wanted != "text" else "text"
    if wanted == "changes" and look.rest.get("with"):
        view = wanted
    views = (("page", "Page"), ("text", "Text")) if has_pages else ()
    values = {
        "id": look.doc,
        "title": index.snapshot.title(look.doc) or look.doc,
        "place": place,
        "crumbs": [_entry(chunk, look, path) for chunk in above],
        "outline": _outline(index, above, look, path),
        "editions": _editions(index, look, place, path),
        "view": view,
        "views": [(n, title, look.but(rest={"view": n}).url(path)) for n, title in views],
        "close": look.but(doc="", at=None, short=(), rest={}).url(path),
        "labels": index.snapshot.pages(look.doc).labels,
    }
    if view == "page":
        file = source_file(meta, index.snapshot.folder)
        short = [b for at in look.short for b in narrowed(index.snapshot.boxes(look.doc, at), at)]
        return values | _page(look, file, meta, boxes, path, drawing, short)
    if view == "changes":
        return values | {"changes": _changes(index, look, above)}
    begin = look.rest.get("from", "")
    first = int(begin) if begin.isdecimal() else None
    shown = stretch(index, look.doc, look.at, first, look.short)
    return values | {"stretch": shown, "links": _links(shown.references, look, path)}


def _placed(index: IndexReader, look: Look) -> Look:
    """Return the look with offsets where it has the name of a place."""
    name = look.rest.get("place", "")
    if not name or look.at:
        return look
    (chunk, *_) = index.show(name, look.doc)
    rest = {key: value for key, value in look.rest.items() if key != "place"}
    return look.but(at=span_of(chunk), rest=rest)


def _above(index: IndexReader, look: Look) -> list[Chunk]:
    """Return the chunks that hold the open place, from the document down."""
    first, last = look.at or (0, 1)
    around = index.snapshot.chunks_within(look.doc, first, max(last, first + 1))
    holding = [c for c in around if c.span.start <= first and last <= c.span.end]
    named = [c for c in holding if c.kind not in ("piece", "text")]
    return named if look.at else named[:1]


def _entry(chunk: Chunk, look: Look, path: str) -> dict[str, Any]:
    label = chunk.locator
    if chunk.title and locator_key(chunk.title) not in locator_key(label):
        label = f"{label} {chunk.title}"
    kept = {name: value for name, value in look.rest.items() if name == "view"}
    url = look.but(at=span_of(chunk), rest=kept).url(path)
    return {"label": label, "url": url, "id": chunk.id, "kind": chunk.kind}


def _outline(
    index: IndexReader, above: Sequence[Chunk], look: Look, path: str
) -> list[dict[str, Any]]:
    """Return the places beside and below the open one, level by level, as one list."""
    lines: list[dict[str, Any]] = []

    def add(level: int) -> None:
        inside = [c for c in index.children(above[level]) if c.kind not in ("row", "text")]
        on_way = above[level + 1].id if level + 1 < len(above) else ""
        at = next((n for n, c in enumerate(inside) if c.id == on_way), 0)
        first = max(0, at - OUTLINE // 2)
        for chunk in inside[first : first + OUTLINE]:
            is_open = chunk.id == on_way
            is_here = is_open and level + 2 == len(above)
            lines.append(_entry(chunk, look, path) | {"depth": level, "is_here": is_here})
            if is_open:
                add(level + 1)

    if above:
        add(0)
    return lines


def _editions(
    index: IndexReader, look: Look, place: Chunk | None, path: str
) -> list[dict[str, Any]]:
    """Return all editions of the work with where the place is in each; none if it is the only."""
    mine = index.snapshot.edition(look.doc)
    all_editions = [e for e in index.snapshot.editions() if e.work and e.work == mine.work]
    if len(all_editions) < 2:
        return []
    name = [locator_key(place.locator)] if place and place.kind != "document" else []
    same = {c.span.doc_id: c for c in reversed(index.snapshot.found_by(name)) if c.kind != "piece"}
    found = []
    for each in sorted(
        all_editions, key=lambda e: (e.effective is not None, e.effective, e.doc_id)
    ):
        there = same.get(each.doc_id)
        at = span_of(there) if there else None
        is_here = each.doc_id == look.doc
        url = look.but(doc=each.doc_id, at=look.at if is_here else at, rest={}).url(path)
        changes = look.but(rest={"view": "changes", "with": each.doc_id}).url(path)
        found.append(
            {
                "doc": each.doc_id,
                "label": str(each.effective or index.snapshot.title(each.doc_id)),
                "url": url,
                "changes": "" if is_here else changes,
                "is_here": is_here,
                "has_place": bool(there) or not name,
            }
        )
    return found


def _page(
    look: Look,
    file: Path,
    meta: dict[str, str],
    boxes: Sequence[Box],
    path: str,
    drawing: Drawing,
    short: Sequence[Box] = (),
) -> dict[str, Any]:
    """Return one page of a PDF with the passage boxed; why not, if it cannot be drawn."""
    pages = sorted({box.page for box in boxes})
    number = look.number("page") or (pages or [1])[0]
    try:
        facts = drawing.facts(file, meta["sha256"], number)
    except PinciteError as error:
        text = look.but(rest={"view": "text"}).url(path)
        return {"page": None, "problem": error.message, "hint": error.hint, "text_url": text}

    def address(page: int) -> str:
        return look.but(rest={"view": "page", "page": str(page)}).url(path)

    image = [
        Look(c=look.c, doc=look.doc).url("/page-image", page=str(number), width=str(width))
        for width in WIDTHS
    ]
    return {
        "page": number,
        "count": facts.count,
        "width": WIDTHS[0],
        "height": round(WIDTHS[0] * facts.height / facts.width),
        "images": image,
        "rects": rects([box for box in boxes if box.page == number]),
        "short_rects": [rect for b in short if b.page == number for rect in rects([b])],
        "before": address(number - 1) if number > 1 else "",
        "after": address(number + 1) if number < facts.count else "",
        "also": [(page, address(page)) for page in pages if page != number],
        "words": "",
    }


def narrowed(boxes: Sequence[Box], at: tuple[int, int]) -> list[Box]:
    """Return the parts of lines that some offsets take, as if all letters were of one width.

    >>> narrowed([Box(10, 20, 1, 0.1, 0.5, 0.6, 0.52)], (14, 16))
    [Box(start=14, end=16, page=1, x0=0.3, y0=0.5, x1=0.4, y1=0.52)]
    """
    found = []
    for box in boxes:
        start, end = max(box.start, at[0]), min(box.end, at[1])
        letter = (box.x1 - box.x0) / max(1, box.end - box.start)
        x0, x1 = (round(box.x0 + letter * (each - box.start), 6) for each in (start, end))
        if start < end:
            found.append(replace(box, start=start, end=end, x0=x0, x1=x1))
    return found


def rects(boxes: Sequence[Box]) -> list[Rect]:
    """Return the boxes of a passage's lines, lines below each other as one.

    >>> rects([Box(0, 5, 1, 0.1, 0.1, 0.5, 0.12), Box(5, 9, 1, 0.1, 0.12, 0.4, 0.14)])
    [Rect(x=9.4, y=9.6, width=41.2, height=4.8)]
    """
    merged: list[list[float]] = []
    for box in boxes:
        last = merged[-1] if merged else None
        line = box.y1 - box.y0
        if last and _is_below(last, box, line):
            merged[-1] = [min(last[0], box.x0), last[1], max(last[2], box.x1), max(last[3], box.y1)]
        else:
            merged.append([box.x0, box.y0, box.x1, box.y1])
    return [
        Rect(*(round(100 * share, 2) for share in (x0 - 0.006, y0 - 0.004, w, h)))
        for x0, y0, x1, y1 in merged
        for w, h in [(x1 - x0 + 0.012, y1 - y0 + 0.008)]
    ]


def _is_below(last: Sequence[float], box: Box, line: float) -> bool:
    overlap = min(last[2], box.x1) - max(last[0], box.x0)
    is_column = overlap > 0.5 * min(last[2] - last[0], box.x1 - box.x0)
    return is_column and -line <= box.y0 - last[3] <= NEAR_LINES * line


def _changes(index: IndexReader, look: Look, above: Sequence[Chunk]) -> dict[str, Any]:
    """Return what is different in the other edition, in and around the place."""
    other = look.rest["with"]
    if index.snapshot.meta(other) is None:
        raise StoreError(f"no document {other!r}", hint="it may have been removed")
    mine, theirs = index.snapshot.edition(look.doc), index.snapshot.edition(other)
    is_older = bool(mine.effective and theirs.effective and mine.effective < theirs.effective)
    old, new = (look.doc, other) if is_older else (other, look.doc)
    found = diff(index.snapshot, old, new)
    section = next((c for c in reversed(above) if c.kind in ("section", "document")), None)
    near = [c for c in found if section is None or _is_in(c, section, look.rest.get("all", ""))]
    return {"old": old, "new": new, "shown": near[:200], "count": len(found)}


def _is_in(change: EditionChange, section: Chunk, everything: str) -> bool:
    if everything or section.kind == "document":
        return True
    names = [name.strip() for name in change.locator.split("→")]
    return any(
        name == section.locator or name.startswith((section.locator + "(", section.locator + " "))
        for name in names
    )


def _links(references: Sequence[Any], look: Look, path: str) -> list[dict[str, str]]:
    return [
        {
            "url": look.but(doc=each.doc, at=each.at, rest={"view": "text"}).url(path),
            "preview": Look(c=look.c, doc=each.doc, at=each.at).url("/preview"),
            "relation": each.relation,
        }
        for each in references
    ]


router = APIRouter(route_class=PageRoute, include_in_schema=False)
PREVIEW_CHARS = 700
DRAW_SECONDS = 30.0


def drawing_of(request: Request) -> Drawing:
    found: Drawing = request.app.state.drawing
    return found


TheDrawing = Annotated[Drawing, Depends(drawing_of)]


@router.get("/read")
async def read(request: Request, look: TheLook, visit: Reader, drawing: TheDrawing) -> Response:
    """Show the documents, or one of them at a place."""

    def work(index: IndexReader) -> Response:
        values: dict[str, Any] = {
            "reader": lambda: opened(index, look, "/read", drawing),
            "documents": lambda: [
                {**each, "url": Look(c=look.c, doc=each["id"]).url("/read")}
                for each in reading.documents(index)
            ],
        }
        return render(request, "read.html", look, values, parts=("reader",))

    return await visit.read(look.c, work)


@router.get("/preview")
async def preview(request: Request, look: TheLook, visit: Reader) -> Response:
    """Show the first words of a place, for who points at a reference to it."""

    def work(index: IndexReader) -> Response:
        place = exact_place(index, look.doc, look.at or (0, 0))
        shown = place.text[:PREVIEW_CHARS]
        values = {
            "place": place,
            "title": index.snapshot.title(place.span.doc_id),
            "blocks": MarkedText(shown).blocks(),
            "is_cut": len(place.text) > PREVIEW_CHARS,
        }
        return render(request, "parts/preview.html", look, values)

    return await visit.read(look.c, work)


@router.get("/page-image")
async def page_image(
    look: TheLook,
    visit: Reader,
    drawing: TheDrawing,
    page: Annotated[int, Query(ge=1, le=100_000)],
    width: int = WIDTHS[0],
) -> Response:
    """Draw a page of a PDF."""
    if width not in WIDTHS:
        raise ServiceError(f"pages are drawn {' or '.join(map(str, WIDTHS))} pixels wide", 422)

    def find(index: IndexReader) -> tuple[Path, str]:
        meta = index.snapshot.meta(look.doc)
        if meta is None or not look.doc.lower().endswith(".pdf") or not meta.get("source"):
            raise StoreError(f"no pages of {look.doc!r}", hint="only PDFs have pages to draw")
        return source_file(meta, index.snapshot.folder), meta["sha256"]

    file, sha256 = await visit.read(look.c, find)
    drawn = await drawing.work.run(
        visit.caller.id, DRAW_SECONDS, drawing.picture, file, sha256, page, width
    )
    # What is drawn never changes for these bytes, but who may see it can.
    headers = {"cache-control": "private, max-age=600"}
    return Response(drawn, headers=headers, media_type="image/png")
