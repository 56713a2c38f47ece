"""Answers a question from an index, as a stream of events that ends with the whole answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pincite.answer.passage import Passage
from pincite.answer.values import Abstention, Answer, Citation, Sentence, Source
from pincite.api import Index
from pincite.ask.events import (
    AbstainEvent,
    CitationEvent,
    CompleteEvent,
    ContextEvent,
    ErrorEvent,
    Event,
    SearchEvent,
    TokenEvent,
)
from pincite.core.answer_settings import AnswerSettings
from pincite.core.errors import ConfigError, PinciteError
from pincite.core.types import Filters, Span
from pincite.index.filters import NOTHING

QUOTE_CHARS = 600


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said before the question."""

    role: Literal["user", "assistant"]
    text: str


class Asker:
    """Answers questions from one open index; safe to share between threads."""

    def __init__(self, index: Index, settings: AnswerSettings | None = None) -> None:
        self.index = index
        self.settings = settings or index.settings.answer

    def answer(
        self,
        question: str,
        *,
        filters: Filters = NOTHING,
        k: int | None = None,
        history: Sequence[Message] = (),
    ) -> Answer:
        """Return the whole answer; raises what the stream would have ended with."""
        for event in self.ask(question, filters=filters, k=k, history=history):
            if isinstance(event, CompleteEvent):
                return event.answer
            if isinstance(event, ErrorEvent):
                raise event.error
        raise AssertionError("a stream ends with complete or error")

    def ask(
        self,
        question: str,
        *,
        filters: Filters = NOTHING,
        k: int | None = None,
        history: Sequence[Message] = (),
    ) -> Iterator[Event]:
        """Yield what happens while the question is answered; closing it stops the work.

        ``k`` is how many hits are read; ``history`` is what was said before, oldest first.
        """
        try:
            yield from self._ask(question, filters, self.settings.k if k is None else k)
        except PinciteError as error:
            yield ErrorEvent(error)

    def _ask(self, question: str, filters: Filters, k: int) -> Iterator[Event]:
        if not question.strip():
            raise ConfigError("the question is empty", hint='try: pincite ask "what is ...?"')
        started = time.perf_counter()
        result = self.index.search(question, k, filters)
        searched = time.perf_counter() - started
        yield SearchEvent(question, question, len(result.passages), searched, result.corrections)
        sources = tuple(_source(passage) for passage in result.passages)
        yield ContextEvent(sources, sum(len(source.text) // 4 for source in sources))
        seconds = {"search": searched, "total": time.perf_counter() - started}
        if not sources:
            message = "These documents do not answer that: nothing in them shares a word with it."
            abstention = Abstention("not_in_corpus", message)
            yield AbstainEvent(abstention)
            yield TokenEvent(message)
            yield CompleteEvent(
                Answer(question, message, abstention=abstention, confidence=0.0, seconds=seconds)
            )
            return
        first = sources[0]
        quote = first.text[:QUOTE_CHARS]
        span = Span(first.span.doc_id, first.span.start, first.span.start + len(quote))
        citation = Citation(1, first.locator, first.page, quote, span)
        text = f"{quote} [1]"
        yield TokenEvent(text)
        yield CitationEvent(citation, 0)
        sentences = (Sentence(quote, (citation,)),)
        yield CompleteEvent(Answer(question, text, sentences, sources, seconds=seconds))


def _source(passage: Passage) -> Source:
    place = passage.place
    return Source(
        passage.rank,
        place.id,
        passage.document,
        place.locator,
        place.path,
        place.page,
        place.span,
        place.text,
    )
