"""What the service answers, as values, and how they are read. Unknown fields are overlooked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar

from pincite.answer import values as events
from pincite.answer.values import Abstention, Answer, Citation, CitedPlace, Sentence, Source, Usage
from pincite.client.errors import RequestRefused
from pincite.model.types import Span

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
class ClientHit:
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
class ClientResult:
    """What a search found, best first."""

    collection: str
    generation: int
    query: str
    filters: Mapping[str, Any]
    note: str | None
    notes: tuple[str, ...]
    hits: tuple[ClientHit, ...]
    missing: tuple[Missing, ...]
    corrections: Mapping[str, str]
    companions: tuple[Beside, ...]
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
class ClientDocument:
    """A document and when it is in force."""

    id: str
    title: str
    effective: str | None
    until: str | None


@dataclass(frozen=True, slots=True)
class ClientJob:
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


def found(values: Mapping[str, Any]) -> ClientResult:
    """Return the answer of a search."""
    return made(
        ClientResult,
        values,
        hits=tuple(
            made(ClientHit, each, chunk=made(HitChunk, each["chunk"])) for each in values["hits"]
        ),
        missing=tuple(made(Missing, each) for each in values["missing"]),
        companions=tuple(made(Beside, each) for each in values["companions"]),
    )


def answer_of(told: Mapping[str, Any]) -> Answer:
    """Return a whole answer."""
    none = told["abstention"]
    return made(
        Answer,
        told,
        sentences=tuple(map(_sentence, told["sentences"])),
        sources=tuple(map(_source, told["sources"])),
        abstention=_abstention(none) if none else None,
        model=told["model"] or "",
        usage=made(Usage, told["usage"]),
    )


def event_of(name: str, told: Mapping[str, Any]) -> events.Event | None:
    """Return an event; None for one that is not known here."""
    read = _READERS.get(name)
    return read(told) if read else None


def _source(told: Mapping[str, Any]) -> Source:
    parts = tuple(_place(told["document"], *part) for part in told["parts"])
    return made(Source, told, span=_span(told), parts=parts)


def _citation(told: Mapping[str, Any]) -> Citation:
    return made(Citation, told, span=_span(told) if "span" in told else None)


def _sentence(told: Mapping[str, Any]) -> Sentence:
    return made(Sentence, told, citations=tuple(map(_citation, told["citations"])))


def _abstention(told: Mapping[str, Any]) -> Abstention:
    return made(Abstention, told, nearest=tuple(made(CitedPlace, each) for each in told["nearest"]))


def _span(told: Mapping[str, Any]) -> Span:
    return _place(told["document"], *told["span"])


def _place(document: str, start: int, end: int) -> Span:
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise ValueError(f"{start!r:.20} to {end!r:.20} is no place")
    return Span(document, start, end)


def _error(told: Mapping[str, Any]) -> events.ErrorEvent:
    message, hint = str(told["message"]), str(told["hint"])
    kind, status = str(told["kind"]), int(told["status"])
    return events.ErrorEvent(RequestRefused(message, status=status, kind=kind, hint=hint))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], events.Event]] = {
    "search": lambda told: made(events.SearchEvent, told),
    "context": lambda told: events.ContextEvent(
        tuple(map(_source, told["sources"])), told["tokens"]
    ),
    "generation": lambda told: made(events.GenerationEvent, told),
    "token": lambda told: made(events.TokenEvent, told),
    "citation": lambda told: events.CitationEvent(_citation(told), told["sentence"]),
    "citation_rejected": lambda told: events.RejectedEvent(_citation(told), told["sentence"]),
    "abstain": lambda told: events.AbstainEvent(_abstention(told)),
    "complete": lambda told: events.CompleteEvent(answer_of(told)),
    "error": _error,
}
