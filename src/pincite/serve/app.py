"""The application: routers side by side, one service behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from pincite.core.settings import Settings
from pincite.serve import (
    ask_routes,
    document_routes,
    feedback_routes,
    health_routes,
    openai_routes,
    rerank_routes,
    search_routes,
    session_routes,
)
from pincite.serve.middleware import Envelope
from pincite.serve.page.mount import add_page
from pincite.serve.requests import add_error_handlers
from pincite.serve.service import DEFAULT, Options, Service
from pincite.store.location import Location

if TYPE_CHECKING:
    from pincite.serve.agents import Agents

ROUTES = (
    search_routes,
    ask_routes,
    session_routes,
    document_routes,
    feedback_routes,
    rerank_routes,
    openai_routes,
    health_routes,
)
ABOUT = """Finds the exact clause, table or rule in reference documents and cites it.

Send a key as `Authorization: Bearer KEY` where keys are configured. Errors have one shape:
`{"error": {"kind", "message", "hint", "code", "request_id"}}`."""


def create_app(
    places: Location | Mapping[str, Location],
    settings: Settings | None = None,
    options: Options | None = None,
) -> FastAPI:
    """Return the application that serves one index, or several by name: folders, or URLs.

    Indexes are opened when the application starts, not here.
    """
    named = {DEFAULT: places} if isinstance(places, Path | str) else places
    chosen = settings or Settings()
    service = Service(named, chosen, options)

    agents = _agents(service)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with agents.running() if agents else nullcontext():
            await service.start()
            try:
                yield
            finally:
                await service.stop()
                app.state.drawing.close()

    # The interactive pages would load scripts from elsewhere.
    app = FastAPI(
        title="Pincite",
        version="1",
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    for routes in ROUTES:
        app.include_router(routes.router)
    if agents is not None:
        app.router.routes.append(Route("/mcp", agents))
    add_page(app)
    add_error_handlers(app)
    if service.has_keys:
        _describe_keys(app)
    if origins := [each.strip() for each in chosen.serve.cors_origins.split(",") if each.strip()]:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", "x-api-key"],
        )
    app.add_middleware(Envelope, service=service)
    return app


def _describe_keys(app: FastAPI) -> None:
    """Say in the description of the service that it wants a key."""
    described = app.openapi()  # made once and kept
    described["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    described["security"] = [{"key": []}]
    for path in ("/healthz", "/readyz"):
        described["paths"][path]["get"]["security"] = []


def _agents(service: Service) -> Agents | None:
    """Return what answers at /mcp; None if the extra is not installed."""
    if find_spec("mcp") is None:
        return None
    from pincite.serve.agents import Agents

    return Agents(service)
