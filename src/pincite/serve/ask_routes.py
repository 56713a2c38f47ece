"""Answers over HTTP, as events."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from pincite.answer.asker import Asker, Message
from pincite.answer.values import (
    Answer,
    CompleteEvent,
    ContextEvent,
    ErrorEvent,
    Event,
    State,
)
from pincite.model.errors import PinciteError, StoreError
from pincite.model.types import Filters
from pincite.search.reader import IndexReader
from pincite.serve.collections import ServedCollection
from pincite.serve.errors import ServiceError, took_too_long
from pincite.serve.reading import generation_of
from pincite.serve.requests import (
    ERRORS,
    CollectionName,
    Count,
    FilterBody,
    Query,
    Reader,
    Strict,
    Visit,
    reply,
    schema,
    strict,
)
from pincite.serve.service import forget

HEARTBEAT_SECONDS = 15.0
# Events have a name and plain values: of answers, and of checks.
Make = Callable[[IndexReader], Generator[Any]]
logger = logging.getLogger("pincite.serve")


class AnswerStream:
    """One answer on its way; the first event is there before the stream begins.

    Others have their turn after each event. What a language model is asked for, behind the context,
    waits for somebody else, and has other threads than what is worked out here.
    """

    def __init__(
        self,
        visit: Visit,
        collection: ServedCollection,
        lease: AbstractContextManager[IndexReader],
        make: Make,
        *,
        is_streamed: bool = True,
    ) -> None:
        self.generation = 0  # that the answer is from, once it has begun
        self._is_streamed, self._told = is_streamed, collection.told
        self._lane = visit.service.reading
        self._service, self._owner = visit.service, visit.caller.id
        self._steps = self._made(lease, make)
        self._due = time.monotonic() + self._service.limits.ask_seconds
        self._pending: asyncio.Future[Event | None] | None = None
        self._first: Event | None = None
        self._is_closed = False

    def _made(self, lease: AbstractContextManager[IndexReader], make: Make) -> Generator[Event]:
        """Yield the events, in one thread at a time; closing it gives the index back."""
        with lease as index:
            self.generation = generation_of(index)
            with closing(make(index)) as events:
                for event in events:
                    if isinstance(event, ErrorEvent):
                        raise event.error
                    if isinstance(event, CompleteEvent) and event.answer.notes:
                        notes = tuple(map(self._told, event.answer.notes))
                        event = CompleteEvent(replace(event.answer, notes=notes))
                    yield event

    def _next(self) -> Event | None:
        return next(self._steps, None)

    async def begin(self) -> None:
        """Wait for the first event; what goes wrong until then is an error of the request."""
        if self._is_streamed:
            self._service.begin_stream(self._owner)
        try:
            self._pending = self._lane.submit(self._owner, self._next)
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
                if isinstance(event, ContextEvent):
                    self._lane = self._service.asking
                self._pending = self._lane.go_on(self._owner, self._next)
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
        if self._is_streamed:
            self._service.end_stream(self._owner)
        pending = self._pending
        if pending is None or pending.done():
            self._give_back()
        else:
            pending.add_done_callback(lambda _: self._give_back())

    def _give_back(self) -> None:
        if self._pending is not None and self._pending.done():
            forget(self._pending)
        try:
            self._lane.go_on(self._owner, self._steps.close).add_done_callback(forget)
        except RuntimeError:  # the threads have ended with the service
            self._steps.close()


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
data: {"state": "found", "short": "2.4 m", "text": "…", "sentences": […], "sources": […]}
"""


class AskBody(Strict):
    """A question in plain words."""

    model_config = strict(question="How far apart must two earth rods be?")
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
    state: State
    short: str
    short_spans: list[dict[str, Any]]
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
async def ask(body: AskBody, request: Request, visit: Reader) -> Response:
    """Answer a question with citations that were checked, or say why there is no answer."""
    filters = body.filters.filters()
    answering = AnswerRequest(visit, body.collection, body.question, body.k, filters)
    if not wants_stream(body.stream, request):
        return reply(await answering.whole())
    return event_stream(event_lines(await answering.stream()))


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
async def old_ask(body: OldBody, request: Request, visit: Reader) -> Response:
    """The same as /v1/ask; events, unless the client accepts nothing but JSON."""
    if not body.query.strip():
        raise ServiceError("the query is empty", 422)
    answering = AnswerRequest(visit, body.collection, body.query, body.k)
    if request.headers.get("accept", "").strip() == "application/json":
        return reply(await answering.whole())
    return event_stream(event_lines(await answering.stream()))


