"""A hit as a reader sees it: place, snippet, marks, citation."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum
from typing import Any

import numpy as np

from pincite.index.filters import NOTHING
from pincite.index.opened import OpenIndex
from pincite.index.tokens import Analyzer
from pincite.model.markup import shown_stretch
from pincite.model.sentences import units
from pincite.model.types import Chunk, Filters, Hit, PageRef
from pincite.search.citing import cite_place
from pincite.search.neighbours import Companion
from pincite.search.query import ParsedQuery
from pincite.store.files import Array

# The last character that is white space to Python.
LAST_SPACE = 0x3000


class Matches:
    """All matches of a query in one text, in order; a stretch is looked up, not searched."""

    def __init__(self, text: str, weights: Mapping[str, float], analyzer: Analyzer) -> None:
        self._weights = weights
        words = text.split()
        wanted = analyzer.with_terms(set(words), weights.keys())
        found = [
            (n, word, t) for n, word in enumerate(words) if word in wanted for t in wanted[word]
        ]
        self._words = [word for _, word, _ in found]
        self._terms = [term for _, _, term in found]
        self._starts: list[int] = word_starts(text)[[n for n, _, _ in found]].tolist()

    def between(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield where the matches stand that start in this stretch."""
        for n in self._within(start, end):
            yield self._starts[n], self._starts[n] + len(self._words[n])

    def worth(self, start: int, end: int) -> float:
        """Return the summed weight of the distinct terms in this stretch."""
        inside = self._within(start, end)
        # Exact, whatever the order they stand in: equal terms are worth the same.
        return fsum(map(self._weights.__getitem__, {*self._terms[inside.start : inside.stop]}))

    def best_start(self, low: int, high: int, width: int, before: int) -> int:
        """Return where the stretch of a width begins that holds most, the first of equal ones.

        Stretches begin so many characters before a match, or at ``low``; all lie within the bounds.
        """
        inside = self._within(low, high)
        if not inside:
            return low
        at = np.array(self._starts[inside.start : inside.stop])
        begins = np.concatenate(([low], np.maximum(low, at - before)))
        ends = np.minimum(high, begins + width)
        # How often each term stands before a match, and so whether it stands between two.
        number = {term: n for n, term in enumerate(self._weights)}
        seen = np.zeros((len(inside) + 1, len(number)), dtype=np.int32)
        seen[np.arange(1, len(seen)), [number[self._terms[n]] for n in inside]] = 1
        np.cumsum(seen, axis=0, out=seen)
        held = seen[np.searchsorted(at, ends)] > seen[np.searchsorted(at, begins)]
        worth = (held * np.array(list(self._weights.values()))).sum(axis=1)
        return int(begins[worth.argmax()])

    def _within(self, start: int, end: int) -> range:
        return range(bisect_left(self._starts, start), bisect_left(self._starts, end))


