"""Giving a key to the browser: it is kept in a cookie that no script can read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from pincite.serve.errors import ServiceError
from pincite.serve.page.frame import PageRoute, render
from pincite.serve.page.look import Look
from pincite.serve.requests import KEY_COOKIE, TheService

router = APIRouter(route_class=PageRoute, include_in_schema=False)
WEEK_SECONDS = 7 * 24 * 3600


@router.get("/login")
async def login(request: Request, next: str = "/") -> Response:
    """Ask for a key."""
    return render(request, "login.html", Look(), {"next": _local(next), "problem": ""})


@router.post("/login")
async def take_key(
    request: Request,
    service: TheService,
    key: Annotated[str, Form(max_length=200)],
    next: Annotated[str, Form(max_length=4000)] = "/",
) -> Response:
    """Keep the key, if it is one, and go on to where it was needed."""
    address = request.client.host if request.client else "?"
    try:
        service.caller(key.strip(), address)
    except ServiceError as error:
        values = {"next": _local(next), "problem": error.message}
        return render(request, "login.html", Look(), values, status=error.status)
    response = RedirectResponse(_local(next), 303)
    is_https = request.url.scheme == "https"
    response.set_cookie(
        KEY_COOKIE,
        key.strip(),
        max_age=WEEK_SECONDS,
        httponly=True,
        samesite="strict",
        secure=is_https,
    )
    return response


@router.post("/logout")
async def logout() -> Response:
    """Forget the key."""
    response = RedirectResponse("/login", 303)
    response.delete_cookie(KEY_COOKIE)
    return response


def _local(target: str) -> str:
    """Return where to go on, if that is here; a browser takes // and /\\ for other sites."""
    is_here = target.startswith("/") and target[1:2] not in ("/", "\\") and target.isprintable()
    return target if is_here else "/"