def wants_stream(asked: bool | None, request: Request) -> bool:
    """Return whether events are wanted: as the body says, or else the header."""
    return STREAM in request.headers.get("accept", "") if asked is None else asked


class AnswerRequest:
    """One question to one collection, in either of the two ways."""

    def __init__(
        self,
        visit: Visit,
        collection: str,
        question: str,
        k: int | None = None,
        filters: Filters | None = None,
        *,
        threshold: float = 0.0,
        history: Sequence[Message] = (),
    ) -> None:
        self.visit, self.collection = visit, visit.collection(collection, question)
        self.question, self.threshold = question, threshold
        self._how: dict[str, Any] = {"filters": filters or Filters(), "k": k, "history": history}

    def _lease(self) -> AbstractContextManager[IndexReader]:
        return self.collection.lease(self.visit.caller.access, self.threshold)

    async def stream(self, *, is_streamed: bool = True) -> AnswerStream:
        """Return the answer that has begun."""

        def make(index: IndexReader) -> Generator[Event]:
            return Asker(index).ask(self.question, **self._how)

        where = self.visit, self.collection, self._lease()
        stream = AnswerStream(*where, make, is_streamed=is_streamed)
        await stream.begin()
        return stream

    async def whole(self) -> dict[str, Any]:
        """Return the whole answer as plain values."""
        answer, generation = await self.answer()
        where = {"collection": self.collection.name, "generation": generation}
        return {**where, **answer.plain()}

    async def answer(self) -> tuple[Answer, int]:
        """Return the whole answer, and the generation that it is from."""
        stream = await self.stream(is_streamed=False)
        async for event in stream.events():
            if isinstance(event, ErrorEvent):
                raise event.error
            if isinstance(event, CompleteEvent):
                return event.answer, stream.generation
        raise AssertionError("a stream ends with complete or error")


async def event_lines(
    stream: AnswerStream, keep: Callable[[str], Awaitable[None]] | None = None
) -> AsyncIterator[str]:
    """Yield the events as they go over the wire; those of a chat keep the answer."""
    number = 0
    async for event in stream.events():
        if event is None:
            yield ": still working\n\n"
            continue
        number += 1
        values = event.plain()
        if isinstance(event, CompleteEvent):  # an answer that failed was not said
            if keep is not None:
                await keep(event.answer.text)
            else:
                values = {**values, "generation": stream.generation}
        data = json.dumps(values, ensure_ascii=False)
        yield f"id: {number}\nevent: {event.name}\ndata: {data}\n\n"


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


SAID = schema("MessageLine", role=Literal["user", "assistant"], content=str)
MessagesReply = schema("MessagesReply", session=str, messages=[SAID])
ForgottenReply = schema("ForgottenReply", forgotten=str)


@session_router.post("/{session}/messages", response_model=AnswerReply, responses=STREAMED)
async def say(session: SessionId, body: MessageBody, request: Request, visit: Reader) -> Response:
    """Answer the next message of a chat; what was said before counts."""
    question, sessions = body.content, visit.service.sessions
    if not question.strip():
        raise ServiceError("the message is empty", 422)
    visit.asked.query = question
    answering = AnswerRequest(
        visit,
        body.collection,
        question,
        body.match_count,
        threshold=round(body.match_threshold, 2),
        history=await visit.in_thread(sessions.history, visit.caller.id, session),
    )
    remember = partial(sessions.add, visit.caller.id, session, question)
    if wants_stream(body.stream, request):
        keep = partial(visit.service.asking.go_on, visit.caller.id, remember)
        return event_stream(event_lines(await answering.stream(), keep))
    answer = await answering.whole()
    await visit.in_thread(remember, answer["text"])
    return reply(answer)


@session_router.get("/{session}/messages", response_model=MessagesReply)
async def messages(session: SessionId, visit: Reader) -> Response:
    """Return what was said in a chat of this key."""
    found = await visit.in_thread(visit.service.sessions.history, visit.caller.id, session)
    lines = [{"role": each.role, "content": each.text} for each in found]
    return reply({"session": session, "messages": lines})


@session_router.delete("/{session}", response_model=ForgottenReply)
async def forget_session(session: SessionId, visit: Reader) -> Response:
    """Forget a chat of this key."""
    if not await visit.in_thread(visit.service.sessions.forget, visit.caller.id, session):
        raise StoreError(f"no session {session!r}")
    return reply({"forgotten": session})
