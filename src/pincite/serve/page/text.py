"""Text as HTML with marks, links and previews."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Literal

from pincite.model.markup import Markup, read_markup
from pincite.model.sentences import begins_item
from pincite.model.types import Chunk, Link
from pincite.search.reader import IndexReader
from pincite.store.snapshot import Place

_HEADING = re.compile(r"(#{1,6}) +(?=\S)")
_RULER = re.compile(r"[\s|:]*--[\s|:-]*$")
_CELL_END = re.compile(r"(?<!\\)\|")
_MARK, _LIT = 1, 2
_STYLES = {"strong": 4, "em": 8, "code": 16, "raised": 32}
_LOOKS = {"is_mark": _MARK, "is_lit": _LIT, **{f"is_{name}": bit for name, bit in _STYLES.items()}}
# A table may name a row so wide; what is beyond is not shown as cells.
MAX_CELLS = 60


@dataclass(frozen=True, slots=True)
class StyledRun:
    """Words that look the same; ``link`` is the number of a reference, -1 for none."""

    text: str
    is_mark: bool = False
    is_lit: bool = False
    is_strong: bool = False
    is_em: bool = False
    is_code: bool = False
    is_raised: bool = False
    link: int = -1


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its cells, and whether it is lit."""

    cells: tuple[tuple[StyledRun, ...], ...]
    is_lit: bool = False


@dataclass(frozen=True, slots=True)
class PageBlock:
    """A heading, a paragraph, a table, code; ``start`` is where it begins in the document."""

    kind: Literal["heading", "text", "table", "code"]
    start: int
    level: int = 0
    runs: tuple[StyledRun, ...] = ()
    head: Row | None = None
    rows: tuple[Row, ...] = ()


