"""What the native endpoints take and give, as strict values: nothing unknown, nothing converted."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pincite.core.types import Filters

QUERY_CHARS = 2000
MOST_HITS = 200
Name = Annotated[str, Field(max_length=400)]
Names = Annotated[list[Name], Field(max_length=50)]


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
Count = Annotated[int, Field(ge=1, le=MOST_HITS)]
CollectionName = Annotated[
    str, Field(max_length=100, description="A collection; empty: the only or the default one.")
]
Locator = Annotated[str, Field(min_length=1, max_length=400, pattern=r"\S")]


class SearchBody(Strict):
    """A question, words, or the name of a place."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [{"query": "how far apart do two earth rods have to be", "k": 3}]
        },
    )
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


class ErrorFacts(BaseModel):
    """What went wrong and what to do about it."""

    kind: str
    type: str
    code: str
    message: str
    hint: str
    request_id: str


class ErrorReply(BaseModel):
    error: ErrorFacts


class ChunkReply(BaseModel):
    id: str
    locator: str
    kind: str
    span: tuple[int, int]
    text: str


class HitReply(BaseModel):
    rank: int
    citation: str
    locator: str
    document: str
    title: str
    path: list[str]
    page: int | None
    kind: str
    span: tuple[int, int]
    snippet: str
    marks: list[tuple[int, int]]
    score: float
    why: dict[str, float] = Field(description="What each stage added; it adds up to the score.")
    raw: dict[str, float]
    chunk: ChunkReply


class MissingReply(BaseModel):
    place: str
    nearest: str | None


class CompanionReply(BaseModel):
    locator: str
    document: str
    relation: str
    evidence: str
    of: str
    chunk: str


class SearchReply(BaseModel):
    collection: str
    generation: int
    query: str
    filters: dict[str, Any]
    note: str | None
    notes: list[str]
    hits: list[HitReply]
    missing: list[MissingReply]
    corrections: dict[str, str]
    companions: list[CompanionReply]
    seconds: dict[str, float]


class StageHit(BaseModel):
    chunk: str
    document: str
    locator: str
    score: float
    why: dict[str, float]
    raw: dict[str, float]


class StageReply(BaseModel):
    stage: str
    seconds: float
    candidates: int
    hits: list[StageHit]


class StageView(BaseModel):
    stage: str
    rank: int | None
    score: float | None
    needed: float | None
    is_kept: bool


class WhyNotReply(BaseModel):
    document: str
    locator: str
    lost_at: str | None
    reason: str
    stages: list[StageView]


class ExplainReply(BaseModel):
    collection: str
    generation: int
    query: str
    stages: list[StageReply]
    seconds: dict[str, float]
    why_not: list[WhyNotReply]


class PlaceReply(BaseModel):
    chunk: str
    document: str
    title: str
    locator: str
    kind: str
    heading: str
    path: list[str]
    page: int | None
    span: tuple[int, int]
    text: str
    children: list[str]


class ShowReply(BaseModel):
    collection: str
    generation: int
    places: list[PlaceReply]


class CellReply(BaseModel):
    value: str
    unit: str
    row: str
    column: str
    table: str
    document: str
    citation: str
    notes: list[str]


class CellsReply(BaseModel):
    collection: str
    generation: int
    cells: list[CellReply]


class SimilarPlace(BaseModel):
    document: str
    locator: str
    chunk: str
    path: list[str]
    text: str
    cosine: float


class SimilarReply(BaseModel):
    collection: str
    generation: int
    places: list[SimilarPlace]
