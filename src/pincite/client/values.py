"""What the service answers, as values, and how they are read. Unknown fields are overlooked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pincite.answer.values import ErrorEvent, Event
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
    page: int | None  # of the file, from 1
    page_label: str  # what is printed on it; empty where that is its number or not known
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
    page_label: str
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
    scale: str = ""  # "millions"
    period: str = ""  # "December 31, 2021"


@dataclass(frozen=True, slots=True)
class CitedText:
    """How to cite a place, in one style."""

    collection: str
    generation: int
    document: str
    locator: str
    style: str
    citation: str
    others: tuple[str, ...]  # documents that have a place of this name as well


@dataclass(frozen=True, slots=True)
class ClientDocument:
    """A document and when it is in force."""

    id: str
    title: str
    effective: str | None
    until: str | None
    card: Mapping[str, str]  # what it is, whose, and of which time


@dataclass(frozen=True, slots=True)
class ClientJob:
    """A document on its way into the index."""

    id: str
    collection: str
    document: str
    state: Literal["queued", "reading", "embedding", "done", "rejected", "failed"] = "queued"
    status: str = ""  # what became of the document: added, changed, unchanged
    chunks: int = 0
    done: int = 0  # chunks that have vectors, of total
    total: int = 0
    reason: str = ""
    hint: str = ""

    @property
    def is_ended(self) -> bool:
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text by its number in the request, with how probably it answers the query."""

    index: int
    score: float


def made(kind: Callable[..., T], told: Mapping[str, Any]) -> T:
    """Return a value of plain ones, by the types of its fields; KeyError for a missing one."""
    return kind(**{name: _read(told, name, hint) for name, hint in _hints(kind).items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    # What is not compared is known where the document was read, and not sent.
    return {each.name: hints[each.name] for each in fields(kind) if each.compare}


def _read(told: Mapping[str, Any], name: str, hint: Any) -> Any:
    """Return a field: values inside it are made, lists become tuples."""
    if hint == Span | None and name not in told:
        return None
    value = told[name]
    inner: Any = next((each for each in (hint, *get_args(hint)) if is_dataclass(each)), None)
    if inner is None or value is None:
        return "" if value is None and hint is str else _frozen(value)

    def one(part: Any) -> Any:
        if inner is not Span:
            return made(inner, part)
        # Spans inside a place say only where in its document; others name theirs.
        named = isinstance(part, dict)
        return _place(*((part["document"], *part["span"]) if named else (told["document"], *part)))

    return tuple(map(one, value)) if get_origin(hint) is tuple else one(value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _place(document: str, start: int, end: int) -> Span:
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise ValueError(f"{start!r:.20} to {end!r:.20} is no place")
    return Span(document, start, end)


EVENTS: Mapping[str, Any] = {each.name: each for each in get_args(Event)}


def event_of(name: str, told: Mapping[str, Any]) -> Event | None:
    """Return an event; None for one that is not known here."""
    if name == ErrorEvent.name:
        message, hint, kind = (str(told[each]) for each in ("message", "hint", "kind"))
        status = int(told["status"])
        return ErrorEvent(RequestRefused(message, status=status, kind=kind, hint=hint))
    # What an event is about is told without a name of its own.
    flat = {**told, "citation": told, "abstention": told, "answer": told}
    event: Event | None = made(EVENTS[name], flat) if name in EVENTS else None
    return event
