"""Answers over HTTP, as events."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from pincite.answer.asker import Asker, Message
from pincite.answer.values import CompleteEvent, ErrorEvent, Event
from pincite.model.errors import PinciteError, StoreError
from pincite.model.types import Filters
from pincite.search.reader import IndexReader
from pincite.serve.access import Caller
from pincite.serve.errors import ServiceError, overloaded, took_too_long
from pincite.serve.reading import generation_of
from pincite.serve.requests import (
    ERRORS,
    CollectionName,
    Count,
    FilterBody,
    Query,
    Reader,
    Strict,
    TheAsked,
    TheService,
    reply,
)
from pincite.serve.service import AuditFacts, SearchService, forget

HEARTBEAT_SECONDS = 15.0
Make = Callable[[Asker], Iterator[Event]]
logger = logging.getLogger("pincite.serve")


class _AnswerSteps:
    """The events of one answer and the index they are made from; for one thread at a time."""

    def __init__(self, lease: AbstractContextManager[IndexReader], make: Make, guard: Any) -> None:
        self._lease = lease
        self._make = make
        self._guard = guard
        self._events: Iterator[Event] | None = None
        self._is_leased = False
        self.generation = 0  # that the answer is from, once it has begun

    def next(self) -> Event | None:
        """Return the next event; None if there is none."""
        with self._guard():
            if self._events is None:
                index = self._lease.__enter__()
                self._is_leased = True
                self.generation = generation_of(index)
                self._events = self._make(Asker(index))
            event = next(self._events, None)
            if isinstance(event, ErrorEvent):
                raise event.error
            return event

    def close(self) -> None:
        """Stop the work and give the index back."""
        with suppress(Exception):
            close = getattr(self._events, "close", None)
            if close is not None:
                close()
        if self._is_leased:
            self._is_leased = False
            self._lease.__exit__(None, None, None)


class AnswerStream:
    """One answer on its way; the first event is there before the stream begins."""

    def __init__(self, service: SearchService, steps: _AnswerSteps) -> None:
        self._service = service
        self._steps = steps
        self._due = time.monotonic() + service.limits.ask_seconds
        self._pending: asyncio.Future[Event | None] | None = None
        self._first: Event | None = None
        self._is_closed = False

    @property
    def generation(self) -> int:
        return self._steps.generation

    async def begin(self) -> None:
        """Wait for the first event; what goes wrong until then is an error of the request."""
        service = self._service
        if service.streams >= service.limits.streams:
            raise overloaded(2.0)
        service.streams += 1
        try:
            self._pending = service.asking.submit(self._steps.next)
            while not await self._is_there():
                pass
            self._first = self._pending.result()
        except BaseException:
            self.close()
            raise

    async def _is_there(self) -> bool:
        """Wait a while for the next event; ServiceError if the time is up."""
        assert self._pending is not None
        left = self._due - time.monotonic()
        if left <= 0:
            raise took_too_long(self._service.limits.ask_seconds)
        done, _ = await asyncio.wait({self._pending}, timeout=min(HEARTBEAT_SECONDS, left))
        return bool(done)

    async def events(self) -> AsyncIterator[Event | None]:
        """Yield the events; None where nothing happened for a while."""
        try:
            event = self._first
            while event is not None:
                yield event
                if isinstance(event, CompleteEvent | ErrorEvent):
                    return
                if self._service.is_stopping:
                    yield ErrorEvent(ServiceError("the server is stopping", 503))
                    return
                self._pending = self._service.asking.go_on(self._steps.next)
                while not await self._is_there():
                    yield None
                event = self._pending.result()
        except PinciteError as error:
            yield ErrorEvent(error)
        except Exception:
            # The status was sent long ago: the stream itself has to say it.
            logger.exception("an answer failed")
            yield ErrorEvent(ServiceError("something went wrong here", 500))
        finally:
            self.close()

    def close(self) -> None:
        """Give everything back, as soon as the thread that works on it is done."""
        if self._is_closed:
            return
        self._is_closed = True
        self._service.streams -= 1
        pending = self._pending
        if pending is None or pending.done():
            self._give_back()
        else:
            pending.add_done_callback(lambda _: self._give_back())

    def _give_back(self) -> None:
        if self._pending is not None and self._pending.done():
            forget(self._pending)
        try:
            self._service.asking.go_on(self._steps.close).add_done_callback(forget)
        except RuntimeError:  # the threads have ended with the service
            self._steps.close()


async def open_stream(
    service: SearchService, caller: Any, collection: str, make: Make, threshold: float = 0.0
) -> AnswerStream:
    """Return an answer that has begun, from a collection as the caller sees it."""
    chosen = service.collection(caller, collection)
    steps = _AnswerSteps(chosen.lease(caller.access, threshold), make, chosen.discreet)
    stream = AnswerStream(service, steps)
    await stream.begin()
    return stream


def sse(name: str, values: Any, number: int | None = None) -> str:
    """Return one event as it goes over the wire."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n"


