"""The dialects of OpenAI."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from pincite.answer.asker import Message
from pincite.answer.values import Answer, CompleteEvent, ErrorEvent, ShortEvent, State, TokenEvent
from pincite.serve.ask_routes import AnswerRequest, AnswerStream, event_stream
from pincite.serve.errors import ServiceError
from pincite.serve.requests import ERRORS, Reader, Visit, reply, schema
from pincite.serve.search_routes import Steps, as_base64, check_work, embedded, encoder_of

# What a chat completion has beside OpenAI's own fields, and the citations.
_TOLD = ("state", "short", "short_spans", "sources", "abstention")
DONE = "data: [DONE]\n\n"
QUESTION_CHARS = 2000
# What was said before that: enough for a follow-up, and no more to read.
HISTORY = 20
Said = tuple[str, str | list[dict[str, Any]] | None]


def question_of(said: Sequence[Said]) -> tuple[str, list[Message]]:
    """Return the last question of the user, and what was said before it.

    Instructions of a system are left out: there are no documents in them to cite.
    """
    plain = [(role, _text(content)) for role, content in said]
    asked = [at for at, (role, text) in enumerate(plain) if role == "user" and text.strip()]
    if not asked:
        raise ServiceError("messages: there is no question of the user", 400)
    question = plain[asked[-1]][1].strip()
    if len(question) > QUESTION_CHARS:
        raise ServiceError(f"the question is longer than {QUESTION_CHARS:,} characters", 400)
    before = [
        Message("user" if role == "user" else "assistant", text[:QUESTION_CHARS])
        for role, text in plain[: asked[-1]]
        if role in ("user", "assistant") and text.strip()
    ]
    return question, before[-HISTORY:]


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    texts = (part.get("text") for part in content if part.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def data(values: Any) -> str:
    """Return one chunk as it goes over the wire."""
    return f"data: {json.dumps(values, ensure_ascii=False)}\n\n"


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer; all of its chunks have the same id."""

    id: str
    model: str
    created: int = field(default_factory=lambda: int(time.time()))

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def chunk(self, delta: dict[str, str], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def end(self, answer: Answer, *, with_usage: bool) -> Iterator[dict[str, Any]]:
        """Yield the last chunks: the list of sources, the end, and what was counted."""
        if listed := sources_below(answer):
            yield self.chunk({"content": listed})
        yield {**self.chunk({}, "stop"), **_evidence(answer)}
        if with_usage:
            head = self._head("chat.completion.chunk")
            yield {**head, "choices": [], "usage": _usage(answer)}

    def whole(self, answer: Answer) -> dict[str, Any]:
        text = short_above(answer.short) + answer.text + sources_below(answer)
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(answer),
            **_evidence(answer),
        }


def short_above(short: str) -> str:
    """Return the short answer as a paragraph above what is quoted."""
    return f"{' '.join(short.split())}\n\n" if short else ""


def sources_below(answer: Answer) -> str:
    """Return the cited or nearest places as lines below the text: all that a chat shows of them."""
    if answer.abstention:
        near = [f"- {each.title}, {each.locator}" for each in answer.abstention.nearest]
        return "\n\nNearest places:\n" + "\n".join(near) if near else ""
    sources = {source.number: source for source in answer.sources}
    cited = sorted(answer.citations, key=lambda citation: citation.source)
    lines = (f"[{each.source}] {sources[each.source].cited(each)}" for each in cited)
    listed = "\n".join(dict.fromkeys(lines))
    return f"\n\nSources:\n{listed}" if listed else ""


def _evidence(answer: Answer) -> dict[str, Any]:
    told = {name: value for name, value in answer.plain().items() if name in _TOLD}
    return {**told, "citations": [citation.plain() for citation in answer.citations]}


def _usage(answer: Answer) -> dict[str, int]:
    used = answer.usage
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.prompt_tokens + used.completion_tokens,
    }


router = APIRouter(prefix="/v1", tags=["compatibility"], responses=ERRORS)
MODEL = "pincite"
STARTED = int(time.time())


class Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class EmbeddingBody(Lenient):
    """Texts to encode; token ids are refused, for they are those of another tokeniser."""

    input: str | list[str] | list[int] | list[list[int]]
    model: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, Field(ge=1)] | None = None
    input_type: str | None = Field(None, description='"query" for questions; ours, not OpenAI\'s.')


VECTOR = schema("VectorLine", object=Literal["embedding"], index=int, embedding=list[float] | str)
EmbeddingReply = schema(
    "EmbeddingReply", object=Literal["list"], model=str, data=[VECTOR], usage=dict[str, int]
)


