"""What routes ask of a request: the service, who is asking, and how errors are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from pincite.core.errors import PinciteError
from pincite.serve.callers import Caller
from pincite.serve.errors import ServiceError, error_body, status_of
from pincite.serve.schemas import ErrorReply
from pincite.serve.service import Asked, Service

# Statuses that any route may answer with.
ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorReply, "description": description}
    for status, description in {
        400: "A value is wrong.",
        401: "No key, or a wrong one.",
        403: "The key may not do this.",
        404: "Not there, or not for this key.",
        408: "The body came too slowly.",
        409: "Not possible as things are.",
        413: "Too large.",
        415: "Not of this type.",
        421: "Not served under this name.",
        422: "The request does not have the right form.",
        423: "Somebody else is writing.",
        429: "Too many requests with this key.",
        503: "Too much to do, or the store does not answer.",
        504: "Not done in time.",
        507: "The store has no room left.",
    }.items()
}


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def asked_of(request: Request) -> Asked:
    found: Asked = request.state.asked
    return found


# Where the page keeps a key: a browser cannot send headers of its own when it opens an address.
KEY_COOKIE = "pincite_key"


def _shown_key(request: Request) -> str | None:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.casefold() == "bearer" and key.strip():
        return key.strip()
    return request.headers.get("x-api-key") or request.cookies.get(KEY_COOKIE)


def caller_with(scope: str) -> Callable[[Request], Caller]:
    """Return a dependency that gives who is asking, if that one may do such things."""

    async def find(request: Request) -> Caller:
        service = service_of(request)
        address = request.client.host if request.client else "?"
        caller = service.caller(_shown_key(request), address)
        asked_of(request).caller = caller.id
        service.admit(caller)
        caller.check(scope)
        request.state.caller = caller
        return caller

    return find  # type: ignore[return-value]


Reader = Annotated[Caller, Depends(caller_with("read"))]
Writer = Annotated[Caller, Depends(caller_with("write"))]
Admin = Annotated[Caller, Depends(caller_with("admin"))]
TheService = Annotated[Service, Depends(service_of)]
TheAsked = Annotated[Asked, Depends(asked_of)]


def reply(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return plain values as JSON; not checked again, for they are ours."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    return Response(body, status, headers, "application/json")


def tell(request: Request, error: PinciteError) -> Response:
    """Return an error in the one shape that all have."""
    headers = {}
    if isinstance(error, ServiceError) and error.retry_after is not None:
        headers["retry-after"] = str(max(1, round(error.retry_after)))
    elif status_of(error) in (423, 503):
        headers["retry-after"] = "5"
    if status_of(error) == 401:
        headers["www-authenticate"] = "Bearer"
    request_id = getattr(request.state, "request_id", "")
    return reply(error_body(error, request_id), status_of(error), headers)


def add_error_handlers(app: FastAPI) -> None:
    """Make every error of the application look the same."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, PinciteError)
        return tell(request, error)

    async def form(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body") or "body"
        kind = request.headers.get("content-type", "").lower()
        hint = "see /openapi.json"
        # `curl -d` calls JSON a form, which is then no JSON to whoever reads the body.
        if where == "body" and "json" not in kind and "multipart" not in kind:
            hint = f"send the header Content-Type: application/json; {hint}"
        # The value itself is not repeated: it may be long, or half a character.
        return tell(request, ServiceError(f"{where}: {first['msg']}", 422, hint=hint))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        told = tell(request, ServiceError(str(error.detail), error.status_code))
        told.headers.update(error.headers or {})
        return told

    app.add_exception_handler(PinciteError, ours)
    app.add_exception_handler(RequestValidationError, form)
    app.add_exception_handler(HTTPException, http)
