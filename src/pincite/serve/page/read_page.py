"""The second area: a document beside the hits or alone, its pages as pictures, previews."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from pincite.core.errors import StoreError
from pincite.core.types import Chunk
from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.errors import ServiceError
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.frame import PageRoute, render
from pincite.serve.page.look import Look, TheLook
from pincite.serve.page.reader import WIDTHS, opened
from pincite.serve.page.text import Words
from pincite.serve.requests import Reader, TheAsked, TheService

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PREVIEW_CHARS = 700
DRAW_SECONDS = 30.0


def drawing_of(request: Request) -> Drawing:
    found: Drawing = request.app.state.drawing
    return found


TheDrawing = Annotated[Drawing, Depends(drawing_of)]


@router.get("/read")
async def read(
    request: Request,
    look: TheLook,
    service: TheService,
    caller: Reader,
    asked: TheAsked,
    drawing: TheDrawing,
) -> Response:
    """Show the documents, or one of them at a place."""
    asked.collection = service.collection(caller, look.c).name

    def work(index: IndexReader) -> Response:
        values: dict[str, Any] = {
            "reader": lambda: opened(index, look, "/read", drawing),
            "documents": lambda: _documents(index, look),
        }
        return render(request, "read.html", look, values, parts=("reader",))

    return await service.read(caller, look.c, work)


def _documents(index: IndexReader, look: Look) -> list[dict[str, Any]]:
    return [
        {**each, "url": Look(c=look.c, doc=each["id"]).url("/read")}
        for each in reading.documents(index)
    ]


@router.get("/preview")
async def preview(request: Request, look: TheLook, service: TheService, caller: Reader) -> Response:
    """Show the first words of a place, for who points at a reference to it."""

    def work(index: IndexReader) -> Response:
        place = _place(index, look)
        shown = place.text[:PREVIEW_CHARS]
        values = {
            "place": place,
            "title": index.snapshot.title(place.span.doc_id),
            "blocks": Words(shown).blocks(),
            "is_cut": len(place.text) > PREVIEW_CHARS,
        }
        return render(request, "parts/preview.html", look, values)

    return await service.read(caller, look.c, work)


def _place(index: IndexReader, look: Look) -> Chunk:
    """Return the place that an address names exactly."""
    first, last = look.at or (0, 0)
    around = index.snapshot.chunks_within(look.doc, first, max(last, first + 1))
    exact = [c for c in around if (c.span.start, c.span.end) == (first, last)]
    if not exact:
        raise StoreError("no such place", hint="the document may have changed")
    return exact[0]


@router.get("/page-image")
async def page_image(
    look: TheLook,
    service: TheService,
    caller: Reader,
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
        return Path(meta["source"]), meta["sha256"]

    file, sha256 = await service.read(caller, look.c, find)
    drawn = await drawing.work.run(DRAW_SECONDS, drawing.picture, file, sha256, page, width)
    # What is drawn never changes for these bytes, but who may see it can.
    headers = {"cache-control": "private, max-age=600"}
    return Response(drawn, headers=headers, media_type="image/png")
