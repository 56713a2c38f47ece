"""Reading a document: its text, its pages, its contents, its editions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from pincite.maintain.editions import EditionChange, diff
from pincite.model.errors import StoreError
from pincite.model.locators import locator_key
from pincite.model.markup import plain
from pincite.model.types import Chunk
from pincite.search.reader import IndexReader
from pincite.serve.errors import ServiceError
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.look import Look, PageRoute, TheLook, exact_place, render, span_of
from pincite.serve.page.sheets import AT_ONCE, WIDTHS, Sheets, page_view
from pincite.serve.page.text import MarkedText, stretch
from pincite.serve.requests import Reader
from pincite.store.snapshot import source_file

LEVEL = 400  # places of one level of the contents that are listed, around the open one
MAX_FOUND = 500  # of words in a document
CHECKED_WORDS = 6  # of a place, in links by name
PageNumber = Annotated[int, Query(ge=1, le=100_000)]


def opened(index: IndexReader, look: Look, path: str, drawing: Drawing) -> dict[str, Any]:
    """Return the open document as the template shows it; empty if none is open."""
    if not look.doc:
        return {}
    meta = index.snapshot.meta(look.doc)
    if meta is None:
        raise StoreError(f"no document {look.doc!r}", hint="it may have been removed")
    look = _placed(index, look)
    look, found = _found(index, look, path)
    above = _above(index, look)
    place = above[-1] if above else None
    has_pages = look.doc.lower().endswith(".pdf") and bool(meta.get("source"))
    wanted = look.rest.get("view", "")
    view = "page" if has_pages and wanted != "text" else "text"
    if wanted == "changes" and look.rest.get("with"):
        view = wanted
    views = (("page", "Page"), ("text", "Text")) if has_pages else ()
    title = index.snapshot.title(look.doc) or look.doc
    values = {
        "id": look.doc,
        "look": look,
        "title": title,
        "place": place,
        "where": _where(index, look, place),
        "crumbs": [_entry(chunk, look, path) for chunk in above],
        "beside": _beside(index, above, look, path),
        "editions": _editions(index, look, place, path),
        "view": view,
        "views": [(n, title, look.but(rest={"view": n}).url(path)) for n, title in views],
        "close": look.but(doc="", at=None, short=(), home="", rest={}).url(path),
        "file": look.alone(doc=look.doc).url("/file") if meta.get("source") else "",
        "link": link_to(look, place),
        "cite": look.alone(doc=look.doc, at=look.at or (place and span_of(place))).url("/cite"),
        "labels": index.snapshot.pages(look.doc).labels,
        "found": found,
    }
    if view == "page":
        return values | page_view(index, look, path, drawing)
    if view == "changes":
        return values | {"changes": _changes(index, look, above)}
    begin = look.rest.get("from", "")
    first = int(begin) if begin.isdecimal() else None
    shown = stretch(index, look.doc, look.at, first, look.short)
    return values | {"stretch": shown, "links": _links(shown.references, look, path)}


def link_to(look: Look, place: Chunk | None) -> str:
    """Return the address of a place by its name, with the words that it begins with."""
    if place is None or place.kind == "document" or not place.locator:
        return look.alone(doc=look.doc, at=look.at).url("/")
    words = " ".join(place.text.split()[:CHECKED_WORDS])
    name = f"/d/{quote(look.doc)}/{quote(place.locator, safe='()')}"
    return Look(c=look.home or look.c).url(name, w=words)


def _where(index: IndexReader, look: Look, place: Chunk | None) -> str:
    """Return the name and the page of the open place as they are cited."""
    if place is None:
        return ""
    at = look.at or span_of(place)
    page = index.snapshot.pages(look.doc).cited(at[0])
    name = "" if place.kind == "document" else place.locator
    return (name + str(page)).strip(", ")


def _found(index: IndexReader, look: Look, path: str) -> tuple[Look, dict[str, Any]]:
    """Return the look at the first of the words that are looked for, and where the others are."""
    words = look.rest.get("find", "").strip()
    if not words:
        return look, {"words": ""}
    text, key = index.snapshot.text(look.doc).casefold(), words.casefold()
    ats: list[tuple[int, int]] = []
    at = text.find(key)
    while at >= 0 and len(ats) < MAX_FOUND:
        ats.append((at, at + len(key)))
        at = text.find(key, at + len(key))
    here = look.number("nth") % len(ats) if ats else 0

    def address(nth: int) -> str:
        rest = {n: v for n, v in look.rest.items() if n in ("view", "find")}
        return look.but(at=None, rest={**rest, "nth": str(nth % len(ats))}).url(path)

    told = {"words": words, "count": len(ats), "nth": here + 1}
    if not ats:
        return look, told
    return look.but(at=ats[here], short=()), {
        **told, "before": address(here - 1), "after": address(here + 1)
    }  # fmt: skip


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
    kept = {} if kept.get("view") == "changes" else kept
    url = look.but(at=span_of(chunk), short=(), rest=kept).url(path)
    at = f"{chunk.span.start}-{chunk.span.end}"
    return {"label": label, "url": url, "id": chunk.id, "kind": chunk.kind, "at": at}


def contents(index: IndexReader, look: Look, path: str, top: str = "") -> list[dict[str, Any]]:
    """Return the contents of the open document as a tree, unfolded along the way to the place.

    With the id of a chunk, only what is in it. A level that holds little else is unfolded too.
    """
    above = _above(index, look)
    if not above:
        return []
    way = {chunk.id for chunk in above}
    here = next((c.id for c in reversed(above) if c.kind != "row"), "")

    def level(parent: Chunk, depth: int) -> list[dict[str, Any]]:
        inside = [c for c in index.children(parent) if c.kind not in ("row", "text", "piece")]
        at = next((n for n, c in enumerate(inside) if c.id in way), 0)
        first = max(0, at - LEVEL // 2)
        shown = inside[first : first + LEVEL]
        return [line(chunk, depth, len(shown)) for chunk in shown]

    def line(chunk: Chunk, depth: int, beside: int) -> dict[str, Any]:
        has_more = chunk.kind != "table" and chunk.own_end < chunk.span.end
        is_unfolded = has_more and (chunk.id in way or (depth < 2 and beside < 4))
        at = look.alone(doc=look.doc, at=span_of(chunk), home="")
        return {
            **_entry(chunk, look, path),
            "is_here": chunk.id == here,
            "inside": level(chunk, depth + 1) if is_unfolded else [],
            "unfolds": at.but(home=look.home).url("/contents") if has_more else "",
        }

    if top:
        (parent,) = index.snapshot.get([top])
        return level(parent, 2)
    return level(above[0], 0)


def _beside(index: IndexReader, above: Sequence[Chunk], look: Look, path: str) -> dict[str, Any]:
    """Return the places of the same level before and behind the open one."""
    found: dict[str, Any] = {"before": None, "after": None}
    for step, name in ((-1, "before"), (1, "after")):
        for parent, child in zip(above[-2::-1], above[:0:-1], strict=False):
            inside = [c for c in index.children(parent) if c.kind not in ("row", "text", "piece")]
            ids = [c.id for c in inside]
            at = ids.index(child.id) + step if child.id in ids else -1
            if 0 <= at < len(ids):
                found[name] = _entry(inside[at], look, path)
                break
    return found


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
            "preview": look.alone(doc=each.doc, at=each.at).url("/preview"),
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
async def read(look: TheLook) -> Response:
    """Lead to the document on the desk, or to the list of all."""
    return RedirectResponse(look.url("/" if look.doc else "/library"), 307)


@router.get("/contents")
async def unfolded(request: Request, look: TheLook, visit: Reader) -> Response:
    """Show what is in one place, for the tree of contents."""

    def work(index: IndexReader) -> Response:
        place = exact_place(index, look.doc, look.at or (0, 0))
        lines = contents(index, look, "/", place.id)
        return render(request, "parts/branch.html", look, {"lines": lines})

    return await visit.read(look.home or look.c, work)


@router.get("/d/{name:path}")
async def by_name(name: str, look: TheLook, visit: Reader, w: str = "") -> Response:
    """Open a place by its document and its name; its first words tell whether it has moved."""

    def work(index: IndexReader) -> str:
        doc, locator = _split(index, name)
        there = look.but(doc=doc, rest={})
        words = " ".join(w.split()[:CHECKED_WORDS])
        places = index.show(locator, doc) if locator else []
        for chunk in places:
            if " ".join(chunk.text.split()[:CHECKED_WORDS]).startswith(words):
                return there.but(at=span_of(chunk)).url("/")
        return _moved(index, there, locator, words).url("/")

    return RedirectResponse(await visit.read(look.c, work), 307)


def _split(index: IndexReader, name: str) -> tuple[str, str]:
    """Return the document and the place that a path names; the longest document that fits."""
    parts = name.split("/")
    for count in range(len(parts), 0, -1):
        doc = "/".join(parts[:count])
        if index.snapshot.meta(doc) is not None:
            return doc, "/".join(parts[count:])
    raise StoreError(f"no document in {name!r}", hint="it may have been removed or renamed")


def _moved(index: IndexReader, look: Look, locator: str, words: str) -> Look:
    """Return where the words of a place stand now; StoreError if they are gone."""
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())))
    at = pattern.search(index.snapshot.text(look.doc)) if words else None
    if at is None:
        raise StoreError(
            f"{locator} of {look.doc} does not say that any more",
            hint=f"its words, “{words}”, are nowhere in the document",
        )
    around = index.snapshot.chunks_within(look.doc, at.start(), at.end())
    named = [c for c in around if c.kind not in ("piece", "text") and c.span.start == at.start()]
    place = span_of(named[-1]) if named else at.span()
    return look.but(at=place, rest={"moved": locator})


@router.get("/cite")
async def cite(look: TheLook, visit: Reader, style: str = "plain") -> Response:
    """Write the citation of a place in one of the styles."""

    def work(index: IndexReader) -> str:
        return cited(index, look, style)

    told = await visit.read(look.home or look.c, work)
    return Response(told, media_type="text/plain; charset=utf-8")


def cited(index: IndexReader, look: Look, style: str) -> str:
    """Return how to cite what is open: the deepest place that holds it, on the page of its words.

    Beside the styles of ``pincite.search.citing``: "contract", as "§ 10(b), p. 4", and "quote".
    """
    above = _above(index, look)
    if not above:
        raise StoreError("no such place", hint="the document may have changed")
    place, at = above[-1], look.at or span_of(above[-1])
    page = index.snapshot.pages(look.doc).cited(at[0])
    told = replace(index.cited(place), page=page)
    if style == "contract":
        form, number = told.part
        name = f"{form.bluebook} {number}" if form else number
        return f"{name}{page}".strip(", ") or told.name
    if style == "quote":
        words = plain(index.snapshot.text(look.doc)[slice(*at)]).strip()
        return f"“{words}” ({told.cite()})"
    return told.cite(style)


@router.get("/sheets")
async def sheets(
    request: Request, look: TheLook, visit: Reader, drawing: TheDrawing, page: PageNumber
) -> Response:
    """Show some more pages of a PDF, for who scrolls on."""

    def work(index: IndexReader) -> Response:
        if not look.doc.lower().endswith(".pdf") or index.snapshot.meta(look.doc) is None:
            raise StoreError(f"no pages of {look.doc!r}", hint="only PDFs have pages to draw")
        shown = Sheets(index, look, drawing)(page, page + AT_ONCE - 1)
        title = index.snapshot.title(look.doc)
        return render(request, "parts/sheets.html", look, {"sheets": shown, "title": title})

    return await visit.read(look.home or look.c, work)


@router.get("/file")
async def original(look: TheLook, visit: Reader, drawing: TheDrawing) -> Response:
    """Give the file that was ingested, if it is still the same."""

    def find(index: IndexReader) -> Path:
        meta = index.snapshot.meta(look.doc)
        if meta is None or not meta.get("source"):
            raise StoreError(f"no file of {look.doc!r}", hint="its text can be read")
        file = source_file(meta, index.snapshot.folder)
        drawing.check(file, meta["sha256"])
        return file

    file = await visit.read(look.home or look.c, find)
    # Never shown as a page of ours: what a file says must not run here.
    return FileResponse(file, filename=Path(look.doc).name, media_type="application/octet-stream")


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
    page: PageNumber,
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
