"""Arithmetic with units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import isqrt

from pincite.model.units import (
    NUMBER,
    Amount,
    CalculationError,
    UnitOfMeasure,
    find_unit,
    in_words,
    usual_unit,
)

MAX_CHARS = 500
MAX_DEPTH = 40
MAX_DIGITS = 40
MAX_EXPONENT = 20
MAX_BITS = 4096  # of the numbers on the way
ROOT_DIGITS = 20
FUNCTIONS = ("min", "max", "sqrt")

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?|\.[0-9]+)|(?P<word>°[CF]|%|Ω|[^\W\d_]+[²³23]?)"
    r"|(?P<sign>[-+*/^(),×·÷−–]))"
)
_SAME = {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "of": "*", "per": "/"}
_RAISED_NUMBER = re.compile(r"(?<=m)\^([23])(?!\d)")  # of a metre, whatever stands before it


@dataclass(frozen=True, slots=True)
class CalculationResult:
    """What a calculation gives."""

    expression: str
    quantity: Amount
    unit: UnitOfMeasure

    @property
    def text(self) -> str:
        return self.quantity.shown(self.unit)

    @property
    def number(self) -> Fraction:
        """How many of the unit it is."""
        return self.quantity.value / self.unit.size


def calculate(expression: str) -> CalculationResult:
    """Return what an expression gives; CalculationError says in plain words why it gives nothing.

    >>> calculate("80 % of 20 A").text, calculate("22 W/m² * 150 m²").text
    ('16 A', '3300 W')
    """
    if len(expression) > MAX_CHARS:
        raise CalculationError(
            f"the calculation is longer than {MAX_CHARS} characters", hint="do it in steps"
        )
    return _Parser(expression).whole()


class _Parser:
    """Reads an expression from left to right and calculates on the way."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.tokens = _tokens(expression)
        self.at = 0
        self.depth = 0
        self.units: list[UnitOfMeasure] = []  # in the order in which they were written

    def whole(self) -> CalculationResult:
        found = self.sum()
        unit = self._asked_unit(found) if self._is("in", "to") else self._own_unit(found)
        if self.at < len(self.tokens):
            raise self._unexpected()
        return CalculationResult(self.expression.strip(), found, unit)

    def _asked_unit(self, found: Amount) -> UnitOfMeasure:
        start = self.at = self.at + 1
        size = self.product()
        name = "".join(self.tokens[start : self.at]).replace("per", "/")
        if size.dimension != found.dimension:
            raise CalculationError(
                f"the result is {in_words(found.dimension)}, which cannot be shown in {name}",
                hint=f"ask for a unit of {in_words(found.dimension)}",
            )
        if not size.value:
            raise CalculationError("division by zero", hint="name a unit after 'in'")
        return UnitOfMeasure(name, size.dimension, size.value)

    def _own_unit(self, found: Amount) -> UnitOfMeasure:
        """Return the first unit of the expression that the result can have."""
        if found.dimension == NUMBER:
            only_percent = self.units and all(unit.name == "%" for unit in self.units)
            is_sum = not {"*", "/", "of", "×", "·", "÷", "^"} & set(self.tokens)
            return self.units[0] if only_percent and is_sum else usual_unit(NUMBER)
        fitting = (unit for unit in self.units if unit.dimension == found.dimension)
        return next(fitting, usual_unit(found.dimension))

    def sum(self) -> Amount:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise CalculationError("too many brackets", hint="do it in steps")
        found = self.product()
        while self._is("+", "-"):
            sign = self._next()
            other = self.product()
            found = _small(found + other if sign == "+" else found - other)
        self.depth -= 1
        return found

    def product(self) -> Amount:
        found = self.power()
        while self._is("*", "/"):
            sign = self._next()
            other = self.power()
            found = _small(found * other if sign == "*" else found / other)
        return found

    def power(self) -> Amount:
        signs = 0
        while self._is("-"):
            self._next()
            signs += 1
        found = self.atom()
        if self._is("^"):
            self._next()
            found = _small(found.to_power(self._exponent()))
        return Amount(-found.value, found.dimension, found.is_exact) if signs % 2 else found

    def _exponent(self) -> int:
        sign = -1 if self._is("-") and self._next() else 1
        text = self._next()
        if not text.isascii() or not text.isdigit() or int(text[:4]) > MAX_EXPONENT:
            raise CalculationError(
                f"an exponent is a whole number up to {MAX_EXPONENT}, not {text!r}",
                hint="as in 3^2",
            )
        return sign * int(text)

    def atom(self) -> Amount:
        token = self._next()
        if token == "(":
            found = self.sum()
            self._expect(")")
            return found
        if token[0] in "0123456789.":
            unit = self._unit_behind()
            return Amount(Fraction(token) * (unit.size if unit else 1), _of(unit))
        if token in FUNCTIONS and self._is("("):
            return self._function(token)
        unit = find_unit(token)
        if unit is None:
            raise _unknown(token) if token[0].isalpha() else self._unexpected(token)
        self.units.append(unit)
        return Amount(unit.size, unit.dimension)

    def _unit_behind(self) -> UnitOfMeasure | None:
        """Return the unit that stands directly behind a number."""
        if self.at >= len(self.tokens):
            return None
        word = self.tokens[self.at]
        # "5 in" are inches, "5 in mm" and "5 in in mm" are not and are.
        if word == "in" and self.at + 1 < len(self.tokens):
            after = self.tokens[self.at + 1]
            if after not in ("in", "to") and find_unit(after):
                return None
        unit = find_unit(word)
        if unit is None:
            if word[0].isalpha() and word not in ("to", "in"):
                raise _unknown(word)
            return None
        self.at += 1
        self.units.append(unit)
        return unit

    def _function(self, name: str) -> Amount:
        self._expect("(")
        values = [self.sum()]
        while self._is(","):
            self._next()
            values.append(self.sum())
        self._expect(")")
        if name == "sqrt":
            if len(values) != 1:
                raise CalculationError("sqrt takes one number", hint="as in sqrt(3)")
            return _root(values[0])
        smallest = reduce(lambda a, b: a if a.compared(b) else b, values)
        largest = reduce(lambda a, b: b if a.compared(b) else a, values)
        return smallest if name == "min" else largest

    def _is(self, *tokens: str) -> bool:
        return self.at < len(self.tokens) and self._plain(self.tokens[self.at]) in tokens

    def _plain(self, token: str) -> str:
        return _SAME.get(token, token)

    def _next(self) -> str:
        if self.at >= len(self.tokens):
            raise CalculationError("the calculation ends too early", hint="as in 80 % of 20 A")
        self.at += 1
        return self._plain(self.tokens[self.at - 1])

    def _expect(self, token: str) -> None:
        if not self._is(token):
            raise CalculationError(f"a {token!r} is missing", hint="check the brackets")
        self.at += 1

    def _unexpected(self, token: str = "") -> CalculationError:
        token = token or self.tokens[self.at]
        comma = "write 1500 for 1,500 and 2.5 for 2,5"
        return CalculationError(
            f"did not expect {token!r}", hint=comma if token == "," else "as in 80 % of 20 A"
        )


