"""The tools of an agent, each a typed function with a JSON schema. Nobody can add one at run time.

A tool never raises what a user could mend: it answers with an error in plain words, and the agent
goes on. What documents say is data in an answer, and nothing in it is ever called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pincite.agent.calculate import calculate
from pincite.agent.trace import AgentStep, Found, Trace
from pincite.core.errors import ConfigError, PinciteError, StoreUnavailable
from pincite.core.types import Chunk, Filters
from pincite.index.filters import NOTHING
from pincite.search.reader import IndexReader

MOST_HITS = 20
MOST_TEXT = 4000  # characters of a place that a tool gives back
MOST_CELLS = 24
MOST_REFERENCES = 40
MOST_ARGUMENT = 1000
USUAL_STEPS = 12
# Links that lead from one place to another.
FOLLOWED = ("refers_to", "exception_to", "uses", "refers_outside")


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with what a model has to know to call it."""

    name: str
    about: str
    parameters: Mapping[str, Mapping[str, Any]]  # JSON schemas by name
    required: tuple[str, ...]
    call: Callable[..., Found]

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as services that speak OpenAI's protocol expect it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.about,
                "parameters": {
                    "type": "object",
                    "properties": {name: dict(each) for name, each in self.parameters.items()},
                    "required": list(self.required),
                    "additionalProperties": False,
                },
            },
        }


def _text(about: str) -> dict[str, Any]:
    return {"type": "string", "description": about, "maxLength": MOST_ARGUMENT}


class OutOfSteps(PinciteError):
    """The agent has used all its steps."""


