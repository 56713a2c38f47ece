"""Search, checking, citing and re-ranking over HTTP."""

from __future__ import annotations

import base64
import secrets
from collections.abc import AsyncIterator, Generator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, TypeVar, cast

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError

from pincite.check.checker import Checker
from pincite.check.values import CheckedClaim, CheckReport
from pincite.client.values import CitedText
from pincite.encode.encoders import open_encoder
from pincite.encode.models import Encoder
from pincite.model.errors import ConfigError, PinciteError
from pincite.model.settings import Settings
from pincite.model.types import PairScorer
from pincite.search.citing import CitingStyle
from pincite.search.pair_scorers import LazyScorer, open_scorer
from pincite.search.reader import IndexReader
from pincite.search.windows import checked, stretches
from pincite.serve import reading
from pincite.serve.ask_routes import STREAM, AnswerStream, event_lines, event_stream, wants_stream
from pincite.serve.errors import ServiceError
from pincite.serve.requests import (
    ERRORS,
    FROM,
    App,
    CellBody,
    CellsReply,
    CollectionName,
    ExplainBody,
    ExplainReply,
    Locator,
    Name,
    Reader,
    Receive,
    Scope,
    SearchBody,
    SearchReply,
    Send,
    ShowBody,
    ShowReply,
    SimilarBody,
    SimilarReply,
    Strict,
    described,
    reply,
    schema,
    tell,
    visit_with,
)
from pincite.serve.service import SearchService

search_router = APIRouter(prefix="/v1", tags=["search"], responses=ERRORS)


@search_router.post("/search", response_model=SearchReply)
async def search(body: SearchBody, visit: Reader) -> Response:
    """Find the passages that answer a query, each with its place and the reason it is there."""

    def work(index: IndexReader) -> dict[str, Any]:
        filters, k, companions = body.filters.filters(), body.k, body.companions
        found = reading.search(
            index, body.query, k, filters, companions=companions, budget_ms=body.budget_ms
        )
        visit.asked.facts["hits"] = len(found["hits"])
        return found

    return await visit.answer(body.collection, work, body.query)


def direct_search(app: App) -> App:
    """Return what answers searches without the framework, which looks for more and takes as long.

    Whatever is unusual about a request is left to the application, which says what is wrong.
    """
    find_visit: Any = visit_with("read")
    route = next(r for r in search_router.routes if getattr(r, "endpoint", None) is search)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        told = [value for name, value in scope["headers"] if name in (b"content-type", b"origin")]
        if scope["method"] != "POST" or told != [b"application/json"]:
            await app(scope, receive, send)
            return
        messages = [await receive()]
        while messages[-1].get("more_body"):
            messages.append(await receive())
        try:
            data = b"".join(message.get("body", b"") for message in messages)
            body = SearchBody.model_validate_json(data)
        except ValidationError:

            async def again() -> MutableMapping[str, Any]:
                return messages.pop(0) if messages else await receive()

            await app(scope, again, send)
            return
        scope["route"] = route
        request = Request(scope)
        try:
            response = await search(body, await find_visit(request))
        except PinciteError as error:
            response = tell(request, error)
        await response(scope, receive, send)

    return answer


@search_router.post("/explain", response_model=ExplainReply)
async def explain(body: ExplainBody, visit: Reader) -> Response:
    """Tell what each stage made of a query and, with a place, which stage lost it."""

    def work(index: IndexReader) -> dict[str, Any]:
        filters = body.filters.filters()
        return reading.explain(index, body.query, body.k, filters, body.place, body.document)

    return await visit.answer(body.collection, work, body.query)


@search_router.post("/show", response_model=ShowReply)
async def show(body: ShowBody, visit: Reader) -> Response:
    """Show the places of a name, exactly as they stand."""

    def work(index: IndexReader) -> dict[str, Any]:
        return {"places": reading.show(index, body.locator, body.document, body.as_of)}

    return await visit.answer(body.collection, work)


@search_router.post("/cell", response_model=CellsReply)
async def cell(body: CellBody, visit: Reader) -> Response:
    """Look up a value in a table; a number fits the row whose range holds it."""

    def work(index: IndexReader) -> dict[str, Any]:
        return {"cells": reading.cells(index, body.table, body.row, body.column, body.document)}

    return await visit.answer(body.collection, work)


@search_router.post("/similar", response_model=SimilarReply)
async def similar(body: SimilarBody, visit: Reader) -> Response:
    """Find what other sections say nearly the same, by the vectors of the index."""

    def work(index: IndexReader) -> dict[str, Any]:
        return {"places": reading.similar(index, body.locator, body.document, body.k, body.least)}

    return await visit.answer(body.collection, work)


CHECKED_CHARS = 500_000  # of a text to check


class CheckBody(Strict):
    """A text to check against the documents."""

    text: Annotated[str, Field(min_length=1, max_length=CHECKED_CHARS)]
    collection: CollectionName = ""
    stream: bool | None = Field(
        None, description="Verdicts as they are reached; left out: as the header Accept wishes."
    )


