"""Texts as weighted words and quantities, so that an option can be compared with a clause."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from pincite.index.opened import OpenIndex
from pincite.index.tokens import Analyzer
from pincite.model.sentences import units
from pincite.model.types import Chunk
from pincite.model.units import Quantity, quantities

# A quantity is as telling as a word that so many chunks have.
QUANTITY_DF = 2
# Texts that were read: an exam asks for the same clauses again and again.
REMEMBERED = 4096
MOST_CHARS = 20_000  # of a chunk; what is beyond is not read
MOST_PARTS = 400
WINDOW = 3  # neighbouring sentences that are read together
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_NO = re.compile(r"\b(?:no|not|never|nor|none|cannot|prohibited|forbidden)\b", re.IGNORECASE)
_RANGE = re.compile(r"\s*(?:-|–|—|to|through)\s*", re.IGNORECASE)
_UNITS_ONLY = re.compile(r"[^\d]+$")


@dataclass(frozen=True, slots=True)
class Range:
    """All quantities between two, both included."""

    low: float
    high: float
    kind: str

    def holds(self, quantity: Quantity) -> bool:
        return quantity.kind == self.kind and self.low <= quantity.value <= self.high


@dataclass(frozen=True, slots=True)
class Window:
    """A sentence, a row, or some neighbours, with the words of the headings above."""

    chunk: Chunk
    text: str
    own: frozenset[str]
    terms: frozenset[str]  # own ones and those of the headings
    pairs: frozenset[tuple[str, str]]
    ranges: tuple[Range, ...]
    says_no: bool
    is_single: bool


@dataclass(slots=True)
class Words:
    """Reads texts in the words of one index, which says what each is worth."""

    index: OpenIndex
    _windows: dict[str, tuple[Window, ...]] = field(default_factory=dict)
    _weights: dict[str, float] = field(default_factory=dict)

    @property
    def analyzer(self) -> Analyzer:
        """Reads the language that most of the documents are in."""
        return self.index.analyzer.by_language[self.index.analyzer.languages[0]]

    def sequence(self, text: str) -> list[str]:
        """Return the content words of a text in order, without numbers."""
        found = self.analyzer.terms(_HYPHEN.sub(" ", text))
        skipped = self.analyzer.function_terms
        return [term for term in found if term not in skipped and not _is_number(term)]

    def terms(self, text: str) -> frozenset[str]:
        """Return the content words of a text, and its quantities as words of their own.

        The unit belongs to its quantity: "3 years" shares no word with "2 years".
        """
        found = quantities(text)
        bare = text
        for each in found:
            bare = f"{bare[: each.start]}{' ' * (each.end - each.start)}{bare[each.end :]}"
        return frozenset(self.sequence(bare)) | {_name(each) for each in found}

    def weight(self, terms: Iterable[str]) -> float:
        """Return what some words are worth together: rare ones more than common ones."""
        return sum(map(self._weight, terms))

    def _weight(self, term: str) -> float:
        known = self._weights.get(term)
        if known is None:
            size = self.index.lexical.size
            df = QUANTITY_DF if term[0] == "#" else self._df(term)
            known = self._weights[term] = math.log((size + 1) / (df + 0.5))
        return max(0.0, known)

    def _df(self, term: str) -> int:
        (found,) = self.index.lexical.resolve([term]).terms
        return found.df

    def windows(self, chunk: Chunk) -> tuple[Window, ...]:
        """Return the sentences and rows of a chunk, alone and with their neighbours."""
        known = self._windows.get(chunk.id)
        if known is None:
            if len(self._windows) >= REMEMBERED:
                self._windows.clear()
            known = self._windows[chunk.id] = tuple(self._read(chunk))
        return known

    def _read(self, chunk: Chunk) -> list[Window]:
        around = self.terms(" ".join((chunk.context, *chunk.path)))
        text = chunk.text[:MOST_CHARS]
        parts: list[tuple[str, tuple[Range, ...]]] = []
        unit = ""
        for each in units(text)[:MOST_PARTS]:
            words = text[each.start : each.end]
            is_row = each.kind == "row"
            unit = (_unit_row(words) or unit) if is_row else ""
            parts.append((words, tuple(ranges(words, unit))))
        return [
            self._window(chunk, parts[at : at + size], around)
            for size in range(1, WINDOW + 1)
            for at in range(len(parts) - size + 1)
        ]

    def _window(
        self, chunk: Chunk, parts: list[tuple[str, tuple[Range, ...]]], around: frozenset[str]
    ) -> Window:
        text = " ".join(words for words, _ in parts)
        own = self.terms(text)
        is_single = len(parts) == 1
        return Window(
            chunk,
            text,
            own,
            own | around,
            frozenset(pairwise(self.sequence(text))),
            parts[0][1] if is_single else (),
            bool(_NO.search(text)),
            is_single,
        )


def says_no(text: str) -> bool:
    """Return whether a text denies or forbids something.

    >>> says_no("It shall not be used."), says_no("It is allowed.")
    (True, False)
    """
    return bool(_NO.search(text))


def ranges(text: str, unit: str = "") -> Iterable[Range]:
    """Yield the ranges in a text; ``unit`` is that of numbers without one, as in some tables.

    >>> [(r.low, r.high, r.kind) for r in ranges("from 1.5 to 2 m, 3–4", "km")]
    [(1.5, 2.0, 'length'), (3000.0, 4000.0, 'length')]
    """
    for one, other in pairwise(quantities(text)):
        if one.kind == other.kind and _RANGE.fullmatch(text[one.end : other.start]):
            low, high, kind = one.value, other.value, one.kind
            if not kind and unit:
                (size,) = quantities(f"1 {unit}")
                low, high, kind = low * size.value, high * size.value, size.kind
            if kind and low < high:
                yield Range(low, high, kind)


def _unit_row(row: str) -> str:
    """Return the unit of a row that says nothing else: the numbers below are in it."""
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    named = [cell for cell in cells[1:] if cell]
    if not named or not all(_UNITS_ONLY.match(cell) for cell in named):
        return ""
    found = quantities(f"1 {named[0]}")
    is_unit = len(found) == 1 and found[0].kind and found[0].end == len(f"1 {named[0]}")
    return named[0] if is_unit and len(set(named)) == 1 else ""


def _name(quantity: Quantity) -> str:
    return f"#{quantity.value:.9g} {quantity.kind}"


def _is_number(term: str) -> bool:
    return term[0].isdigit() and term.replace(".", "").isdigit()