def word_starts(text: str) -> Array:
    """Return where the words of a text begin that ``split`` gives.

    >>> word_starts(" to  be ").tolist()
    [1, 5]
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    is_space = _spaces()[np.minimum(codes, LAST_SPACE + 1)]
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    return np.flatnonzero(begins)


@cache
def _spaces() -> Array:
    """Return which characters are white space; the last one stands for all behind them."""
    return np.array([chr(code).isspace() for code in range(LAST_SPACE + 2)])


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
    page: int | None = None  # of what is quoted in the snippet
    page_label: str = ""  # what is printed on that page, if that is another number

    @property
    def citation(self) -> str:
        """The place as one would write it in a text."""
        return cite(self)


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
        spans, quoted = _snippet(place, chunk, matches)
        snippet, marks = _marked(chunk.text, spans, matches)
        title = index.title_of(doc_id) or doc_id
        page = index.snapshot.page_of(chunk, chunk.span.start + quoted)
        found.append(Passage(rank, hit, chunk, place, title, snippet, marks, is_named, *page))
    return found


def _exact_place(chunk: Chunk, matches: Matches, index: OpenIndex, filters: Filters) -> Chunk:
    """Return the clause inside the chunk whose own words hold most of the query.

    With filters it is one that satisfies them: of a section that was found for its exception, the
    exception is shown.
    """
    fitting = [chunk]
    if chunk.kind != "piece":
        fitting += index.snapshot.inside(chunk.id)
    if filters != NOTHING:
        allowed = index.filters.satisfied(filters, [place.id for place in fitting])
        fitting = [place for place in fitting if place.id in allowed] or [chunk]
    start = chunk.span.start
    own = [matches.worth(place.span.start - start, place.own_end - start) for place in fitting]
    return fitting[own.index(max(own))]


def _is_allowed(chunk: Chunk, index: OpenIndex, filters: Filters) -> bool:
    return filters == NOTHING or chunk.id in index.filters.satisfied(filters, [chunk.id])


def _snippet(place: Chunk, chunk: Chunk, matches: Matches) -> tuple[list[tuple[int, int]], int]:
    """Return the stretches of the place with most of the query, and where what is quoted begins.

    The head of a table is shown with its rows, and a page before them.
    """
    if place.kind == "table" and place is chunk:
        spans = _table_spans(chunk.text, matches)
        return spans, spans[:2][-1][0]
    if place.kind == "row" and place is not chunk:
        start = place.span.start - chunk.span.start
        header = next((m.span() for m in _LINE.finditer(chunk.text) if m.group()[0] == "|"), (0, 0))
        return [header, (start, start + len(place.text))], start
    low = place.span.start - chunk.span.start
    high = (place.own_end if place is not chunk else chunk.span.end) - chunk.span.start
    if place.kind == "section":
        low = _below_heading(chunk.text, low, high)
    span = low, high
    if high - low > SNIPPET_CHARS:
        start = matches.best_start(low, high, SNIPPET_CHARS, CHARS_BEFORE)
        span = _whole_words(chunk.text, start, min(high, start + SNIPPET_CHARS), low, high)
        span = _whole_sentences(chunk.text, *span, low, high, matches)
    return [span], span[0]


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


def _whole_sentences(
    text: str, start: int, end: int, low: int, high: int, matches: Matches
) -> tuple[int, int]:
    """Return the span moved to where a sentence begins, and cut where one ends, if that is near.

    It holds as much of the query as before.
    """
    begin = max(low, start - SNIPPET_CHARS)
    around = units(text[begin : min(high, end + SNIPPET_CHARS)])
    starts = [begin + unit.start for unit in around if begin == low or unit.start]
    _, nearest = min(((abs(at - start), at) for at in starts), default=(0, start))
    last = min(high, nearest + SNIPPET_CHARS)
    ends = [e for unit in around if last - SNIPPET_CHARS // 2 < (e := begin + unit.end) <= last]
    moved = [(nearest, max(ends, default=0)), _whole_words(text, nearest, last, low, high)]
    worth = matches.worth(start, end)
    return next((each for each in moved if matches.worth(*each) >= worth), (start, end))


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
    """Return the spans as they are read, a line each, and where the matches stand in that."""
    lines: list[str] = []
    marks: list[tuple[int, int]] = []
    offset = 0
    for start, end in spans:
        shown = shown_stretch(text, start, end)
        line = shown.text.rstrip()
        for begin, stop in matches.between(start, end):
            first, last = shown.at(begin), min(shown.at(stop), len(line))
            if first < last:
                marks.append((offset + first, offset + last))
        lines.append(line)
        offset += len(line) + 1
    return "\n".join(lines), tuple(dict.fromkeys(marks))


def passage_values(passage: Passage) -> dict[str, Any]:
    """Return a passage as plain values."""
    chunk, place = passage.chunk, passage.place
    return {
        "rank": passage.rank,
        "citation": passage.citation,
        "locator": place.locator,
        "document": chunk.span.doc_id,
        "title": passage.document,
        "path": list(place.path),
        "page": passage.page,
        "page_label": passage.page_label,
        "kind": place.kind,
        "span": [place.span.start, place.span.end],
        "snippet": passage.snippet,
        "marks": [list(mark) for mark in passage.marks],
        "score": passage.hit.score,
        "why": dict(passage.hit.features),
        "raw": dict(passage.hit.raw),
        "chunk": {
            "id": chunk.id,
            "locator": chunk.locator,
            "kind": chunk.kind,
            "span": [chunk.span.start, chunk.span.end],
            "text": chunk.text,
        },
    }


def result_blocks(passages: Sequence[Passage]) -> list[dict[str, Any]]:
    """Return passages as ``search_result`` blocks of Anthropic's Messages, each place once."""
    places = {passage.place.id: passage for passage in passages}
    return [
        {
            "type": "search_result",
            "source": f"{passage.place.span.doc_id}#{passage.place.locator}",
            "title": passage.citation,
            "content": [{"type": "text", "text": passage.place.text.strip()}],
            "citations": {"enabled": True},
        }
        for passage in places.values()
        if passage.place.text.strip()
    ]


def companion_values(companion: Companion, chunk: Chunk) -> dict[str, Any]:
    """Return what belongs beside hits as plain values."""
    return {
        "locator": chunk.locator,
        "document": chunk.span.doc_id,
        "relation": companion.relation,
        "evidence": companion.evidence,
        "of": companion.of,
        "chunk": chunk.id,
    }


def cite(passage: Passage, style: str = "plain") -> str:
    """Return how to cite a passage, in one of ``pincite.search.citing.STYLES``.

    ``Index.cite`` knows more of the document: its issuer, its date, what its source calls places.
    """
    page = PageRef(passage.page, passage.page_label)
    return cite_place(passage.document, passage.place, page, style)