@dataclass(slots=True)
class MarkedText:
    """A stretch of a document with what is to be seen on it; places are offsets into it."""

    text: str
    start: int = 0  # of the stretch, in its document
    marks: Iterable[tuple[int, int]] = ()
    lit: Iterable[tuple[int, int]] = ()
    links: Sequence[tuple[int, int]] = ()
    _looks: bytearray = field(init=False, repr=False)
    _markup: Markup = field(init=False, repr=False)
    _code: set[tuple[int, int, str]] = field(init=False, repr=False)  # lines between fences
    _refs: dict[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._looks = bytearray(len(self.text))
        for places, bit in ((self.marks, _MARK), (self.lit, _LIT)):
            for first, last in _merged(places, len(self.text)):
                for at in range(first, last):
                    self._looks[at] |= bit
        self._markup = read_markup(self.text)
        for first, last, style in self._markup.styles:
            for at in range(first, last):
                self._looks[at] |= _STYLES[style]
        whole = (s for s in self._markup.styles if self.text[s.end - 1] == "\n")
        self._code = {(s.start, s.end - 1, s.style) for s in whole}
        self._refs = {}
        end = 0
        for number, (first, last) in sorted(enumerate(self.links), key=lambda each: each[1]):
            # Of references that overlap, the first one is shown: links do not nest.
            if first >= end:
                end = min(last, len(self.text))
                self._refs.update(dict.fromkeys(range(max(0, first), end), number))

    def blocks(self, low: int = 0, high: int | None = None) -> list[PageBlock]:
        """Return what stands between two offsets."""
        end = len(self.text) if high is None else min(high, len(self.text))
        found: list[PageBlock] = []
        lines = _lines(self.text, low, end)
        for is_table, some in groupby(lines, key=lambda line: self.text.startswith("|", line[0])):
            found += (self._table if is_table else self._paragraphs)([*some])
        return found

    def _paragraphs(self, lines: Sequence[tuple[int, int]]) -> Iterator[PageBlock]:
        for is_blank, some in groupby(lines, key=lambda line: not self.text[slice(*line)].strip()):
            if is_blank:
                continue
            rest = list(some)
            while rest and (match := _HEADING.match(self.text, rest[0][0], rest[0][1])):
                runs = self._runs(match.end(), rest[0][1])
                yield PageBlock("heading", self.start + rest[0][0], len(match.group(1)), runs)
                rest.pop(0)
            starts = [n for n in range(len(rest)) if not n or self._begins(rest[n - 1], rest[n])]
            for first, behind in pairwise([*starts, len(rest)]):
                runs = self._runs(rest[first][0], rest[behind - 1][1])
                if runs:  # of a fence nothing is left
                    kind: Literal["code", "text"] = "code" if self._is_code(rest[first]) else "text"
                    yield PageBlock(kind, self.start + rest[first][0], runs=runs)

    def _begins(self, before: tuple[int, int], line: tuple[int, int]) -> bool:
        """Return whether a line begins something of its own: an item, code, words behind code."""
        is_code = self._is_code(line)
        return is_code != self._is_code(before) or (
            not is_code and begins_item(self.text[slice(*line)])
        )

    def _is_code(self, line: tuple[int, int]) -> bool:
        """Return whether a line stands in a fence; a line that only holds code does not."""
        return (*line, "code") in self._code

    def _table(self, lines: Sequence[tuple[int, int]]) -> Iterator[PageBlock]:
        rows = [self._row(*line) for line in lines if not _RULER.match(self.text, *line)]
        if rows:
            yield PageBlock("table", self.start + lines[0][0], head=rows[0], rows=tuple(rows[1:]))

    def _row(self, low: int, high: int) -> Row:
        low += 1  # the bar that begins it
        high = low + len(self.text[low:high].rstrip())
        if high > low and self.text[high - 1] == "|":
            high -= 1
        ends = [match.start() for match in _CELL_END.finditer(self.text, low, high)][:MAX_CELLS]
        starts = [low, *(end + 1 for end in ends)]
        cells = tuple(map(self._runs, starts, [*ends, high]))
        return Row(cells, any(run.is_lit for cell in cells for run in cell))

    def _runs(self, low: int, high: int) -> tuple[StyledRun, ...]:
        """Return the words between two offsets without the signs that style them."""
        words = self.text[low:high]
        low += len(words) - len(words.lstrip())
        high = max(low, high - (len(words) - len(words.rstrip())))
        found: list[StyledRun] = []
        signs = self._markup.signs
        for sign in signs[bisect_left(signs, (low,)) : bisect_left(signs, (high,))]:
            found += self._cut(low, sign.start)
            found += [StyledRun(sign.shown)] if sign.shown else []
            low = max(low, sign.end)
        return (*found, *self._cut(low, high))

    def _cut(self, low: int, high: int) -> Iterator[StyledRun]:
        def seen(at: int) -> tuple[int, int]:
            return self._looks[at], self._refs.get(at, -1)

        for (bits, link), some in groupby(range(low, high), key=seen):
            ats = list(some)
            words = self.text[ats[0] : ats[-1] + 1].replace("\\|", "|")
            looks = {name: bool(bits & bit) for name, bit in _LOOKS.items()}
            yield StyledRun(words, link=link, **looks)


def _lines(text: str, low: int, high: int) -> Iterator[tuple[int, int]]:
    while low < high:
        end = text.find("\n", low, high)
        end = high if end < 0 else end
        yield low, end
        low = end + 1


def _merged(places: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """Yield the places in order without overlaps, so that marking them takes linear time."""
    done = 0
    for first, last in sorted(places):
        first, last = max(done, first), min(last, size)
        if first < last:
            yield first, last
            done = last


# So many characters are shown at once, and of a single table.
STRETCH_CHARS = 20_000
TABLE_CHARS = 200_000
# Names of the chunk itself, places outside, and traits that hundreds of chunks share.
NOT_LINKS = ("describes", "defines", "alias_of", "refers_outside", "has_trait")
# A name that more places have than this, none of them in the same document, means none of them.
MAX_HOMES = 8


@dataclass(frozen=True, slots=True)
class Node:
    """One clause of the stretch."""

    chunk: Chunk
    depth: int  # below the top of the stretch
    is_lit: bool
    blocks: list[PageBlock]


@dataclass(frozen=True, slots=True)
class PageReference:
    """A place that words of the stretch lead to."""

    doc: str
    at: tuple[int, int]
    locator: str
    relation: str


@dataclass(frozen=True, slots=True)
class Stretch:
    """Clauses of a document in order, and what they refer to."""

    low: int
    high: int
    size: int  # of the whole document
    nodes: list[Node]
    references: list[PageReference]


def stretch(
    index: IndexReader,
    doc: str,
    at: tuple[int, int] | None,
    begin: int | None,
    marks: Sequence[tuple[int, int]] = (),
) -> Stretch:
    """Return the clauses around a place, or those from an offset on, with some words marked."""
    text = index.snapshot.text(doc)
    low, high = _bounds(index, doc, at or (0, 0), begin, len(text))
    chunks = _inside(index, doc, low, high)
    tables = [c.span.end for c in chunks if c.kind == "table" and len(c.span) <= TABLE_CHARS]
    if max(tables, default=0) > high:  # a table is shown whole
        high = max(tables)
        chunks = _inside(index, doc, low, high)
    shown = [c for c in chunks if c.kind != "row" and c.own_end > low]
    links, references = _references(index, doc, chunks, low, high)
    whole = {c.id for c in shown if at and at[0] <= c.span.start and c.span.end <= at[1]}
    # Whole clauses are lit by their edge; words only where they are a part of one.
    lit = [(at[0] - low, at[1] - low)] if at and not whole else []
    marked = [(max(0, first - low), last - low) for first, last in marks if last > low]
    words = MarkedText(text[low:high], low, marked, lit, links)
    depths, ends = _depths(shown), _ends(chunks)
    nodes = [
        Node(c, depths[c.id], c.id in whole, blocks)
        for c in shown
        if (blocks := words.blocks(max(low, c.span.start) - low, ends[c.id] - low))
    ]
    return Stretch(low, high, len(text), nodes, references)


def _inside(index: IndexReader, doc: str, low: int, high: int) -> list[Chunk]:
    return [c for c in index.snapshot.chunks_within(doc, low, high) if c.kind != "piece"]


def _bounds(
    index: IndexReader, doc: str, at: tuple[int, int], begin: int | None, size: int
) -> tuple[int, int]:
    """Return where the stretch begins and ends: a section that is not too long, if there is one."""
    if begin is None:
        around = _inside(index, doc, at[0], max(at[1], at[0] + 1))
        holding = [c.span for c in around if c.kind != "row"]
        holding = [span for span in holding if span.start <= at[0] and at[1] <= span.end]
        fitting = [span for span in holding if len(span) <= STRETCH_CHARS]
        widest = max(fitting, key=len, default=None)
        if widest and len(widest) > STRETCH_CHARS // 4:
            return widest.start, widest.end
        # What holds it is too long to be shown whole: some of what comes before it, and more after.
        above = max((span.start for span in holding if span not in fitting), default=0)
        begin = max(above, at[0] - STRETCH_CHARS // 4)
    here = _inside(index, doc, min(begin, size - 1), begin + 1)
    starts = [c.span.start for c in here if c.kind != "row" and begin - c.span.start < TABLE_CHARS]
    low = max(starts, default=begin)
    if low + STRETCH_CHARS >= size:
        return low, size
    # To the next beginning of a clause, so that no line is cut.
    behind = _inside(index, doc, low + STRETCH_CHARS, low + STRETCH_CHARS + 1)
    ends = [c.own_end for c in behind if c.own_end > low + STRETCH_CHARS]
    return low, min(ends, default=size)


def _ends(chunks: Sequence[Chunk]) -> dict[str, int]:
    """Return where the own words of each clause end; a table has its rows."""
    ends = {chunk.id: chunk.own_end for chunk in chunks}
    for chunk in chunks:
        if chunk.kind == "row" and chunk.parent in ends:
            ends[chunk.parent] = max(ends[chunk.parent], chunk.span.end)
    return ends


def _depths(chunks: Sequence[Chunk]) -> dict[str, int]:
    depths: dict[str, int] = {}
    for chunk in chunks:  # parents come before their children
        depths[chunk.id] = min(8, depths.get(chunk.parent or "", -1) + 1)
    return depths


def _references(
    index: IndexReader, doc: str, chunks: Sequence[Chunk], low: int, high: int
) -> tuple[list[tuple[int, int]], list[PageReference]]:
    """Return where references stand in the stretch, and where each leads."""
    rows = index.snapshot.graph_rows()
    links = rows.links_from([c.id for c in chunks], NOT_LINKS)
    inside = [x for x in links if low <= x.span.start and x.span.end <= high]
    homes = rows.named(sorted({link.target for link in inside}))
    found: dict[tuple[int, int], PageReference] = {}
    for link in inside:
        home = _home(link, homes.get(link.target, []), doc)
        if home is not None:
            place = (link.span.start - low, link.span.end - low)
            at = (home.start, home.end)
            found.setdefault(place, PageReference(home.doc_id, at, home.locator, link.relation))
    return list(found), list(found.values())


def _home(link: Link, places: Sequence[Place], doc: str) -> Place | None:
    """Return the place that a link means: one of its own document, if that has one."""
    whole = [p for p in places if p.kind not in ("piece", "text")] or list(places)
    own = [p for p in whole if p.doc_id == doc]
    chosen = own or (whole if len(whole) <= MAX_HOMES else [])
    # A clause that names itself leads nowhere.
    around = [p for p in chosen if not (p.doc_id == doc and p.start <= link.span.start < p.end)]
    return around[0] if around else None