@router.post("/embeddings", response_model=EmbeddingReply)
async def embeddings(body: EmbeddingBody, visit: Reader) -> Response:
    """Return the vectors of texts, by the encoder of the index."""
    texts, service = _texts(body.input), visit.service
    check_work(texts, service)
    if not texts or not all(text.strip() for text in texts):
        raise ServiceError("input: there is nothing to encode", 400)
    visit.asked.facts["texts"] = len(texts)

    def work() -> Steps[Response]:
        encoder = encoder_of(service.settings)
        if body.dimensions not in (None, encoder.spec.dimension):
            raise ServiceError(f"dimensions: {encoder.spec.name} has {encoder.spec.dimension}", 400)
        is_query = (body.input_type or "").startswith(("query", "search_query"))
        vectors, tokens = yield from embedded(encoder, texts, is_query=is_query)
        form = as_base64 if body.encoding_format == "base64" else lambda v: v.tolist()
        lines = [
            {"object": "embedding", "index": number, "embedding": form(vector)}
            for number, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        name = encoder.spec.name
        return reply({"object": "list", "model": name, "data": lines, "usage": usage})

    return await visit.in_turns(work)


def _texts(given: str | list[str] | list[int] | list[list[int]]) -> list[str]:
    texts = [given] if isinstance(given, str) else list(given)
    if any(not isinstance(each, str) for each in texts):
        raise ServiceError(
            "input: token ids are those of another tokeniser",
            400,
            hint="send texts; LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False)",
        )
    return [str(each) for each in texts]


ModelLine = schema("ModelLine", id=str, object=Literal["model"], created=int, owned_by=str)
ModelsReply = schema("ModelsReply", object=Literal["list"], data=[ModelLine])


@router.get("/models", response_model=ModelsReply)
async def models(visit: Reader) -> Response:
    """List what can be asked: each collection is a model that answers from it."""
    return reply({"object": "list", "data": [_model(name) for name in _names(visit)]})


@router.get("/models/{model:path}", response_model=ModelLine)
async def model(model: str, visit: Reader) -> Response:
    """Tell about one model."""
    if model not in _names(visit):
        raise ServiceError(f"no model {model!r}", 404, hint="see: GET /v1/models")
    return reply(_model(model))


def _names(visit: Visit) -> list[str]:
    embedding = visit.service.settings.embedding.model
    return [MODEL, *(f"{MODEL}/{name}" for name in visit.mine), embedding]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": STARTED, "owned_by": "pincite"}


class ChatMessage(Lenient):
    role: str
    content: str | list[dict[str, Any]] | None = None


class StreamOptions(Lenient):
    include_usage: bool = False


class ChatBody(Lenient):
    """A conversation; the last message of the user is the question."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [
                {
                    "model": "pincite",
                    "messages": [{"role": "user", "content": "How far apart are earth rods?"}],
                }
            ]
        },
    )
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    model: str = MODEL
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    collection: Annotated[str, Field(max_length=100)] = ""

    def chosen_collection(self) -> str:
        if self.collection:
            return self.collection
        mark, _, name = self.model.partition("/")
        return name if mark == MODEL else ""


class ChatChoice(BaseModel):
    index: int
    message: dict[str, Any]
    finish_reason: str


class ChatReply(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatChoice]
    usage: dict[str, int]
    state: State
    short: str
    short_spans: list[dict[str, Any]]
    citations: list[dict[str, Any]]
    sources: list[dict[str, Any]]


@router.post(
    "/chat/completions",
    response_model=ChatReply,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def chat(body: ChatBody, visit: Reader) -> Response:
    """Answer the last message from the documents, with citations; also where there is none."""
    said = [(each.role, each.content) for each in body.messages]
    question, history = question_of(said)
    answering = AnswerRequest(visit, body.chosen_collection(), question, history=history)
    completion = Completion(f"chatcmpl-{secrets.token_hex(12)}", body.model or MODEL)
    stream = await answering.stream()
    if body.stream:
        wants_usage = body.stream_options is not None and body.stream_options.include_usage
        return event_stream(_chunks(stream, completion, with_usage=wants_usage))
    return reply(completion.whole(await answer_of(stream)))


async def answer_of(stream: AnswerStream) -> Answer:
    """Return the answer at the end of a stream."""
    async for event in stream.events():
        if isinstance(event, CompleteEvent):
            return event.answer
        if isinstance(event, ErrorEvent):
            raise event.error
    raise ServiceError("there was no answer", 500)


async def _chunks(
    stream: AnswerStream, completion: Completion, *, with_usage: bool
) -> AsyncIterator[str]:
    yield data(completion.chunk({"role": "assistant", "content": ""}))
    async for event in stream.events():
        if event is None:
            yield ": still working\n\n"
        elif isinstance(event, TokenEvent):
            yield data(completion.chunk({"content": event.text}))
        elif isinstance(event, ShortEvent):
            yield data(completion.chunk({"content": short_above(event.short)}))
        elif isinstance(event, ErrorEvent):
            yield data({"error": event.plain()})
        elif isinstance(event, CompleteEvent):
            for chunk in completion.end(event.answer, with_usage=with_usage):
                yield data(chunk)
    yield DONE