def _tokens(expression: str) -> list[str]:
    found, at, text = [], 0, expression.rstrip()
    text = _RAISED_NUMBER.sub(lambda match: "²" if match.group(1) == "2" else "³", text)
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CalculationError(
                f"{text[at:].strip()[:1]!r} has no place in a calculation",
                hint="it has numbers, units, + - * / ^ ( ), of, per, in, min, max and sqrt",
            )
        token = match.group("number") or match.group("word") or match.group("sign")
        if len(token) > MAX_DIGITS:
            raise CalculationError("a number is too long", hint=f"at most {MAX_DIGITS} digits")
        found.append(token)
        at = match.end()
    return found


def _of(unit: UnitOfMeasure | None) -> tuple[int, int, int, int, int]:
    return unit.dimension if unit else NUMBER


def _small(quantity: Amount) -> Amount:
    value = quantity.value
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise CalculationError("the numbers become too large", hint="check the exponents")
    return quantity


def _root(quantity: Amount) -> Amount:
    """Return the square root, exact where there is one."""
    value = quantity.value
    if value < 0:
        raise CalculationError("a negative number has no root", hint="check the signs")
    if any(power % 2 for power in quantity.dimension):
        raise CalculationError(
            f"{in_words(quantity.dimension)} has no root with a unit", hint="check the units"
        )
    metre, kilogram, second, ampere, kelvin = (power // 2 for power in quantity.dimension)
    dimension = (metre, kilogram, second, ampere, kelvin)
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    if above**2 == value.numerator and below**2 == value.denominator:
        return Amount(Fraction(above, below), dimension, quantity.is_exact)
    scale = 10**ROOT_DIGITS
    root = isqrt(value.numerator * scale**2 // value.denominator)
    return Amount(Fraction(root, scale), dimension, is_exact=False)


def _unknown(word: str) -> CalculationError:
    return CalculationError(
        f"{word!r} is no unit that is known here",
        hint="known are m, mm², A, V, W, VA, kg, s, h, °C (a difference), Ω, Hz, %, ...",
    )
