"""A question's answer as a stream of events, or why there is none."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Literal, cast

from pincite.answer.abstain import missing_place, nearest, unsure
from pincite.answer.figures import FigureAnswer, figure_answer
from pincite.answer.language_model import LanguageModel, PageSummaries, Writing, compact, messages
from pincite.answer.lookup import Lookup
from pincite.answer.quotes import MODEL, Extractor, Quote, QuoteCandidate, asked_term
from pincite.answer.reader import AnswerReader, WindowAnswer
from pincite.answer.values import (
    AbstainEvent,
    Abstention,
    Answer,
    Citation,
    CitationEvent,
    CompleteEvent,
    ContextEvent,
    ErrorEvent,
    Event,
    Role,
    SearchEvent,
    Sentence,
    ShortEvent,
    Source,
    TokenEvent,
)
from pincite.index.filters import NOTHING
from pincite.model.editions import years
from pincite.model.errors import ConfigError, ModelError, PinciteError
from pincite.model.locators import locator_key
from pincite.model.sentences import TextUnit, units
from pincite.model.settings import Answering
from pincite.model.types import Chunk, Filters, Span
from pincite.read.chunks import estimated_tokens
from pincite.search.metrics import log
from pincite.search.pair_scorers import open_reader
from pincite.search.passages import Matches, Passage
from pincite.search.query import ParsedQuery, is_bare_name
from pincite.search.reader import IndexReader, Result

MAX_QUESTION_CHARS = 8000
# A question with fewer words of content, or that begins like this, goes on from the one before.
FEW_WORDS = 2
NEAR_ENOUGH = 0.12  # where nothing is read: on the scale of ``quotes.MODEL`` (decision 14)
_GOES_ON = re.compile(r"\s*(?:and|but|or|what about|how about|und|et|e|y)\b", re.IGNORECASE)
NOTHING_FOUND = "These documents do not answer that: nothing in them shares a word with it."
NO_SUPPORT = "no sentence of this answer is supported by a source that it cites"
MODEL_SAYS_NO = "The language model finds no answer to that in the sources."
# Share of the budget that companions get at most; what they leave is for hits.
COMPANION_SHARE = 0.25
# A longer table is cut to the rows that fit, so that one does not push out everything else.
TABLE_TOKENS = 1200
# Less of a source than this is not worth a number.
MIN_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Message:
    """Something that was said before the question."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """The numbered sources, and how many tokens their texts have."""

    sources: tuple[Source, ...]
    tokens: int


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
    read: Sequence[WindowAnswer] = ()  # what the reader says, the best first
    figure: FigureAnswer | None = None  # of statements, looked up or calculated

    def shown(self, draft: Answer) -> Answer:
        """Return an answer with its few words: a figure, or what the reader marks."""
        if self.abstention or not (self.figure or self.read):
            return draft
        if self.figure:
            spans = tuple(figure.span for figure in self.figure.figures)
            notes = (self.figure.calculation,) if self.figure.calculation else ()
            return replace(draft, short=self.figure.short, short_spans=spans, notes=notes)
        best = self.read[0].short
        notes = (best.calculation,) if best.calculation else ()
        return replace(draft, short=best.text, short_spans=best.spans, notes=notes)


class Asker:
    """Answers questions from one open index; safe to share between threads."""

    def __init__(self, index: IndexReader, settings: Answering | None = None) -> None:
        self.index = index
        self.settings = settings or index.settings.answering
        self._extractor = Extractor(index)
        self._lookup = Lookup(index, self._extractor.quoter)

    @cached_property
    def _reader(self) -> AnswerReader | None:
        """What reads the sources; None if the settings want none, or it cannot run here."""
        try:
            model = open_reader(self.settings.reader)
        except ModelError as error:
            log("reader_failed", error=error.message)
            return None
        return AnswerReader(self.index, model) if model else None

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
        k = self.settings.k if k is None else k
        started = time.perf_counter()
        try:
            if not question.strip():
                raise ConfigError("the question is empty", hint='try: pincite ask "what is ...?"')
            if len(question) > MAX_QUESTION_CHARS:
                raise ConfigError(
                    f"the question has {len(question)} characters",
                    hint=f"at most {MAX_QUESTION_CHARS} are read",
                )
            searched = self._with_history(question, history) if history else question
            # Editions that do not count are left out afterwards.
            result = self.index.search(searched, 2 * k, filters)
            seconds = {"search": time.perf_counter() - started}
            hits, corrections = len(result.passages), result.parsed.corrections
            yield SearchEvent(question, searched, hits, seconds["search"], corrections)
            found = self._find(searched, result, k)
            seconds["read"] = time.perf_counter() - started - seconds["search"]
            yield ContextEvent(found.context.sources, found.context.tokens)
            draft = Answer(question, "", (), found.context.sources, confidence=found.confidence)
            draft = found.shown(draft)
            if draft.short:
                yield ShortEvent(draft.short, draft.short_spans)
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
        except PinciteError as error:
            yield ErrorEvent(error)

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
        passages = current(index, question, result.passages)[:k]
        wanted: list[str] = []
        abstention = None
        if query.mentions:  # places that the question names
            wanted = self._lookup.wanted(query)
            abstention = missing_place(index, query, result.passages, " ".join(wanted))
        context = build_context(
            index,
            result,
            passages,
            budget=settings.context_tokens,
            companions=settings.companions,
        )
        if abstention or not context.sources:
            nothing = Abstention("not_in_corpus", NOTHING_FOUND, nearest(passages))
            abstention = abstention or nothing
            return Evidence(question, passages, context, (), 0.0, abstention)
        sources = list(context.sources)
        if figure := figure_answer(index, query):
            quotes = figure.quotes(index, self._extractor.quoter, sources)
            context, sure = replace(context, sources=tuple(sources)), figure.confidence
            return Evidence(question, passages, context, quotes, sure, None, figure=figure)
        quotes = self._lookup.quotes(query, passages, sources, wanted)
        read = self._read(query, passages, _quoted_sources(quotes, sources) or sources)
        if quotes and (passages[0].is_named or self._lookup.is_cited(question, quotes)):
            context = replace(context, sources=tuple(sources))
            asks = bool(wanted) or bool(asked_term(question))  # more than to see the place
            return Evidence(
                question, passages, context, quotes, 1.0, None, read=read if asks else ()
            )
        if read:
            candidates, known = [each.candidate for each in read], read[0].features
            confidence, enough = read[0].confidence, read[0].is_here
        else:
            candidates, known = self._ranked(query, passages, context.sources)
            confidence = enough = MODEL.probability(known)
        least = settings.min_confidence if read else min(settings.min_confidence, NEAR_ENOUGH)
        if enough < least or not candidates:
            abstention = unsure(index, enough, least, passages, candidates)
            return Evidence(question, passages, context, (), confidence, abstention, known, read)
        quotes = quotes or self._extractor.quotes(candidates, settings.quotes, sources)
        context = replace(context, sources=tuple(sources))
        return Evidence(question, passages, context, quotes, confidence, None, known, read)

    def _read(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: Sequence[Source]
    ) -> Sequence[WindowAnswer]:
        """Return what the reader says of sources; nothing to a name, or to bare words."""
        few = len(query.content_words) <= FEW_WORDS and not query.text.rstrip().endswith("?")
        if self._reader is None or few or is_bare_name(query.text):
            return ()
        return self._reader.read(query, passages, sources)

    def _ranked(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: Sequence[Source]
    ) -> tuple[list[QuoteCandidate], Mapping[str, float]]:
        """Return the sentences and rows by their words and vectors, where nothing reads them."""
        candidates = self._extractor.candidates(query, passages, sources)
        near = max((each.meaning for each in candidates), default=0.0)
        return candidates, {"near": near} if near else {}  # nothing if none were compared

    def _abstained(self, draft: Answer, abstention: Abstention) -> Generator[Event]:
        yield AbstainEvent(abstention)
        yield TokenEvent(abstention.message)
        bare = replace(draft, text=abstention.message, short="", short_spans=())
        yield CompleteEvent(replace(bare, abstention=abstention))

    def _quoted(self, draft: Answer, quotes: Sequence[Quote]) -> Generator[Event]:
        sentences: list[Sentence] = []
        text = ""
        for number, quote in enumerate(quotes):
            words = f"{'' if not text else chr(10)}{quote.shown} [{quote.source}]"
            text += words
            page, label = quote.page
            citation = Citation(
                quote.source, quote.locator, page, quote.words, quote.span, page_label=label
            )
            sentences.append(Sentence(quote.shown, (citation,)))
            yield TokenEvent(words)
            yield CitationEvent(citation, number)
        yield CompleteEvent(replace(draft, text=text, sentences=tuple(sentences)))

    def _written(
        self, model: LanguageModel, draft: Answer, found: Evidence, history: Sequence[Message]
    ) -> Generator[Event]:
        """Yield what the model writes; quotations instead if it fails before its first word."""
        settings = self.settings
        read = [(each.window.source.number, each.window.text) for each in found.read]
        sources = compact(draft.sources, read, settings.prompt_tokens)
        prompt = messages(
            draft.question,
            sources,
            history=[(each.role, each.text) for each in history],
            summaries=self._pages.of(sources),
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


def _quoted_sources(quotes: Sequence[Quote], sources: Sequence[Source]) -> list[Source]:
    """Return the sources of quotations with nothing but what is quoted of them."""
    numbered = {source.number: source for source in sources}
    return [replace(numbered[q.source], text=q.words, parts=(q.span,)) for q in quotes]


def build_context(
    index: IndexReader, result: Result, passages: Sequence[Passage], *, budget: int, companions: int
) -> Context:
    """Return the sources for some hits of a search and for what belongs beside them."""
    hits_of = {passage.chunk.id for passage in passages}
    found = index.companions(result, 2 * companions) if companions and passages else []
    beside: list[Source] = []
    for each, chunk in [pair for pair in found if pair[0].of in hits_of][:companions]:
        if source := _source(index, result.parsed, chunk, TABLE_TOKENS):
            beside.append(replace(source, role=cast(Role, each.relation), evidence=each.evidence))
    beside, left = _within(beside, int(budget * COMPANION_SHARE))
    left += budget - int(budget * COMPANION_SHARE)
    hits: list[Source] = []
    for passage in passages:
        source = _source(index, result.parsed, passage.chunk, left)
        # One that lies within a better one says nothing new.
        if source and not any(
            other.span.overlap(source.span) == len(source.span) for other in hits
        ):
            hits.append(source)
    hits, left = _within(hits, left)
    numbered = tuple(replace(each, number=n) for n, each in enumerate((*hits, *beside), 1))
    return Context(numbered, budget - left)


def current(index: IndexReader, question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages without those that another edition replaces.

    Of editions of one work the question's own counts, if it names years; otherwise the newest. A
    place that the edition which counts does not have is kept.
    """
    snapshot = index.snapshot
    works = defaultdict(list)
    for doc_id in {passage.chunk.span.doc_id for passage in passages}:
        works[snapshot.work(doc_id)].append(doc_id)
    asked = years(question)
    counting: dict[str, list[str]] = {}
    for same in works.values():
        if len(same) > 1:
            named = [each for each in same if asked & years(index.opened.title_of(each))]
            dated = [(snapshot.edition(each).effective or date.min, each) for each in same]
            counting |= dict.fromkeys(same, named or [max(dated)[1]])
    keys = {passage.chunk.id: locator_key(passage.chunk.locator) for passage in passages}
    homes = snapshot.documents_with(keys.values()) if counting else {}
    return [
        passage
        for passage in passages
        for doc_id in [passage.chunk.span.doc_id]
        if doc_id in (counts := counting.get(doc_id, [doc_id]))
        or not homes.get(keys[passage.chunk.id], set()) & set(counts)
    ]


