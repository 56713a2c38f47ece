"""What comes in over HTTP, and its limits."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import GenericAlias
from typing import Annotated, Any, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, create_model
from starlette.exceptions import HTTPException

from pincite.client.values import (
    Beside,
    ClientHit,
    ClientResult,
    FoundCell,
    HitChunk,
    Missing,
    Shown,
)
from pincite.model.errors import PinciteError
from pincite.model.types import Filters
from pincite.search.explain import StageView
from pincite.search.reader import IndexReader
from pincite.serve.access import Caller
from pincite.serve.collections import ServedCollection
from pincite.serve.errors import ServiceError, error_body, no_room, status_of
from pincite.serve.reading import generation_of
from pincite.serve.service import AuditFacts, SearchService
from pincite.serve.work import Work

P = ParamSpec("P")
T = TypeVar("T")
QUERY_CHARS = 2000
MAX_HITS = 200
Name = Annotated[str, Field(max_length=400)]
Names = Annotated[list[Name], Field(max_length=50)]


def strict(**example: Any) -> ConfigDict:
    """Return what makes unknown fields and wrong types errors, with an example of the request."""
    return ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [example]})


class Strict(BaseModel):
    """A request: unknown fields and wrong types are errors."""

    model_config = ConfigDict(strict=True, extra="forbid")


class FilterBody(Strict):
    """Where to look; what is left out allows everything."""

    documents: Names = []
    as_of: Annotated[str, Field(max_length=20, examples=["2024"])] = ""
    kinds: Names = []
    tags: Names = []
    traits: Names = []
    pages: Annotated[list[Annotated[int, Field(ge=0, le=1_000_000)]], Field(max_length=2)] = []
    path: Names = []
    audience: Name = ""

    def filters(self) -> Filters:
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.model_dump().items()
        }
        return Filters(**values)


Query = Annotated[str, Field(min_length=1, max_length=QUERY_CHARS, pattern=r"\S")]
Count = Annotated[int, Field(ge=1, le=MAX_HITS)]
CollectionName = Annotated[
    str, Field(max_length=100, description="A collection; empty: the only or the default one.")
]
Locator = Annotated[str, Field(min_length=1, max_length=400, pattern=r"\S")]


class SearchBody(Strict):
    """A question, words, or the name of a place."""

    model_config = strict(query="how far apart do two earth rods have to be", k=3)
    query: Query
    k: Count | None = None
    collection: CollectionName = ""
    filters: FilterBody = FilterBody()
    companions: Annotated[int, Field(ge=0, le=50)] = 5
    budget_ms: Annotated[int, Field(ge=0, le=3_600_000)] | None = None


class ExplainBody(Strict):
    """A search to look into; with a place, why that one is not among the hits."""

    query: Query
    k: Count | None = None
    place: Locator | None = None
    document: Name | None = None
    collection: CollectionName = ""
    filters: FilterBody = FilterBody()


class ShowBody(Strict):
    """The name of a place, as ``210.8(A)`` or a heading."""

    locator: Annotated[Locator, Field(examples=["210.8(A)(2)"])]
    document: Name | None = None
    as_of: Annotated[str, Field(max_length=20)] | None = None
    collection: CollectionName = ""


class CellBody(Strict):
    """A value of a table by its row and column."""

    table: Annotated[Locator, Field(examples=["Table 250.66"])]
    row: Annotated[Locator, Field(examples=["95 mm²"])]
    column: Annotated[Name, Field(examples=["electrode copper"])] = ""
    document: Name | None = None
    collection: CollectionName = ""


class SimilarBody(Strict):
    """A place whose like is wanted."""

    locator: Locator
    document: Name | None = None
    k: Annotated[int, Field(ge=1, le=50)] = 5
    least: Annotated[float, Field(ge=-1, le=1)] = 0.7
    collection: CollectionName = ""


_SCHEMAS: dict[Any, type[BaseModel]] = {}  # of the values of the client


def schema(name: str, value: type | None = None, /, **more: Any) -> type[BaseModel]:
    """Return the schema of a reply: the fields of a value, as the client reads it, and others."""
    hints = get_type_hints(value) if value else {}
    fields: dict[str, Any] = {n: (_type_of(kind), ...) for n, kind in (hints | more).items()}
    made: type[BaseModel] = create_model(name, **fields)
    _SCHEMAS.setdefault(value, made)
    return made


def _type_of(kind: Any) -> Any:
    """Return the type of a field: ``[each]`` is a list, and a value has its schema."""
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        kind = [get_args(kind)[0]]
    return (
        GenericAlias(list, (_type_of(kind[0]),)) if type(kind) is list else _SCHEMAS.get(kind, kind)
    )


def described(kind: Any, words: str) -> Any:
    return Annotated[kind, Field(description=words)]


class ErrorFacts(BaseModel):
    """What went wrong and what to do about it."""

    kind: str
    type: str
    code: str
    message: str
    hint: str
    request_id: str


ErrorReply = schema("ErrorReply", error=ErrorFacts)
FROM: dict[str, Any] = {"collection": str, "generation": int}
NUMBERS = dict[str, float]
ADDED = described(NUMBERS, "What each stage added; it adds up to the score.")
schema("ChunkReply", HitChunk)
schema("HitReply", ClientHit, why=ADDED)
schema("MissingReply", Missing)
schema("CompanionReply", Beside)
SearchReply = schema("SearchReply", ClientResult)
PLACE: dict[str, Any] = {"chunk": str, "document": str, "locator": str}
STAGE_HIT = schema("StageHit", **PLACE, score=float, why=NUMBERS, raw=NUMBERS)
STAGE = schema("StageReply", stage=str, seconds=float, candidates=int, hits=[STAGE_HIT])
WHY_NOT = schema(
    "WhyNotReply",
    document=str,
    locator=str,
    lost_at=str | None,
    reason=str,
    stages=[schema("StageSchema", StageView)],
)
ExplainReply = schema(
    "ExplainReply", **FROM, query=str, stages=[STAGE], seconds=NUMBERS, why_not=[WHY_NOT]
)
ShowReply = schema("ShowReply", **FROM, places=[schema("PlaceReply", Shown)])
CellsReply = schema("CellsReply", **FROM, cells=[schema("CellReply", FoundCell)])
SIMILAR = schema(
    "SimilarPlace", document=str, locator=str, chunk=str, path=list[str], text=str, cosine=float
)
SimilarReply = schema("SimilarReply", **FROM, places=[SIMILAR])
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


def service_of(request: Request) -> SearchService:
    found: SearchService = request.app.state.service
    return found


# Where the page keeps a key: a browser cannot send headers of its own when it opens an address.
KEY_COOKIE = "pincite_key"


def _shown_key(request: Request) -> str | None:
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.casefold() == "bearer" and key.strip():
        return key.strip()
    return request.headers.get("x-api-key") or request.cookies.get(KEY_COOKIE)


def caller_of(request: Request, service: SearchService) -> Caller:
    """Return who sends a request, by its headers; ServiceError 401 if nobody is known by them."""
    address = request.client.host if request.client else "?"
    return service.caller(_shown_key(request), address)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: the service, who asks it, and what the audit log is told."""

    service: SearchService
    caller: Caller
    asked: AuditFacts

    def collection(self, name: str, query: str | None = None) -> ServedCollection:
        """Return a collection that the caller may use; the audit log is told of it."""
        chosen = self.service.collection(self.caller, name)
        self.asked.collection, self.asked.query = chosen.name, query
        return chosen

    @property
    def mine(self) -> list[str]:
        """The names of the collections that the caller may use."""
        return sorted(filter(self.caller.may_use, self.service.collections))

    async def in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the work returns, in the time that a search may take."""
        seconds = self.service.limits.search_seconds
        return await self.service.searching.run(self.caller.id, seconds, work, *args, **kwargs)

    async def in_turns(
        self, work: Callable[[], Generator[None, None, T]], lane: Work | None = None
    ) -> T:
        """Return what the steps of long work return; those of others have turns between.

        Without another lane it is that of models.
        """
        run: Any = (lane or self.service.scoring).run  # whose answer is what the steps return
        return cast(T, await run(self.caller.id, self.service.limits.search_seconds, work))

    async def read(
        self, collection: str, work: Callable[[IndexReader], T], query: str | None = None
    ) -> T:
        """Do something with a collection's index, as the caller sees it, in a thread."""
        chosen = self.collection(collection, query)
        return await self.service.read(self.caller, chosen.name, work)

    async def answer(
        self,
        collection: str,
        work: Callable[[IndexReader], dict[str, Any]],
        query: str | None = None,
    ) -> Response:
        """Reply with what is read, and where that is from; written in the same thread."""

        def told(index: IndexReader) -> Response:
            where = {"collection": self.asked.collection, "generation": generation_of(index)}
            return reply({**where, **work(index)})

        return await self.read(collection, told, query)

    async def read_if_any(
        self, collection: str, seconds: float, work: Callable[[IndexReader | None], T]
    ) -> T:
        """Do something with an index, or with None where nothing was ingested yet."""
        chosen = self.collection(collection)

        def leased() -> T:
            if chosen.is_empty:
                return work(None)
            with chosen.lease(self.caller.access) as index:
                return work(index)

        return await self.service.searching.run(self.caller.id, seconds, leased)


