"""Numbers with units: exact fractions, dimensions, and what a mismatch is called in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from pincite.core.errors import PinciteError

# Powers of metre, kilogram, second, ampere and kelvin.
Dimension = tuple[int, int, int, int, int]
NUMBER: Dimension = (0, 0, 0, 0, 0)
MOST_POWER = 20  # of a unit; nobody means more
SHOWN_DIGITS = 6
EXACT_DIGITS = 12  # a decimal that ends sooner is shown whole

_LENGTH, _MASS, _TIME, _CURRENT = (1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0)
_DEGREE = (0, 0, 0, 0, 1)
_POWER, _VOLTAGE, _RESISTANCE = (2, 1, -3, 0, 0), (2, 1, -3, -1, 0), (2, 1, -3, -2, 0)
_ENERGY, _FORCE, _PRESSURE = (2, 1, -2, 0, 0), (1, 1, -2, 0, 0), (-1, 1, -2, 0, 0)
_VOLUME, _FREQUENCY = (3, 0, 0, 0, 0), (0, 0, -1, 0, 0)

_WORDS: dict[Dimension, str] = {
    NUMBER: "a plain number",
    _LENGTH: "a length",
    (2, 0, 0, 0, 0): "an area",
    _VOLUME: "a volume",
    _MASS: "a mass",
    _TIME: "a time",
    _CURRENT: "a current",
    _VOLTAGE: "a voltage",
    _POWER: "a power",
    _RESISTANCE: "a resistance",
    _ENERGY: "an energy",
    _FORCE: "a force",
    _PRESSURE: "a pressure",
    _FREQUENCY: "a frequency",
    _DEGREE: "a temperature difference",
    (0, 1, -3, 0, 0): "a power per area",
}
# What a result is shown in, if nothing in the question has its dimension.
_USUAL: dict[Dimension, str] = {
    _LENGTH: "m",
    (2, 0, 0, 0, 0): "m²",
    _VOLUME: "m³",
    _MASS: "kg",
    _TIME: "s",
    _CURRENT: "A",
    _VOLTAGE: "V",
    _POWER: "W",
    _RESISTANCE: "Ω",
    _ENERGY: "J",
    _FORCE: "N",
    _PRESSURE: "Pa",
    _FREQUENCY: "Hz",
    _DEGREE: "K",
    (0, 1, -3, 0, 0): "W/m²",
}
_BASE = ("m", "kg", "s", "A", "K")

# name: dimension, and how much of the base units it is.
_UNITS: dict[str, tuple[Dimension, Fraction]] = {
    "%": (NUMBER, Fraction(1, 100)),
    "percent": (NUMBER, Fraction(1, 100)),
    "in": (_LENGTH, Fraction(254, 10_000)),
    "inch": (_LENGTH, Fraction(254, 10_000)),
    "ft": (_LENGTH, Fraction(3048, 10_000)),
    "feet": (_LENGTH, Fraction(3048, 10_000)),
    "yd": (_LENGTH, Fraction(9144, 10_000)),
    "mi": (_LENGTH, Fraction(1_609_344, 1000)),
    "g": (_MASS, Fraction(1, 1000)),
    "t": (_MASS, Fraction(1000)),
    "lb": (_MASS, Fraction(45_359_237, 100_000_000)),
    "oz": (_MASS, Fraction(45_359_237, 1_600_000_000)),
    "min": (_TIME, Fraction(60)),
    "h": (_TIME, Fraction(3600)),
    "day": (_TIME, Fraction(86_400)),
    "days": (_TIME, Fraction(86_400)),
    "K": (_DEGREE, Fraction(1)),
    "°C": (_DEGREE, Fraction(1)),
    "°F": (_DEGREE, Fraction(5, 9)),
    "l": (_VOLUME, Fraction(1, 1000)),
    "L": (_VOLUME, Fraction(1, 1000)),
    "ml": (_VOLUME, Fraction(1, 1_000_000)),
    "ohm": (_RESISTANCE, Fraction(1)),
    "J": (_ENERGY, Fraction(1)),
    "kJ": (_ENERGY, Fraction(1000)),
    "N": (_FORCE, Fraction(1)),
    "kN": (_FORCE, Fraction(1000)),
}
_PREFIXES = {"": Fraction(1), "k": Fraction(1000), "M": Fraction(10**6)}
_PREFIXES |= {"G": Fraction(10**9), "m": Fraction(1, 1000)}
_UNITS |= {
    f"{prefix}{name}": (dimension, factor * size)
    for name, dimension, size, prefixes in (
        ("A", _CURRENT, 1, ("", "k", "m")),
        ("V", _VOLTAGE, 1, ("", "k", "m")),
        ("W", _POWER, 1, ("", "k", "M", "m")),
        ("VA", _POWER, 1, ("", "k", "M")),
        ("Wh", _ENERGY, 3600, ("", "k", "M")),
        ("Hz", _FREQUENCY, 1, ("", "k", "M", "G")),
        ("Ω", _RESISTANCE, 1, ("", "k", "M", "m")),
        ("Pa", _PRESSURE, 1, ("", "k", "M")),
        ("m", _LENGTH, 1, ("", "k", "m")),
        ("s", _TIME, 1, ("", "m")),
    )
    for prefix, factor in ((each, _PREFIXES[each]) for each in prefixes)
}
_UNITS |= {"cm": (_LENGTH, Fraction(1, 100)), "kg": (_MASS, Fraction(1))}
_UNITS |= {"mg": (_MASS, Fraction(1, 1_000_000))}
_RAISED = re.compile(r"^(mm|cm|km|m|in|ft)(?:([²³])|([23]))$")


class CalculationError(PinciteError):
    """A calculation that cannot be done, and why."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as somebody wrote it."""

    name: str
    dimension: Dimension
    size: Fraction  # in base units


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of base units, exact unless a root was taken."""

    value: Fraction
    dimension: Dimension = NUMBER
    is_exact: bool = True

    def __add__(self, other: Quantity) -> Quantity:
        self._fit(other, "add", "and")
        return self._with(other, self.value + other.value)

    def __sub__(self, other: Quantity) -> Quantity:
        self._fit(other, "subtract", "and")
        return self._with(other, self.value - other.value)

    def __mul__(self, other: Quantity) -> Quantity:
        sums = zip(self.dimension, other.dimension, strict=True)
        return self._with(other, self.value * other.value, [a + b for a, b in sums])

    def __truediv__(self, other: Quantity) -> Quantity:
        if not other.value:
            raise CalculationError("division by zero", hint="check the numbers")
        differences = zip(self.dimension, other.dimension, strict=True)
        return self._with(other, self.value / other.value, [a - b for a, b in differences])

    def _with(
        self, other: Quantity, value: Fraction, dimension: list[int] | None = None
    ) -> Quantity:
        kept = self.dimension if dimension is None else _dimension(dimension)
        return Quantity(value, kept, self.is_exact and other.is_exact)

    def _fit(self, other: Quantity, verb: str, joint: str) -> None:
        if self.dimension != other.dimension:
            raise CalculationError(
                f"cannot {verb} {in_words(self.dimension)} {joint} {in_words(other.dimension)}",
                hint="give both numbers units of the same kind",
            )

    def compared(self, other: Quantity) -> bool:
        """Return whether this is the smaller one."""
        self._fit(other, "compare", "and")
        return self.value < other.value

    def to_power(self, power: int) -> Quantity:
        """Return the quantity times itself."""
        if not self.value and power < 0:
            raise CalculationError("division by zero", hint="check the numbers")
        dimension = _dimension([each * power for each in self.dimension])
        return Quantity(self.value**power, dimension, self.is_exact)

    def shown(self, unit: Unit) -> str:
        """Return the number and the unit; ≈ where digits were left out."""
        number = self.value / unit.size
        text, is_whole = decimal(number)
        sign = "" if is_whole and self.is_exact else "≈ "
        return f"{sign}{text} {unit.name}".rstrip()


def _dimension(powers: list[int]) -> Dimension:
    if any(abs(power) > MOST_POWER for power in powers):
        raise CalculationError("a unit has too high a power", hint="check the exponents")
    metre, kilogram, second, ampere, kelvin = powers
    return metre, kilogram, second, ampere, kelvin


def find_unit(name: str) -> Unit | None:
    """Return the unit of this name; None if there is none.

    >>> find_unit("mm2").name, find_unit("parsec")
    ('mm²', None)
    """
    if name in ("degC", "degF"):
        name = f"°{name[-1]}"
    known = _UNITS.get(name)
    if known is not None:
        return Unit("%" if name == "percent" else name, *known)
    raised = _RAISED.match(name)
    if raised is None:
        return None
    base, sign, digit = raised.groups()
    power = {"²": 2, "³": 3}.get(sign) or int(digit)
    dimension, size = _UNITS[base]
    return Unit(f"{base}{'²' if power == 2 else '³'}", (power, *dimension[1:]), size**power)


def usual_unit(dimension: Dimension) -> Unit:
    """Return what a result of this dimension is shown in."""
    name = _USUAL.get(dimension) or _product(dimension)
    return Unit(name, dimension, Fraction(1))


def _product(dimension: Dimension) -> str:
    if dimension == NUMBER:
        return ""
    powers = zip(_BASE, dimension, strict=True)
    return "·".join(f"{name}^{power}" if power != 1 else name for name, power in powers if power)


def in_words(dimension: Dimension) -> str:
    """Return what a dimension is called.

    >>> in_words(find_unit("kV").dimension)
    'a voltage'
    """
    return _WORDS.get(dimension) or f"a value in {_product(dimension)}"


def decimal(number: Fraction) -> tuple[str, bool]:
    """Return a number as people write it, and whether that is all of it.

    >>> decimal(Fraction(7, 2)), decimal(Fraction(2, 3)), decimal(Fraction(10**9))
    (('3.5', True), ('0.666667', False), ('1000000000', True))
    """
    for digits in range(EXACT_DIGITS + 1):
        scaled = number * 10**digits
        if scaled.denominator == 1:
            return _pointed(scaled.numerator, digits), True
    size = len(str(abs(number.numerator) // number.denominator)) if abs(number) >= 1 else 0
    digits = max(0, SHOWN_DIGITS - size) if abs(number) >= Fraction(1, 1000) else EXACT_DIGITS
    text = _pointed(round(number * 10**digits), digits)
    return (text.rstrip("0").rstrip(".") if "." in text else text), False


def _pointed(number: int, digits: int) -> str:
    if not digits:
        return str(number)
    text = str(abs(number)).rjust(digits + 1, "0")
    return f"{'-' if number < 0 else ''}{text[:-digits]}.{text[-digits:]}"
