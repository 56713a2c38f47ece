"""pincite agent: an answer in several steps, with the trace of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    AsOfOption,
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

if TYPE_CHECKING:
    from pincite.agent.agent import AgentAnswer


def agent(
    question: Annotated[str, typer.Argument(help="What to look up or calculate.")],
    steps: Annotated[
        int, typer.Option("--steps", min=1, max=50, help="Steps that may be taken.")
    ] = 12,
    as_of: AsOfOption = None,
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    sets: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer in steps: search, follow references, look up cells, calculate; print the trace.

    Without answer.url a planner takes the steps; with it, the language model there does.
    """
    from pincite.agent.agent import Agent
    from pincite.api import Index
    from pincite.core.types import Filters

    with told(as_json=as_json, index=index):
        settings = settings_from(config, sets)
        with Index.open(index, settings) as opened:
            filters = Filters(as_of=as_of or "")
            answered = Agent(opened, most_steps=steps).answer(question, filters=filters)
    if as_json:
        print_json(answered.plain())
    else:
        _print(answered)


def _print(answered: AgentAnswer) -> None:
    for step in answered.trace.steps:
        named = ", ".join(f"{name}={value!r}" for name, value in step.arguments.items() if value)
        places = list(dict.fromkeys(place.locator for place in step.found.places))
        more = " …" if len(places) > 6 else ""
        found = ", ".join(places[:6]) + more or step.found.text.partition("\n")[0]
        line = f"{step.number}. {step.tool}({named}) → {found}  ({step.ms:.0f} ms)"
        err.print(line, style="dim", markup=False, soft_wrap=True)
    answer = answered.answer
    out.print(answer.text, markup=False, soft_wrap=True)
    cited = {citation.source for citation in answer.citations}
    for source in answer.sources:
        if source.number in cited:
            out.print(f"[{source.number}] {source.citation}", markup=False, soft_wrap=True)
    for note in answer.notes:
        err.print(note, markup=False, soft_wrap=True)
