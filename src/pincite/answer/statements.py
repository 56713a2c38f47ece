"""Lines of statements: the cell of a line in a fiscal year, in the reports of one company."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from pincite.answer.formulas import Operand, stem, word_set
from pincite.model.tables import Table, parse_table, row_names, row_spans, without_marks
from pincite.model.types import Chunk, Span
from pincite.search.reader import IndexReader

SCALES = {"": 1, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MAX_TABLES = 24  # of one kind in a document, looked into
SCALE_CHARS = 400  # before a table, in which its scale may be told
MIN_SCALES, USUAL = 5, 0.8  # so often, and in such a share, says a document its scale elsewhere
_SCALE = re.compile(
    r"\bin (?P<scale>thousand|million|billion)s\b"
    r"|[(\[](?:[$€£¥] ?)?(?P<short>thousand|million|billion)s?\b"
    r"|[(\[][$€£¥]?\s?000(?:['’]?s)?\b",
    re.IGNORECASE,
)
_HEAD_SCALE = re.compile(
    r"[(\[][^()\[\]\n]{0,30}\bin (?:thousand|million|billion)s\b", re.IGNORECASE
)
_MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<![\d.,])(?:19|20)\d\d(?![\d,])")
_PART_OF_YEAR = re.compile(
    r"\b(?:three|six|nine|3|6|9)[ -]months?\b|\bquarters?\b|\b(?:1[23]|2[46]|3[69])[ -]weeks\b"
    r"|\b(?:twelve|thirteen|twenty|thirty)[ -]\w* ?weeks\b",
    re.IGNORECASE,
)
# What a column's head may say besides its year.
_OF_PERIOD = word_set(
    "fiscal fy year years ended ending as of at december january february march april may june "
    "july august september october november in millions thousands billions dollars usd except per "
    "share data amounts week weeks months twelve month the and for audited note notes"
)
_STATEMENT = re.compile(
    r"\bbalance sheets?\b|\bstatements? of\b"
    r"|\b(?:income|cash flows?|operations|earnings) statements?\b"
    r"|\b(?:consolidated|group) (?:cash flows?|results of operations|financial position)\b",
    re.IGNORECASE,
)
_OTHER_TABLE = re.compile(
    r"\b(?:selected|supplement\w*|parent|guarantor\w*|condens\w*|quarterly|pro forma|schedule"
    r"|segment\w*|common[- ]size|non-gaap|reconciliation\w*|percent\w*|comprehensive)\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(
    r"(?P<open>\()?\s{0,2}(?P<minus>[-–−])?\s{0,2}(?:US)?(?P<sign>[$€£¥])?\s{0,2}(?P<in>\()?\s{0,2}"
    r"(?P<m>[-–−])?(?P<number>\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,9})?|\d{1,18}(?:\.\d{1,9})?|\.\d{1,9})"
    r"\s{0,2}\)?"
)
_NIL = re.compile(r"[$€£¥]?\s*[-–—]+")
_CURRENCY = re.compile(r"[$€£¥]")
_ASIDE = re.compile(r"/?\s?\([^()]*\)\s?/?")
_NET_OF = re.compile(r",?\s(?:net of|less|excluding|after deducting)\b.*$", re.IGNORECASE)
_GOES_ON = re.compile(r"\b(?:of|to|by|and|in|from|for|the)$", re.IGNORECASE)
_NET_PROFIT = re.compile(r"\bnet (income|earning|profit|loss)\b")
_WORD = re.compile(r"[^\W\d_]+")
_EMPTY = word_set("total net consolidated the of and for to in by a an from company on")
_ANY = ".+"
_MINORITY = re.compile(r"\bnon[ -]?controlling\b|\bminority\b")


@dataclass(frozen=True, slots=True)
class StatementFigure:
    """A cell of a statement: a line in a year."""

    operand: Operand
    table: Chunk
    row: int  # of the table's
    label: str  # of the row
    period: str  # as the column's head has it
    printed: str
    value: Fraction  # as printed, with the sign that the line has by its nature
    scale: str  # "million"; empty where nothing tells it
    currency: str
    sureness: float  # 1: the statement's own title, the line's own name

    @property
    def amount(self) -> Fraction:
        """The value in units of its currency."""
        return self.value * (1 if self.operand.line.unit == "per share" else SCALES[self.scale])

    @property
    def span(self) -> Span:
        """Where the row stands."""
        start, end = row_spans(self.table.text)[self.row]
        end = start + len(self.table.text[start:end].rstrip())
        return Span(
            self.table.span.doc_id, self.table.span.start + start, self.table.span.start + end
        )


@dataclass(frozen=True, slots=True)
class _Statement:
    """A table, the column of each fiscal year, and how sure it is that it is the statement."""

    chunk: Chunk
    table: Table
    columns: Mapping[int, int]  # by fiscal year
    names: Sequence[str]
    scale: str
    sureness: float


class Statements:
    """The statements of some annual reports of one company."""

    def __init__(self, index: IndexReader, reports: Sequence[str]) -> None:
        self._index = index
        self._reports = reports  # the preferred one first
        self._read: dict[tuple[str, str], list[_Statement]] = {}
        self._scales: dict[str, str] = {}

    def find(self, operand: Operand) -> StatementFigure | None:
        """Return the cell of a line in a year; None if there is none, or more than one."""
        for doc_id in self._reports:
            for statement in self._statements(doc_id, operand.line.kind):
                if operand.year in statement.columns:
                    found = list(_cells(statement, operand))
                    if found:
                        return found[0] if len({each.value for each in found}) == 1 else None
        return None

    def _statements(self, doc_id: str, kind: str) -> list[_Statement]:
        """Return the statements of a kind in a report, the likeliest first."""
        key = (doc_id, kind)
        if key not in self._read:
            card = self._index.snapshot.meta(doc_id) or {}
            found = [self._statement(chunk, card) for chunk in _tables(self._index, doc_id, kind)]
            read = [each for each in found if each and each.columns]
            read.sort(key=lambda each: (-each.sureness, -len(each.table.rows)))
            self._read[key] = read
        return self._read[key]

    def _usual_scale(self, doc_id: str) -> str:
        """Return the scale that nearly all tables of a document say; a title may not repeat it."""
        if doc_id not in self._scales:
            text = self._index.snapshot.text(doc_id)
            told = Counter(_scale(match.group()) for match in _HEAD_SCALE.finditer(text))
            scale, count = (told.most_common(1) or [("", 0)])[0]
            is_usual = count >= MIN_SCALES and count >= USUAL * told.total()
            self._scales[doc_id] = scale if is_usual else ""
        return self._scales[doc_id]

    def _statement(self, chunk: Chunk, card: Mapping[str, str]) -> _Statement | None:
        table = parse_table(chunk.text)
        if table is None or not table.rows:
            return None
        titles = (*chunk.path[-1:], chunk.title, table.title)
        is_own = any(_STATEMENT.search(t) and not _OTHER_TABLE.search(t) for t in titles)
        text = self._index.snapshot.text(chunk.span.doc_id)
        before = text[max(0, chunk.span.start - SCALE_CHARS) : chunk.span.start]
        own = " ".join((*titles, *table.columns, *(row[0] for row in table.rows[:2])))
        scale = _scale(own) or _scale(before, last=True) or self._usual_scale(chunk.span.doc_id)
        columns = dict(fiscal_columns(table, card))
        return _Statement(chunk, table, columns, row_names(table), scale, 1.0 if is_own else 0.6)


def _scale(text: str, *, last: bool = False) -> str:
    found = list(_SCALE.finditer(text))
    if not found:
        return ""
    match = found[-1 if last else 0]
    return (match["scale"] or match["short"] or "thousand").lower()


def _tables(index: IndexReader, doc_id: str, kind: str) -> Iterator[Chunk]:
    """Yield the tables of a document that are of a content kind."""
    for part in index.opened.filters.parts:
        if doc_id not in part.values("document"):
            continue
        own = part.where("document", (each == doc_id for each in part.values("document")))
        is_table = part.where("kind", (each == "table" for each in part.values("kind")))
        is_kind = part.where("content", (each == kind for each in part.values("content")))
        is_kind |= part.where("tags", (kind in each for each in part.values("tags")))
        starts, ends = part.column("start"), part.column("end")
        for at in np.flatnonzero(own & is_table & is_kind & part.live)[:MAX_TABLES].tolist():
            start, end = int(starts[at]), int(ends[at])
            for chunk in index.snapshot.chunks_within(doc_id, start, end):
                if chunk.kind == "table" and chunk.span.start == start:
                    yield chunk
                    break


def fiscal_columns(table: Table, card: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Yield fiscal years with the columns of a statement that are about them.

    A head with a day is of the fiscal year that the report says that day ends; one without is the
    fiscal year itself. A year with several columns has none.
    """
    end, own = card.get("period_end", ""), card.get("fiscal_year", "")
    shift = int(own) - int(end[:4]) if own.isdigit() and end[:4].isdigit() else 0
    heads = list(table.columns)
    if not any(_YEAR.search(head) for head in heads[1:]):
        first = next((row for row in table.rows[:2] if any(map(_YEAR.fullmatch, row[1:]))), ())
        heads = [f"{a} {b}" for a, b in zip(heads, first, strict=False)] if first else heads
    is_dated = bool(_MONTH.search(heads[0])) and not re.search(r"\bfiscal\b", heads[0], re.I)
    found: dict[int, list[tuple[bool, int]]] = {}
    for at, head in enumerate(heads[1:], 1):
        years = set(_YEAR.findall(head))
        if len(years) != 1 or _PART_OF_YEAR.search(f"{heads[0]} {head}"):
            continue
        words = {word.casefold() for word in _WORD.findall(_ASIDE.sub(" ", head))}
        is_day = bool(_MONTH.search(head)) or is_dated
        year = int(years.pop()) + (shift if is_day else 0)
        cells = [row[at] for row in table.rows if at < len(row)]
        if sum(bool(_FIGURE.search(cell)) for cell in cells) * 3 >= len(cells):
            found.setdefault(year, []).append((not words <= _OF_PERIOD, at))
    for year, columns in found.items():
        plain = [at for is_other, at in columns if not is_other]
        if len(plain) == 1:
            yield year, plain[0]


