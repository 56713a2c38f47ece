"""Answers and their events, as `pincite.ask` gives them, from what a service sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pincite.answer.values import Abstention, Answer, Citation, Place, Sentence, Source, Usage
from pincite.ask import events
from pincite.client.errors import Refused
from pincite.client.values import made
from pincite.core.types import Span


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
    return made(Abstention, told, nearest=tuple(made(Place, each) for each in told["nearest"]))


def _span(told: Mapping[str, Any]) -> Span:
    return _place(told["document"], *told["span"])


def _place(document: str, start: int, end: int) -> Span:
    if type(start) is not int or type(end) is not int or not 0 <= start <= end:
        raise ValueError(f"{start!r:.20} to {end!r:.20} is no place")
    return Span(document, start, end)


def _error(told: Mapping[str, Any]) -> events.ErrorEvent:
    message, hint = str(told["message"]), str(told["hint"])
    kind, status = str(told["kind"]), int(told["status"])
    return events.ErrorEvent(Refused(message, status=status, kind=kind, hint=hint))


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
