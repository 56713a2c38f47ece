"""Answers a question from an index, as a stream of events that ends with the whole answer.

Without a language model the answer is quoted: the place, the cell or the sentences that answer,
character for character. With one, the model writes from the same sources, and every citation is
checked before it is shown.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from pincite.answer.passage import Passage
from pincite.answer.values import Abstention, Answer, Sentence
from pincite.ask.abstain import missing_place, nearest, unsure
from pincite.ask.confidence import MODEL, features
from pincite.ask.context import Context, build_context, current
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
from pincite.ask.extract import Extractor
from pincite.ask.language_model import LanguageModel
from pincite.ask.lookup import Lookup
from pincite.ask.pages import PageSummaries
from pincite.ask.prompt import messages
from pincite.ask.quotes import Quote
from pincite.ask.writing import Writing
from pincite.core.answer_settings import AnswerSettings
from pincite.core.errors import ConfigError, ModelError, PinciteError
from pincite.core.types import Filters
from pincite.index.filters import NOTHING
from pincite.search.reader import IndexReader, Result

MOST_QUESTION_CHARS = 8000
# A question with fewer words of content, or that begins like this, goes on from the one before.
FEW_WORDS = 2
_GOES_ON = re.compile(r"\s*(?:and|but|or|what about|how about|und|et|e|y)\b", re.IGNORECASE)
NOTHING_FOUND = "These documents do not answer that: nothing in them shares a word with it."
NO_SUPPORT = "no sentence of this answer is supported by a source that it cites"
MODEL_SAYS_NO = "The language model finds no answer to that in the sources."


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said before the question."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for one question, what can be quoted of it, and whether to answer."""

    question: str  # with what went before it, if it goes on
    passages: Sequence[Passage]
    context: Context
    quotes: Sequence[Quote]
    confidence: float
    abstention: Abstention | None
    features: Mapping[str, float] = field(default_factory=dict)  # that the confidence is made of


