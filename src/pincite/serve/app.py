"""The application, its health, and agents by MCP."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse, Response
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client import core as families
from prometheus_client.registry import Collector
from pydantic import BaseModel, Field
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from pincite.mcp.server import http_app, make_server
from pincite.model.settings import Settings
from pincite.search.metrics import Histogram, Metrics, Outcome
from pincite.search.reader import IndexReader
from pincite.serve import (
    ask_routes,
    document_routes,
    feedback_routes,
    file_search_routes,
    openai_routes,
    search_routes,
)
from pincite.serve.errors import overloaded
from pincite.serve.metrics import HttpMetrics
from pincite.serve.page.mount import add_page
from pincite.serve.requests import (
    ERRORS,
    Admin,
    Envelope,
    TheService,
    add_error_handlers,
    reply,
    visit_with,
)
from pincite.serve.service import DEFAULT, Options, SearchService
from pincite.store.location import Location

PATH = "/mcp"


class Agents:
    """An ASGI application that lets a caller in and hands the call to the MCP server."""

    def __init__(self, service: SearchService) -> None:
        self._service = service
        self._server = make_server(self._lent)
        self._app = http_app(self._server, path=PATH)
        self._find = visit_with("read")
        self._calls = 0

    def running(self) -> AbstractAsyncContextManager[None]:
        """Return the context in which calls are answered."""
        return self._server.session_manager.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit: Any = self._find(Request(scope))
        await visit  # the caller is in the state from now on
        # The threads of the SDK have no queue of their own that says when it is too long.
        if self._calls >= self._service.limits.queue:
            raise overloaded()
        self._calls += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._calls -= 1

    @contextmanager
    def _lent(self, request: Request) -> Iterator[IndexReader]:
        """Lend the index as the caller of this request sees it."""
        caller = request.state.caller
        chosen = self._service.collection(caller, request.query_params.get("collection", ""))
        request.state.asked.collection = chosen.name
        with chosen.lease(caller.access) as index:
            yield index


class _ServiceCollector(Collector):
    """Reads the counts of a service whenever it is asked."""

    def __init__(self, service: SearchService) -> None:
        self.service = service

    def collect(self) -> Iterator[families.Metric]:
        service, served = self.service, self.service.collections.values()
        # With several workers each has figures of its own.
        yield _gauge("worker_info", {str(os.getpid()): 1}, "pid")
        with service.metrics.lock:
            yield from _of_requests(service.metrics)
        pools = service.pools
        yield _gauge("work_pending", {each.name: each.pending for each in pools}, "pool")
        yield _counter("work_shed", {each.name: each.shed for each in pools}, "pool")
        yield _gauge("streams", {"": service.streams.total()})
        kinds: dict[str, Callable[[Any], float]] = {
            "generation": lambda each: each.generation,
            "store_reachable": lambda each: each.is_reachable,
            "newest_generation_unusable": lambda each: bool(each.problem),
        }
        for name, read in kinds.items():
            yield _gauge(name, {each.name: read(each) for each in served}, "collection")
        yield _counter("reloads", {each.name: each.reloads for each in served}, "collection")
        with service.reranking.lock:
            yield from _of_reranking(service.reranking)
        for name, value in service.reranking.dashboard().items():
            yield _gauge(name, {"": value})


def _of_requests(metrics: HttpMetrics) -> Iterator[families.Metric]:
    labels = ("method", "route", "status")
    requests = families.CounterMetricFamily("pincite_http_requests", "requests", labels=labels)
    for (method, route, status), count in sorted(metrics.requests.items()):
        requests.add_metric((method, route, str(status)), count)
    yield requests
    name = "pincite_http_request_seconds"
    times = families.SummaryMetricFamily(name, "how long requests took", labels=("route",))
    for route, seconds in sorted(metrics.seconds.items()):
        for share in (0.5, 0.95, 0.99):
            known = {"route": route, "quantile": str(share)}
            times.add_sample(name, known, seconds.quantile(share))
        times.add_metric((route,), sum(seconds.counts), seconds.total)
    yield times
    shed = {reason: metrics.shed[reason] for reason in ("rate", "overload", "time")}
    yield _counter("http_refused", shed, "reason")
    yield _gauge("http_in_flight", {"": metrics.in_flight})


def _of_reranking(metrics: Metrics) -> Iterator[families.Metric]:
    outcomes = {name: metrics.outcomes[name] for name in get_args(Outcome)}
    yield _counter("rerank_requests", outcomes, "outcome")
    yield _counter("rerank_pairs", {"": metrics.pairs})
    yield _counter("rerank_known_pairs", {"": metrics.known})
    yield _histogram("rerank_latency_seconds", metrics.reranking)
    yield _histogram("first_stage_latency_seconds", metrics.first_stage)
    yield _histogram("search_latency_seconds", metrics.search)
    scores = families.SummaryMetricFamily("pincite_rerank_score", "scores given")
    scores.add_metric((), metrics.score_count, metrics.score_total)
    yield scores


def _filled(kind: Any, name: str, values: Mapping[str, float], label: str = "") -> families.Metric:
    """Return a figure: one value for each value of its label, or a single one without any."""
    family: families.Metric = kind(
        f"pincite_{name}", name.replace("_", " "), labels=[label] if label else []
    )
    for each, value in values.items():
        family.add_metric([each] if label else [], float(value))  # type: ignore[attr-defined]
    return family


_gauge = partial(_filled, families.GaugeMetricFamily)
_counter = partial(_filled, families.CounterMetricFamily)


def _histogram(name: str, times: Histogram) -> families.Metric:
    *inner, (_, count) = times.buckets()
    buckets = [*((f"{bound:.6g}", float(seen)) for bound, seen in inner), ("+Inf", float(count))]
    family = families.HistogramMetricFamily(f"pincite_{name}", name.replace("_", " "))
    family.add_metric((), buckets, times.total)
    return family


health_router = APIRouter(tags=["service"])
NO_ANSWER = "the store does not answer"  # anybody may ask; who runs the service reads its log


class Health(BaseModel):
    status: str
    problems: dict[str, str] = Field(
        default={}, description="Of each collection that cannot be served: why."
    )


@health_router.get("/healthz", response_model=Health)
async def healthz() -> Response:
    """Say that the process answers."""
    return reply({"status": "ok"})


@health_router.get("/readyz", response_model=Health, responses={503: {"model": Health}})
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


@health_router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={**ERRORS, 200: {"content": {"text/plain": {}}}},
)
async def metrics(visit: Admin) -> Response:
    """Give the figures of this process to Prometheus."""
    registry = CollectorRegistry()  # other services in the same process have their own
    registry.register(_ServiceCollector(visit.service))
    kind = "text/plain; version=0.0.4; charset=utf-8"
    return Response(generate_latest(registry), media_type=kind)


ROUTERS = (
    search_routes.search_router,
    ask_routes.ask_router,
    ask_routes.session_router,
    document_routes.document_router,
    feedback_routes.feedback_router,
    search_routes.rerank_router,
    openai_routes.router,
    file_search_routes.file_search_router,
    health_router,
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
    service = SearchService(named, chosen, options)

    agents = Agents(service) if find_spec("mcp") else None  # the extra may not be installed

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
    for router in ROUTERS:
        app.include_router(router)
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
    direct = {"/v1/search": search_routes.direct_search}
    app.add_middleware(Envelope, service=service, direct=direct)
    return app


def _describe_keys(app: FastAPI) -> None:
    """Say in the description of the service that it wants a key."""
    described = app.openapi()  # made once and kept
    described["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    described["security"] = [{"key": []}]
    for path in ("/healthz", "/readyz"):
        described["paths"][path]["get"]["security"] = []