def event_stream(lines: AsyncIterator[str]) -> StreamingResponse:
    headers = {"x-accel-buffering": "no"}  # a proxy that waits would spoil it
    encoded = (line.encode("utf-8", "replace") async for line in lines)
    return StreamingResponse(encoded, headers=headers, media_type="text/event-stream")


ask_router = APIRouter(tags=["ask"], responses=ERRORS)
STREAM = "text/event-stream"
EXAMPLE = """id: 1
event: search
data: {"question": "…", "hits": 8, "seconds": 0.01, …}

id: 2
event: context
data: {"message": "Found 3 relevant passages", "sources": [{"number": 1, "citation": "…"}, …]}

id: 3
event: token
data: {"text": "They shall be at least 2.4 m apart. [1]"}

id: 4
event: citation
data: {"source": 1, "locator": "250.56(B)", "quote": "…", "ok": true}

id: 5
event: complete
data: {"text": "…", "sentences": […], "sources": […]}
"""


class AskBody(Strict):
    """A question in plain words."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={"examples": [{"question": "How far apart must two earth rods be?"}]},
    )
    question: Query
    k: Count | None = None
    collection: CollectionName = ""
    filters: FilterBody = FilterBody()
    stream: bool | None = Field(
        None, description="Events as they happen; left out: as the header Accept wishes."
    )


class AnswerReply(BaseModel):
    """A whole answer; ``text`` is what the tokens of its stream join to."""

    model_config = ConfigDict(extra="allow")
    collection: str
    generation: int
    question: str
    text: str
    sentences: list[dict[str, Any]]
    sources: list[dict[str, Any]]
    abstention: dict[str, Any] | None
    confidence: float
    model: str | None
    notes: list[str]


STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer, or the events on the way to it.",
        "content": {STREAM: {"example": EXAMPLE}},
    }
}


@ask_router.post("/v1/ask", response_model=AnswerReply, responses=STREAMED)
async def ask(
    body: AskBody, request: Request, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Answer a question with citations that were checked, or say why there is no answer."""
    wants = body.stream if body.stream is not None else accepts_stream(request)
    asked.query, filters = body.question, body.filters.filters()
    answering = Answering(service, caller, asked, body.collection)
    return await answering.reply(body.question, body.k, filters, is_stream=wants)


class OldBody(BaseModel):
    """A question, as an older client asks it."""

    model_config = ConfigDict(extra="ignore")
    query: Annotated[
        str,
        Field(min_length=1, max_length=2000, validation_alias=AliasChoices("query", "question")),
    ]
    k: Annotated[int, Field(ge=1, le=200)] | None = None
    collection: Annotated[str, Field(max_length=100)] = ""


