"""Places, terms and cells that a question names, looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pincite.answer.quotes import MAX_PLACE_CHARS, Quote, Quoter, asked_term, defined
from pincite.answer.sentences import place_shown, row_shown
from pincite.answer.values import Source
from pincite.answer.windows import cell_places
from pincite.index.tokens import Analyzer
from pincite.model.locators import PLACE_WORDS, locator_key, mention_spans
from pincite.model.markup import plain
from pincite.model.sentences import TextUnit, units
from pincite.model.tables import (
    Cell,
    Table,
    find_cells,
    intervals_of,
    numbers,
    parse_table,
    rows_holding,
    unit_of,
)
from pincite.model.types import Chunk, Span
from pincite.model.units import Quantity, quantities
from pincite.search.lookup import SEPARATOR, rows_of_cell
from pincite.search.passages import Passage
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader

# A question names a row by a number, surer if it has a unit, or by its words.
BY_NUMBER, BY_BARE_NUMBER, BY_WORDS = 2.0, 1.0, 2.0
BY_COLUMN_NUMBER = 2.0  # "in the 75 °C column"
NEAR_WORDS = 4
MIN_WORDS = 0.5  # share of a row's words that the question has to have
_RAISED = re.compile(r"(?<=\bmm|\bcm)[23]\b|(?<=\bm)[23]\b")  # mm2 is mm²
_MARK = re.compile(r"\^[^^]{1,3}\^")


@dataclass(frozen=True, slots=True)
class Pick:
    """A row and a column as the look-up tool takes them, and how well they fit."""

    row: str
    column: str
    score: float
    used: tuple[Quantity, ...]  # quantities of the question that chose them
    key: int  # the column that the row was found by
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellQuery:
    """A question as terms and quantities."""

    text: str
    terms: frozenset[str]
    quantities: tuple[Quantity, ...]

    @classmethod
    def read(cls, text: str, analyzer: Analyzer) -> CellQuery:
        """Return a question; the number of a place that it names is no quantity."""
        text = _RAISED.sub(_raise, text)
        terms = frozenset(analyzer.content(analyzer.terms(text)))
        return cls(text, terms, tuple(quantities(without_places(text, mention_spans(text)))))

    def words(self, quantity: Quantity) -> str:
        """Return a quantity as the question writes it."""
        return self.text[quantity.start : quantity.end]


def _raise(match: re.Match[str]) -> str:
    return "²" if match.group() == "2" else "³"


def without_places(text: str, named: Iterable[tuple[str, int, int]]) -> str:
    """Return a text with spaces for the places that it names; all else stands where it stood.

    >>> without_places("Table 4 of it", [("table 4", 0, 7)])
    '        of it'
    """
    for _, start, end in named:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def pick(table: Table, asked: CellQuery, analyzer: Analyzer) -> Pick | None:
    """Return the best row and column for a question; None if it names no row."""
    picks = list(_picks(table, asked, analyzer))
    return max(picks, key=lambda each: (each.score, -len(each.rows), -each.key), default=None)


def _picks(table: Table, asked: CellQuery, analyzer: Analyzer) -> Iterator[Pick]:
    for quantity in asked.quantities:
        for key, name in enumerate(table.columns):
            rows = _rows(table, key, quantity)
            # A column whose name has quantities is asked for, not looked up by.
            if rows and not any(each.kind for each in quantities(name)):
                base = BY_NUMBER if quantity.kind else BY_BARE_NUMBER
                rows, shared = _narrowed(table, key, rows, asked, analyzer)
                words = f"{asked.words(quantity)} {' '.join(_row_words(table, rows, key))} {name}"
                overlap = len(_terms(name, analyzer) & _near(asked, quantity, analyzer))
                found = Pick(words, "", base + overlap + shared, (quantity,), key, rows)
                yield _with_column(table, asked, analyzer, found)
    for rows, share in _named_rows(table, asked, analyzer):
        name = table.rows[rows[0]][0]
        found = _with_column(table, asked, analyzer, Pick(name, "", BY_WORDS * share, (), 0, rows))
        # One common word, such as "Back", names a row only beside the name of a column.
        if found.column or len(_terms(name, analyzer)) > 1 or not name.isalpha():
            yield found


def _near(asked: CellQuery, quantity: Quantity, analyzer: Analyzer) -> frozenset[str]:
    """Return the words around a quantity: they say what it is of."""
    before = asked.text[: quantity.start].split()[-NEAR_WORDS:]
    after = asked.text[quantity.end :].split()[:NEAR_WORDS]
    return _terms(" ".join((*before, *after)), analyzer) & asked.terms


def _is_named(column: str, quantity: Quantity) -> bool:
    """Return whether a column's name holds a quantity: "75 °C", "over 9 kW through 13 kW"."""
    in_name = quantities(column)
    if any(quantity.same(other) for other in in_name):
        return True
    sizes = {each.value / float(n) for each, n in zip(in_name, numbers(column), strict=False) if n}
    alike = (
        bool(in_name) and all(each.kind == quantity.kind for each in in_name) and len(sizes) == 1
    )
    size = sizes.pop() if alike else 1.0
    return alike and any(quantity.value / size in each for each in intervals_of(column))


