"""Sources as the reader reads them: some sentences or rows at a time, under their headings.

A row is read as "group > label | head: value". Whatever the reader marks stands in the document:
a window knows where each of its sentences, labels and cells comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pincite.answer.values import Source
from pincite.encode.windows import SEPARATOR
from pincite.model.sentences import TextUnit, units
from pincite.model.tables import BELOW, Table, groups_of, parse_table
from pincite.model.types import Span

# What the reader was trained with (models/reader_data.py, models/reader_tables.py).
TEXT_CHARS, TABLE_CHARS = 560, 480
MAX_UNIT_CHARS = 1200  # that are read of one sentence or row
LEADS = (":", "—", "–")
MAX_LEAD_CHARS = 200  # longer words that lead into a list are not said again
MAX_TITLE_CHARS = 200  # a longer sentence above a table is no title of it
# Before the words of an item; no label is an answer.
_LABEL = re.compile(r"\s*(?:(?:\(\w{1,5}\)|\d{1,3}(?:\.\d{1,3}){0,3}[.)]|[-*•–])\s+){1,3}")
_PIPE = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class WindowPiece:
    """A stretch of a window whose words stand in the document: a sentence, a label or a cell."""

    start: int  # in the window
    end: int
    span: Span  # in the document
    unit: TextUnit  # the sentence or row, in the source's text
    column: int = 0  # of a cell; 0 is the label of its row
    row: int = -1  # in its table; -1 for a sentence
    table: Table | None = None
    about: str = ""  # what a cell is the value of: its row with the groups above it, its head


@dataclass(frozen=True, slots=True)
class ReadingWindow:
    """What is read at once."""

    source: Source
    heading: str
    text: str
    pieces: tuple[WindowPiece, ...]


@dataclass(frozen=True, slots=True)
class _WindowLine:
    """A sentence or a row on its way into a window."""

    text: str
    pieces: tuple[WindowPiece, ...]
    heading: str  # inside the source, above it


def windows_of(source: Source, heading: str) -> Iterator[ReadingWindow]:
    """Yield a source in windows of whole sentences or rows; ``heading`` is what stands above it.

    Items of a list that goes on from another window stand under the words that lead into it.
    """
    kept: list[_WindowLine] = []
    leads: list[tuple[str, str]] = []  # of the lists that a line is in, with how they are numbered
    size, above = 0, ""
    for line in _lines(source):
        is_row = line.pieces[0].row >= 0
        most = TABLE_CHARS if is_row else TEXT_CHARS
        is_other = kept and (is_row, line.heading) != (kept[0].pieces[0].row >= 0, kept[0].heading)
        if kept and (is_other or size + len(line.text) > most):
            yield _window(source, SEPARATOR.join(filter(None, (heading, above))), kept)
            kept, size = [], 0
        style = "" if is_row else _numbering(line.text)
        begins = source.text[: line.pieces[0].unit.start].rstrip(" ")[-1:] in ("", "\n")
        if begins or style:  # further sentences of an item are in its list
            leads = _still_open(leads, style)
        if not kept:
            above = leads[-1][1] if leads else ""
        if not is_row and line.text.endswith(LEADS) and len(line.text) <= MAX_LEAD_CHARS:
            leads = [*leads, (style, line.text)]
        kept.append(line)
        size += len(line.text) + 1
    if kept:
        yield _window(source, SEPARATOR.join(filter(None, (heading, above))), kept)


def _numbering(text: str) -> str:
    """Return how an item is numbered, by one sign; empty for what is no item.

    >>> [_numbering(text) for text in ("(a) One", "(12) Two", "(iv) Three", "- Four", "Five")]
    ['a', '1', 'i', '-', '']
    """
    label = _LABEL.match(text)
    if label is None:
        return ""
    sign = label.group().strip(" ().")
    if re.fullmatch(r"[ivx]+", sign):
        return "i"
    first = sign[:1] or "-"
    return "1" if first.isdigit() else "A" if first.isupper() else "a" if first.isalpha() else "-"


def _still_open(leads: Sequence[tuple[str, str]], style: str) -> list[tuple[str, str]]:
    """Return the words that still lead into a line: a sibling ends what its elder led into."""
    if not style:
        return []
    at = next((n for n, (own, _) in enumerate(leads) if own == style), len(leads))
    return list(leads[:at])


def _window(source: Source, heading: str, lines: Sequence[_WindowLine]) -> ReadingWindow:
    text, pieces = "", []
    for line in lines:
        at = len(text)
        pieces += [replace(p, start=p.start + at, end=p.end + at) for p in line.pieces]
        text += f"{line.text}\n"
    above = SEPARATOR.join(filter(None, (heading, lines[0].heading)))
    return ReadingWindow(source, above, text.rstrip("\n"), tuple(pieces))


def _lines(source: Source) -> Iterator[_WindowLine]:
    """Yield the sentences and rows of a source, each with the heading or title above it."""
    heading, title = "", ""
    table: Table | None = None
    groups: Sequence[Sequence[str]] = ()
    row = 0
    for unit in units(source.text):
        words = source.text[unit.start : unit.end]
        if unit.kind == "heading":
            heading = title = words.strip("#*_ \n")
        elif unit.kind == "header":
            table = parse_table(source.text[unit.start :])
            groups = groups_of(table) if table else []
            row = 0
        elif unit.kind == "row" and table and row < len(table.rows):
            line = _row(source, unit, table, row, groups[row])
            row += 1
            if line:
                yield replace(line, heading=title or heading)
        elif span := document_span(source, unit.start, unit.end):
            table = None
            cut = words[:MAX_UNIT_CHARS]
            label = _LABEL.match(cut)
            at = label.end() if label and label.end() < len(cut) else 0
            said = Span(span.doc_id, span.start + at, span.start + len(cut))
            yield _WindowLine(cut, (WindowPiece(at, len(cut), said, unit),), heading)
            title = words.strip() if len(words) <= MAX_TITLE_CHARS else heading


def _row(
    source: Source, unit: TextUnit, table: Table, row: int, groups: Sequence[str]
) -> _WindowLine | None:
    """Return a row as it is read; None for one that only opens a group."""
    cells = list(cell_places(source.text, unit))
    values = [source.text[a:b] for a, b in cells]
    if not any(values[1:]):
        return None
    line, pieces = BELOW.join([*groups, values[0]]), []
    named, label = line, len(line) - len(values[0])
    for column, ((start, end), value) in enumerate(zip(cells, values, strict=True)):
        if not value:
            continue
        at, about = label, ""
        if column:
            head = table.columns[column] if column < len(table.columns) else ""
            line += f" | {head}: " if head else " | "
            about = f"{named} | {head}"
            at = len(line)
            line += value
        if len(line) > MAX_UNIT_CHARS:
            break
        if span := document_span(source, start, end):
            place = (at, at + len(value), span, unit)
            pieces.append(WindowPiece(*place, column, row, table, about))
    return _WindowLine(line[:MAX_UNIT_CHARS], tuple(pieces), "") if pieces else None


def cell_places(text: str, row: TextUnit) -> Iterator[tuple[int, int]]:
    """Yield where the cells of a row stand in a text, without the white space around them."""
    line = text[row.start : row.end]
    bars = [match.start() for match in _PIPE.finditer(line)]
    edges = bars if line.endswith("|") and len(bars) > 1 else [*bars, len(line)]
    for left, right in pairwise(edges):
        inner = line[left + 1 : right]
        start = row.start + left + 1 + len(inner) - len(inner.lstrip())
        yield start, start + len(inner.strip())


def document_span(source: Source, start: int, end: int) -> Span | None:
    """Return where a stretch of a source's text stands in the document; None across a gap."""
    before = 0
    for part in source.parts or (source.span,):
        if before <= start and end <= before + len(part):
            at = part.start + start - before
            return Span(part.doc_id, at, at + end - start)
        before += len(part) + 1
    return None
