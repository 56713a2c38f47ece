"""Which row and column of a table a question means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pincite.core.intervals import intervals_of, numbers
from pincite.core.tables import Table, unit_of
from pincite.index.tokens import Analyzer
from pincite.model.locators import mention_spans
from pincite.model.units import Quantity, quantities

# A question names a row by a number, surer if it has a unit, or by its words.
BY_NUMBER, BY_BARE_NUMBER, BY_WORDS = 2.0, 1.0, 2.0
BY_COLUMN_NUMBER = 2.0  # "in the 75 °C column"
NEAR_WORDS = 4
LEAST_WORDS = 0.5  # share of a row's words that the question has to have
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
class Asked:
    """A question as terms and quantities."""

    text: str
    terms: frozenset[str]
    quantities: tuple[Quantity, ...]

    @classmethod
    def read(cls, text: str, analyzer: Analyzer) -> Asked:
        """Return a question; the number of a place that it names is no quantity."""
        text = bare = _RAISED.sub(lambda match: "²" if match.group() == "2" else "³", text)
        for _, start, end in mention_spans(text):
            bare = f"{bare[:start]}{' ' * (end - start)}{bare[end:]}"
        terms = frozenset(analyzer.content(analyzer.terms(text)))
        return cls(text, terms, tuple(quantities(bare)))

    def words(self, quantity: Quantity) -> str:
        """Return a quantity as the question writes it."""
        return self.text[quantity.start : quantity.end]


def pick(table: Table, asked: Asked, analyzer: Analyzer) -> Pick | None:
    """Return the best row and column for a question; None if it names no row."""
    picks = list(_picks(table, asked, analyzer))
    return max(picks, key=lambda each: (each.score, -len(each.rows), -each.key), default=None)


def _picks(table: Table, asked: Asked, analyzer: Analyzer) -> Iterator[Pick]:
    names = [_terms(name, analyzer) for name in table.columns]
    for quantity in asked.quantities:
        for key, name in enumerate(table.columns):
            rows = _rows(table, key, quantity)
            if rows and not _is_of_its_own(name):
                base = BY_NUMBER if quantity.kind else BY_BARE_NUMBER
                rows, shared = _narrowed(table, key, rows, asked, analyzer)
                words = f"{asked.words(quantity)} {' '.join(_row_words(table, rows, key))} {name}"
                overlap = len(names[key] & _near(asked, quantity, analyzer))
                untold = _untold(table, names, rows, asked, analyzer)
                yield _with_column(
                    table, asked, untold, key, rows, words, base + overlap + shared, (quantity,)
                )
    for rows, share in _named_rows(table, asked, analyzer):
        name = table.rows[rows[0]][0]
        untold = _untold(table, names, rows, asked, analyzer)
        found = _with_column(table, asked, untold, 0, rows, name, BY_WORDS * share, ())
        # One common word, such as "Back", names a row only beside the name of a column.
        if found.column or len(_terms(name, analyzer)) > 1 or not name.isalpha():
            yield found


def _near(asked: Asked, quantity: Quantity, analyzer: Analyzer) -> frozenset[str]:
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


def _is_of_its_own(column: str) -> bool:
    """Return whether a column's name has quantities: it is asked for, not looked up by."""
    return any(each.kind for each in quantities(column))


def _rows(table: Table, key: int, quantity: Quantity) -> tuple[int, ...]:
    """Return the rows whose cell in a column holds a quantity; of several ranges the tightest."""
    unit = quantities(f"1 {unit_of(table.columns[key])}") if unit_of(table.columns[key]) else []
    kind, size = (unit[0].kind, unit[0].value) if unit else ("", 1.0)
    if kind != quantity.kind:
        return ()
    widths: dict[int, float] = {}
    for at, row in enumerate(table.rows):
        cell = _MARK.sub("", row[key]) if key < len(row) else ""
        holding = [i for i in intervals_of(cell, table.columns[key]) if quantity.value / size in i]
        if holding:
            widths[at] = min(each.width for each in holding)
    least = min(widths.values(), default=0.0)
    return tuple(at for at, width in widths.items() if width == least)


def _narrowed(
    table: Table, key: int, rows: tuple[int, ...], asked: Asked, analyzer: Analyzer
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


def _untold(
    table: Table,
    names: Sequence[frozenset[str]],
    rows: Sequence[int],
    asked: Asked,
    analyzer: Analyzer,
) -> list[frozenset[str]]:
    """Return the names of columns, empty where the rows only repeat words of the question.

    Who asks for a "hot work permit" has named the kind of permit, and does not ask for it.
    """

    def is_told(column: int) -> bool:
        cells = [table.rows[row][column] for row in rows if column < len(table.rows[row])]
        terms = frozenset[str]().union(*(_terms(cell, analyzer) for cell in cells))
        return bool(terms) and terms <= asked.terms and all(map(str.isalpha, terms))

    return [frozenset() if is_told(at) else name for at, name in enumerate(names)]


def _named_rows(
    table: Table, asked: Asked, analyzer: Analyzer
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the rows whose name the question has, those of one name together, with how much."""
    named: dict[str, list[int]] = {}
    for at, row in enumerate(table.rows):
        named.setdefault(row[0], []).append(at)
    for name, rows in named.items():
        terms = _terms(name, analyzer)
        if terms and not _is_only_numbers(name):
            share = len(terms & asked.terms) / len(terms)
            if share >= LEAST_WORDS:
                yield tuple(rows), share


def _is_only_numbers(cell: str) -> bool:
    return bool(re.fullmatch(r"[\d\s.,–—-]+", cell))


def _with_column(
    table: Table,
    asked: Asked,
    names: Sequence[frozenset[str]],
    key: int,
    rows: tuple[int, ...],
    words: str,
    score: float,
    used: tuple[Quantity, ...],
) -> Pick:
    """Return the pick with the column that the question names; all columns if it names none."""
    scores: dict[int, tuple[float, tuple[Quantity, ...]]] = {}
    for at, name in enumerate(table.columns):
        if at == key or not any(at < len(table.rows[row]) for row in rows):
            continue
        extra = [q for q in asked.quantities if q not in used and q.kind and _is_named(name, q)]
        overlap = len(names[at] & asked.terms) / (1 + 0.1 * len(names[at]))
        scores[at] = (overlap + BY_COLUMN_NUMBER * len(extra), tuple(extra))
    best = max((value for value, _ in scores.values()), default=0.0)
    chosen = [at for at, (value, _) in scores.items() if value == best]
    if not best or len(chosen) > 1:
        return Pick(words, "", score + best, used, key, rows)
    return Pick(
        words, table.columns[chosen[0]], score + best, (*used, *scores[chosen[0]][1]), key, rows
    )


def _terms(text: str, analyzer: Analyzer) -> frozenset[str]:
    return frozenset(analyzer.content(analyzer.terms(_MARK.sub("", text))))
