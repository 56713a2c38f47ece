"""Whether a sentence holds in a text: its words, its numbers, its polarity.

The units of a text that are about what the sentence is about are told by shared words; what the
sentence says of numbers, and whether something must, may or must not be, has to stand in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pincite.check.rules import opposite
from pincite.index.tokens import Analyzer
from pincite.model.sentences import units
from pincite.model.tables import parse_table, unit_of
from pincite.model.units import Quantity, kind_of, quantities

# A fact has to stand in a unit that shares at least this much of what the best unit shares.
NEAR_SHARE = 0.5
# A unit of which the sentence has this share of words is taken over, however short it is.
TAKEN_OVER = 0.8
# A sentence is turned round only by a unit that has this share of its words.
MIN_ALIKE = 0.6
CLOSE = 0.7  # so alike, both ways, that a single word decides
REMEMBERED_TEXTS = 64

# Says how probable it is that evidence bears out a claim; None where it cannot say. A model that
# reads both may be given; ``shared_words`` works without any.
Support = Callable[[str, str], float | None]


@dataclass(frozen=True, slots=True)
class TextPart:
    """One unit of a text: its words, its numbers, and of a row the words of its first cell."""

    text: str
    terms: frozenset[str]
    numbers: tuple[Quantity, ...]
    name: frozenset[str] | None = None


class TextParts:
    """Reads texts into units once, as one analyzer sees their words."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.language = analyzer.language
        self.of = lru_cache(maxsize=REMEMBERED_TEXTS)(self._read)
        self.terms = lru_cache(maxsize=REMEMBERED_TEXTS)(analyzer.terms)

    def content(self, text: str) -> frozenset[str]:
        """Return the terms of a text that say something."""
        terms = self._analyzer.terms(text)
        return frozenset(t for t in terms if t not in self._analyzer.function_terms)

    def _read(self, text: str) -> list[TextPart]:
        found = []
        rows = dict(row_quantities(text))
        number = 0
        for unit in units(text):
            words = text[unit.start : unit.end]
            own = self.content(words)
            if unit.kind == "row":
                numbers = (*rows.get(number, ()), *quantities(words))
                number += 1
                name = self.content(words.strip("| ").partition("|")[0])
                found.append(TextPart(words, own, numbers, name))
            else:
                found.append(TextPart(words, own, tuple(quantities(words))))
        return found


def near(words: frozenset[str], every: Sequence[TextPart]) -> list[TextPart]:
    """Return the units that are about what a sentence with these words is about.

    These are units that share about as many words with it as any, and short ones that it takes
    over. Rows of a table differ in little: only those that it names count, or the nearest.
    """
    parts = [part for part in every if part.name is None]
    least = NEAR_SHARE * max((len(words & part.terms) for part in parts), default=0)
    found = [part for part in parts if _is_near(part, words, least)]
    rows = [part for part in every if part.name is not None]
    named = [part for part in rows if part.name and part.name <= words]
    most = max((len(words & part.terms) for part in rows), default=0)
    return found + (named or [part for part in rows if len(words & part.terms) == most])


def _is_near(part: TextPart, words: frozenset[str], least: float) -> bool:
    shared = len(words & part.terms)
    return shared >= least or (shared >= TAKEN_OVER * len(part.terms) and shared > 0)


def wrong_numbers(sentence: str, parts: Sequence[TextPart]) -> Iterator[str]:
    """Yield the numbers of a sentence that none of the units says, as written."""
    for each in quantities(sentence):
        if not any(each.same(other) for part in parts for other in part.numbers):
            yield sentence[each.start : each.end].strip()


def turned_round(sentence: str, words: frozenset[str], parts: Sequence[TextPart]) -> str:
    """Return why a sentence says the opposite of the units most like it; empty if it does not."""
    shared = [len(words & part.terms) for part in parts]
    best = max(shared, default=0)
    if not words or best < MIN_ALIKE * len(words):
        return ""
    reason = ""
    for part, count in zip(parts, shared, strict=True):
        if count < best:
            continue
        is_close = count >= CLOSE * max(len(words), len(part.terms))
        reason = opposite(sentence, part.text, is_close=is_close)
        if not reason:
            return ""
    return reason


Weighed = Literal["supported", "not_supported", "opposite", "number_differs"]
MIN_PROBABILITY = 0.5  # of a statement that is called supported
# How probable it is at most that one is which a rule speaks against: so many were, of the claims
# that models/train_judge.py learns from.
RULED_OUT = 0.35


def weighed(
    sentence: str, parts: Sequence[TextPart], words: frozenset[str], sure: float
) -> tuple[Weighed, str, float]:
    """Return whether units bear a sentence out, why not, and how probable it is that they do.

    ``words`` say what it is about, ``sure`` how probable it is before any rule: rules win.
    """
    if reason := turned_round(sentence, words, near(words, parts)):
        return "opposite", reason, min(sure, RULED_OUT)
    if stray := stray_numbers(sentence, words, parts):
        reason = f"the place does not say {', '.join(stray[:3])}"
        return "number_differs", reason, min(sure, RULED_OUT)
    if sure < MIN_PROBABILITY:
        return "not_supported", "the place does not clearly say this", sure
    return "supported", "", sure


def stray_numbers(sentence: str, words: frozenset[str], parts: Sequence[TextPart]) -> Sequence[str]:
    """Return the numbers of a sentence that a text does not say, as written.

    One that takes over the words of a unit has to have the numbers of such units; one in words of
    its own, those of the text.
    """
    best = max((len(words & part.terms) for part in parts), default=0)
    is_taken_over = best >= TAKEN_OVER * len(words)
    return list(wrong_numbers(sentence, near(words, parts) if is_taken_over else parts))


def shared_words(words: frozenset[str], parts: Sequence[TextPart]) -> float:
    """Return the share of a sentence's words that a text has, in its best unit and in all."""
    if not words:
        return 1.0
    best = max((len(words & part.terms) for part in parts), default=0)
    said = frozenset[str]().union(*(part.terms for part in parts))
    return (best + len(words & said)) / (2 * len(words))


# Of a logistic curve over the share of words, fitted on claims with known verdicts
# (bench/check.py --claims): half of them are borne out where it is zero.
SLOPE, MIDDLE = 3.53, 0.528


def probability(share: float) -> float:
    """Return how probable it is that a text bears out a sentence of which it has so many words.

    >>> round(probability(1.0), 2) > 0.7 > 0.4 > round(probability(0.3), 2)
    True
    """
    return 1 / (1 + math.exp(-SLOPE * (share - MIDDLE)))


def row_quantities(table_text: str) -> Iterator[tuple[int, list[Quantity]]]:
    """Yield for each row of a table its number and its numbers, in the units of their columns."""
    table = parse_table(table_text)
    if table is None:
        return
    kinds = [kind_of(unit_of(name)) for name in table.columns]
    for number, row in enumerate(table.rows):
        found = []
        for cell, column in zip(row, kinds, strict=False):
            for each in quantities(cell):
                if not each.kind and column:
                    each = Quantity(each.value * column.size, column.name, each.start, each.end)
                found.append(each)
        yield number, found
