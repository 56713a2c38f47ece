"""POST /rerank, /v1/rerank, /v2/rerank: one handler for the dialects of Cohere, Jina, TEI, vLLM.

They differ in names (``documents`` or ``texts``, ``top_n`` or ``top_k``) and in what comes back:
TEI gives a bare list, the others an object; all of them overlook fields that they do not know.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, RootModel

from pincite.serve.errors import ServiceError
from pincite.serve.requests import ERRORS, Reader, TheAsked, TheService, reply
from pincite.serve.scoring import Scored, scored, scorer_of

router = APIRouter(tags=["compatibility"], responses=ERRORS)
MOST_CHARS = 200_000  # of one text


class SpanWish(BaseModel):
    """Which stretches of a text make it relevant."""

    model_config = ConfigDict(extra="ignore")
    mode: str = "disabled"
    threshold: float = 0.1
    max_spans: Annotated[int, Field(ge=1)] | None = None


class RerankBody(BaseModel):
    """A question and texts, in any of the dialects; unknown fields are overlooked."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={
            "examples": [
                {"query": "earth rod spacing", "documents": ["2.4 m apart", "red"], "top_n": 1}
            ]
        },
    )
    query: Annotated[str, Field(max_length=10_000)]
    model: str | None = None
    documents: list[str | dict[str, Any]] | None = None
    texts: list[str] | None = None
    top_n: Annotated[int, Field(ge=0)] | None = None
    top_k: Annotated[int, Field(ge=0)] | None = None
    return_documents: bool | None = None
    return_text: bool = False
    raw_scores: bool = False
    rank_fields: list[str] | None = None
    relevant_spans: SpanWish | None = None

    def plain_texts(self) -> list[str]:
        """Return the texts; ServiceError if a document has none."""
        if self.texts is not None:
            return self.texts
        if self.documents is None:
            raise ServiceError("documents: missing", 422, hint="or texts, as TEI has it")
        return [_text(each, self.rank_fields) for each in self.documents]


def _text(document: str | dict[str, Any], fields: list[str] | None) -> str:
    if isinstance(document, str):
        return document
    names = fields or ["text"]
    values = [document[name] for name in names if isinstance(document.get(name), str)]
    if not values:
        raise ServiceError(f"a document has no {' or '.join(names)}", 422)
    return "\n".join(values)


class TextDocument(BaseModel):
    text: str


class RerankLine(BaseModel):
    model_config = ConfigDict(extra="allow")
    index: int
    relevance_score: float
    document: TextDocument | None = None


class RerankReply(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: str
    model: str
    results: list[RerankLine]
    usage: dict[str, int]
    meta: dict[str, Any]


class TeiLine(BaseModel):
    index: int
    score: float
    text: str | None = None


class EitherReply(RootModel[RerankReply | list[TeiLine]]):
    """An object; a bare list where ``texts`` was sent."""


@router.post("/rerank", response_model=EitherReply)
@router.post("/v1/rerank", response_model=EitherReply)
@router.post("/v2/rerank", response_model=EitherReply)
async def rerank(
    body: RerankBody, request: Request, service: TheService, _: Reader, asked: TheAsked
) -> Response:
    """Order texts by how probable it is that they answer a question."""
    texts = body.plain_texts()
    if len(texts) > service.limits.texts:
        raise ServiceError(f"{len(texts)} texts: at most {service.limits.texts}", 413)
    if any(len(text) > MOST_CHARS for text in texts):
        raise ServiceError(f"a text is longer than {MOST_CHARS:,} characters", 413)
    asked.query, asked.facts["texts"] = body.query, len(texts)

    def work() -> Response:
        scorer = scorer_of(service.settings)
        found = scored(
            scorer,
            body.query,
            texts,
            window_tokens=service.settings.rerank.window_tokens,
            seconds=service.limits.search_seconds,
            is_raw=body.raw_scores,
        )
        wanted = body.top_n or body.top_k or len(found)
        if body.texts is not None:
            return reply(_tei(found[:wanted], texts, with_text=body.return_text))
        is_v2 = request.url.path == "/v2/rerank"
        return reply(_union(body, found[:wanted], texts, scorer.id, is_v2=is_v2))

    return await service.searching.run(service.limits.search_seconds, work)


def _tei(found: list[Scored], texts: list[str], *, with_text: bool) -> list[dict[str, Any]]:
    return [
        {
            "index": each.index,
            "score": each.score,
            **({"text": texts[each.index]} if with_text else {}),
        }
        for each in found
    ]


def _union(
    body: RerankBody, found: list[Scored], texts: list[str], model: str, *, is_v2: bool
) -> dict[str, Any]:
    # Cohere's second version never gives documents back; Jina and vLLM do if nobody says otherwise.
    shows = body.return_documents if body.return_documents is not None else not is_v2
    lines = []
    for each in found:
        line: dict[str, Any] = {"index": each.index, "relevance_score": each.score}
        if shows:
            line["document"] = {"text": texts[each.index]}
        if body.relevant_spans is not None and body.relevant_spans.mode == "enabled":
            line["relevant_spans"] = _spans(each, body.relevant_spans)
        lines.append(line)
    words = sum(len(text.split()) for text in texts) + len(body.query.split())
    answer: dict[str, Any] = {
        "id": f"rerank-{secrets.token_hex(8)}",
        "object": "rerank",
        "model": model,
        "results": lines,
        "usage": {"prompt_tokens": words, "total_tokens": words},
        "meta": {
            "api_version": {"version": "2" if is_v2 else "1"},
            "billed_units": {"search_units": 1},
        },
    }
    return {**answer, "data": lines} if body.top_k is not None else answer


def _spans(found: Scored, wish: SpanWish) -> list[dict[str, Any]]:
    good = sorted((s for s in found.spans if s[2] >= wish.threshold), key=lambda s: (-s[2], s[0]))
    return [{"start": a, "end": b, "score": score} for a, b, score in good[: wish.max_spans]]