class Toolbox:
    """The tools over one index, with a limit on steps and a trace of them."""

    def __init__(
        self, index: IndexReader, filters: Filters = NOTHING, *, most_steps: int = USUAL_STEPS
    ) -> None:
        self.index = index
        self.filters = filters
        self.most_steps = most_steps
        self.trace = Trace()

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        document = _text("Only in this document: its id.")
        listed = [
            Tool(
                "search",
                "Find passages for a question or some words.",
                {
                    "query": _text("What to look for."),
                    "k": {"type": "integer", "minimum": 1, "maximum": MOST_HITS},
                },
                ("query",),
                self.search,
            ),
            Tool(
                "show",
                "Read a place: a clause, a section or a table, by its name.",
                {
                    "locator": _text("As 250.66, 97.113(a)(4), Table 310.16."),
                    "document": document,
                },
                ("locator",),
                self.show,
            ),
            Tool(
                "lookup_table",
                "Look up cells of a table. A number finds the row whose range holds it.",
                {
                    "table": _text("As Table 310.16."),
                    "row": _text("A row's name, or a value with its unit: 95 mm²."),
                    "column": _text("Words of a column's name; all columns without."),
                    "document": document,
                },
                ("table", "row"),
                self.lookup_table,
            ),
            Tool(
                "follow_references",
                "List the places that a place names, and those that are missing.",
                {"locator": _text("As 250.104(A)."), "document": document},
                ("locator",),
                self.follow_references,
            ),
            Tool(
                "calculate",
                "Calculate exactly, with units: 80 % of 20 A; 22 W/m² * 150 m²; 5 in in mm.",
                {"expression": _text("Numbers, units, + - * / ^ ( ), of, per, in, min, max.")},
                ("expression",),
                self.calculate,
            ),
        ]
        return {tool.name: tool for tool in listed}

    @property
    def left(self) -> int:
        """How many steps may still be taken."""
        return self.most_steps - len(self.trace.steps)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Found:
        """Call a tool as one step; OutOfSteps if there is none left."""
        if self.left <= 0:
            raise OutOfSteps(f"all {self.most_steps} steps are used", hint="ask something smaller")
        started = time.perf_counter()
        found = self._called(name, arguments)
        ms = 1000 * (time.perf_counter() - started)
        shown = {str(key)[:60]: _short(value) for key, value in list(arguments.items())[:10]}
        self.trace.steps.append(AgentStep(len(self.trace.steps) + 1, name[:60], shown, found, ms))
        return found

    def _called(self, name: str, arguments: Mapping[str, Any]) -> Found:
        tool = self.tools.get(name)
        if tool is None:
            return _nothing(f"there is no tool {name[:60]!r}; there are {', '.join(self.tools)}")
        problem = wrong_argument(tool, arguments)
        if problem:
            return _nothing(problem)
        try:
            return tool.call(**arguments)
        except StoreUnavailable:
            raise  # nothing is known of what the documents say
        except PinciteError as error:
            return _nothing(f"{error.message}. {error.hint}".strip())

    def search(self, query: str, k: int = 8) -> Found:
        """Find passages."""
        result = self.index.search(query, k, self.filters)
        lines = [
            f"{p.place.locator} ({p.place.span.doc_id}): {' '.join(p.snippet.split())}"
            for p in result.passages
        ]
        places = tuple(passage.place for passage in result.passages)
        return Found("\n".join(lines) or "nothing was found", places, result)

    def show(self, locator: str, document: str | None = None) -> Found:
        """Read a place."""
        places = self._places(locator, document)
        texts = [f"{p.locator} ({p.span.doc_id}):\n{p.text[:MOST_TEXT]}" for p in places]
        return Found("\n\n".join(texts), tuple(places), places)

    def lookup_table(
        self, table: str, row: str, column: str = "", document: str | None = None
    ) -> Found:
        """Look up cells."""
        allowed = {place.id for place in self._places(table, document)}
        cells = [
            cell
            for cell in self.index.cells(table, row, column, document)
            if cell.table.id in allowed
        ]
        if not cells:
            return _nothing(f"{table} has no cell for row {row!r} and column {column!r}")
        lines = [
            f"{cell.citation}: {cell.cell.value} {cell.cell.unit}".rstrip()
            + "".join(f" (note: {note})" for note in cell.cell.notes)
            for cell in cells[:MOST_CELLS]
        ]
        tables = {cell.table.id: cell.table for cell in cells}
        return Found("\n".join(lines), tuple(tables.values()), cells)

    def follow_references(self, locator: str, document: str | None = None) -> Found:
        """List what a place names."""
        rows = self.index.snapshot.graph_rows()
        lines: list[str] = []
        found: dict[str, Chunk] = {}
        for place in self._places(locator, document)[:4]:
            inside = [each.id for each in rows.inside([place.id]).get(place.id, [])]
            for link in rows.links_from([place.id, *inside]):
                if link.relation not in FOLLOWED or len(lines) >= MOST_REFERENCES:
                    continue
                targets = self._homes(link.target, link.span.doc_id)
                name = targets[0].locator if targets else link.target
                line = f"{link.relation} {name}" + ("" if targets else " (not in the documents)")
                if line not in lines:
                    lines.append(line)
                found |= {target.id: target for target in targets if target.id != place.id}
        text = "\n".join(lines) or f"{locator} names no other place"
        return Found(text, tuple(found.values()), list(found.values()))

    def calculate(self, expression: str) -> Found:
        """Calculate."""
        result = calculate(expression)
        return Found(f"{result.expression} = {result.text}", (), result)

    def _places(self, locator: str, document: str | None) -> list[Chunk]:
        """Return the places of a name that the filters allow; StoreError if there are none."""
        places = self.index.show(locator, document)
        allows = self.index.opened.filters.allows_document
        kept = [place for place in places if allows(self.filters, place.span.doc_id)]
        if not kept:
            raise ConfigError(f"{locator} is not in the documents that may be read")
        return kept

    def _homes(self, key: str, doc_id: str) -> list[Chunk]:
        allows = self.index.opened.filters.allows_document
        named = [
            chunk
            for chunk in self.index.snapshot.found_by([key])
            if chunk.kind not in ("document", "text", "piece")
            and allows(self.filters, chunk.span.doc_id)
        ]
        return [chunk for chunk in named if chunk.span.doc_id == doc_id] or named[:4]


def wrong_argument(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with the arguments of a call; empty if nothing is."""
    for name in tool.required:
        if name not in arguments:
            return f"{tool.name} needs {name!r}"
    for name, value in arguments.items():
        schema = tool.parameters.get(name)
        if schema is None:
            return f"{tool.name} has no {str(name)[:60]!r}; it has {', '.join(tool.parameters)}"
        if schema["type"] == "string":
            if not isinstance(value, str) or (not value.strip() and name in tool.required):
                return f"{name!r} of {tool.name} must be words"
            if len(value) > schema["maxLength"]:
                return f"{name!r} of {tool.name} is longer than {schema['maxLength']} characters"
        elif isinstance(value, bool) or not isinstance(value, int):
            return f"{name!r} of {tool.name} must be a whole number"
        elif not schema["minimum"] <= value <= schema["maximum"]:
            return f"{name!r} of {tool.name} must be {schema['minimum']} to {schema['maximum']}"
    return ""


def _nothing(reason: str) -> Found:
    return Found(reason, error=reason)


def _short(value: Any) -> Any:
    return value if isinstance(value, int | float) else str(value)[:MOST_ARGUMENT]
