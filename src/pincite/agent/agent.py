"""An agent over one index: it plans by itself, or a language model calls its tools."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pincite.agent.lines import Line
from pincite.agent.model_driven import ModelDriven
from pincite.agent.multiples import asked_multiple
from pincite.agent.planner import plan
from pincite.agent.tools import USUAL_STEPS, Toolbox
from pincite.agent.trace import Trace, source_of
from pincite.answer.values import Answer, Citation, Sentence
from pincite.ask.asker import Asker
from pincite.ask.language_model import LanguageModel
from pincite.core.answer_settings import AnswerSettings
from pincite.core.errors import ConfigError, ModelError
from pincite.core.types import Filters, Span
from pincite.index.filters import NOTHING
from pincite.search.reader import IndexReader

How = Literal["planned", "quoted", "model"]


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """An answer with the steps that led to it."""

    answer: Answer
    trace: Trace
    how: How  # looked up and calculated, quoted without further steps, or written by a model

    def plain(self) -> dict[str, Any]:
        steps = [step.plain() for step in self.trace.steps]
        return {"how": self.how, "steps": steps, "answer": self.answer.plain()}


class Agent:
    """Answers questions in several steps; safe to share between threads."""

    def __init__(
        self,
        index: IndexReader,
        settings: AnswerSettings | None = None,
        *,
        most_steps: int = USUAL_STEPS,
    ) -> None:
        self.index = index
        self.settings = settings or index.settings.answer
        self.most_steps = most_steps

    def answer(self, question: str, *, filters: Filters = NOTHING) -> AgentAnswer:
        """Return an answer; without a model it is looked up, calculated, or else quoted."""
        if not question.strip():
            raise ConfigError("the question is empty", hint='try: pincite agent "what size ...?"')
        started = time.perf_counter()
        notes: tuple[str, ...] = ()
        if self.settings.url:
            tools = self._tools(filters)
            try:
                answer = ModelDriven(LanguageModel(self.settings), tools).answer(question)
                return AgentAnswer(_timed(answer, started), tools.trace, "model")
            except ModelError as error:
                if self.settings.on_error == "raise":
                    raise
                notes = (f"answered without the language model: {error.message}",)
        tools = self._tools(filters)
        lines = plan(question, tools)
        multiple = asked_multiple(question)
        if multiple and not any(line.is_multiple for line in lines):
            notes += (f"“{multiple.words}” is not calculated: no single number was looked up",)
        if lines:
            answer = _from_lines(question, lines, self.index)
            return AgentAnswer(
                _timed(replace(answer, notes=notes), started), tools.trace, "planned"
            )
        quoting = Asker(self.index, replace(self.settings, url=""))
        answer = quoting.answer(question, filters=filters)
        answer = replace(answer, notes=(*answer.notes, *notes))
        return AgentAnswer(_timed(answer, started), tools.trace, "quoted")

    def _tools(self, filters: Filters) -> Toolbox:
        return Toolbox(self.index, filters, most_steps=self.most_steps)


def _timed(answer: Answer, started: float) -> Answer:
    return replace(answer, seconds={**answer.seconds, "total": time.perf_counter() - started})


def _from_lines(question: str, lines: Sequence[Line], index: IndexReader) -> Answer:
    """Return the lines as an answer whose citations quote their places exactly."""
    places = {line.place.id: line.place for line in lines if line.place is not None}
    numbers = {place_id: number for number, place_id in enumerate(places, 1)}
    sources = tuple(source_of(numbers[i], place, index) for i, place in places.items())
    sentences = [_sentence(line, numbers) for line in lines]
    texts = [
        f"{each.text} {''.join(f'[{c.source}]' for c in each.citations)}".rstrip()
        for each in sentences
    ]
    return Answer(question, "\n".join(texts), tuple(sentences), sources)


def _sentence(line: Line, numbers: dict[str, int]) -> Sentence:
    if line.place is None:
        return Sentence(line.text, (), "uncited")
    at = line.place.text.find(line.quote) if line.quote else -1
    start = line.place.span.start + at
    span = Span(line.place.span.doc_id, start, start + len(line.quote)) if at >= 0 else None
    citation = Citation(
        numbers[line.place.id],
        line.place.locator,
        line.place.page,
        line.quote if at >= 0 else "",
        span,
    )
    return Sentence(line.text, (citation,))