def _cells(statement: _Statement, operand: Operand) -> Iterator[StatementFigure]:
    """Yield the cells of the rows that fit a line best in its year."""
    at = statement.columns[operand.year]
    fitting: dict[tuple[int, bool, bool], list[StatementFigure]] = {}
    for number, row in enumerate(statement.table.rows):
        if at >= len(row) or not row[0]:
            continue
        label = f"{_wrapped(statement.table, number)} {row[0]}".strip()
        rank = row_rank(operand, label, statement.names[number])
        value = printed_value(without_marks(row[at])) if rank is not None else None
        if rank is None or value is None:
            continue
        if operand.line.unit == "per share" and value.denominator == 1 and value:
            continue  # "Diluted" is also a number of shares
        value = _signed(value, operand, label)
        words = label.casefold().split()
        figure = StatementFigure(
            operand, statement.chunk, number, label, statement.table.columns[at], row[at].strip(),
            value, statement.scale, _currency(statement.table), statement.sureness * 0.99**rank,
        )  # fmt: skip
        # Of two rows of a name the total is meant, and what is left of the gross amount.
        key = (rank, words[0] != "total", not {"net", "net)"} & set(words))
        fitting.setdefault(key, []).append(figure)
    yield from fitting[min(fitting)] if fitting else ()


