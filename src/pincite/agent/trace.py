"""What an agent did: one step a tool call, with what it found and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pincite.answer.values import Source
from pincite.core.types import Chunk
from pincite.search.reader import IndexReader


@dataclass(frozen=True, slots=True)
class Found:
    """What a tool gives back: words for whoever reads on, and the places they are from."""

    text: str
    places: tuple[Chunk, ...] = ()
    data: Any = None  # the values behind the words, for the planner and for programs
    error: str = ""  # why there is nothing, in plain words


@dataclass(frozen=True, slots=True)
class AgentStep:
    """One call of a tool."""

    number: int
    tool: str
    arguments: Mapping[str, Any]
    found: Found
    ms: float

    def plain(self) -> dict[str, Any]:
        return {
            "step": self.number,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "places": [
                {"document": place.span.doc_id, "locator": place.locator, "page": place.page}
                for place in self.found.places
            ],
            "text": self.found.text,
            "error": self.found.error or None,
            "ms": round(self.ms, 2),
        }


@dataclass(slots=True)
class Trace:
    """The steps of one answer, in order."""

    steps: list[AgentStep] = field(default_factory=list)

    @property
    def places(self) -> dict[str, Chunk]:
        """Every place that a step found, by id, in the order in which they were found."""
        return {place.id: place for step in self.steps for place in step.found.places}


def source_of(number: int, place: Chunk, index: IndexReader) -> Source:
    """Return a place as a numbered source."""
    title = index.opened.title_of(place.span.doc_id) or place.span.doc_id
    return Source(
        number, place.id, title, place.locator, place.path, place.page, place.span, place.text
    )
