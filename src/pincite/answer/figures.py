"""Figures of statements: the cell that a question asks for, or what is calculated of cells.

Only the reports of the company that the question names are looked into, and only columns of its
years. Where a word, a line or a year is not understood there is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache

from pincite.answer.agent.calculate import calculate
from pincite.answer.figure_questions import FigureQuestion, could_ask, read_question
from pincite.answer.formulas import (
    Constant,
    Formula,
    FormulaNames,
    FormulaReader,
    Operand,
    Operation,
    in_year,
    operands,
)
from pincite.answer.quotes import Quote, Quoter
from pincite.answer.sentences import row_shown
from pincite.answer.statements import SCALES, StatementFigure, Statements
from pincite.answer.values import Source
from pincite.index.cards import MAX_NAME_WORDS, NAME_WORD, name_key
from pincite.model.errors import ConfigError
from pincite.model.sentences import units
from pincite.model.types import Chunk, Filters, Span
from pincite.model.units import CalculationError
from pincite.model.vocabulary import FieldVocabulary, load_vocabulary, shipped_vocabularies
from pincite.search.documents import AskedTime, CardEvidence
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader

ANNUAL = ("10-K", "10-K/A", "10-KT", "20-F", "20-F/A", "40-F")
MAX_REPORTS = 6  # that are looked into
NO_YEAR = 0.8  # what is left of sureness where the question names no year
SURE = 0.95  # of a figure that is found just as it is asked for


@dataclass(frozen=True, slots=True)
class FigureAnswer:
    """A figure, how it was made, and the cells that it was made of."""

    short: str  # "$12,645 million, fiscal 2018"
    calculation: str  # "4,600 / 1,200 = 3.83"; empty for a cell as it is
    figures: tuple[StatementFigure, ...]  # each once, as the formula has them
    confidence: float

    def quotes(self, index: IndexReader, quoter: Quoter, sources: list[Source]) -> list[Quote]:
        """Return the rows that have the figures; what no source has becomes one."""
        found: list[Quote] = []
        for figure in self.figures:
            span = figure.span
            if any(quote.span == span for quote in found):
                continue
            home = next((each for each in sources if each.holds(span)), None)
            if home is None:
                rows = [each.span for each in self.figures if each.table.id == figure.table.id]
                home = _source(index, figure.table, rows, len(sources) + 1)
                sources.append(home)
            start = span.start - figure.table.span.start
            row = next(unit for unit in units(figure.table.text) if unit.start <= start < unit.end)
            found.append(quoter.quote(home, span, row_shown(figure.table.text, row)))
        return found


def figure_answer(index: IndexReader, query: ParsedQuery) -> FigureAnswer | None:
    """Return the figure of statements that a question asks for; None if it is not sure of one."""
    if not could_ask(query.text) or AskedTime.of(query.text).quarter:
        return None
    for vocabulary, names in _vocabularies(index):
        if not names.has_any(query.text):
            continue
        named = _company(index, query.text, query.filters, vocabulary)
        if named is None:
            continue
        documents, words = named
        asked = read_question(query.text, names, words)
        if asked is not None:
            return _answered(index, asked, documents, names)
    return None


def _vocabularies(index: IndexReader) -> Sequence[tuple[FieldVocabulary, FormulaNames]]:
    """Return the vocabularies with lines of statements that the index was read with."""
    profile: str = index.snapshot.manifest.shape["ingest"]["profile"]
    if profile == "auto":
        return _shipped()
    try:
        return _own(profile) if profile != "none" else ()
    except ConfigError:
        return ()  # one that was moved or changed must not keep anybody from asking


@cache
def _shipped() -> tuple[tuple[FieldVocabulary, FormulaNames], ...]:
    return tuple(
        (each, FormulaNames(each.lines, each.metrics))
        for each in shipped_vocabularies()
        if each.lines
    )


@lru_cache(maxsize=8)
def _own(profile: str) -> tuple[tuple[FieldVocabulary, FormulaNames], ...]:
    own = load_vocabulary(profile)
    return ((own, FormulaNames(own.lines, own.metrics)),) if own.lines else ()


def _company(
    index: IndexReader, text: str, filters: Filters, vocabulary: FieldVocabulary
) -> tuple[list[int], list[str]] | None:
    """Return the annual reports of the company that is asked about, and the words that name it.

    None if there are none, or of several companies.
    """
    cards = index.opened.cards
    allowed = index.opened.filters.documents(filters)
    kinds = vocabulary.cards & set(ANNUAL)
    reports = {
        n
        for n, doc_id in enumerate(cards.doc_ids)
        if str(cards.kind[n]) in kinds and (allowed is None or doc_id in allowed)
    }
    words: list[str] = []
    for name, documents in (*_mentions(index, text), *_common_names(index, text)):
        if documents & reports:
            reports &= documents
        elif _has_filing(index, documents, vocabulary):
            return None  # two companies, or one without annual reports
        words.append(name)
    makers = {_maker(index.snapshot.meta(cards.doc_ids[n]) or {}) for n in reports}
    return (sorted(reports), words) if len(makers) == 1 else None


def _mentions(index: IndexReader, text: str) -> Iterator[tuple[str, set[int]]]:
    for each in CardEvidence(index.opened).mentions(text):
        yield each.words, set(each.documents.tolist())


def _common_names(index: IndexReader, text: str) -> Iterator[tuple[str, set[int]]]:
    """Yield the names in a text that all documents have: of an index about one company."""
    cards, found, at = index.opened.cards, NAME_WORD.findall(text), 0
    while at < len(found):
        for length in range(min(MAX_NAME_WORDS, len(found) - at), 0, -1):
            documents, _ = cards.named(name_key("".join(found[at : at + length])))
            if len(set(documents.tolist())) == len(cards):
                yield " ".join(found[at : at + length]), set(documents.tolist())
                at += length - 1
                break
        at += 1


def _has_filing(index: IndexReader, documents: set[int], vocabulary: FieldVocabulary) -> bool:
    return any(str(index.opened.cards.kind[n]) in vocabulary.cards for n in documents)


def _maker(card: Mapping[str, str]) -> str:
    """Return how the name of a document's maker begins; it may have become shorter or longer."""
    words = [name_key(word) for word in NAME_WORD.findall(card.get("issuer", ""))]
    return next((word for word in words if word != "the"), "")


