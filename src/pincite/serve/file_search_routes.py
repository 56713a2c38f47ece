"""Searching files as OpenAI's clients do, and search results as Anthropic's models cite them."""

from __future__ import annotations

import secrets
import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from fastapi.responses import Response
from pydantic import Field

from pincite.answer.values import Answer
from pincite.model.types import Filters
from pincite.search.passages import Passage, result_blocks
from pincite.search.reader import IndexReader
from pincite.serve.ask_routes import AnswerRequest
from pincite.serve.errors import ServiceError
from pincite.serve.openai_routes import (
    MODEL,
    STARTED,
    ChatMessage,
    Lenient,
    answer_of,
    question_of,
    short_above,
    sources_below,
)
from pincite.serve.requests import (
    ERRORS,
    CollectionName,
    Count,
    FilterBody,
    Query,
    Reader,
    Strict,
    reply,
    schema,
)

file_search_router = APIRouter(prefix="/v1", tags=["compatibility"], responses=ERRORS)
MAX_RESULTS = 50
# What a filter of OpenAI may compare, and the filter of ours that means it.
KEYS = {"document": "documents", "kind": "kinds", "tag": "tags", "trait": "traits", "path": "path"}
StoreId = Annotated[str, Path(max_length=100, description="A collection.")]
Store = schema(
    "VectorStoreLine",
    id=str,
    object=Literal["vector_store"],
    created_at=int,
    name=str,
    status=Literal["completed"],
    file_counts=dict[str, int],
    usage_bytes=int,
)
StoresReply = schema("VectorStoresReply", object=Literal["list"], data=[Store], has_more=bool)
FoundFile = schema(
    "FoundFile",
    file_id=str,
    filename=str,
    score=float,
    attributes=dict[str, Any],
    content=list[dict[str, str]],
)
FoundFiles = schema(
    "FoundFiles",
    object=Literal["vector_store.search_results.page"],
    search_query=list[str],
    data=[FoundFile],
    has_more=bool,
    next_page=None | str,
)


@file_search_router.get("/vector_stores", response_model=StoresReply)
async def stores(visit: Reader) -> Response:
    """List the collections, as stores of files."""
    lines = [await _store(visit, name) for name in visit.mine]
    return reply({"object": "list", "data": lines, "has_more": False})


@file_search_router.get("/vector_stores/{store}", response_model=Store)
async def store(store: StoreId, visit: Reader) -> Response:
    """Tell about one collection."""
    return reply(await _store(visit, store))


async def _store(visit: Any, name: str) -> dict[str, Any]:
    count = await visit.read(name, lambda index: len(index.documents()))
    others = dict.fromkeys(("in_progress", "failed", "cancelled"), 0)
    return {
        "id": name,
        "object": "vector_store",
        "created_at": STARTED,
        "name": name,
        "status": "completed",
        "file_counts": {"completed": count, "total": count, **others},
        "usage_bytes": 0,
    }


class RankingOptions(Lenient):
    score_threshold: Annotated[float, Field(ge=0, le=1)] = 0.0


class StoreSearchBody(Lenient):
    """A question to a store of files; of several, the first is asked."""

    query: Query | Annotated[list[Query], Field(min_length=1, max_length=10)]
    max_num_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] = 10
    filters: dict[str, Any] | None = None
    ranking_options: RankingOptions = RankingOptions()


@file_search_router.post("/vector_stores/{store}/search", response_model=FoundFiles)
async def search_store(store: StoreId, body: StoreSearchBody, visit: Reader) -> Response:
    """Find passages as `client.vector_stores.search` does; attributes name the exact place."""
    queries = [body.query] if isinstance(body.query, str) else body.query
    filters = filters_of(body.filters)
    least = body.ranking_options.score_threshold

    def work(index: IndexReader) -> dict[str, Any]:
        lines: dict[str, dict[str, Any]] = {}
        for query in queries:
            for passage in index.search(query, body.max_num_results, filters).passages:
                lines.setdefault(passage.place.id, _file(passage))
        found = sorted(lines.values(), key=lambda each: -each["score"])
        return {
            "object": "vector_store.search_results.page",
            "search_query": queries,
            "data": [each for each in found if each["score"] >= least][: body.max_num_results],
            "has_more": False,
            "next_page": None,
        }

    return reply(await visit.read(store, work, queries[0]))


def _file(passage: Passage) -> dict[str, Any]:
    place = passage.place
    attributes = {
        "citation": passage.citation,
        "locator": place.locator,
        "kind": place.kind,
        "path": " > ".join(place.path)[:512],
        **({"page": passage.page} if passage.page is not None else {}),
    }
    return {
        "file_id": f"{place.span.doc_id}#{place.locator}",
        "filename": place.span.doc_id,
        "score": _score(passage),
        "attributes": attributes,
        "content": [{"type": "text", "text": place.text.strip()}],
    }


def _score(passage: Passage) -> float:
    """Return a score from 0 to 1 in the order of the hits: what is named comes before all."""
    score = max(0.0, passage.hit.score)
    return 1.0 if passage.is_named else score / (1 + score)


