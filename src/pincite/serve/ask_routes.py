"""Asking: POST /v1/ask, as a stream of events or as one JSON value; and its older address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from pincite.ask.asker import Asker, Message
from pincite.ask.events import CompleteEvent
from pincite.core.types import Filters
from pincite.serve.callers import Caller
from pincite.serve.errors import ServiceError
from pincite.serve.reading import generation_of
from pincite.serve.requests import ERRORS, Reader, TheAsked, TheService, reply
from pincite.serve.schemas import CollectionName, Count, FilterBody, Query, Strict
from pincite.serve.service import Asked, Service
from pincite.serve.streams import AnswerStream, event_stream, open_stream, sse

router = APIRouter(tags=["ask"], responses=ERRORS)
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


@router.post("/v1/ask", response_model=AnswerReply, responses=STREAMED)
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


@router.post("/api/ruleslawyer/query", response_model=AnswerReply, responses=STREAMED)
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
        service: Service,
        caller: Caller,
        asked: Asked,
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