def _answered(
    index: IndexReader, asked: FigureQuestion, documents: Sequence[int], names: FormulaNames
) -> FigureAnswer | None:
    cards = index.opened.cards
    formula = asked.formula
    if not asked.has_year:
        formula = in_year(formula, max(int(cards.year[n]) for n in documents))
    last = max(each.year for each in operands(formula))
    # The report on the last year tells of those before it; later ones tell of it again.
    later = sorted(documents, key=lambda n: _distance(int(cards.year[n]) - last))
    statements = Statements(index, [cards.doc_ids[n] for n in later][:MAX_REPORTS])
    resolution = _Resolution(statements, names)
    formula = resolution.resolved(formula)
    if not operands_of(formula) or not resolution.is_whole:
        return None
    return _calculated(asked, formula, resolution.figures)


def _distance(years: int) -> tuple[bool, int]:
    return (years < 0, abs(years))


def operands_of(formula: Formula) -> list[Operand]:
    """Return the lines of a formula, each once."""
    return list(dict.fromkeys(operands(formula)))


class _Resolution:
    """The cells of a formula's lines."""

    def __init__(self, statements: Statements, names: FormulaNames) -> None:
        self._statements = statements
        self._names = names
        self.figures: dict[Operand, StatementFigure] = {}
        self.is_whole = True

    def resolved(self, formula: Formula) -> Formula:
        """Return a formula with lines that statements have alone."""
        if isinstance(formula, Operation):
            left, right = self.resolved(formula.left), self.resolved(formula.right)
            return Operation(formula.sign, left, right)
        if isinstance(formula, Constant) or formula in self.figures:
            return formula
        figure = self._statements.find(formula)
        if figure is not None and formula.line.near:
            figure = self._signed(figure)
        if figure is not None:
            self.figures[formula] = figure
        elif formula.line.formula:
            other = FormulaReader.of(formula.line.formula, self._names)
            return self.resolved(in_year(other, formula.year))
        else:
            self.is_whole = False
        return formula

    def _signed(self, figure: StatementFigure) -> StatementFigure | None:
        """Return a figure with the sign that fits the others; None if nothing tells it."""
        near = FormulaReader.of(figure.operand.line.near, self._names)
        other = _Resolution(self._statements, self._names)
        formula = other.resolved(in_year(near, figure.operand.year))
        if not other.is_whole or {each.scale for each in other.figures.values()} != {figure.scale}:
            return None
        values = {operand: each.value for operand, each in other.figures.items()}
        goal = calculate(_written(formula, lambda o: _decimal(values[o]))).number
        value = min((figure.value, -figure.value), key=lambda each: abs(each - goal))
        return replace(figure, value=value)


def _calculated(
    asked: FigureQuestion, formula: Formula, figures: Mapping[Operand, StatementFigure]
) -> FigureAnswer | None:
    """Return the figure of a formula whose lines are found."""
    used = [figures[each] for each in operands_of(formula)]
    scales, signs = {each.scale for each in used}, {each.currency for each in used} - {""}
    if len(signs) > 1 or (len(scales) > 1 and "" in scales):
        return None
    is_money = asked.unit == "money"
    if is_money and "" in scales:
        return None
    # Figures of one scale are shown as they are printed, of several in full.
    unit = scales.pop() if len(scales) == 1 else ""
    values = {o: figures[o].value if unit else figures[o].amount for o in figures}
    plain = _written(formula, lambda o: _decimal(values[o]))
    try:
        value = calculate(plain).number
    except CalculationError:
        return None
    if asked.periods and value <= 0:
        return None
    if asked.unit == "percent" and isinstance(formula, Operation) and _is_growth(formula):
        base = calculate(_written(formula.right, lambda o: _decimal(values[o]))).number
        if base <= 0:
            return None  # growth from a loss is no percentage
    shown = _written(formula, lambda o: _grouped(values[o]))
    if asked.periods:
        shown = f"({shown})^(1/{asked.periods}) - 1"
        value = _root(value, asked.periods) - 1
    short = _shown(asked, value, unit, next(iter(signs), ""))
    is_cell = isinstance(formula, Operand)
    calculation = "" if is_cell else f"{shown} = {short}"
    years = sorted({each.year for each in figures})
    period = f"fiscal {years[0]}" if len(years) == 1 else f"fiscal {years[0]} to {years[-1]}"
    sureness = min(each.sureness for each in used) * (SURE if asked.has_year else SURE * NO_YEAR)
    return FigureAnswer(f"{short}, {period}", calculation, tuple(used), sureness)