CHECKED = schema(
    "CheckedClaimReply",
    kind=str,
    start=int,
    end=int,
    text=str,
    verdict=str,
    failed=bool,
    reason=str,
    cited=str,
    evidence=dict[str, Any] | None,
    remedy=described(str, "The exact words to paste, or the right place."),
    changes=list[dict[str, str]],
    probability=described(float | None, "That a statement is supported."),
)
CheckReply = schema(
    "CheckReply", **FROM, claims=[CHECKED], counts=dict[str, int], failed=int, notes=list[str]
)
CiteReply = schema("CiteReply", CitedText)
EXAMPLE = """id: 1
event: claim
data: {"kind": "quotation", "start": 14, "end": 60, "verdict": "altered", …}

id: 2
event: complete
data: {"counts": {"altered": 1}, "failed": 1, "notes": [], "generation": 3}
"""
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report, or its verdicts one after the other.",
        "content": {STREAM: {"example": EXAMPLE}},
    }
}


@dataclass(frozen=True, slots=True)
class ClaimEvent:
    """A claim that was checked."""

    name: ClassVar[str] = "claim"
    claim: CheckedClaim

    def plain(self) -> dict[str, Any]:
        return self.claim.plain()


@dataclass(frozen=True, slots=True)
class ReportEvent:
    """The end of a check: how many claims have which verdict."""

    name: ClassVar[str] = "complete"
    report: CheckReport
    generation: int

    def plain(self) -> dict[str, Any]:
        told = self.report.plain()
        del told["claims"]  # each was told before
        return {**told, "generation": self.generation}


@search_router.post("/check", response_model=CheckReply, responses=STREAMED)
async def check(body: CheckBody, request: Request, visit: Reader) -> Response:
    """Check every quotation, number and citation of a text, each with evidence and remedy."""
    if wants_stream(body.stream, request):
        return event_stream(await _streamed(body, visit))

    chosen = visit.collection(body.collection)

    def work() -> Steps[Response]:
        with chosen.lease(visit.caller.access) as index:
            checking, claims = Checker(index).stream(body.text), []
            for claim in checking.claims:
                claims.append(claim)
                yield  # others have their turn
            visit.asked.facts["hits"] = len(claims)
            report = CheckReport(tuple(claims), checking.notes)
            where = {"collection": chosen.name, "generation": reading.generation_of(index)}
            return reply({**where, **report.plain()})

    return await visit.in_turns(work, visit.service.reading)


async def _streamed(body: CheckBody, visit: Reader) -> AsyncIterator[str]:
    """Return the lines of a check that has begun; others have their turn between two claims."""

    def make(index: IndexReader) -> Generator[ClaimEvent | ReportEvent]:
        found = []
        checking = Checker(index).stream(body.text)
        for claim in checking.claims:
            found.append(claim)
            yield ClaimEvent(claim)
        visit.asked.facts["hits"] = len(found)
        yield ReportEvent(CheckReport(tuple(found), checking.notes), reading.generation_of(index))

    chosen = visit.collection(body.collection)
    stream = AnswerStream(visit, chosen, chosen.lease(visit.caller.access), make)
    await stream.begin()
    return event_lines(stream)


@search_router.get("/cite", response_model=CiteReply)
async def cite(
    visit: Reader,
    place: Annotated[Locator, Query(examples=["210.8(A)(2)"])],
    style: Annotated[CitingStyle, Query(alias="as")] = "plain",
    document: Name | None = None,
    links: Annotated[Name, Query(description="Where the documents stand on the web.")] = "",
    collection: CollectionName = "",
) -> Response:
    """Cite a place, as people, reference managers or annotations do."""

    def work(index: IndexReader) -> dict[str, Any]:
        return reading.cited(index, place, style, document, links)

    return await visit.answer(collection, work)


# Pairs until others have their turn.
BATCH = 16
T = TypeVar("T")
Steps = Generator[None, None, T]


@dataclass(frozen=True, slots=True)
class ScoredText:
    """One text: how probable it is that it answers, and how probable each stretch of it."""

    index: int
    score: float
    spans: tuple[tuple[int, int, float], ...]


def scorer_of(settings: Settings) -> PairScorer:
    """Return the scorer of the settings, whether or not searches use it."""
    scorer = open_scorer(replace(settings.reranking, enabled=True))
    if scorer is None:
        raise ConfigError("no re-ranking model", hint="set rerank.model")
    return scorer


