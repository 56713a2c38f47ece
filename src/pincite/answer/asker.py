"""A question's answer as a stream of events, or why there is none."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from pincite.answer.context import Context, PageSummaries, build_context, current
from pincite.answer.language_model import LanguageModel, Writing, messages
from pincite.answer.lookup import Lookup
from pincite.answer.quotes import MODEL, Extractor, Quote, QuoteCandidate, features
from pincite.answer.values import (
    AbstainEvent,
    Abstention,
    Answer,
    CitationEvent,
    CitedPlace,
    CompleteEvent,
    ContextEvent,
    ErrorEvent,
    Event,
    Reason,
    SearchEvent,
    Sentence,
    TokenEvent,
)
from pincite.index.filters import NOTHING
from pincite.model.editions import years
from pincite.model.errors import ConfigError, ModelError, PinciteError
from pincite.model.settings import Answering
from pincite.model.types import Filters, Span
from pincite.search.passages import Passage
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader, Result

MAX_NEAREST = 3
# Just below what is enough, something is there; further below, nothing is.
NEARLY = 0.8
RELATIONS = ("refers_to", "exception_to", "refers_outside")


def missing_place(
    index: IndexReader, query: ParsedQuery, passages: Sequence[Passage], wanted: str
) -> Abstention | None:
    """Return why a place that the question names is not there; None if one is, or none is named.

    ``wanted`` is what the question says beside the name. A bare number may be no place at all: it
    counts as one only where nothing else is said.
    """
    question, filters = query.text, query.filters
    found = [(key, question[start:end].strip()) for key, start, end in query.mention_spans]
    homes = {key: _homes(index, key, filters) for key, _ in found}
    named = [(key, written) for key, written in found if homes[key] or not wanted or _is_name(key)]
    if not named:
        return None
    near = nearest(passages)
    for key, written in named:
        if homes[key] and (removed := _other_edition(index, question, written, homes[key])):
            return Abstention("removed_in_this_edition", removed, near)
    if any(homes.values()):
        return None
    key, written = named[0]
    if filters.as_of and (others := _homes(index, key, replace(filters, as_of=""))):
        titles = _titles(index, others)
        message = f"{written} is in no edition in force on {filters.as_of}; it is in {titles}."
        return Abstention("removed_in_this_edition", message, near)
    if source := _referring(index, key, passages):
        message = f"{source} refers to {written}, which is not in these documents."
        return Abstention("referenced_but_missing", message, near)
    above = next((known for place, known in query.missing if known), "")
    more = f" The nearest place above it is {above}." if above else ""
    return Abstention("not_in_corpus", f"There is no {written} in these documents.{more}", near)


def unsure(
    index: IndexReader,
    confidence: float,
    least: float,
    passages: Sequence[Passage],
    candidates: Sequence[QuoteCandidate],
) -> Abstention:
    """Return why nothing that was found is likely to answer."""
    near = nearest(passages)
    if missing := _dangling(index, candidates[:1]):
        place, words = missing
        message = f"The nearest place, {place}, refers to {words}, which is not in these documents."
        return Abstention("referenced_but_missing", message, near)
    reason: Reason = "low_confidence" if confidence >= NEARLY * least else "not_in_corpus"
    words = (
        "Something in these documents comes near, but probably does not answer that."
        if reason == "low_confidence"
        else "These documents do not answer that."
    )
    return Abstention(reason, words, near)


def _is_name(key: str) -> bool:
    """Return whether a key can be nothing but a place: "2.5" may be anything."""
    return not key.replace(".", "").replace("-", "").isdigit()


def nearest(passages: Sequence[Passage]) -> tuple[CitedPlace, ...]:
    """Return the best hits as places."""
    places = (
        CitedPlace(each.place.span.doc_id, each.document, each.place.locator, each.place.page)
        for each in passages[:MAX_NEAREST]
    )
    return tuple(dict.fromkeys(places))


def _homes(index: IndexReader, key: str, filters: Filters) -> set[str]:
    """Return the documents that have a place, of those that the asker may see."""
    allowed = index.opened.filters
    homes = index.snapshot.documents_with([key]).get(key, set())
    return {doc_id for doc_id in homes if allowed.allows_document(filters, doc_id)}


def _other_edition(index: IndexReader, question: str, written: str, homes: set[str]) -> str:
    """Return that only another edition than the question's has a place; empty if its own has."""
    asked = years(question)
    snapshot = index.snapshot
    if not asked or any(asked & years(snapshot.title(each), each) for each in homes):
        return ""
    works = {snapshot.work(doc_id) for doc_id in homes}
    meant = [
        each.doc_id
        for each in snapshot.editions()
        if each.work in works and asked & years(snapshot.title(each.doc_id), each.doc_id)
    ]
    if not meant:
        return ""
    return f"{written} is not in {_titles(index, set(meant))}; it is in {_titles(index, homes)}."


