"""What other programs send: requests, addresses, streams of answers, words of a language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import httpx
from pydantic import ValidationError
from starlette.datastructures import QueryParams

from fuzz.harness import Target, halves, text_of
from fuzz.targets.places import index
from pincite.answer.agent.agent import MAX_ARGUMENT_CHARS, MAX_CALLS, _calls, _content
from pincite.answer.asker import Asker
from pincite.answer.language_model import LanguageModel, _Stream
from pincite.answer.sentences import Ended, SentenceReader, cited_numbers
from pincite.client import calls
from pincite.client.calls import EventReader
from pincite.client.errors import refusal
from pincite.encode.http import Incoming
from pincite.model.errors import PinciteError
from pincite.model.settings import Answering
from pincite.serve.openai_routes import ChatBody, EmbeddingBody, _texts, question_of
from pincite.serve.page.look import look_of
from pincite.serve.requests import CellBody, ExplainBody, SearchBody, ShowBody, SimilarBody
from pincite.serve.search_routes import RerankBody

REFUSED = (PinciteError, ValidationError)


def rerank_body(data: bytes) -> None:
    body = RerankBody.model_validate_json(data)
    assert all(isinstance(text, str) for text in body.plain_texts())


def openai_body(data: bytes) -> None:
    kind, body = data[:1], data[1:]
    if kind == b"e":
        assert all(
            isinstance(text, str) for text in _texts(EmbeddingBody.model_validate_json(body).input)
        )
        return
    chat = ChatBody.model_validate_json(body)
    question, history = question_of([(each.role, each.content) for each in chat.messages])
    assert 0 < len(question) <= 2000 and len(history) <= 20
    chat.chosen_collection()


def native_body(data: bytes) -> None:
    kinds = (SearchBody, ExplainBody, ShowBody, CellBody, SimilarBody)
    kind = kinds[data[0] % len(kinds)] if data else SearchBody
    body = kind.model_validate_json(data[1:])
    if isinstance(body, SearchBody):
        body.filters.filters()
        assert body.query.strip() and len(body.query) <= 2000


def address(data: bytes) -> None:
    request: Any = SimpleNamespace(query_params=QueryParams(text_of(data)))
    look = look_of(request)
    look = look.but(rest={name: value for name, value in look.rest.items() if value})
    again: Any = SimpleNamespace(query_params=QueryParams(look.url("/").partition("?")[2]))
    assert look_of(again) == look, "an address means what it says"


def events(data: bytes) -> None:
    """The same bytes give the same events, however they are cut."""
    whole, pieces = EventReader(), EventReader()
    told: list[Any] = []
    parts: list[Any] = []
    error = other = None
    try:
        told += whole.feed(data)
    except PinciteError as problem:
        error = problem.message
    try:
        for at in range(0, len(data), 7):
            parts += pieces.feed(data[at : at + 7])
    except PinciteError as problem:
        other = problem.message
    assert [each.plain() for each in told] == [each.plain() for each in parts]
    assert error == other
    if error:
        raise PinciteError(error)


def replies(data: bytes) -> None:
    """What the client understands of a service's answers; an error's words are short."""
    first, second = halves(data)
    assert len(refusal(500, first).message) <= 600
    kind, body = second[:1], second[1:]
    read: dict[bytes, calls.RequestCall[Any]] = {
        b"s": calls.search("q", companions=0),
        b"p": calls.show("1.2"),
    }
    read.get(kind, calls.documents()).answered(body)


def sentence_reader(data: bytes) -> None:
    """However the words of a model arrive, the same sentences and citations come of them."""
    text = text_of(data)
    results = []
    for size in (len(text) or 1, 1, 5):
        reader = SentenceReader()
        pieces = [p for at in range(0, len(text), size) for p in reader.feed(text[at : at + size])]
        pieces += reader.close()
        results.append([each for each in pieces if isinstance(each, Ended)])
        shown = "".join(each for each in pieces if isinstance(each, str))
        assert "://" not in shown or len(text) > 3000 or "](" in text or "//" in text
    if len(text) <= 3000:
        assert results[1] == results[2], "sentences depend on how they arrived"
    assert all(number >= 0 for number in cited_numbers(text[:80]))


def model_stream(data: bytes) -> None:
    """A stream of a language model: words and what they cost, or ModelError."""
    kind = "text/event-stream" if data[:1] != b"w" else "application/json"
    settings = Answering(url="http://localhost:1/v1", model="m", retries=0)
    model = LanguageModel(settings)
    pieces = (data[at : at + 97] for at in range(1, len(data), 97))
    response = httpx.Response(200, headers={"Content-Type": kind}, content=pieces)
    model.service.open = lambda body, max_bytes=0: Incoming(model.service, response, 10**6)  # type: ignore[method-assign]
    stream = _Stream(model, [{"role": "user", "content": "x"}])
    words = list(stream.words())
    assert all(isinstance(each, str) for each in words)
    used = stream.usage()
    assert used.prompt_tokens >= 0 and used.completion_tokens >= 0


def tool_calls(data: bytes) -> None:
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise PinciteError("no JSON") from None
    if not isinstance(message, dict):
        raise PinciteError("no message")
    called = _calls(message)
    assert len(called) <= MAX_CALLS and isinstance(_content(message), str)
    assert all(len(each["function"]["arguments"]) <= MAX_ARGUMENT_CHARS for each in called)


def _sse(*pairs: tuple[str, Any]) -> bytes:
    return b"".join(f"event: {n}\ndata: {json.dumps(v)}\n\n".encode() for n, v in pairs)


def _event_seeds() -> list[bytes]:
    told = [(each.name, each.plain()) for each in Asker(index()).ask("what is an earth rod?")]
    none = [(each.name, each.plain()) for each in Asker(index()).ask("97.999(z)")]
    cited = {"source": 1, "locator": "1", "page": None, "quote": "abc", "ok": True, "reason": ""}
    placed = {**cited, "document": "d", "span": [0, 3], "sentence": 0}
    error = {"message": "m", "hint": "h", "kind": "k", "status": 500}
    few = _sse(("citation", placed), ("citation_rejected", placed), ("error", error))
    each = [part for pair in (*told, *none) if len(part := _sse(pair)) < 4000]
    return [*each[:12], few, b": hi\n\nevent: token\ndata: {}\n\n"]


_DELTA = b'data: {"choices": [{"delta": {"content": "Hello [1]. "}}]}\n\n'
_BODIES: Sequence[bytes] = (
    b'{"query": "rod", "documents": ["a", {"text": "b"}], "top_n": 1, "rank_fields": ["text"]}',
    b'{"query": "rod", "texts": ["a", "b"], "raw_scores": true, "return_text": true}',
    b'{"query": "x", "documents": [], "relevant_spans": {"mode": "enabled", "threshold": 0.2}}',
)
_FOUND = {
    "collection": "c",
    "generation": 1,
    "query": "q",
    "missing": [],
    "companions": [],
    "corrections": {},
    "note": None,
    "notes": [],
    "seconds": {},
    "filters": {},
    "hits": [
        {
            "rank": 1,
            "citation": "c",
            "locator": "1",
            "document": "d",
            "title": "t",
            "path": [],
            "page": None,
            "kind": "clause",
            "span": [0, 1],
            "snippet": "s",
            "marks": [[0, 1]],
            "score": 1.0,
            "why": {},
            "raw": {},
            "chunk": {"id": "i", "locator": "1", "kind": "clause", "span": [0, 1], "text": "s"},
        }
    ],
}
_NATIVE = {"query": "rod", "k": 3, "filters": {"documents": ["*"], "pages": [1, 2]}, "budget_ms": 5}
_WORDS = (
    "null",
    "1e999",
    "-1",
    "[]",
    '"query":',
    '"messages":',
    '"content":',
    "\\ud800",
    "true",
    "[[",
)
TARGETS = [
    Target(
        "rerank-bodies",
        "texts to score, or an error of the form",
        rerank_body,
        lambda: _BODIES,
        (*_WORDS, '"documents":', '"texts":', '"top_n":'),
        smoke=300,
        refusals=REFUSED,
    ),
    Target(
        "openai-bodies",
        "a question within its limits, or an error of the form",
        openai_body,
        lambda: [
            b'c{"messages": [{"role": "user", "content": "How far?"}], "stream": true}',
            b'c{"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]}',
            b'e{"input": ["a"], "encoding_format": "base64"}',
        ],
        _WORDS,
        smoke=300,
        refusals=REFUSED,
    ),
    Target(
        "native-bodies",
        "a strict request, or an error of the form",
        native_body,
        lambda: [
            b"\0" + json.dumps(_NATIVE).encode(),
            b'\2{"locator": "210.8(A)"}',
            b'\3{"table": "T 1", "row": "5"}',
            b'\4{"locator": "x", "least": 0.5}',
        ],
        (*_WORDS, '"as_of":', '"pages":'),
        smoke=300,
        refusals=REFUSED,
    ),
    Target(
        "page-address",
        "an address that is written again means the same, or ConfigError",
        address,
        lambda: [b"q=a+b&k=5&in=x.md&at=120-340&as_of=2021&view=page", b"doc=%2e%2e%2f&kind=rule"],
        ("q=", "at=", "%00", "%ff", "&", "k=999999999", "in="),
        smoke=500,
    ),
    Target(
        "event-stream",
        "the same events however the bytes are cut, or one error",
        events,
        _event_seeds,
        ("event: ", "data: ", "\n\n", "complete", "abstain", "citation", "search", "1e999"),
        4000,
        smoke=100,
    ),
    Target(
        "client-replies",
        "what a service sends is understood, or refused in short words",
        replies,
        lambda: [
            b'{"error": {"message": "m", "kind": "k"}}\0s' + json.dumps(_FOUND).encode(),
            b'{"error": 5}\0p{"places": []}',
        ],
        _WORDS,
        2000,
        smoke=300,
    ),
    Target(
        "model-sentences",
        "sentences do not depend on how they arrive",
        sentence_reader,
        lambda: [b"A rod is long [1]. See [2, 3-5] and [x](http://a.b/c).\nYes! www.a.b [1"],
        ("[1]", "[^2]", "](", "http://", "\n", "...", "!["),
        800,
        smoke=80,
    ),
    Target(
        "model-stream",
        "words and what they cost, or ModelError",
        model_stream,
        lambda: [
            b"s" + _DELTA + b"data: [DONE]\n\n",
            b's: x\n\ndata: {"usage": {"prompt_tokens": 1}}\n\n',
            b'w{"choices": [{"message": {"content": "Hi"}}], "usage": {"prompt_tokens": 1}}',
        ],
        ("data: ", "[DONE]", '"error":', '"finish_reason":', "1e999", "NaN"),
        smoke=100,
    ),
    Target(
        "tool-calls",
        "calls within their limits",
        tool_calls,
        lambda: [
            b'{"content": null, "tool_calls": [{"id": "a", "function": {"name": "search", '
            b'"arguments": "{}"}}]}'
        ],
        (*_WORDS, '"function":', '"arguments":'),
        smoke=300,
    ),
]