def scored(
    scorer: PairScorer,
    query: str,
    texts: Sequence[str],
    *,
    window_tokens: int,
    is_raw: bool = False,
) -> Steps[list[ScoredText]]:
    """Return the texts best first; a long one counts with its best stretch, and none is cut."""
    windows = [stretches(text, window_tokens) for text in texts]
    flat = list(
        dict.fromkeys(
            text[a:b].strip() for text, own in zip(texts, windows, strict=True) for a, b in own
        )
    )
    known: dict[str, float] = {}
    for at in range(0, len(flat), BATCH):
        some = flat[at : at + BATCH]
        known.update(zip(some, _scores(scorer, query, some, is_raw=is_raw), strict=True))
        yield
    lowest = min(known.values(), default=0.0) if is_raw else 0.0
    found = []
    for number, (text, own) in enumerate(zip(texts, windows, strict=True)):
        spans = tuple((a, b, known[text[a:b].strip()]) for a, b in own)
        best = max((score for _, _, score in spans), default=lowest)
        found.append(ScoredText(number, best, spans))
    return sorted(found, key=lambda each: (-each.score, each.index))


def _scores(
    scorer: PairScorer, query: str, texts: Sequence[str], *, is_raw: bool
) -> Sequence[float]:
    if is_raw:
        loaded: Any = scorer.load() if isinstance(scorer, LazyScorer) else scorer
        if hasattr(loaded, "logits"):
            return cast(list[float], loaded.logits(query, texts))
    return checked(scorer.score(query, texts), len(texts))


def encoder_of(settings: Settings) -> Encoder:
    encoder = open_encoder(settings.encoding)
    if encoder is None:
        raise ConfigError("no embedding model", hint="set embedding.model")
    return encoder


def embedded(encoder: Encoder, texts: Sequence[str], *, is_query: bool) -> Steps[tuple[Any, int]]:
    """Return the vectors of texts, and how many tokens they have."""
    found = [np.zeros((0, encoder.spec.dimension), np.float32)]
    tokens = 0
    for at in range(0, len(texts), BATCH):
        some = texts[at : at + BATCH]
        tokens += sum(len(encoder.token_starts(text)) for text in some)
        if is_query:
            found.append(np.array([encoder.encode_query(text) for text in some], np.float32))
        else:
            prefix = encoder.spec.text_prefix
            found.append(np.asarray(encoder.encode([prefix + t for t in some]), np.float32))
        yield
    return np.concatenate(found), tokens


def check_work(texts: Sequence[str], service: SearchService) -> None:
    """Refuse more texts than the limits allow, and more to read."""
    limits, length = service.limits, sum(map(len, texts))
    if len(texts) > limits.texts:
        raise ServiceError(f"{len(texts)} texts: at most {limits.texts}", 413)
    if length > limits.text_chars:
        told = f"texts of {length:,} characters: at most {limits.text_chars:,} at a time"
        raise ServiceError(told, 413, hint="send them in several requests")


def as_base64(vector: Any) -> str:
    """Return a vector as OpenAI's clients ask for it: little-endian floats of 32 bits."""
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode("ascii")


rerank_router = APIRouter(tags=["compatibility"], responses=ERRORS)


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


@rerank_router.post("/rerank", response_model=EitherReply)
@rerank_router.post("/v1/rerank", response_model=EitherReply)
@rerank_router.post("/v2/rerank", response_model=EitherReply)
async def rerank(body: RerankBody, request: Request, visit: Reader) -> Response:
    """Order texts by how probable it is that they answer a question."""
    texts, service = body.plain_texts(), visit.service
    check_work(texts, service)
    visit.asked.query, visit.asked.facts["texts"] = body.query, len(texts)

    def work() -> Steps[Response]:
        scorer = scorer_of(service.settings)
        found = yield from scored(
            scorer,
            body.query,
            texts,
            window_tokens=service.settings.tuning.rerank.window_tokens,
            is_raw=body.raw_scores,
        )
        wanted = body.top_n or body.top_k or len(found)
        if body.texts is not None:
            lines = [{"index": each.index, "score": each.score} for each in found[:wanted]]
            shown = [{"text": texts[e.index]} if body.return_text else {} for e in found[:wanted]]
            return reply([line | more for line, more in zip(lines, shown, strict=True)])
        is_v2 = request.url.path == "/v2/rerank"
        return reply(_union(body, found[:wanted], texts, scorer.id, is_v2=is_v2))

    return await visit.in_turns(work)


def _union(
    body: RerankBody, found: list[ScoredText], texts: list[str], model: str, *, is_v2: bool
) -> dict[str, Any]:
    # Cohere's second version never gives documents back; Jina and vLLM do if nobody says otherwise.
    shows = body.return_documents if body.return_documents is not None else not is_v2
    lines = []
    for each in found:
        line: dict[str, Any] = {"index": each.index, "relevance_score": each.score}
        if shows:
            line["document"] = {"text": texts[each.index]}
        if body.relevant_spans is not None and body.relevant_spans.mode == "enabled":
            wish = body.relevant_spans
            good = [span for span in each.spans if span[2] >= wish.threshold]
            good.sort(key=lambda span: (-span[2], span[0]))
            line["relevant_spans"] = [
                {"start": a, "end": b, "score": score} for a, b, score in good[: wish.max_spans]
            ]
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