def _within(sources: Sequence[Source], budget: int) -> tuple[list[Source], int]:
    """Return the sources that fit, in order, and the tokens left; shorter ones may still fit."""
    kept: list[Source] = []
    for source in sources:
        tokens = estimated_tokens(source.text)
        if tokens <= budget:
            kept.append(source)
            budget -= tokens
    return kept, budget


def _source(index: IndexReader, query: ParsedQuery, chunk: Chunk, most: int) -> Source | None:
    """Return a chunk as a source, or as much of it as the tokens allow; None if that is nothing."""
    if most < MIN_TOKENS or not chunk.text.strip():
        return None
    spans = [(0, len(chunk.text.rstrip()))]
    limit = min(most, TABLE_TOKENS) if chunk.kind == "table" else most
    if estimated_tokens(chunk.text) > limit:
        spans = _best(index, query, chunk, limit)
    if not spans:
        return None
    doc_id, start = chunk.span.doc_id, chunk.span.start
    pages = index.snapshot.pages_of(chunk)
    return Source(
        0,
        chunk.id,
        index.opened.title_of(doc_id) or doc_id,
        chunk.locator,
        chunk.path,
        chunk.page,
        chunk.span,
        "\n".join(chunk.text[a:b] for a, b in spans),
        parts=tuple(Span(doc_id, start + a, start + b) for a, b in spans),
        page_label=pages.cited(start).label,
        pages=pages,
    )