def filters_of(given: dict[str, Any] | None) -> Filters:
    """Return OpenAI's comparisons as filters of ours; ServiceError for those that have no such."""
    chosen: dict[str, tuple[str, ...]] = {}
    waiting = [given] if given else []
    while waiting:
        each = waiting.pop()
        kind, key = each.get("type"), str(each.get("key", ""))
        if kind == "and" and isinstance(each.get("filters"), list) and len(waiting) < MAX_RESULTS:
            waiting += [part for part in each["filters"] if isinstance(part, dict)]
            continue
        if kind not in ("eq", "in") or key not in KEYS:
            raise ServiceError(
                f"filters: cannot compare {kind!r} of {key!r}",
                400,
                hint=f"use eq or in, joined by and, of: {', '.join(KEYS)}",
            )
        values = each.get("value")
        values = values if isinstance(values, list) else [values]
        chosen[KEYS[key]] = (*chosen.get(KEYS[key], ()), *map(str, values))
    return Filters(**chosen)  # type: ignore[arg-type]


class FileSearchTool(Lenient):
    type: str
    vector_store_ids: Annotated[tuple[str, ...], Field(max_length=10)] = ()
    max_num_results: Annotated[int, Field(ge=1, le=MAX_RESULTS)] | None = None
    filters: dict[str, Any] | None = None


class ResponsesBody(Lenient):
    """A question to be answered from files; without tools, from the collection of the model."""

    input: str | Annotated[list[ChatMessage], Field(min_length=1, max_length=200)]
    model: str = MODEL
    tools: Annotated[tuple[FileSearchTool, ...], Field(max_length=10)] = ()
    include: Annotated[list[str], Field(max_length=10)] | None = None
    stream: bool | None = None


ResponsesReply = schema(
    "ResponsesReply",
    id=str,
    object=Literal["response"],
    created_at=float,
    status=Literal["completed"],
    model=str,
    output=list[dict[str, Any]],
    parallel_tool_calls=bool,
    tool_choice=str,
    tools=list[dict[str, Any]],
)


@file_search_router.post("/responses", response_model=ResponsesReply)
async def responses(body: ResponsesBody, visit: Reader) -> Response:
    """Answer from files as the tool `file_search` does: the call, then words with citations."""
    if body.stream:
        raise ServiceError("stream: not here", 400, hint="stream POST /v1/chat/completions")
    said: Any = body.input
    pairs = [("user", said)] if isinstance(said, str) else [(m.role, m.content) for m in said]
    question, history = question_of(pairs)
    tool = next((each for each in body.tools if each.type == "file_search"), None)
    _, _, collection = body.model.partition("/")
    if tool and len(tool.vector_store_ids) > 1:
        raise ServiceError("vector_store_ids: one store at a time", 400, hint="ask each in turn")
    if tool and tool.vector_store_ids:
        collection = tool.vector_store_ids[0]
    filters = filters_of(tool.filters if tool else None)
    k = tool.max_num_results if tool else None
    asking = AnswerRequest(visit, collection, question, k, filters, history=history)
    answer = await answer_of(await asking.stream())
    with_results = "file_search_call.results" in (body.include or ())
    return reply(_response(answer, body, with_results=with_results))


def _response(answer: Answer, body: ResponsesBody, *, with_results: bool) -> dict[str, Any]:
    search = {
        "id": f"fs_{secrets.token_hex(12)}",
        "type": "file_search_call",
        "status": "completed",
        "queries": [answer.question],
        "results": [_source(each) for each in answer.sources] if with_results else None,
    }
    message = {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [_words(answer)],
    }
    return {
        "id": f"resp_{secrets.token_hex(12)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "completed",
        "model": body.model,
        "output": [search, message],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [each.model_dump(exclude_none=True) for each in body.tools],
    }


def _source(source: Any) -> dict[str, Any]:
    return {
        "file_id": f"{source.span.doc_id}#{source.locator}",
        "filename": source.span.doc_id,
        "score": 1.0,
        "text": source.text,
        "attributes": {"citation": source.citation, "locator": source.locator},
    }


def _words(answer: Answer) -> dict[str, Any]:
    """Return the text with a citation behind each sentence that has one."""
    above = short_above(answer.short)
    text = above + answer.text + sources_below(answer)
    documents = {source.number: source.span.doc_id for source in answer.sources}
    notes, at = [], len(above)
    for sentence in answer.sentences:
        start = text.find(sentence.text, at)
        at = start + len(sentence.text) if start >= 0 else at
        for each in sentence.citations:
            document = documents[each.source]
            place = f"{document}#{each.locator}"
            found = {"type": "file_citation", "file_id": place, "filename": document}
            notes.append({**found, "index": at})
    return {"type": "output_text", "text": text, "annotations": notes, "logprobs": []}


class BlocksBody(Strict):
    """A question whose hits are wanted as blocks for Anthropic's Messages."""

    query: Query
    k: Count | None = None
    collection: CollectionName = ""
    filters: FilterBody = FilterBody()


BlocksReply = schema("BlocksReply", content=list[dict[str, Any]])


@file_search_router.post("/search_results", response_model=BlocksReply)
async def search_results(body: BlocksBody, visit: Reader) -> Response:
    """Find passages as `search_result` blocks, one a clause, citations on (Anthropic Messages)."""

    def work(index: IndexReader) -> dict[str, Any]:
        result = index.search(body.query, body.k, body.filters.filters())
        return {"content": result_blocks(result.passages)}

    return reply(await visit.read(body.collection, work, body.query))
