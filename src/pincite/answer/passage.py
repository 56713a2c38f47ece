"""From hits to passages: the exact place, the words that matter there, and how to cite it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.answer.matches import Matches
from pincite.core.types import Chunk, Filters, Hit
from pincite.index.opened import OpenIndex
from pincite.search.query import ParsedQuery

SNIPPET_CHARS = 280
CHARS_BEFORE = 40  # of a snippet, before the first of the query's words
TABLE_ROWS = 3
_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """One hit as a reader sees it."""

    rank: int
    hit: Hit
    chunk: Chunk
    place: Chunk  # the deepest clause of the chunk that holds the query's words
    document: str  # the document's title
    snippet: str
    marks: tuple[tuple[int, int], ...]  # where the query's words stand in the snippet
    is_named: bool = False  # the query names this very place

    @property
    def citation(self) -> str:
        """The place as one would write it in a text."""
        page = f", p. {self.place.page}" if self.place.page is not None else ""
        where = self.place.locator
        return f"{self.document}, {where}{page}" if where != self.document else f"{where}{page}"


def passages(query: ParsedQuery, hits: Sequence[Hit], index: OpenIndex) -> list[Passage]:
    """Return hits with their places and snippets, which show the words that were searched for."""
    chunks = index.snapshot.get([hit.chunk_id for hit in hits])
    index.snapshot.expect_below([chunk.id for chunk in chunks if chunk.kind != "piece"])
    named = frozenset(query.places)
    cited: set[str] = set()
    found = []
    for rank, (hit, chunk) in enumerate(zip(hits, chunks, strict=True), 1):
        doc_id = chunk.span.doc_id
        matches = Matches(chunk.text, query.weights, index.analyzer_of(doc_id))
        # A place that the query names is cited as named, not as a part of it.
        place, is_named = chunk, chunk.id in named
        if not is_named:
            place = _exact_place(chunk, matches, index, query.filters)
        if place.id in cited and _is_allowed(chunk, index, query.filters):
            place = chunk
        cited.add(place.id)
        snippet, marks = _snippet(place, chunk, matches)
        title = index.title_of(doc_id) or doc_id
        found.append(Passage(rank, hit, chunk, place, title, snippet, marks, is_named))
    return found


def _exact_place(chunk: Chunk, matches: Matches, index: OpenIndex, filters: Filters) -> Chunk:
    """Return the clause inside the chunk whose own words hold most of the query.

    With filters it is one that satisfies them: of a section that was found for its exception, the
    exception is shown.
    """
    inside = [chunk]
    waiting = [chunk] if chunk.kind != "piece" else []
    while waiting:
        children = index.snapshot.children(waiting.pop().id)
        places = [child for child in children if child.kind != "piece"]
        inside += places
        waiting += places
    allowed = index.filters.satisfied(filters, [place.id for place in inside])
    fitting = [place for place in inside if place.id in allowed] or [chunk]
    start = chunk.span.start
    own = [matches.worth(place.span.start - start, place.own_end - start) for place in fitting]
    return fitting[own.index(max(own))]


def _is_allowed(chunk: Chunk, index: OpenIndex, filters: Filters) -> bool:
    return chunk.id in index.filters.satisfied(filters, [chunk.id])


def _snippet(
    place: Chunk, chunk: Chunk, matches: Matches
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the stretch of the place with most of the query, and the marks inside it."""
    if place.kind == "table" and place is chunk:
        return _marked(chunk.text, _table_spans(chunk.text, matches), matches)
    if place.kind == "row" and place is not chunk:
        start = place.span.start - chunk.span.start
        header = next((m.span() for m in _LINE.finditer(chunk.text) if m.group()[0] == "|"), (0, 0))
        return _marked(chunk.text, [header, (start, start + len(place.text))], matches)
    low = place.span.start - chunk.span.start
    high = (place.own_end if place is not chunk else chunk.span.end) - chunk.span.start
    if place.kind == "section":
        low = _below_heading(chunk.text, low, high)
    start = low
    if high - low > SNIPPET_CHARS:
        start = matches.best_start(low, high, SNIPPET_CHARS, CHARS_BEFORE)
    end = min(high, start + SNIPPET_CHARS)
    return _marked(chunk.text, [_whole_words(chunk.text, start, end, low, high)], matches)


def _below_heading(text: str, low: int, high: int) -> int:
    """Return where the words below the heading line start; the heading's own if there are none."""
    end = text.find("\n", low, high)
    if end < 0 or not text[end:high].strip():
        return low
    return end + len(text[end:high]) - len(text[end:high].lstrip())


def _whole_words(text: str, start: int, end: int, low: int, high: int) -> tuple[int, int]:
    """Return the span widened to whole words within its bounds."""
    while low < start and not text[start - 1].isspace():
        start -= 1
    while end < high and not text[end].isspace():
        end += 1
    return start, end


def _table_spans(text: str, matches: Matches) -> list[tuple[int, int]]:
    """Return the table's header and the rows that hold most of the query."""
    lines = [(m.start(), m.end()) for m in _LINE.finditer(text)]
    rows = [line for line in lines if text[line[0] : line[1]].lstrip().startswith("|")]
    if len(rows) < 3:
        return [(0, min(len(text), SNIPPET_CHARS))]
    # Below the header and its ruler, those that hold most, in the table's order.
    worth = sorted((-matches.worth(*row), row) for row in rows[2:])[:TABLE_ROWS]
    return [rows[0], *sorted(row for value, row in worth if value < 0)]


def _marked(
    text: str, spans: Sequence[tuple[int, int]], matches: Matches
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the spans' text, a line each, and where the matches stand in it."""
    lines: list[str] = []
    marks: list[tuple[int, int]] = []
    offset = 0
    for start, end in spans:
        line = text[start:end].rstrip()
        for match in matches.between(start, start + len(line)):
            last = min(match.end - start, len(line))
            marks.append((offset + match.start - start, offset + last))
        lines.append(line)
        offset += len(line) + 1
    return "\n".join(lines), tuple(dict.fromkeys(marks))