def _wrapped(table: Table, number: int) -> str:
    """Return the label above a row that goes on in the row's own: "Net income attributable to"."""
    above = table.rows[number - 1] if number else ("",)
    return above[0] if not any(above[1:]) and _GOES_ON.search(above[0]) else ""


def _signed(value: Fraction, operand: Operand, label: str) -> Fraction:
    """Return a value with the sign of its line: spent amounts positive, losses negative."""
    if operand.line.is_outflow:
        return abs(value)
    words = set(_bare(label).split())
    if words & {"loss", "netloss"} and not words & {"income", "earning", "profit", "netincome"}:
        return -abs(value)
    return value


def printed_value(cell: str) -> Fraction | None:
    """Return the number that a cell prints; None if it is not a number.

    >>> printed_value("$ (1,234.5)"), printed_value("—"), printed_value("12.5%")
    (Fraction(-2469, 2), Fraction(0, 1), None)
    """
    cell = cell.strip()
    if _NIL.fullmatch(cell):
        return Fraction(0)
    found = _FIGURE.fullmatch(cell)
    if found is None:
        return None
    value = Fraction(found["number"].replace(",", ""))
    is_negative = any(found[name] for name in ("open", "minus", "in", "m"))
    return -value if is_negative else value


def row_rank(operand: Operand, label: str, name: str) -> int | None:
    """Return how far down a line's names for it a row stands: 0 for the question's own words.

    Of "net income" the part of the owners comes first, which the line's names say.
    """
    bare = _bare(label)
    if not bare or (_MINORITY.search(label.casefold()) and "including" not in bare):
        return None
    around = f"{_bare(name.rpartition(' > ')[0])} {bare}"
    if operand.line.unit != "per share" and re.search(r"\bper (?:\w+ )?share\b", around):
        return None
    rows = operand.line.rows
    phrases = _phrases(rows if "*" in rows[0] else (operand.words, *rows))
    if "liability" in bare.split():  # equity is not "liabilities and equity"
        phrases = [each for each in phrases if _ANY not in each.pattern]
    return next((n for n, phrase in enumerate(phrases) if phrase.fullmatch(bare)), None)


@lru_cache(maxsize=1000)
def _phrases(rows: Sequence[str]) -> Sequence[re.Pattern[str]]:
    """Return patterns for what rows may be called; "*" is any words."""
    bare = (" ".join(filter(None, _parts(row))) for row in rows)
    return tuple(re.compile(re.escape(each).replace(r"\*", _ANY)) for each in bare)


def _parts(row: str) -> Iterator[str]:
    for n, part in enumerate(row.split("*")):
        if n:
            yield "*"
        yield _bare(part)


def _bare(label: str) -> str:
    """Return the words of a label that tell it from others.

    >>> _bare("Total net sales (Note 3)"), _bare("(Loss)/earnings from operations")
    ('sale', 'earning operation')
    """
    words = _NET_OF.sub("", without_marks(_ASIDE.sub(" ", label)))
    joined = " ".join(map(stem, _WORD.findall(words.replace("’", "'").replace("'", " "))))
    joined = _NET_PROFIT.sub(r"net\1", joined)
    return " ".join(word for word in joined.split() if word not in _EMPTY and len(word) > 1)


def _currency(table: Table) -> str:
    cells = (cell for row in table.rows for cell in row[1:])
    found = (_CURRENCY.search(cell) for cell in (*table.columns, *cells))
    return next((sign.group() for sign in found if sign), "")
