"""What an agent may call."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pincite.answer.agent.calculate import calculate
from pincite.answer.values import Source
from pincite.index.filters import NOTHING
from pincite.model.errors import ConfigError, PinciteError, StoreUnavailable
from pincite.model.types import Chunk, Filters
from pincite.search.reader import IndexReader


@dataclass(frozen=True, slots=True)
class ToolResult:
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
    found: ToolResult
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
    names = (place.id, title, place.locator, place.path, place.page)
    pages = index.snapshot.pages_of(place)
    label = pages.cited(place.span.start).label
    return Source(number, *names, place.span, place.text, page_label=label, pages=pages)


MAX_HITS = 20
MAX_TEXT = 4000  # characters of a place that a tool gives back
MAX_CELLS = 24
MAX_REFERENCES = 40
MAX_ARGUMENT = 1000
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
    call: Callable[..., ToolResult]

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
    return {"type": "string", "description": about, "maxLength": MAX_ARGUMENT}


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
                    "k": {"type": "integer", "minimum": 1, "maximum": MAX_HITS},
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

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool as one step; OutOfSteps if there is none left."""
        if self.left <= 0:
            raise OutOfSteps(f"all {self.most_steps} steps are used", hint="ask something smaller")
        started = time.perf_counter()
        found = self._called(name, arguments)
        ms = 1000 * (time.perf_counter() - started)
        shown = {str(key)[:60]: _short(value) for key, value in list(arguments.items())[:10]}
        self.trace.steps.append(AgentStep(len(self.trace.steps) + 1, name[:60], shown, found, ms))
        return found

    def _called(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
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

    def search(self, query: str, k: int = 8) -> ToolResult:
        """Find passages."""
        result = self.index.search(query, k, self.filters)
        lines = [
            f"{p.place.locator} ({p.place.span.doc_id}): {' '.join(p.snippet.split())}"
            for p in result.passages
        ]
        places = tuple(passage.place for passage in result.passages)
        return ToolResult("\n".join(lines) or "nothing was found", places, result)

    def show(self, locator: str, document: str | None = None) -> ToolResult:
        """Read a place."""
        places = self._places(locator, document)
        texts = [f"{p.locator} ({p.span.doc_id}):\n{p.text[:MAX_TEXT]}" for p in places]
        return ToolResult("\n\n".join(texts), tuple(places), places)

    def lookup_table(
        self, table: str, row: str, column: str = "", document: str | None = None
    ) -> ToolResult:
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
            for cell in cells[:MAX_CELLS]
        ]
        tables = {cell.table.id: cell.table for cell in cells}
        return ToolResult("\n".join(lines), tuple(tables.values()), cells)

    def follow_references(self, locator: str, document: str | None = None) -> ToolResult:
        """List what a place names."""
        rows = self.index.snapshot.graph_rows()
        lines: list[str] = []
        found: dict[str, Chunk] = {}
        for place in self._places(locator, document)[:4]:
            inside = [each.id for each in rows.inside([place.id]).get(place.id, [])]
            for link in rows.links_from([place.id, *inside]):
                if link.relation not in FOLLOWED or len(lines) >= MAX_REFERENCES:
                    continue
                targets = self._homes(link.target, link.span.doc_id)
                name = targets[0].locator if targets else link.target
                line = f"{link.relation} {name}" + ("" if targets else " (not in the documents)")
                if line not in lines:
                    lines.append(line)
                found |= {target.id: target for target in targets if target.id != place.id}
        text = "\n".join(lines) or f"{locator} names no other place"
        return ToolResult(text, tuple(found.values()), list(found.values()))

    def calculate(self, expression: str) -> ToolResult:
        """Calculate."""
        result = calculate(expression)
        return ToolResult(f"{result.expression} = {result.text}", (), result)

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


def _nothing(reason: str) -> ToolResult:
    return ToolResult(reason, error=reason)


def _short(value: Any) -> Any:
    return value if isinstance(value, int | float) else str(value)[:MAX_ARGUMENT]


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One sentence of an answer with the place it is from; of a calculation, of its numbers."""

    text: str
    place: Chunk | None = None
    quote: str = ""  # words of the place that the line repeats
    amount: str = ""  # the number that it gives, as it is calculated with
    unit: str = ""  # of the number, if nobody calculates with it: "€"
    is_multiple: bool = False  # that the question asks for


def calculated(expression: str, place: Chunk | None, tools: Toolbox) -> list[AnswerLine]:
    """Return the result of the calculator as a line; none if it gives none."""
    if not tools.left:
        return []
    found: ToolResult = tools.call("calculate", {"expression": expression})
    return [] if found.error else [AnswerLine(found.text, place, amount=expression)]


_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: str(number) for number, word in enumerate(_WORDS, 2)}
_NAMED = {"twice": "2", "double": "2", "thrice": "3", "triple": "3"}
_PARTS = {"half": "2", "third": "3", "quarter": "4"}
_NUMBER = r"\d{1,9}(?:\.\d{1,9})?"
_KINDS = (
    rf"(?P<count>{_NUMBER}|{'|'.join(_COUNTS)})\s+times",
    rf"(?P<figure>{_NUMBER})\s?[x×*]",
    rf"(?P<named>{'|'.join(_NAMED)})",
    rf"(?:(?:a|one)\s+)?(?P<part>{'|'.join(_PARTS)})",
)
# Only before what it is a multiple of: "3 times a day" and "half an hour" ask for none.
_MULTIPLE = re.compile(
    rf"(?<![\w.,])(?:{'|'.join(_KINDS)})(?:\s+of)?\s+(?=(?:the|that|this|its)\b)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Multiple:
    """A factor or a share, and the question without it."""

    words: str  # as the question has them
    factor: str
    is_part: bool
    rest: str

    def of(self, expression: str) -> str:
        """Return what is to be calculated."""
        inner = f"({expression})" if re.search(r"[*/+]|\bof\b", expression) else expression
        return f"{inner} / {self.factor}" if self.is_part else f"{self.factor} * {inner}"


def asked_multiple(question: str) -> Multiple | None:
    """Return the multiple that a question asks for; None if it asks for none, or for several.

    >>> found = asked_multiple("What is 3 times the fee of a permit?")
    >>> found.of("120"), found.rest
    ('3 * 120', 'What is the fee of a permit?')
    """
    found = list(_MULTIPLE.finditer(question))
    if len(found) != 1:
        return None
    (match,) = found
    (written,) = (each.casefold() for each in match.groups() if each)
    factor = {**_COUNTS, **_NAMED, **_PARTS}.get(written, written)
    rest = question[: match.start()] + question[match.end() :]
    return Multiple(match.group().strip(), factor, written in _PARTS, rest)


def times(multiple: Multiple, lines: Sequence[AnswerLine], tools: Toolbox) -> list[AnswerLine]:
    """Return the multiple of what was calculated last, or of the one number looked up."""
    given = [line for line in lines if line.amount]
    # A sum that comes before the look-up only led to the row.
    looked_up = [line for line in given if line.quote]
    given = looked_up if given and given[-1].quote else given[-1:]
    if len(given) != 1:
        return []
    (line,) = given
    found = calculated(multiple.of(line.amount), line.place, tools)
    return [
        replace(each, text=f"{each.text} {line.unit}".rstrip(), is_multiple=True) for each in found
    ]