def visit_with(scope: str) -> Callable[[Request], Visit]:
    """Return a dependency that gives the visit, if the caller may do such things."""

    async def find(request: Request) -> Visit:
        service, asked = service_of(request), request.state.asked
        caller = caller_of(request, service)
        asked.caller = caller.id
        service.admit(caller)
        caller.check(scope)
        request.state.caller = caller
        return Visit(service, caller, asked)

    return find  # type: ignore[return-value]


Reader = Annotated[Visit, Depends(visit_with("read"))]
Writer = Annotated[Visit, Depends(visit_with("write"))]
Admin = Annotated[Visit, Depends(visit_with("admin"))]
TheService = Annotated[SearchService, Depends(service_of)]


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
        if isinstance(error.__cause__, OSError):  # a body is kept in a file while it comes
            return tell(request, no_room(error.__cause__))
        refusal = ServiceError(str(error.detail), error.status_code)
        is_browser = "text/html" in request.headers.get("accept", "")
        if error.status_code == 404 and is_browser and request.method == "GET":
            nowhere = ServiceError("There is no such page", 404, hint="the address may be old")
            return cast(Response, request.app.state.error_page(request, nowhere))
        told = tell(request, refusal)
        told.headers.update(error.headers or {})
        return told

    app.add_exception_handler(PinciteError, ours)
    app.add_exception_handler(RequestValidationError, form)
    app.add_exception_handler(HTTPException, http)


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOCAL = {"localhost", "127.0.0.1", "[::1]", "::1"}
# Paths that take whole documents.
UPLOADS = ("/v1/documents", "/upload")
OPEN = ("/login", "/logout")  # what somebody without a key may send something to
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
logger = logging.getLogger("pincite.serve")


