"""All pages on the application."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import APIRouter, FastAPI, Form, Request
from fastapi.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pincite.serve.errors import ServiceError
from pincite.serve.page import (
    answer_page,
    check_page,
    judge_page,
    library_page,
    measure_page,
    read_page,
    search_page,
    why_page,
)
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.look import FOLDER, Look, PageRoute, error_page, render
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


ROUTERS = (
    search_page.router,
    answer_page.router,
    read_page.router,
    why_page.router,
    judge_page.router,
    measure_page.router,
    library_page.router,
    check_page.router,
    router,
)


class Static(StaticFiles):
    """Files of the page; a browser keeps them and asks whether they are still the same."""

    def file_response(
        self,
        full_path: str | os.PathLike[str],
        stat_result: os.stat_result,
        scope: Scope,
        status_code: int = 200,
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["cache-control"] = "no-cache"
        return response


def add_page(app: FastAPI) -> None:
    """Serve the page and its files."""
    app.state.drawing = Drawing()
    app.state.error_page = error_page
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", Static(directory=FOLDER / "static"), name="static")
