"""Numbers in words: what a cell such as "Over 60 through 100" or "10, 11" stands for."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

# A comma before exactly three digits groups thousands; before one or two it is a decimal comma.
_NUMBER = re.compile(
    r"(?<![\w.,])-?(?:\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+,\d{1,2}|\d+(?:\.\d+)?)(?!\d|,\d)"
)
_DASH = re.compile(r"(?<=\d)\s*[-–—]\s*(?=\d)")
_UNIT_BEHIND = re.compile(r"\d\s*(°\s?[CF]|%|[^\W\d_]+[²³]?)")
_UP_TO = re.compile(
    r"not (?:exceeding|over|more than|greater than)|up to|at most|or less|maximum|≤|<="
    r"|ne dépassant pas|jusqu",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:over|above|more than|exceeding|greater than|plus de)\b|(?<!=)>(?!=)", re.IGNORECASE
)
_FROM = re.compile(r"at least|or more|and (?:over|above|up)|minimum|≥|>=", re.IGNORECASE)
_BELOW = re.compile(r"\b(?:below|under|less than)\b|<(?!=)", re.IGNORECASE)
_THROUGH = re.compile(r"–|\b(?:through|to|and|but|à|a)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Interval:
    """All numbers between two bounds."""

    low: float = -math.inf
    high: float = math.inf
    is_low_open: bool = False
    is_high_open: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.is_low_open else value >= self.low
        below = value < self.high if self.is_high_open else value <= self.high
        return above and below

    @property
    def width(self) -> float:
        """How much it leaves open; of half-open ones the tighter bound is narrower."""
        if math.isinf(self.low):
            return self.high
        return -self.low if math.isinf(self.high) else self.high - self.low


def numbers(text: str) -> list[float]:
    """Return the numbers in a text.

    >>> numbers("12,345 and 2,5 or 10, 11")
    [12345.0, 2.5, 10.0, 11.0]
    """
    return [_value(found) for found in _NUMBER.findall(_DASH.sub(" – ", text))]


def _value(text: str) -> float:
    plain = re.sub(r"[,\u00a0\u202f](?=\d{3}(?:\D|$))", "", text)
    return float(plain.replace(",", "."))


def unit_behind(text: str) -> str:
    """Return the word behind the first number: its unit, perhaps."""
    match = _UNIT_BEHIND.search(text)
    return match.group(1) if match else ""


def intervals_of(cell: str, column: str = "") -> tuple[Interval, ...]:
    """Return the numbers that a cell stands for; none if it is not about numbers.

    >>> [80 in each for each in intervals_of("Over 60 through 100")]
    [True]
    >>> intervals_of("10, 11")
    (Interval(low=10.0, high=10.0, is_low_open=False, is_high_open=False), \
Interval(low=11.0, high=11.0, is_low_open=False, is_high_open=False))
    """
    found = numbers(cell)
    if len(found) == 2 and _THROUGH.search(_DASH.sub(" – ", cell)) and found[0] <= found[1]:
        return (Interval(found[0], found[1], is_low_open=bool(_OVER.search(cell))),)
    if len(found) == 1:
        (value,) = found
        bound = _one_bound(value, cell) or _one_bound(value, column)
        return (bound or Interval(value, value),)
    if len(found) >= 2 and "," in cell:
        return tuple(Interval(value, value) for value in found)
    return ()  # a date, a code, or words with numbers in them


def _one_bound(value: float, words: str) -> Interval | None:
    if _UP_TO.search(words):
        return Interval(high=value)
    if _FROM.search(words):
        return Interval(low=value)
    if _OVER.search(words):
        return Interval(low=value, is_low_open=True)
    if _BELOW.search(words):
        return Interval(high=value, is_high_open=True)
    return None
