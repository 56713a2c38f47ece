"""pincite ask and agent: answers with numbered citations, at once or in several steps."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from pincite.cli.options import (
    Call,
    argument,
    as_of_option,
    command,
    filter_options,
    option,
    report_errors,
)
from pincite.cli.terminal import Part, print_json, safe, say, tell
from pincite.model.errors import ConfigError
from pincite.model.settings import Answering, AnswerSettings
from pincite.model.types import PageRef

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pincite.answer.agent.agent import AgentAnswer
    from pincite.answer.values import Answer, Event, Sentence, State
    from pincite.model.types import Filters, Span

MAX_PLACES = 6  # of a step of the agent, shown
STYLES = {"found": "bold green", "candidates": "bold yellow", "not_found": "bold"}


@command("ask")
@argument("question", help="A question, a term, a place or a table's cell.")
@option(
    "-k",
    type=click.IntRange(min=1),
    help=f"How many hits are read; {AnswerSettings().k} unless answer.k is set.",
)
@option("--llm", default="", help="Let a language model write: its URL, as answer.url.")
@option("--model", default="", help="Its name there, as answer.model.")
@filter_options("documents", "as_of", "kinds", "path", "audience", "access")
@option("--stream", is_flag=True, help="Print every event as a line of JSON.")
def ask(
    call: Call, question: str, k: int | None, llm: str, model: str, filters: Filters, stream: bool
) -> int:
    """Answer a question from the documents, with citations that were checked."""
    from pincite.answer.asker import Asker
    from pincite.api import Index

    as_json = call.as_json or stream
    with (
        report_errors(replace(call, as_json=as_json)),
        Index.open(call.index, call.settings) as opened,
    ):
        answering = _answering(call, llm, model)
        events = Asker(opened, answering).ask(question, filters=filters, k=k)
        if stream:
            return _print_events(events)
        # Words of a model are shown as they come; quotations are there at once.
        answer = _followed(events, is_shown=bool(answering.url) and not call.as_json)
    if call.as_json:
        print_json(answer.plain() if call.is_full else _compact(answer))
    else:
        _print_answer(answer, is_written=bool(answering.url))
    return 0


def _compact(answer: Answer) -> dict[str, Any]:
    """Return of an answer what most programs need: what it says, and where each part stands."""
    numbered = {source.number: source for source in answer.sources}
    told = {
        "question": answer.question,
        "state": answer.state,
        "short": answer.short,
        "text": answer.text,
        "confidence": round(answer.confidence, 6),
        "citations": [
            {
                "source": each.source,
                "citation": numbered[each.source].cited(each),
                "document": numbered[each.source].span.doc_id,
                "locator": each.locator,
                "page": each.page,
                "quote": each.quote,
            }
            for each in answer.citations
        ],
    }
    if answer.abstention:
        told["abstention"] = answer.abstention.plain()
    return {**told, "notes": list(answer.notes)} if answer.notes else told


def _answering(call: Call, llm: str, model: str) -> Answering:
    """Return how to answer, with the language model of this call."""
    found = call.settings.answering
    found = replace(found, url=llm or found.url, model=model or found.model)
    if model and not found.url:
        raise ConfigError("--model without a service", hint="give its URL with --llm")
    return found


def _print_events(events: Iterable[Event]) -> int:
    """Print events as they happen; return the exit code of an error."""
    error = None
    for event in events:
        print_json({"event": event.name, "data": event.plain()})
        sys.stdout.flush()
        error = getattr(event, "error", None)
    return error.exit_code if error is not None else 0


def _followed(events: Iterable[Event], *, is_shown: bool) -> Answer:
    """Return the answer that events end with, its words shown as they come."""
    from pincite.answer.values import (
        CompleteEvent,
        ErrorEvent,
        RejectedEvent,
        ShortEvent,
        TokenEvent,
    )

    for event in events:
        if isinstance(event, TokenEvent) and is_shown:
            sys.stdout.write(safe(event.text))
            sys.stdout.flush()
        elif isinstance(event, ShortEvent) and is_shown:
            _print_state("found", event.short)
        elif isinstance(event, RejectedEvent) and is_shown:
            tell(f"\nrejected: {event.citation.reason}")
        elif isinstance(event, ErrorEvent):
            if is_shown:
                sys.stdout.write("\n")
            raise event.error
        elif isinstance(event, CompleteEvent):
            return event.answer
    raise AssertionError("a stream ends with complete or error")


def _print_state(state: State, short: str = "") -> None:
    from pincite.answer.values import STATES

    say((STATES[state], STYLES[state]), (f": {short}" if short else "", "bold"))


def _print_answer(answer: Answer, *, is_written: bool) -> None:
    is_shown = is_written and bool(answer.model)  # as its words came
    if answer.abstention or not is_shown:
        _print_state(answer.state, answer.short)
    if answer.abstention:
        if not is_shown:
            say(answer.text)
        say(f"reason: {answer.abstention.reason}", style="dim")
        for place in answer.abstention.nearest:
            page = PageRef(place.page, place.page_label)
            say(f"nearest: {place.title}, {place.locator}{page}", style="dim")
        return
    if is_shown:
        say()
    else:
        for sentence in answer.sentences:
            numbers = "".join(f"[{each.source}]" for each in sentence.citations)
            say(*_lit(sentence, answer.short_spans), (f" {numbers}", "bold cyan"))
    say()
    _print_sources(answer)
    for note in answer.notes:
        tell(f"note: {note}")
    if answer.model:
        usage = answer.usage
        tokens = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
        cost = f", cost {usage.cost:.6g}" if usage.cost else ""
        tell(f"{answer.model}: {tokens}{cost}", style="dim")


def _lit(sentence: Sentence, spans: Sequence[Span]) -> list[Part]:
    """Return the words of a quotation, those of the short answer in bold."""
    parts: list[Part] = []
    done = 0
    for start, end in sentence.lit(spans):
        parts += [sentence.text[done:start], (sentence.text[start:end], "bold")]
        done = end
    return [*parts, sentence.text[done:]]


def _print_sources(answer: Answer) -> None:
    """Print where every citation leads, each place once."""
    numbered = {source.number: source for source in answer.sources}
    lines = []
    for citation in answer.citations:
        source = numbered[citation.source]
        where = f" {source.cited(citation)}"
        lines.append((f"[{citation.source}]", where, f"  ({source.span.doc_id})"))
    for number, where, document in dict.fromkeys(lines):
        say((number, "bold cyan"), where, (document, "dim"))


@command("agent")
@argument("question", help="What to look up or calculate.")
@option("--steps", type=click.IntRange(1, 50), default=12, help="Steps that may be taken.")
@as_of_option
def agent(call: Call, question: str, steps: int, as_of: str | None) -> None:
    """Answer in steps: search, follow references, look up cells, calculate; print the trace.

    Without answer.url a planner takes the steps; with it, the language model there does.
    """
    from pincite.answer.agent.agent import Agent
    from pincite.api import Index
    from pincite.model.types import Filters

    with Index.open(call.index, call.settings) as opened:
        filters = Filters(as_of=as_of or "")
        answered = Agent(opened, most_steps=steps).answer(question, filters=filters)
    if call.as_json:
        print_json(answered.plain())
    else:
        _print_steps(answered)


def _print_steps(answered: AgentAnswer) -> None:
    for step in answered.trace.steps:
        named = ", ".join(f"{name}={value!r}" for name, value in step.arguments.items() if value)
        places = list(dict.fromkeys(place.locator for place in step.found.places))
        more = " …" if len(places) > MAX_PLACES else ""
        found = ", ".join(places[:MAX_PLACES]) + more or step.found.text.partition("\n")[0]
        tell(f"{step.number}. {step.tool}({named}) → {found}  ({step.ms:.0f} ms)", style="dim")
    answer = answered.answer
    say(answer.text)
    cited = {citation.source for citation in answer.citations}
    for source in answer.sources:
        if source.number in cited:
            say(f"[{source.number}] {source.citation}")
    for note in answer.notes:
        tell(note)