def _rows(table: Table, key: int, quantity: Quantity) -> tuple[int, ...]:
    """Return the rows whose cell in a column holds a quantity; of several ranges the tightest."""
    unit = quantities(f"1 {unit_of(table.columns[key])}") if unit_of(table.columns[key]) else []
    kind, size = (unit[0].kind, unit[0].value) if unit else ("", 1.0)
    if kind != quantity.kind:
        return ()
    return tuple(rows_holding(table, key, quantity.value / size))


def _narrowed(
    table: Table, key: int, rows: tuple[int, ...], asked: CellQuery, analyzer: Analyzer
) -> tuple[tuple[int, ...], int]:
    """Return the rows whose other words the question has most of, as in "35 mm² copper"."""
    shared = {
        row: sum(
            len([term for term in _terms(cell, analyzer) & asked.terms if term.isalpha()])
            for at, cell in enumerate(table.rows[row])
            if at != key
        )
        for row in rows
    }
    best = max(shared.values())
    return tuple(row for row in rows if shared[row] == best), best


def _row_words(table: Table, rows: Sequence[int], key: int) -> list[str]:
    """Return the name of a row that was found by another column, if it is no number."""
    if key == 0 or len(rows) != 1:
        return []
    name = _MARK.sub("", table.rows[rows[0]][0])
    return [] if any(char.isdigit() for char in name) else [name]


