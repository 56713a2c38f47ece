"""The sixth area: bring documents in, what was read of them, what is missing, what leads where."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from pincite.search.reader import IndexReader
from pincite.serve.jobs import Jobs
from pincite.serve.page.corpora import document, documents, findings
from pincite.serve.page.frame import PageRoute, render
from pincite.serve.page.graph_view import around
from pincite.serve.page.look import Look, TheLook
from pincite.serve.requests import Reader, TheAsked, TheService, Writer

router = APIRouter(route_class=PageRoute, include_in_schema=False)
REMOVE_SECONDS = 120.0
# The whole report reads every document; the next one who asks finds it made.
SECONDS = 60.0


@router.get("/corpus")
async def corpus(
    request: Request, look: TheLook, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Show the documents, one of them, all findings, or the graph around a place."""
    chosen = service.collection(caller, look.c)
    asked.collection = chosen.name
    view = _view(look)

    def show(index: IndexReader | None) -> Response:
        def empty(_: IndexReader, __: Look) -> dict[str, Any]:
            return {}

        made = {"graph": around, "document": document, "findings": findings, "list": documents}
        values: dict[str, Any] = {
            "view": view,
            "told": (lambda: made.get(view, empty)(index, look)) if index else dict,
            "may_write": caller.may("write"),
            "collection": chosen.name,
            "tabs": [
                ("Documents", Look(c=look.c).url("/corpus"), view == "list"),
                ("Findings", Look(c=look.c).url("/corpus", view="findings"), view == "findings"),
            ],
        }
        return render(request, "corpus.html", look, values, parts=("corpus",))

    def work() -> Response:
        if chosen.is_empty:
            return show(None)
        with chosen.lease(caller.access) as index:
            return show(index)

    return await service.searching.run(SECONDS, work)


def _view(look: Look) -> str:
    if look.doc:
        return "graph" if look.at else "document"
    return "findings" if look.rest.get("view") == "findings" else "list"


@router.post("/corpus/remove")
async def remove(
    service: TheService,
    caller: Writer,
    asked: TheAsked,
    doc: Annotated[str, Form(max_length=1000)],
    c: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Take a document out of the index."""
    chosen = service.collection(caller, c)
    asked.collection = chosen.name
    jobs = Jobs(chosen, service.settings)
    await service.writing.run(REMOVE_SECONDS, jobs.remove, doc)
    return RedirectResponse(Look(c=c).url("/corpus"), 303)