def _is_growth(formula: Operation) -> bool:
    left = formula.left
    return (
        formula.sign == "/"
        and isinstance(left, Operation)
        and left.sign == "-"
        and left.right == formula.right
    )


def _root(value: Fraction, count: int) -> Fraction:
    with localcontext() as context:
        context.prec = 30
        ratio = Decimal(value.numerator) / Decimal(value.denominator)
        return Fraction(ratio ** (Decimal(1) / Decimal(count)))


def _written(formula: Formula, of: Callable[[Operand], str], above: int = 0) -> str:
    """Return a formula with its values, brackets where they are needed alone."""
    if isinstance(formula, Constant):
        return formula.text
    if isinstance(formula, Operand):
        value = of(formula)
        return f"({value})" if value.startswith("-") else value
    level = 1 if formula.sign in "+-" else 2
    right_level = level + (formula.sign in "-/")
    left, right = _written(formula.left, of, level), _written(formula.right, of, right_level)
    text = f"{left} {formula.sign} {right}"
    return f"({text})" if level < above else text


def _decimal(value: Fraction) -> str:
    """Return a printed value without signs of thousands; it has few decimals."""
    return format(Decimal(value.numerator) / Decimal(value.denominator), "f")


def _grouped(value: Fraction) -> str:
    return format(Decimal(value.numerator) / Decimal(value.denominator), ",f")


def _rounded(value: Fraction, decimals: int) -> str:
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(value.numerator) / Decimal(value.denominator)
        return format(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP), ",f")


def _shown(asked: FigureQuestion, value: Fraction, scale: str, sign: str) -> str:
    """Return a value as the question wants it: unit, scale and decimals."""
    decimals = asked.decimals
    if asked.unit in ("percent", "points"):
        decimals = 1 if decimals is None else decimals
        unit = "%" if asked.unit == "percent" else " percentage points"
        return f"{_rounded(100 * value, decimals)}{unit}"
    if asked.unit == "per share":
        return f"{sign}{_rounded(value, 2 if decimals is None else decimals)}"
    if asked.unit in ("ratio", "days"):
        text = _rounded(value, 2 if decimals is None else decimals)
        return f"{text} days" if asked.unit == "days" else text
    return _money(value * SCALES[scale], asked, scale, sign)


def _money(amount: Fraction, asked: FigureQuestion, scale: str, sign: str) -> str:
    """Return an amount in the scale that is asked for; in a larger one, rounded, with both."""
    wanted = asked.scale or scale
    scaled, printed = amount / SCALES[wanted], amount / SCALES[scale]
    minus = "-" if amount < 0 else ""
    if asked.decimals is not None or SCALES[wanted] <= SCALES[scale]:
        decimals = asked.decimals
        if decimals is None:
            decimals = 0 if scaled.denominator == 1 else 1
        return f"{minus}{sign}{_rounded(abs(scaled), decimals)} {wanted}".rstrip()
    decimals = 1 if abs(scaled) >= 1 else 3
    short = f"{minus}{sign}{_rounded(abs(scaled), decimals)} {wanted}"
    whole = 0 if printed.denominator == 1 else 1
    return f"{short} ({minus}{sign}{_rounded(abs(printed), whole)} {scale})".replace(" )", ")")


def _source(index: IndexReader, table: Chunk, rows: Sequence[Span], number: int) -> Source:
    """Return a table as a source: its head and the rows that are used."""
    doc_id, start = table.span.doc_id, table.span.start
    first = min(unit.start for unit in units(table.text) if unit.kind == "row")
    head = Span(doc_id, start, start + len(table.text[:first].rstrip()))
    parts = [each for each in (head, *sorted(set(rows))) if len(each)]
    pages = index.snapshot.pages_of(table)
    text = index.snapshot.text(doc_id)
    return Source(
        number,
        table.id,
        index.opened.title_of(doc_id) or doc_id,
        table.locator,
        table.path,
        table.page,
        table.span,
        "\n".join(text[each.start : each.end] for each in parts),
        "table",
        parts=tuple(parts),
        page_label=pages.cited(start).label,
        pages=pages,
    )