@ask_router.post("/api/ruleslawyer/query", response_model=AnswerReply, responses=STREAMED)
async def old_ask(
    body: OldBody, request: Request, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """The same as /v1/ask; events, unless the client accepts nothing but JSON."""
    if not body.query.strip():
        raise ServiceError("the query is empty", 422)
    asked.query = body.query
    wants = request.headers.get("accept", "").strip() != "application/json"
    answering = Answering(service, caller, asked, body.collection)
    return await answering.reply(body.query, body.k, Filters(), is_stream=wants)


def accepts_stream(request: Request) -> bool:
    return STREAM in request.headers.get("accept", "")


class Answering:
    """One question to one collection, in either of the two ways."""

    def __init__(
        self,
        service: SearchService,
        caller: Caller,
        asked: AuditFacts,
        collection: str,
        *,
        threshold: float = 0.0,
        history: Sequence[Message] = (),
    ) -> None:
        self.service, self.caller = service, caller
        self.collection = service.collection(caller, collection)
        self.threshold, self.history = threshold, history
        asked.collection = self.collection.name

    async def reply(
        self, question: str, k: int | None, filters: Filters, *, is_stream: bool
    ) -> Response:
        if not is_stream:
            return reply(await self.whole(question, k, filters))
        return event_stream(_lines(await self.stream(question, k, filters)))

    async def stream(self, question: str, k: int | None, filters: Filters) -> AnswerStream:
        def make(asker: Asker) -> Any:
            return asker.ask(question, filters=filters, k=k, history=self.history)

        name = self.collection.name
        return await open_stream(self.service, self.caller, name, make, self.threshold)

    async def whole(self, question: str, k: int | None, filters: Filters) -> dict[str, Any]:
        """Return the whole answer as plain values."""

        def work() -> dict[str, Any]:
            lease = self.collection.lease(self.caller.access, self.threshold)
            with lease as index:
                answer = Asker(index).answer(question, filters=filters, k=k, history=self.history)
                generation = generation_of(index)
                return {
                    "collection": self.collection.name,
                    "generation": generation,
                    **answer.plain(),
                }

        return await self.service.asking.run(self.service.limits.ask_seconds, work)


async def _lines(stream: AnswerStream) -> AsyncIterator[str]:
    number = 0
    async for event in stream.events():
        if event is None:
            yield ": still working\n\n"
            continue
        number += 1
        values = event.plain()
        if isinstance(event, CompleteEvent):
            values = {**values, "generation": stream.generation}
        yield sse(event.name, values, number)


session_router = APIRouter(prefix="/sessions", tags=["chat"], responses=ERRORS)
SessionId = Annotated[str, Path(min_length=1, max_length=100, pattern=r"^[\w.:-]+$")]


class MessageBody(BaseModel):
    """What the user says next."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={"examples": [{"content": "And for plates?", "match_count": 8}]},
    )
    content: Annotated[
        str,
        Field(
            min_length=1,
            max_length=2000,
            validation_alias=AliasChoices("content", "message", "query"),
        ),
    ]
    match_count: Annotated[int, Field(ge=1, le=200)] | None = Field(
        None, description="How many hits are read."
    )
    match_threshold: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0,
        description="Hits that answer with a smaller probability, by the cross-encoder, are left "
        "out; 0: none is, and none is read by it unless the settings say so.",
    )
    collection: Annotated[str, Field(max_length=100)] = ""
    stream: bool | None = None


class MessageLine(BaseModel):
    role: Literal["user", "assistant"]
    content: str


class MessagesReply(BaseModel):
    session: str
    messages: list[MessageLine]


@session_router.post("/{session}/messages", response_model=AnswerReply, responses=STREAMED)
async def say(
    session: SessionId,
    body: MessageBody,
    request: Request,
    service: TheService,
    caller: Reader,
    asked: TheAsked,
) -> Response:
    """Answer the next message of a chat; what was said before counts."""
    question = body.content
    if not question.strip():
        raise ServiceError("the message is empty", 422)
    asked.query = question
    history = await _thread(service, service.sessions.history, caller.id, session)
    threshold = round(body.match_threshold, 2)
    answering = Answering(
        service, caller, asked, body.collection, threshold=threshold, history=history
    )
    remember = partial(service.sessions.add, caller.id, session, question)
    wants = body.stream if body.stream is not None else accepts_stream(request)
    if wants:
        stream = await answering.stream(question, body.match_count, Filters())
        return event_stream(_message_lines(service, stream, remember))
    answer = await answering.whole(question, body.match_count, Filters())
    await _thread(service, remember, answer["text"])
    return reply(answer)


async def _message_lines(
    service: SearchService, stream: AnswerStream, remember: Any
) -> AsyncIterator[str]:
    number = 0
    async for event in stream.events():
        if event is None:
            yield ": still working\n\n"
            continue
        if isinstance(event, CompleteEvent):  # an answer that failed was not said
            await service.asking.go_on(remember, event.answer.text)
        number += 1
        yield sse(event.name, event.plain(), number)


@session_router.get("/{session}/messages", response_model=MessagesReply)
async def messages(session: SessionId, service: TheService, caller: Reader) -> Response:
    """Return what was said in a chat of this key."""
    found = await _thread(service, service.sessions.history, caller.id, session)
    lines = [{"role": each.role, "content": each.text} for each in found]
    return reply({"session": session, "messages": lines})


class ForgottenReply(BaseModel):
    forgotten: str


@session_router.delete("/{session}", response_model=ForgottenReply)
async def forget_session(session: SessionId, service: TheService, caller: Reader) -> Response:
    """Forget a chat of this key."""
    if not await _thread(service, service.sessions.forget, caller.id, session):
        raise StoreError(f"no session {session!r}")
    return reply({"forgotten": session})


async def _thread(service: SearchService, work: Any, *args: Any) -> Any:
    return await service.searching.run(service.limits.search_seconds, work, *args)
