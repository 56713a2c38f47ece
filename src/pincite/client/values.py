"""What the service answers, as values. Fields that a newer service adds are overlooked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

T = TypeVar("T")
ENDED = ("done", "rejected", "failed")


@dataclass(frozen=True, slots=True)
class HitChunk:
    """The chunk that was ranked; the place that is cited may be a part of it."""

    id: str
    locator: str
    kind: str
    span: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage with its exact place."""

    rank: int
    citation: str
    locator: str
    document: str
    title: str
    path: tuple[str, ...]
    page: int | None
    kind: str
    span: tuple[int, int]
    snippet: str
    marks: tuple[tuple[int, int], ...]
    score: float
    why: Mapping[str, float]
    raw: Mapping[str, float]
    chunk: HitChunk


@dataclass(frozen=True, slots=True)
class Missing:
    """A place that a query names and the documents lack."""

    place: str
    nearest: str | None


@dataclass(frozen=True, slots=True)
class Beside:
    """A place that a hit does not stand without."""

    locator: str
    document: str
    relation: str
    evidence: str
    of: str
    chunk: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first."""

    collection: str
    generation: int
    query: str
    hits: tuple[Hit, ...]
    missing: tuple[Missing, ...]
    companions: tuple[Beside, ...]
    corrections: Mapping[str, str]
    note: str | None
    notes: tuple[str, ...]
    seconds: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Shown:
    """A place, exactly as it stands."""

    chunk: str
    document: str
    title: str
    locator: str
    kind: str
    heading: str
    path: tuple[str, ...]
    page: int | None
    span: tuple[int, int]
    text: str
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FoundCell:
    """One value of a table."""

    value: str
    unit: str
    row: str
    column: str
    table: str
    document: str
    citation: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """A document and when it is in force."""

    id: str
    title: str
    effective: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class Job:
    """A document on its way into the index."""

    id: str
    collection: str
    document: str
    state: Literal["queued", "reading", "embedding", "done", "rejected", "failed"]
    status: str  # added, changed, unchanged
    chunks: int
    done: int  # chunks that have vectors, of total
    total: int
    reason: str
    hint: str

    @property
    def is_ended(self) -> bool:
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text by its number in the request, with how probably it answers the query."""

    index: int
    score: float


def made(kind: Callable[..., T], values: Mapping[str, Any], **nested: Any) -> T:
    """Return a value of plain ones; lists become tuples. Raises KeyError for a missing one."""
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    plain = {name: _frozen(values[name]) for name in names if name not in nested}
    return kind(**plain, **nested)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def found(values: Mapping[str, Any]) -> Found:
    """Return the answer of a search."""
    return made(
        Found,
        values,
        hits=tuple(made(Hit, each, chunk=made(HitChunk, each["chunk"])) for each in values["hits"]),
        missing=tuple(made(Missing, each) for each in values["missing"]),
        companions=tuple(made(Beside, each) for each in values["companions"]),
    )
