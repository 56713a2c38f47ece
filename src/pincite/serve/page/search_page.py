"""The first area: one box, hits while you type, an answer when you ask."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.api import Index
from pincite.serve import reading
from pincite.serve.page.frame import PageRoute, render
from pincite.serve.page.look import Look, TheLook
from pincite.serve.page.text import Words
from pincite.serve.requests import Reader, TheAsked, TheService

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
async def search(
    request: Request, look: TheLook, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Show the box and, if something was asked, what was found."""
    asked.collection = service.collection(caller, look.c).name
    asked.query = look.q or None

    def work(index: Index) -> Response:
        values = {"found": lambda: found(index, look), "documents": lambda: len(index.documents())}
        return render(request, "search.html", look, values, parts=("results",))

    return await service.read(caller, look.c, work)


def found(index: Index, look: Look) -> dict[str, Any]:
    """Return the hits as the template shows them; nothing if nothing was asked."""
    if not look.q:
        return {"hits": [], "note": None, "seconds": 0.0}
    told = reading.search(index, look.q, look.k or None, look.filters(), companions=0)
    return {
        "hits": [_shown(hit) for hit in told["hits"]],
        "note": told["note"],
        "notes": told["notes"],
        "missing": told["missing"],
        "corrections": told["corrections"],
    }


def _shown(hit: dict[str, Any]) -> dict[str, Any]:
    marks = [(first, last) for first, last in hit["marks"]]
    return {**hit, "blocks": Words(hit["snippet"], marks=marks).blocks()}