class Envelope:
    """The outermost part of the service: nothing leaves or enters without passing here."""

    def __init__(
        self, app: App, service: SearchService, direct: Mapping[str, Callable[[App], App]]
    ) -> None:
        self.app = app
        self.direct = {path: make(app) for path, make in direct.items()}
        self.service = service
        allowed = {each.strip().casefold() for each in service.limits.hosts.split(",")} - {""}
        # Without keys a page of any site could reach the service through a name of its own.
        self.hosts = allowed or (set() if service.has_keys else LOCAL)
        origins = service.limits.cors_origins.split(",")
        self.origins = {each.strip().casefold().rstrip("/") for each in origins} - {""}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = _Request(scope, receive, send, self.service)
        metrics = self.service.metrics
        metrics.in_flight += 1
        try:
            request.check(self.hosts, self.origins)
            with request.known():
                answer = self.direct.get(scope["path"], self.app)
                await answer(scope, request.receive, request.send)
        except ServiceError as error:
            await request.refuse(error)
        except asyncio.CancelledError:
            request.status = request.status or 499  # the client has gone
            raise
        except OSError as error:
            await request.refuse(no_room(error))
        except Exception:
            # The one place where everything is caught: a request must not end without an answer.
            logger.exception("request %s failed", request.id)
            await request.refuse(ServiceError("something went wrong here", 500))
        finally:
            metrics.in_flight -= 1
            request.finish()


