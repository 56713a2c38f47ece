"""Puts the page into the application."""

from __future__ import annotations

import os

from fastapi import FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pincite.serve.page import (
    corpus_page,
    judge_page,
    measure_page,
    read_page,
    search_page,
    session,
    why_page,
)
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.frame import FOLDER

ROUTERS = (
    search_page.router,
    read_page.router,
    why_page.router,
    judge_page.router,
    measure_page.router,
    corpus_page.router,
    session.router,
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
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", Static(directory=FOLDER / "static"), name="static")