def _titles(index: IndexReader, documents: set[str]) -> str:
    return ", ".join(sorted(index.opened.title_of(each) or each for each in documents))


def _referring(index: IndexReader, key: str, passages: Sequence[Passage]) -> str:
    """Return a place that refers to a key, of the documents that were found; empty if none."""
    for doc_id in sorted({passage.chunk.span.doc_id for passage in passages}):
        for link in index.snapshot.links(doc_id):
            if link.target == key and link.relation in RELATIONS:
                (place,) = index.snapshot.get([link.source])
                return place.locator
    return ""


def _dangling(index: IndexReader, candidates: Sequence[QuoteCandidate]) -> tuple[str, str] | None:
    """Return the place of a unit that refers to what is not there, and the words that do."""
    for each in candidates:
        doc_id = each.span.doc_id
        links = [k for k in index.snapshot.links(doc_id) if k.relation in RELATIONS]
        inside = [link for link in links if _within(link.span, each.span)]
        known = index.snapshot.known_keys([link.target for link in inside])
        for link in inside:
            if link.target not in known:
                text = index.snapshot.text(doc_id)[link.span.start : link.span.end]
                return each.source.locator, " ".join(text.split())
    return None


def _within(inner: Span, outer: Span) -> bool:
    return inner.overlap(outer) == len(inner) > 0


MAX_QUESTION_CHARS = 8000
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
class Evidence:
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

    def __init__(self, index: IndexReader, settings: Answering | None = None) -> None:
        self.index = index
        self.settings = settings or index.settings.answering
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
        if len(question) > MAX_QUESTION_CHARS:
            raise ConfigError(
                f"the question has {len(question)} characters",
                hint=f"at most {MAX_QUESTION_CHARS} are read",
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

    def found(self, question: str, *, filters: Filters = NOTHING, k: int | None = None) -> Evidence:
        """Return what an answer is made of, without making it: for programs that measure."""
        k = self.settings.k if k is None else k
        return self._find(question, self.index.search(question, 2 * k, filters), k)

    def _with_history(self, question: str, history: Sequence[Message]) -> str:
        """Return the question, with the one before it if it says little without."""
        before = next((each.text for each in reversed(history) if each.role == "user"), "")
        words = self.index.opened.analyzer.content_words(question)
        if before and (len(words) <= FEW_WORDS or _GOES_ON.match(question)):
            return f"{before[:MAX_QUESTION_CHARS]} {question}"
        return question

    def _find(self, question: str, result: Result, k: int) -> Evidence:
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
            return Evidence(question, passages, context, (), 0.0, abstention)
        sources = list(context.sources)
        quotes = self._lookup.quotes(query, passages, sources)
        if quotes and (self._lookup.is_named(passages) or self._lookup.is_cited(question, quotes)):
            context = replace(context, sources=tuple(sources))
            return Evidence(question, passages, context, quotes, 1.0, None)
        candidates = self._extractor.candidates(query, passages, context.sources)
        known = features(candidates)
        confidence = MODEL.probability(known)
        least = settings.min_confidence
        if confidence < least or not candidates:
            abstention = unsure(index, confidence, least, passages, candidates)
            return Evidence(question, passages, context, (), confidence, abstention, known)
        quotes = quotes or self._extractor.quotes(candidates, settings.quotes, sources)
        context = replace(context, sources=tuple(sources))
        return Evidence(question, passages, context, quotes, confidence, None, known)

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
        self, model: LanguageModel, draft: Answer, found: Evidence, history: Sequence[Message]
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
