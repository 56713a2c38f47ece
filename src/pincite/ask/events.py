"""What happens while a question is answered, as values: one for each event of the stream.

    search → context → [generation] → (token | citation | citation_rejected)… → complete
    search → context → abstain → token… → complete
    … → error

A stream ends with ``complete`` or ``error``, and has one of them. The texts of all tokens join to
the text of the answer. A citation comes after the words that it stands behind, and only once it
was checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pincite.answer.values import Abstention, Answer, Citation, Source
from pincite.core.errors import PinciteError


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """The search is done."""

    name: ClassVar[str] = "search"
    question: str
    searched: str  # the words that were searched for; of a follow-up, with those before it
    hits: int
    seconds: float
    corrections: Mapping[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "searched": self.searched,
            "hits": self.hits,
            "seconds": self.seconds,
            "corrections": dict(self.corrections),
        }


@dataclass(frozen=True, slots=True)
class ContextEvent:
    """The sources are chosen; whatever is cited is one of these."""

    name: ClassVar[str] = "context"
    sources: tuple[Source, ...]
    tokens: int  # of the texts, estimated

    @property
    def message(self) -> str:
        passages = "passage" if len(self.sources) == 1 else "passages"
        return f"Found {len(self.sources)} relevant {passages}"

    def plain(self) -> dict[str, Any]:
        return {
            "message": self.message,
            "passages": len(self.sources),
            "tokens": self.tokens,
            "sources": [source.plain() for source in self.sources],
        }


@dataclass(frozen=True, slots=True)
class GenerationEvent:
    """A language model was asked and has begun to answer."""

    name: ClassVar[str] = "generation"
    model: str

    def plain(self) -> dict[str, Any]:
        return {"model": self.model}


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """The next words of the answer."""

    name: ClassVar[str] = "token"
    text: str

    def plain(self) -> dict[str, Any]:
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class CitationEvent:
    """A citation that was checked and holds; ``sentence`` counts from 0."""

    name: ClassVar[str] = "citation"
    citation: Citation
    sentence: int

    def plain(self) -> dict[str, Any]:
        return {**self.citation.plain(), "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class RejectedEvent:
    """A citation that a model wrote and that does not hold; it is not in the answer."""

    name: ClassVar[str] = "citation_rejected"
    citation: Citation
    sentence: int

    def plain(self) -> dict[str, Any]:
        return {**self.citation.plain(), "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class AbstainEvent:
    """The documents do not answer; the tokens that follow say so in words."""

    name: ClassVar[str] = "abstain"
    abstention: Abstention

    def plain(self) -> dict[str, Any]:
        return self.abstention.plain()


@dataclass(frozen=True, slots=True)
class CompleteEvent:
    """The whole answer; nothing comes after it."""

    name: ClassVar[str] = "complete"
    answer: Answer

    def plain(self) -> dict[str, Any]:
        return self.answer.plain()


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """There will be no whole answer; nothing comes after it."""

    name: ClassVar[str] = "error"
    error: PinciteError

    def plain(self) -> dict[str, Any]:
        return {
            "kind": type(self.error).__name__,
            "message": self.error.message,
            "hint": self.error.hint,
            "status": self.error.http_status,
        }


Event = (
    SearchEvent
    | ContextEvent
    | GenerationEvent
    | TokenEvent
    | CitationEvent
    | RejectedEvent
    | AbstainEvent
    | CompleteEvent
    | ErrorEvent
)