class Asker:
    """Answers questions from one open index; safe to share between threads."""

    def __init__(self, index: IndexReader, settings: AnswerSettings | None = None) -> None:
        self.index = index
        self.settings = settings or index.settings.answer
        self._extractor = Extractor(index)
        self._lookup = Lookup(index, self._extractor.quoter)

    @cached_property
    def _model(self) -> LanguageModel | None:
        return LanguageModel(self.settings) if self.settings.url else None

    @cached_property
    def _pages(self) -> PageSummaries:
        return PageSummaries(self.index, self.settings.page_summaries)

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
    ) -> Generator[Event]:
        """Yield what happens while the question is answered; closing it stops the work.

        ``k`` is how many hits are read; ``history`` is what was said before, oldest first.
        """
        try:
            yield from self._ask(question, filters, self.settings.k if k is None else k, history)
        except PinciteError as error:
            yield ErrorEvent(error)

    def _ask(
        self, question: str, filters: Filters, k: int, history: Sequence[Message]
    ) -> Generator[Event]:
        if not question.strip():
            raise ConfigError("the question is empty", hint='try: pincite ask "what is ...?"')
        if len(question) > MOST_QUESTION_CHARS:
            raise ConfigError(
                f"the question has {len(question)} characters",
                hint=f"at most {MOST_QUESTION_CHARS} are read",
            )
        started = time.perf_counter()
        searched = self._with_history(question, history)
        # Editions that do not count are left out afterwards.
        result = self.index.search(searched, 2 * k, filters)
        seconds = {"search": time.perf_counter() - started}
        yield SearchEvent(
            question, searched, len(result.passages), seconds["search"], result.corrections
        )
        found = self._find(searched, result, k)
        seconds["read"] = time.perf_counter() - started - seconds["search"]
        yield ContextEvent(found.context.sources, found.context.tokens)
        draft = Answer(question, "", (), found.context.sources, confidence=found.confidence)
        if found.abstention:
            finished = self._abstained(draft, found.abstention)
        elif self._model is None:
            finished = self._quoted(draft, found.quotes)
        else:
            finished = self._written(self._model, draft, found, history)
        with closing(finished):
            for event in finished:
                if isinstance(event, CompleteEvent):
                    seconds["answer"] = time.perf_counter() - started - sum(seconds.values())
                    seconds["total"] = time.perf_counter() - started
                    event = CompleteEvent(replace(event.answer, seconds=seconds))
                yield event

    def found(self, question: str, *, filters: Filters = NOTHING, k: int | None = None) -> Found:
        """Return what an answer is made of, without making it: for programs that measure."""
        k = self.settings.k if k is None else k
        return self._find(question, self.index.search(question, 2 * k, filters), k)

    def _with_history(self, question: str, history: Sequence[Message]) -> str:
        """Return the question, with the one before it if it says little without."""
        before = next((each.text for each in reversed(history) if each.role == "user"), "")
        words = self.index.opened.analyzer.content_words(question)
        if before and (len(words) <= FEW_WORDS or _GOES_ON.match(question)):
            return f"{before[:MOST_QUESTION_CHARS]} {question}"
        return question

    def _find(self, question: str, result: Result, k: int) -> Found:
        """Return the sources of a question, what can be quoted of them, and whether to answer."""
        settings, index = self.settings, self.index
        query = result.parsed
        wanted = " ".join(self._lookup.wanted(query))
        passages = current(index, question, result.passages)[:k]
        abstention = missing_place(index, query, result.passages, wanted)
        context = build_context(
            index,
            result,
            passages,
            budget=settings.context_tokens,
            companions=settings.companions,
        )
        if abstention or not context.sources:
            near = nearest(passages)
            abstention = abstention or Abstention("not_in_corpus", NOTHING_FOUND, near)
            return Found(question, passages, context, (), 0.0, abstention)
        sources = list(context.sources)
        quotes = self._lookup.quotes(query, passages, sources)
        if quotes and (self._lookup.is_named(passages) or self._lookup.is_cited(question, quotes)):
            context = replace(context, sources=tuple(sources))
            return Found(question, passages, context, quotes, 1.0, None)
        candidates = self._extractor.candidates(query, passages, context.sources)
        known = features(candidates)
        confidence = MODEL.probability(known)
        least = settings.least_confidence
        if confidence < least or not candidates:
            abstention = unsure(index, confidence, least, passages, candidates)
            return Found(question, passages, context, (), confidence, abstention, known)
        quotes = quotes or self._extractor.quotes(candidates, settings.quotes, sources)
        context = replace(context, sources=tuple(sources))
        return Found(question, passages, context, quotes, confidence, None, known)

    def _abstained(self, draft: Answer, abstention: Abstention) -> Generator[Event]:
        yield AbstainEvent(abstention)
        yield TokenEvent(abstention.message)
        yield CompleteEvent(replace(draft, text=abstention.message, abstention=abstention))

    def _quoted(self, draft: Answer, quotes: Sequence[Quote]) -> Generator[Event]:
        sentences: list[Sentence] = []
        text = ""
        for number, quote in enumerate(quotes):
            sentence = quote.sentence()
            words = f"{'' if not text else chr(10)}{quote.shown} [{quote.source}]"
            text += words
            sentences.append(sentence)
            yield TokenEvent(words)
            for citation in sentence.citations:
                yield CitationEvent(citation, number)
        yield CompleteEvent(replace(draft, text=text, sentences=tuple(sentences)))

    def _written(
        self, model: LanguageModel, draft: Answer, found: Found, history: Sequence[Message]
    ) -> Generator[Event]:
        """Yield what the model writes; quotations instead if it fails before its first word."""
        settings = self.settings
        prompt = messages(
            draft.question,
            draft.sources,
            history=[(each.role, each.text) for each in history],
            summaries=self._pages.of(draft.sources),
        )
        analyzer = self.index.opened.analyzer_of(draft.sources[0].span.doc_id)
        drops = settings.unsupported == "drop"
        writing = Writing(model, draft.sources, analyzer, drops)
        is_begun = False
        try:
            with closing(writing.events(prompt)) as events:
                for event in events:
                    is_begun = True
                    yield event
        except ModelError as error:
            if is_begun or settings.on_error == "raise":
                raise
            note = f"quoted without a language model: {error.message}"
            yield from self._quoted(replace(draft, notes=(note,)), found.quotes)
            return
        done = replace(draft, model=model.model, usage=writing.usage)
        if writing.is_not_found or not writing.text.strip():
            near = nearest(found.passages)
            abstention = Abstention("low_confidence", MODEL_SAYS_NO, near)
            yield from self._abstained(done, abstention)
            return
        notes = () if any(s.citations for s in writing.sentences) else (NO_SUPPORT,)
        sentences = tuple(writing.sentences)
        yield CompleteEvent(replace(done, text=writing.text, sentences=sentences, notes=notes))