def _named_rows(
    table: Table, asked: CellQuery, analyzer: Analyzer
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the rows whose name the question has, those of one name together, with how much."""
    named: dict[str, list[int]] = {}
    for at, row in enumerate(table.rows):
        named.setdefault(row[0], []).append(at)
    for name, rows in named.items():
        terms = _terms(name, analyzer)
        if terms and not re.fullmatch(r"[\d\s.,–—-]+", name):
            share = len(terms & asked.terms) / len(terms)
            if share >= MIN_WORDS:
                yield tuple(rows), share


def _with_column(table: Table, asked: CellQuery, analyzer: Analyzer, found: Pick) -> Pick:
    """Return the pick with the column that the question names; all columns if it names none."""
    scores: dict[int, tuple[float, tuple[Quantity, ...]]] = {}
    for at, name in enumerate(table.columns):
        cells = [table.rows[row][at] for row in found.rows if at < len(table.rows[row])]
        if at == found.key or not cells:
            continue
        extra = [
            q for q in asked.quantities if q not in found.used and q.kind and _is_named(name, q)
        ]
        told = frozenset[str]().union(*(_terms(cell, analyzer) for cell in cells))
        named = _terms(name, analyzer)
        # Who asks for a "hot work permit" has named the kind of permit, and does not ask for it.
        if told and told <= asked.terms and all(map(str.isalpha, told)):
            named = frozenset()
        overlap = len(named & asked.terms) / (1 + 0.1 * len(named))
        scores[at] = (overlap + BY_COLUMN_NUMBER * len(extra), tuple(extra))
    best = max((value for value, _ in scores.values()), default=0.0)
    chosen = [at for at, (value, _) in scores.items() if value == best]
    found = replace(found, score=found.score + best)
    if not best or len(chosen) > 1:
        return found
    used = (*found.used, *scores[chosen[0]][1])
    return replace(found, column=table.columns[chosen[0]], used=used)


def _terms(text: str, analyzer: Analyzer) -> frozenset[str]:
    return frozenset(analyzer.content(analyzer.terms(_MARK.sub("", text))))


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
# A number with its unit, and words without any; "787-9" is a name.
_NUMBER = re.compile(
    r"(?<![\w.-])(?P<bare>\d+(?:[.,]\d+)?)(?!-\w)(?:\s?(?:°\s?[CF]|%|[^\W\d_]{1,3}[²³]?)(?!\w))?"
)
# "June 30" is a day, and names no row.
_DAY = re.compile(
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.? \d{1,2}\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\b"
)
_NAMES = re.compile(r"(?<!\d)[^\W\d_]+")
_LAST_WORD = re.compile(r"(?<![^\W\d_])([^\W\d_]+)\s*$")
MAX_CELLS = 3
DEFINING_CHARS = 60  # in which a unit that defines a term says so, beyond the term
MIN_PICK = 2.5  # what a row and its table have to be worth
MAX_TABLES = 3  # that are looked into without being named


class Lookup:
    """Answers by name and number, without ranking anything."""

    def __init__(self, index: IndexReader, quoter: Quoter) -> None:
        self._index = index
        self._quoter = quoter

    def is_cited(self, question: str, quotes: Sequence[Quote]) -> bool:
        """Return whether a question names the row that is quoted, as a citation does."""
        name = locator_key(question)
        return SEPARATOR in name and any(name.startswith(locator_key(q.locator)) for q in quotes)

    def quotes(
        self,
        query: ParsedQuery,
        passages: Sequence[Passage],
        sources: list[Source],
        wanted: Sequence[str],
    ) -> list[Quote]:
        """Return the place, the definition or the cells that a question asks for; or nothing.

        ``wanted`` is what it says of the place that it names.
        """
        by_chunk = {source.chunk_id: source for source in sources}
        if not passages or passages[0].chunk.id not in by_chunk:
            return []
        place, source = passages[0].chunk, by_chunk[passages[0].chunk.id]
        name = query.text.strip(" ?!.")
        found = self._by_locator(name, by_chunk) if SEPARATOR in name else []
        if not found and not passages[0].is_named:
            found = self._by_number(query, passages, by_chunk)
        elif not found and wanted:
            found = self._cells(source, place, " ".join(wanted))
        elif not found:
            span = self._definition(query.text, place) or self._quoter.opening(place)
            lead = self._quoter.lead_in(source, span, sources)
            start = place.span.start
            shown = place_shown(place.text, span.start - start, span.end - start)
            quote = self._quoter.quote(source, span, shown)
            found = [each for each in (lead, quote) if each and len(each.span)]
        return self._quoter.with_notes(found, sources) if found else []

    def _by_locator(self, name: str, by_chunk: Mapping[str, Source]) -> list[Quote]:
        """Return the row that a question names as a citation does: "Table 4 > E-07"."""
        snapshot = self._index.snapshot
        whole = [each for each in snapshot.found_by([locator_key(name)]) if each.kind == "row"]
        for row in whole or rows_of_cell(snapshot, name):
            source = by_chunk.get(row.id) or by_chunk.get(row.parent or "")
            if source is None or row.parent is None:
                continue
            (table,) = snapshot.get([row.parent])
            start = row.span.start - table.span.start
            unit = TextUnit(start, start + len(row.text.rstrip()), "row")
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
                    if "\n" in gap or other.end - unit.start > MAX_PLACE_CHARS:
                        break
                    last = other
                return _span(place, TextUnit(unit.start, last.end))
        return None

    def _by_number(
        self, query: ParsedQuery, passages: Sequence[Passage], by_chunk: Mapping[str, Source]
    ) -> list[Quote]:
        """Return the one cell that a number of the question means in a table among the best."""
        tables = [
            (rank, passage.chunk, table)
            for rank, passage in enumerate(passages[:MAX_TABLES], 1)
            if passage.chunk.kind == "table" and passage.chunk.id in by_chunk
            if (table := parse_table(passage.chunk.text))
        ]
        if tables and (picked := self._picked(query, tables, by_chunk)):
            return picked
        question = _DAY.sub(lambda day: " " * len(day.group()), query.text)
        for number in _NUMBER.finditer(question) if tables else ():
            # The number says which row; the other words say which one of equal ones, and column.
            if _YEAR.fullmatch(number["bare"]):
                continue
            words = f"{question[: number.start()]} {question[number.end() :]}"
            words = " ".join(self._index.opened.analyzer.content_words(words))
            row = f"{number.group()} {' '.join(_NAMES.findall(words))}"
            # "level 6": the word before a number names what it is, not what is asked for.
            beside = _LAST_WORD.search(question, 0, number.start())
            for _, place, table in tables:
                asked = words
                if beside and beside.group(1).casefold() in " ".join(table.columns).casefold():
                    asked = words.replace(beside.group(1), "", 1)
                found = find_cells(table, row, asked)
                if not found and len(table.columns) == 2 and number.group().isdigit():
                    found = find_cells(table, row, "")
                if len(found) == 1:
                    return list(self._cell(by_chunk[place.id], place, found[0]))
        return []

    def _picked(
        self,
        query: ParsedQuery,
        tables: Sequence[tuple[int, Chunk, Table]],
        by_chunk: Mapping[str, Source],
    ) -> list[Quote]:
        """Return the cell that a quantity with its unit means; the row, if no column is named."""
        text = _RAISED.sub(_raise, query.text)
        bare = without_places(text, mention_spans(text)) if query.mentions else text
        if not any(each.kind for each in quantities(bare)):
            return []  # a bare number has to be surer
        found: list[tuple[float, Chunk, Table, Pick]] = []
        for rank, place, table in tables:
            analyzer = self._index.opened.analyzer_of(place.span.doc_id)
            chosen = pick(table, CellQuery.read(query.text, analyzer), analyzer)
            if chosen is not None and any(each.kind for each in chosen.used):
                found.append((chosen.score + 1 / rank, place, table, chosen))
        if not found:
            return []
        score, place, table, best = max(found, key=lambda each: each[0])
        source = by_chunk[place.id]
        if score < MIN_PICK:
            return []
        cells = find_cells(table, best.row, best.column) if best.column else []
        if len(cells) == 1:
            return list(self._cell(source, place, cells[0]))
        return [self._row(source, place, row) for row in best.rows[:1] if len(best.rows) == 1]

    def wanted(self, query: ParsedQuery) -> list[str]:
        """Return the words of a question that say what is wanted of the place that it names."""
        bare = without_places(query.text, query.mention_spans)
        content = " ".join(self._index.opened.analyzer.content_words(bare))
        words = (word.strip(".-") for word in _WORD.findall(content))
        return [w for w in words if w and w.casefold() not in _ASKING and not _YEAR.fullmatch(w)]

    def _cells(self, source: Source, place: Chunk, wanted: str) -> list[Quote]:
        """Return the cells of a table that the words mean, or the rows if they name no column."""
        table = parse_table(place.text) if place.kind == "table" else None
        if table is None:
            return []
        found = find_cells(table, wanted, wanted)
        if 0 < len(found) <= MAX_CELLS:
            return [quote for cell in found for quote in self._cell(source, place, cell)]
        rows = sorted({cell.row for cell in found or find_cells(table, wanted, "")})
        return [self._row(source, place, row) for row in rows[:MAX_CELLS]]

    def _row(self, source: Source, place: Chunk, row: int) -> Quote:
        unit = _row_units(place.text)[row]
        return self._quoter.quote(source, _span(place, unit), row_shown(place.text, unit))

    def _cell(self, source: Source, place: Chunk, cell: Cell) -> Iterator[Quote]:
        unit = _row_units(place.text)[cell.row]
        inside = list(cell_places(place.text, unit))
        if cell.column >= len(inside):
            return
        locator = f"{place.locator} > {cell.row_name} > {cell.column_name}"
        shown = plain(f"{cell.key}; {cell.column_name}: {cell.value}")
        span = _span(place, TextUnit(*inside[cell.column]))
        if len(span):
            yield self._quoter.quote(source, span, shown, locator)
        for note in cell.notes:
            at = place.text.find(note)
            if at >= 0:
                yield self._quoter.quote(source, _span(place, TextUnit(at, at + len(note))))


def _row_units(text: str) -> list[TextUnit]:
    return [unit for unit in units(text) if unit.kind == "row"]


def _span(place: Chunk, unit: TextUnit) -> Span:
    start = place.span.start
    return Span(place.span.doc_id, start + unit.start, start + unit.end)
