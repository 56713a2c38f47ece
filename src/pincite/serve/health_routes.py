"""Whether the service lives, whether it is ready, and its figures."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse, Response
from pydantic import BaseModel, Field

from pincite.serve.exposition import exposition
from pincite.serve.requests import ERRORS, Admin, TheService, reply

router = APIRouter(tags=["service"])
NO_ANSWER = "the store does not answer"  # anybody may ask; who runs the service reads its log


class Health(BaseModel):
    status: str
    problems: dict[str, str] = Field(
        default={}, description="Of each collection that cannot be served: why."
    )


@router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Say that the process answers."""
    return reply({"status": "ok"})


@router.get("/readyz", response_model=Health, responses={503: {"model": Health}})
async def readyz(service: TheService) -> Response:
    """Say whether a search would be answered at once; 503 while indexes are being opened.

    Also 503 while the store of a collection does not answer; what is in memory is still served.
    """
    if service.is_stopping:
        return reply({"status": "stopping"}, 503)
    served = service.collections.values()
    if problems := {each.name: NO_ANSWER for each in served if not each.is_reachable}:
        return reply({"status": "store unavailable", "problems": problems}, 503)
    is_ready = all(each.is_ready for each in served)
    return reply({"status": "ready" if is_ready else "starting"}, 200 if is_ready else 503)


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={**ERRORS, 200: {"content": {"text/plain": {}}}},
)
async def metrics(service: TheService, _: Admin) -> Response:
    """Give the figures of this process to Prometheus."""
    return Response(exposition(service), media_type="text/plain; version=0.0.4; charset=utf-8")