class _Request:
    """One request on its way."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, service: SearchService) -> None:
        self.id = secrets.token_hex(8)
        self.status = 0
        self._scope, self._receive, self._send = scope, receive, send
        self._service = service
        self._started = time.monotonic()
        self._bytes = 0
        limits = service.limits
        self._is_upload = scope["method"] == "POST" and scope["path"] in UPLOADS
        self._most = int(1e6 * (limits.upload_mb if self._is_upload else limits.body_mb))
        self._due = self._started + limits.body_seconds
        self._is_read = False
        self._is_told = False
        self._refusal: ServiceError | None = None  # who reads the body may catch it
        scope.setdefault("state", {})["request_id"] = self.id
        scope["state"]["asked"] = self.asked = AuditFacts()

    def check(self, hosts: set[str], origins: set[str]) -> None:
        """Refuse what need not be read: strange names, a body that says it is too large."""
        headers = {name.lower(): value for name, value in self._scope["headers"]}
        host = headers.get(b"host", b"").decode("latin-1").casefold()
        name = host if host.startswith("[") and host.endswith("]") else host.rpartition(":")[0]
        if hosts and host not in hosts and name not in hosts:
            raise ServiceError("not served under this name", 421, hint="see serve.hosts")
        origin = headers.get(b"origin", b"").decode("latin-1").casefold().rstrip("/")
        # A browser sends some requests of other sites without asking first.
        is_foreign = bool(origin) and origin.partition("://")[2] != host and origin not in origins
        if is_foreign and self._scope["method"] not in _SAFE:
            raise ServiceError("pages of other sites may not do this", 403)
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._most:
            raise self._too_large()

    @contextmanager
    def known(self) -> Iterator[None]:
        """Refuse strangers before any of their body is read; count whole documents that come in."""
        scope, service = self._scope, self._service
        with ExitStack() as stack:
            if service.has_keys and scope["method"] not in _SAFE and scope["path"] not in OPEN:
                caller = caller_of(Request(scope), service)
                if self._is_upload:
                    caller.check("write")
                    stack.enter_context(service.receiving(caller.id))
            yield

    async def receive(self) -> Message:
        """Return the next part of the body; too much or too slow is refused."""
        if self._is_read:
            return await self._receive()  # what comes now is that the client goes
        try:
            left = max(0.0, self._due - time.monotonic())
            async with asyncio.timeout(left):
                message = await self._receive()
        except TimeoutError:
            self._refusal = ServiceError("the body came too slowly", 408)
            raise self._refusal from None
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
            self._is_read = not message.get("more_body", False)
            if self._bytes > self._most:
                self._refusal = self._too_large()
                raise self._refusal
        return message

    def _too_large(self) -> ServiceError:
        return ServiceError(f"the body is larger than {self._most / 1e6:g} MB", 413)

    async def send(self, message: Message) -> None:
        if self._refusal is not None and not self.status:
            refusal, self._refusal = self._refusal, None
            await self.refuse(refusal)
            self._is_told = True
        if self._is_told:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            known = {name.lower() for name, _ in message["headers"]}
            added = {"x-request-id": self.id, **HEADERS}
            message["headers"] = [
                *message["headers"],
                *((n.encode(), v.encode()) for n, v in added.items() if n.encode() not in known),
            ]
        await self._send(message)

    async def refuse(self, error: ServiceError) -> None:
        """Answer with an error, if nothing was answered yet."""
        if self.status:
            return
        body = json.dumps(error_body(error, self.id)).encode()
        length = str(len(body)).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", length)]
        if status_of(error) == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if not self._is_read and self._scope["method"] not in _SAFE:
            headers.append((b"connection", b"close"))  # the rest of the body is not read
        if error.retry_after is not None:
            headers.append((b"retry-after", str(max(1, round(error.retry_after))).encode()))
        start = {"type": "http.response.start", "status": status_of(error), "headers": headers}
        await self.send(start)
        await self.send({"type": "http.response.body", "body": body})

    def finish(self) -> None:
        """Count the request and write its line."""
        seconds = time.monotonic() - self._started
        method = self._scope["method"] if self._scope["method"] in _METHODS else "OTHER"
        # The pattern, not the path: ids of documents belong in no figure.
        route = getattr(self._scope.get("route"), "path", "unknown")
        self._service.metrics.finished(method, route, self.status, seconds)
        asked, audit = self.asked, self._service.audit
        audit.write(
            request=self.id,
            key=asked.caller,
            method=method,
            route=route,
            collection=asked.collection,
            status=self.status,
            seconds=round(seconds, 4),
            query_length=None if asked.query is None else len(asked.query),
            query=asked.query if audit.log_queries else None,
            **asked.facts,
        )


_SAFE = {"GET", "HEAD", "OPTIONS"}
_METHODS = {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"}
