"""Chats: POST /sessions/{session}/messages remembers what was said before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from pincite.ask.events import CompleteEvent
from pincite.core.errors import StoreError
from pincite.core.types import Filters
from pincite.serve.ask_routes import STREAMED, Answering, AnswerReply, accepts_stream
from pincite.serve.errors import ServiceError
from pincite.serve.requests import ERRORS, Reader, TheAsked, TheService, reply
from pincite.serve.service import Service
from pincite.serve.streams import AnswerStream, event_stream, sse

router = APIRouter(prefix="/sessions", tags=["chat"], responses=ERRORS)
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


@router.post("/{session}/messages", response_model=AnswerReply, responses=STREAMED)
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
        return event_stream(_lines(service, stream, remember))
    answer = await answering.whole(question, body.match_count, Filters())
    await _thread(service, remember, answer["text"])
    return reply(answer)


async def _lines(service: Service, stream: AnswerStream, remember: Any) -> AsyncIterator[str]:
    number = 0
    async for event in stream.events():
        if event is None:
            yield ": still working\n\n"
            continue
        if isinstance(event, CompleteEvent):  # an answer that failed was not said
            await service.asking.go_on(remember, event.answer.text)
        number += 1
        yield sse(event.name, event.plain(), number)


@router.get("/{session}/messages", response_model=MessagesReply)
async def messages(session: SessionId, service: TheService, caller: Reader) -> Response:
    """Return what was said in a chat of this key."""
    found = await _thread(service, service.sessions.history, caller.id, session)
    lines = [{"role": each.role, "content": each.text} for each in found]
    return reply({"session": session, "messages": lines})


class ForgottenReply(BaseModel):
    forgotten: str


@router.delete("/{session}", response_model=ForgottenReply)
async def forget(session: SessionId, service: TheService, caller: Reader) -> Response:
    """Forget a chat of this key."""
    if not await _thread(service, service.sessions.forget, caller.id, session):
        raise StoreError(f"no session {session!r}")
    return reply({"forgotten": session})


async def _thread(service: Service, work: Any, *args: Any) -> Any:
    return await service.searching.run(service.limits.search_seconds, work, *args)
