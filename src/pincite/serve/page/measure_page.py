"""The fifth area: stored runs, what they differ in, question by question; live figures.

Runs name questions and places of all documents: who sees only some documents sees no run.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.core.errors import SourceError
from pincite.search.reader import IndexReader
from pincite.serve.callers import Caller
from pincite.serve.errors import ServiceError
from pincite.serve.page.frame import PageRoute, render
from pincite.serve.page.live import learned, live
from pincite.serve.page.look import TheLook
from pincite.serve.page.measuring import drawn, opened, questions, rankings, stored
from pincite.serve.requests import Reader, TheAsked, TheService

router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Intervals are resampled when a run is looked at for the first time.
SECONDS = 60.0


@router.get("/measure")
async def measure(
    request: Request, look: TheLook, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Show a stored run and, to who may see them, the figures of the service."""
    chosen = service.collection(caller, look.c)
    asked.collection = chosen.name
    _check_whole(caller)

    def show(index: IndexReader | None) -> Response:
        runs = stored(chosen.folder / "runs")
        is_live_alone = request.headers.get("x-parts") == "live"
        problem, found = "", None
        try:
            found = None if is_live_alone else opened(runs, look)
        except SourceError as error:
            problem = f"{error.message}: {error.hint}".replace(str(chosen.folder), chosen.name)
        values: dict[str, Any] = {
            "runs": runs,
            "found": found,
            "problem": problem,
            "drawn": lambda: drawn(found) if found else {},
            "table": lambda: questions(found, look) if found else {},
            "pair": lambda: rankings(found, look, index) if found else {},
            "learned": lambda: learned(service),
            "live": live(service) if caller.may("admin") else None,
        }
        return render(request, "measure.html", look, values, parts=("run", "rows", "pair", "live"))

    def work() -> Response:
        if chosen.is_empty:
            return show(None)
        with chosen.lease(None) as index:
            return show(index)

    return await service.searching.run(SECONDS, work)


def _check_whole(caller: Caller) -> None:
    if caller.access is not None:
        raise ServiceError(
            "runs show questions and places of all documents",
            403,
            hint="use a key that sees all: pincite keys add NAME --all-documents",
        )