def _best(index: IndexReader, query: ParsedQuery, chunk: Chunk, most: int) -> list[tuple[int, int]]:
    """Return the units that hold most of the question, in order, with a table's frame.

    Caption, header and footnotes of a table come with any row; a row says nothing without.
    """
    every = units(chunk.text)
    tokens = {unit: estimated_tokens(chunk.text[unit.start : unit.end]) + 1 for unit in every}
    is_table = any(unit.kind == "row" for unit in every)
    frame = [unit for unit in every if is_table and unit.kind != "row"]
    matches = Matches(chunk.text, query.weights, index.opened.analyzer_of(chunk.span.doc_id))
    others = [unit for unit in every if not is_table or unit.kind == "row"]
    left = most - sum(tokens[unit] for unit in frame)
    kept = list(frame)
    for unit in sorted(others, key=lambda unit: (-matches.worth(unit.start, unit.end), unit.start)):
        if tokens[unit] <= left:
            kept.append(unit)
            left -= tokens[unit]
    if is_table and len(kept) == len(frame):
        return []
    return _lines(chunk.text, sorted(kept, key=lambda unit: unit.start))


def _lines(text: str, chosen: Sequence[TextUnit]) -> list[tuple[int, int]]:
    """Return the stretches of units, those that only white space parts as one."""
    joined: list[tuple[int, int]] = []
    for unit in chosen:
        if joined and not text[joined[-1][1] : unit.start].strip():
            joined[-1] = (joined[-1][0], unit.end)
        else:
            joined.append((unit.start, unit.end))
    return joined
