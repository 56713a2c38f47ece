"""Canonical text as blocks of runs, so that a template can show it without reading any markup.

Documents are untrusted: whatever looks like HTML in them is words. Only what our readers write is
understood: ``#`` headings, pipe tables, ``**bold**`` and ``^1^`` marks of footnotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Literal

_INLINE = re.compile(r"\*\*|\^([^\^\n]{1,3})\^|\\(?=[|*_#\\])")
_HEADING = re.compile(r"(#{1,6}) +(?=\S)")
_RULER = re.compile(r"[\s|:]*--[\s|:-]*$")
# Lines that begin something of their own inside a paragraph: items of lists, lettered clauses.
_ITEM = re.compile(r"[-•*–] |\([0-9A-Za-z]{1,5}\) |\d{1,3}[.)] ")
_CELL_END = re.compile(r"(?<!\\)\|")
_MARK, _LIT, _STRONG, _RAISED = 1, 2, 4, 8
# A table may name a row so wide; what is beyond is not shown as cells.
MOST_CELLS = 60


@dataclass(frozen=True, slots=True)
class Run:
    """Words that look the same; ``link`` is the number of a reference, -1 for none."""

    text: str
    is_mark: bool = False
    is_lit: bool = False
    is_strong: bool = False
    is_raised: bool = False
    link: int = -1


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its cells, and whether it is lit."""

    cells: tuple[tuple[Run, ...], ...]
    is_lit: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph or a table; ``start`` is where it begins in the document."""

    kind: Literal["heading", "text", "table"]
    start: int
    level: int = 0
    runs: tuple[Run, ...] = ()
    head: Row | None = None
    rows: tuple[Row, ...] = ()


@dataclass(slots=True)
class Words:
    """A stretch of a document with what is to be seen on it; places are offsets into it."""

    text: str
    start: int = 0  # of the stretch, in its document
    marks: Iterable[tuple[int, int]] = ()
    lit: Iterable[tuple[int, int]] = ()
    links: Sequence[tuple[int, int]] = ()
    _looks: bytearray = field(init=False, repr=False)
    _refs: dict[int, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._looks = bytearray(len(self.text))
        for places, bit in ((self.marks, _MARK), (self.lit, _LIT)):
            for first, last in _merged(places, len(self.text)):
                for at in range(first, last):
                    self._looks[at] |= bit
        self._refs = {}
        end = 0
        for number, (first, last) in sorted(enumerate(self.links), key=lambda each: each[1]):
            # Of references that overlap, the first one is shown: links do not nest.
            if first >= end:
                end = min(last, len(self.text))
                self._refs.update(dict.fromkeys(range(max(0, first), end), number))

    def blocks(self, low: int = 0, high: int | None = None) -> list[Block]:
        """Return what stands between two offsets."""
        end = len(self.text) if high is None else min(high, len(self.text))
        found: list[Block] = []
        for is_table, lines in groupby(_lines(self.text, low, end), key=self._is_row):
            some = list(lines)
            found += self._table(some) if is_table else self._paragraphs(some)
        return found

    def _is_row(self, line: tuple[int, int]) -> bool:
        return self.text.startswith("|", line[0])

    def _paragraphs(self, lines: Sequence[tuple[int, int]]) -> Iterator[Block]:
        for is_blank, some in groupby(lines, key=lambda line: not self.text[slice(*line)].strip()):
            if is_blank:
                continue
            rest = list(some)
            while rest and (match := _HEADING.match(self.text, rest[0][0], rest[0][1])):
                runs = self._runs(match.end(), rest[0][1])
                yield Block("heading", self.start + rest[0][0], len(match.group(1)), runs)
                rest.pop(0)
            starts = [n for n, line in enumerate(rest) if not n or _ITEM.match(self.text, *line)]
            for first, behind in pairwise([*starts, len(rest)]):
                runs = self._runs(rest[first][0], rest[behind - 1][1])
                yield Block("text", self.start + rest[first][0], runs=runs)

    def _table(self, lines: Sequence[tuple[int, int]]) -> Iterator[Block]:
        rows = [self._row(*line) for line in lines if not _RULER.match(self.text, *line)]
        if rows:
            yield Block("table", self.start + lines[0][0], head=rows[0], rows=tuple(rows[1:]))

    def _row(self, low: int, high: int) -> Row:
        low += 1  # the bar that begins it
        high = low + len(self.text[low:high].rstrip())
        if high > low and self.text[high - 1] == "|":
            high -= 1
        ends = [match.start() for match in _CELL_END.finditer(self.text, low, high)][:MOST_CELLS]
        starts = [low, *(end + 1 for end in ends)]
        cells = tuple(map(self._runs, starts, [*ends, high]))
        return Row(cells, any(run.is_lit for cell in cells for run in cell))

    def _runs(self, low: int, high: int) -> tuple[Run, ...]:
        """Return the words between two offsets without the signs that make them bold."""
        words = self.text[low:high]
        low += len(words) - len(words.lstrip())
        high = max(low, high - (len(words) - len(words.rstrip())))
        is_paired = self.text.count("**", low, high) % 2 == 0
        found: list[Run] = []
        strong, at = 0, low
        for match in _INLINE.finditer(self.text, low, high):
            if match.group() == "**" and not is_paired:
                continue
            found += self._cut(at, match.start(), strong)
            if match.group(1):
                found += self._cut(match.start(1), match.end(1), strong | _RAISED)
            elif match.group() == "**":
                strong ^= _STRONG
            at = match.end()
        return (*found, *self._cut(at, high, strong))

    def _cut(self, low: int, high: int, look: int) -> Iterator[Run]:
        def seen(at: int) -> tuple[int, int]:
            return self._looks[at] | look, self._refs.get(at, -1)

        for (bits, link), some in groupby(range(low, high), key=seen):
            ats = list(some)
            yield Run(
                self.text[ats[0] : ats[-1] + 1],
                bool(bits & _MARK),
                bool(bits & _LIT),
                bool(bits & _STRONG),
                bool(bits & _RAISED),
                link,
            )


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
