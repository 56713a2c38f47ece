"""pincite ask: an answer with numbered citations, and the sources below it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.filter_options import (
    AccessOption,
    AsOfFilter,
    AudienceOption,
    DocumentsOption,
    KindOption,
    PathOption,
    filters_from,
)
from pincite.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    err,
    out,
    print_json,
    settings_from,
    told,
)
from pincite.cli.terminal import safe
from pincite.core.answer_settings import AnswerSettings
from pincite.core.errors import ConfigError, PinciteError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pincite.answer.values import Answer
    from pincite.ask.events import Event


def ask(
    question: Annotated[str, typer.Argument(help="A question, a term, a place or a table's cell.")],
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            help=f"How many hits are read; {AnswerSettings().k} unless answer.k is set.",
            min=1,
        ),
    ] = None,
    llm: Annotated[
        str,
        typer.Option("--llm", help="Let a language model write: its URL, as answer.url."),
    ] = "",
    model: Annotated[str, typer.Option("--model", help="Its name there, as answer.model.")] = "",
    documents: DocumentsOption = None,
    as_of: AsOfFilter = "",
    kinds: KindOption = None,
    path: PathOption = None,
    audience: AudienceOption = "",
    access: AccessOption = None,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Print every event as a line of JSON.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Answer a question from the documents, with citations that were checked."""
    from pincite import api
    from pincite.ask.asker import Asker

    with told(as_json=as_json or stream, index=index):
        settings = settings_from(config, sets)
        answering = settings.answer
        if llm:
            answering = replace(answering, url=llm)
        if model:
            answering = replace(answering, model=model)
        if model and not answering.url:
            raise ConfigError("--model without a service", hint="give its URL with --llm")
        filters = filters_from(
            documents, as_of=as_of, kinds=kinds, path=path, audience=audience, access=access
        )
        with api.Index.open(index, settings) as opened:
            events = Asker(opened, answering).ask(question, filters=filters, k=k)
            if stream:
                _print_events(events)
                return
            # Words of a model are shown as they come; quotations are there at once.
            answer = _followed(events, is_shown=bool(answering.url) and not as_json)
    if as_json:
        print_json(answer.plain())
        return
    _print(answer, is_written=bool(answering.url))


def _print_events(events: Iterable[Event]) -> None:
    """Print events as they happen; leave with the code of an error."""
    error: PinciteError | None = None
    for event in events:
        print_json({"event": event.name, "data": event.plain()})
        sys.stdout.flush()
        error = getattr(event, "error", None)
    if error is not None:
        raise typer.Exit(error.exit_code)


def _followed(events: Iterable[Event], *, is_shown: bool) -> Answer:
    from pincite.ask.events import CompleteEvent, ErrorEvent, RejectedEvent, TokenEvent

    for event in events:
        if isinstance(event, TokenEvent) and is_shown:
            sys.stdout.write(safe(event.text))
            sys.stdout.flush()
        elif isinstance(event, RejectedEvent) and is_shown:
            err.print(f"\nrejected: {event.citation.reason}", soft_wrap=True, markup=False)
        elif isinstance(event, ErrorEvent):
            if is_shown:
                sys.stdout.write("\n")
            raise event.error
        elif isinstance(event, CompleteEvent):
            return event.answer
    raise AssertionError("a stream ends with complete or error")


def _print(answer: Answer, *, is_written: bool) -> None:
    from rich.text import Text

    if answer.abstention:
        if not is_written or not answer.model:
            out.print(Text(answer.text, style="bold"), soft_wrap=True)
        out.print(Text(f"reason: {answer.abstention.reason}", style="dim"))
        for place in answer.abstention.nearest:
            page = f", p. {place.page}" if place.page is not None else ""
            near = f"nearest: {place.title}, {place.locator}{page}"
            out.print(Text(near, style="dim"), soft_wrap=True)
        return
    if is_written and answer.model:
        out.print()
    else:
        for sentence in answer.sentences:
            numbers = "".join(f"[{each.source}]" for each in sentence.citations)
            line = Text.assemble(sentence.text, (f" {numbers}", "bold cyan"))
            out.print(line, soft_wrap=True)
    out.print()
    _print_sources(answer)
    for note in answer.notes:
        err.print(f"note: {note}", soft_wrap=True, markup=False)
    if answer.model:
        usage = answer.usage
        counted = f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
        cost = f", cost {usage.cost:.6g}" if usage.cost else ""
        err.print(f"{answer.model}: {counted}{cost}", style="dim", markup=False)


def _print_sources(answer: Answer) -> None:
    """Print where every citation leads, each place once."""
    from rich.text import Text

    numbered = {source.number: source for source in answer.sources}
    lines = []
    for citation in answer.citations:
        source = numbered[citation.source]
        where = f" {source.cited(citation)}"
        lines.append((f"[{citation.source}]", where, f"  ({source.span.doc_id})"))
    for number, where, document in dict.fromkeys(lines):
        out.print(Text.assemble((number, "bold cyan"), where, (document, "dim")), soft_wrap=True)
