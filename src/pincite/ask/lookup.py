"""Questions that are answered by looking up: a place by its name, a term, a cell of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pincite.answer.passage import Passage
from pincite.answer.sentences import Unit, units
from pincite.answer.values import Source
from pincite.ask.picking import Asked, Pick, pick
from pincite.ask.quotes import MOST_PLACE_CHARS, Quote, Quoter
from pincite.ask.shown import place_shown, row_shown
from pincite.ask.terms import asked_term, defined
from pincite.core.tables import Cell, Table, find_cells, parse_table
from pincite.core.types import Chunk, Span
from pincite.index.cells import SEPARATOR, rows_of_cell
from pincite.model.locators import PLACE_WORDS, locator_key
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader

# Words that ask for a place and say nothing of what is wanted there.
_ASKING = frozenset(
    re.findall(
        r"\w+",
        "show give read tell say says said state states text wording define defined definition "
        "mean means meant meaning look find what where which edition editions please cite quote "
        "version current me us my exactly",
    )
) | {each.word for each in PLACE_WORDS if "en" in each.languages and each.kind != "step"}
_YEAR = re.compile(r"(?:19|20)\d\d")
_WORD = re.compile(r"[\w²³°%.-]+")
# A number with its unit, and words without any.
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)?(?:\s?(?:°\s?[CF]|%|[^\W\d_]{1,3}[²³]?)(?!\w))?")
_NAMES = re.compile(r"(?<!\d)[^\W\d_]+")
_LAST_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]+)\s*$")
_PIPE = re.compile(r"(?<!\\)\|")
MOST_CELLS = 3
DEFINING_CHARS = 60  # in which a unit that defines a term says so, beyond the term
LEAST_PICK = 2.5  # what a row and its table have to be worth
MOST_TABLES = 3  # that are looked into without being named


class Lookup:
    """Answers by name and number, without ranking anything."""

    def __init__(self, index: IndexReader, quoter: Quoter) -> None:
        self._index = index
        self._quoter = quoter

    def is_named(self, passages: Sequence[Passage]) -> bool:
        """Return whether the first hit is there because the question names it."""
        return bool(passages) and passages[0].is_named

    def is_cited(self, question: str, quotes: Sequence[Quote]) -> bool:
        """Return whether a question names the row that is quoted, as a citation does."""
        name = locator_key(question)
        return SEPARATOR in name and any(name.startswith(locator_key(q.locator)) for q in quotes)

    def quotes(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: list[Source]
    ) -> list[Quote]:
        """Return the place, the definition or the cells that a question asks for; or nothing."""
        question = query.text
        by_chunk = {source.chunk_id: source for source in sources}
        if not passages or passages[0].chunk.id not in by_chunk:
            return []
        if cited := self._by_locator(question, by_chunk):
            return self._quoter.with_notes(cited, sources)
        place, source = passages[0].chunk, by_chunk[passages[0].chunk.id]
        if not self.is_named(passages):
            found = self._by_number(question, passages, by_chunk)
            return self._quoter.with_notes(found, sources)
        wanted = self.wanted(query)
        if not wanted:
            span = self._definition(question, place) or self._quoter.opening(place)
            lead = self._quoter.lead_in(source, span, sources)
            start = place.span.start
            shown = place_shown(place.text, span.start - start, span.end - start)
            quote = self._quoter.quote(source, span, shown)
            found = [each for each in (lead, quote) if each and len(each.span)]
            return self._quoter.with_notes(found, sources)
        return self._quoter.with_notes(self.cells(source, place, " ".join(wanted)), sources)

    def _by_locator(self, question: str, by_chunk: Mapping[str, Source]) -> list[Quote]:
        """Return the row that a question names as a citation does: "Table 4 > E-07"."""
        name = question.strip(" ?!.")
        if SEPARATOR not in name:
            return []
        snapshot = self._index.snapshot
        whole = [each for each in snapshot.found_by([locator_key(name)]) if each.kind == "row"]
        for row in whole or rows_of_cell(snapshot, name):
            source = by_chunk.get(row.id) or by_chunk.get(row.parent or "")
            if source is None or row.parent is None:
                continue
            (table,) = snapshot.get([row.parent])
            start = row.span.start - table.span.start
            unit = Unit(start, start + len(row.text.rstrip()), "row")
            if source.holds(_span(table, unit)):
                shown = row_shown(table.text, unit)
                return [self._quoter.quote(source, _span(table, unit), shown)]
        return []

    def _definition(self, question: str, place: Chunk) -> Span | None:
        """Return the units that define a term, where a place was found by the term alone."""
        term = asked_term(question) or question.strip(" ?!.")
        if locator_key(term) in (locator_key(place.locator), locator_key(place.title)):
            return None
        body = units(place.text)
        for at, unit in enumerate(body):
            end = min(unit.end, unit.start + len(term) + DEFINING_CHARS)
            if defined(term, place.text[unit.start : end]):
                # What follows in its paragraph still speaks of it.
                last = unit
                for other in body[at + 1 :]:
                    gap = place.text[last.end : other.start]
                    if "\n" in gap or other.end - unit.start > MOST_PLACE_CHARS:
                        break
                    last = other
                return _span(place, Unit(unit.start, last.end))
        return None

    def _by_number(
        self, question: str, passages: Sequence[Passage], by_chunk: Mapping[str, Source]
    ) -> list[Quote]:
        """Return the one cell that a number of the question means in a table among the best."""
        if picked := self._picked(question, passages, by_chunk):
            return picked
        for number in _NUMBER.finditer(question):
            # The number says which row; the other words say which one of equal ones, and column.
            if _YEAR.fullmatch(number.group()):
                continue
            words = f"{question[: number.start()]} {question[number.end() :]}"
            words = " ".join(self._index.opened.analyzer.content_words(words))
            bare = " ".join(_NAMES.findall(words))
            # "level 6": the word before a number names what it is, not what is asked for.
            beside = _LAST_WORD.search(question, 0, number.start())
            for passage in passages[:MOST_TABLES]:
                place = passage.chunk
                table = parse_table(place.text) if place.kind == "table" else None
                if table is None or place.id not in by_chunk:
                    continue
                row = f"{number.group()} {bare}"
                asked = words
                if beside and beside.group(1).casefold() in " ".join(table.columns).casefold():
                    asked = words.replace(beside.group(1), "", 1)
                found = find_cells(table, row, asked)
                if not found and len(table.columns) == 2 and number.group().isdigit():
                    found = find_cells(table, row, "")
                if len(found) == 1:
                    return list(self._cell(by_chunk[place.id], place, table, found[0]))
        return []

    def _picked(
        self, question: str, passages: Sequence[Passage], by_chunk: Mapping[str, Source]
    ) -> list[Quote]:
        """Return the cell that a quantity with its unit means; the row, if no column is named."""
        found: list[tuple[float, Chunk, Table, Pick]] = []
        for rank, passage in enumerate(passages[:MOST_TABLES], 1):
            place = passage.chunk
            table = parse_table(place.text) if place.kind == "table" else None
            if table is not None and place.id in by_chunk:
                analyzer = self._index.opened.analyzer_of(place.span.doc_id)
                chosen = pick(table, Asked.read(question, analyzer), analyzer)
                if chosen is not None and any(each.kind for each in chosen.used):
                    found.append((chosen.score + 1 / rank, place, table, chosen))
        if not found:
            return []
        score, place, table, best = max(found, key=lambda each: each[0])
        source = by_chunk[place.id]
        if score < LEAST_PICK:
            return []
        cells = find_cells(table, best.row, best.column) if best.column else []
        if len(cells) == 1:
            return list(self._cell(source, place, table, cells[0]))
        return [self._row(source, place, row) for row in best.rows[:1] if len(best.rows) == 1]

    def wanted(self, query: ParsedQuery) -> list[str]:
        """Return the words of a question that say what is wanted of the place that it names."""
        named, question = query.mention_spans, query.text
        if not named:
            return []  # the question as a whole is a name
        bare = question
        for _, start, end in named:
            bare = f"{bare[:start]}{' ' * (end - start)}{bare[end:]}"
        content = " ".join(self._index.opened.analyzer.content_words(bare))
        words = (word.strip(".-") for word in _WORD.findall(content))
        return [w for w in words if w and w.casefold() not in _ASKING and not _YEAR.fullmatch(w)]

    def cells(self, source: Source, place: Chunk, wanted: str) -> list[Quote]:
        """Return the cells of a table that the words mean, or the rows if they name no column."""
        table = parse_table(place.text) if place.kind == "table" else None
        if table is None:
            return []
        found = find_cells(table, wanted, wanted)
        if 0 < len(found) <= MOST_CELLS:
            return [quote for cell in found for quote in self._cell(source, place, table, cell)]
        rows = sorted({cell.row for cell in found or find_cells(table, wanted, "")})
        return [self._row(source, place, row) for row in rows[:MOST_CELLS]]

    def _row(self, source: Source, place: Chunk, row: int) -> Quote:
        unit = _row_units(place.text)[row]
        return self._quoter.quote(source, _span(place, unit), row_shown(place.text, unit))

    def _cell(self, source: Source, place: Chunk, table: Table, cell: Cell) -> Iterator[Quote]:
        unit = _row_units(place.text)[cell.row]
        inside = list(_cell_units(place.text, unit))
        if cell.column >= len(inside):
            return
        locator = f"{place.locator} > {cell.row_name} > {cell.column_name}"
        shown = f"{cell.key}; {cell.column_name}: {cell.value}"
        span = _span(place, inside[cell.column])
        if len(span):
            yield self._quoter.quote(source, span, shown, locator)
        for note in cell.notes:
            at = place.text.find(note)
            if at >= 0:
                yield self._quoter.quote(source, _span(place, Unit(at, at + len(note))))


def _row_units(text: str) -> list[Unit]:
    return [unit for unit in units(text) if unit.kind == "row"]


def _cell_units(text: str, row: Unit) -> Iterator[Unit]:
    """Yield where the cells of a row stand, without the white space around them."""
    line = text[row.start : row.end]
    bars = [match.start() for match in _PIPE.finditer(line)]
    edges = bars if line.endswith("|") and len(bars) > 1 else [*bars, len(line)]
    for left, right in pairwise(edges):
        inner = line[left + 1 : right]
        start = row.start + left + 1 + len(inner) - len(inner.lstrip())
        yield Unit(start, start + len(inner.strip()))


def _span(place: Chunk, unit: Unit) -> Span:
    start = place.span.start
    return Span(place.span.doc_id, start + unit.start, start + unit.end)
