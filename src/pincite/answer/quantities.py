"""Numbers of a text with their units, so that 1.6 m and 1600 mm are one and 1.6 mm another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pincite.core.tables import parse_table, unit_of

# Every unit as a multiple of the first one of its kind. Temperatures are compared as written: to
# convert them needs more than a factor, and a difference of degrees less.
_KINDS: dict[str, dict[float, str]] = {
    "length": {
        1: "m metre metres meter meters",
        1e-3: "mm millimetre millimetres millimeter millimeters",
        1e-2: "cm centimetre centimetres centimeter centimeters",
        1e3: "km kilometre kilometres kilometer kilometers",
        0.0254: "inch inches ″",
        0.3048: "ft feet foot",
        1609.344: "mi mile miles",
        0.9144: "yd yard yards",
    },
    "area": {1: "m² m2 sqm", 1e-6: "mm² mm2", 1e-4: "cm² cm2"},
    "volume": {
        1: "m³ m3",
        1e-3: "l litre litres liter liters",
        1e-6: "cm³ cm3 ml",
        1e-9: "mm³ mm3",
    },
    "mass": {1: "kg kilogram kilograms", 1e-3: "g gram grams", 0.45359237: "lb lbs pound pounds"},
    "time": {
        1: "s sec second seconds",
        1e-3: "ms millisecond milliseconds",
        60: "min minute minutes",
        3600: "h hour hours",
        86400: "day days",
        604800: "week weeks",
    },
    "months": {1: "month months", 12: "year years"},
    "current": {1: "a amp amps ampere amperes", 1e-3: "ma milliampere milliamperes", 1e3: "ka"},
    "voltage": {1: "v volt volts", 1e-3: "mv", 1e3: "kv kilovolt kilovolts"},
    "power": {1: "w watt watts", 1e-3: "mw milliwatt milliwatts", 1e3: "kw kilowatt kilowatts"},
    "apparent power": {1: "va", 1e3: "kva"},
    "frequency": {1: "hz hertz", 1e3: "khz kilohertz", 1e6: "mhz megahertz", 1e9: "ghz gigahertz"},
    "resistance": {1: "ω ohm ohms", 1e3: "kω kilohm kilohms", 1e6: "mω"},
    "pressure": {1: "pa", 1e3: "kpa", 1e6: "mpa", 6894.757: "psi"},
    "share": {1: "% percent per_cent"},
    "temperature C": {1: "°c celsius"},
    "temperature F": {1: "°f fahrenheit"},
    "level": {1: "db decibel decibels"},
    "dollars": {1: "$ dollar dollars usd"},
    "euros": {1: "€ euro euros eur"},
    "pounds sterling": {1: "£ gbp"},
    "baud": {1: "baud bauds bd"},
}
_WORDS = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
)
_TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}

_DIGITS = r"\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+,\d{1,2}(?!\d)|\d+(?:\.\d+)?"
_UNIT = r"%|″|°\s?[CF]\b|[kM]?Ω|[^\W\d_]{1,12}[²³]?"
# A number stands alone: "2d6", "E-07", "97.113" and "310.16(B)" are names (see _NAME). A hyphen
# before it is a range or a compound, never a minus sign: no rule is lost by that.
_QUANTITY = re.compile(
    rf"(?<![\w.,])([$€£]\s?)?({_DIGITS})(?![\d.,]*\d)"
    rf"(?:[\s\u00a0\u202f-]?({_UNIT}))?(?![\w])"
)
_NUMBER_WORD = "|".join((*_WORDS, *_TENS))
_SPELLED = re.compile(
    rf"\b({_NUMBER_WORD})(?:[\s-]({'|'.join(_WORDS[1:10])}))?(?:\s({'|'.join(_SCALES)}))?\b"
    rf"(?:[\s-]({_UNIT}))?",
    re.IGNORECASE,
)
_SCALED = re.compile(rf"\s?({'|'.join(_SCALES)})\b(?:\s({_UNIT}))?", re.IGNORECASE)
# What joins a number to a second one with the unit: "10–20 m", "10 to 20 m", "2 or 3 m".
_JOINED = re.compile(r"\s*(?:-|–|—|to|through|and|or|,|×|x)\s*", re.IGNORECASE)
# A word with a figure in it that is no number: an identifier, a dice roll, a code, a date.
_NAME = re.compile(r"(?<![\w.])(?=[\w./-]*\d)[\w]+(?:[./:-][\w]+)*(?:\([0-9A-Za-z]{1,5}\))*")
_PER_CENT = re.compile(r"\bper cent\b", re.IGNORECASE)
SAME = 1e-9  # two numbers that differ by less than this share of them are one
_LETTERS = "AVWLmghsl"
_EXACT_CASE = {"MW": ("power", 1e6), "mW": ("power", 1e-3), "MΩ": ("resistance", 1e6)}
_EXACT_CASE |= {"MPa": ("pressure", 1e6), "mΩ": ("resistance", 1e-3)}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in the first unit of its kind; a kind of "" means that it has no unit."""

    value: float
    kind: str
    start: int
    end: int

    def same(self, other: Quantity) -> bool:
        """Return whether both say the same. A bare number says as much as one with a unit."""
        if self.kind and self.kind != other.kind:
            return False
        return _close(self.value, other.value)


def quantities(text: str) -> list[Quantity]:
    """Return the numbers of a text with their units, written in figures or in words.

    >>> [(q.value, q.kind) for q in quantities("at least two rods, 1600 mm to 2 m, 5 percent")]
    [(2.0, ''), (1.6, 'length'), (2.0, 'length'), (5.0, 'share')]
    """
    text = _PER_CENT.sub("per_cent", text)
    found = sorted([*_figures(text), *_spelled(text)], key=lambda each: each[0].start)
    shared: list[Quantity] = []
    for (each, has_unit), behind in zip(found, [*found[1:], None], strict=False):
        # The unit behind the second number of a range is that of the first as well.
        if not has_unit and behind is not None and behind[1]:
            between = text[each.end : behind[0].start]
            if _JOINED.fullmatch(between):
                factor = _unit(text[behind[0].start : behind[0].end])
                each = Quantity(each.value * factor, behind[0].kind, each.start, each.end)
        shared.append(each)
    return shared


def row_quantities(table_text: str) -> Iterator[tuple[int, list[Quantity]]]:
    """Yield for each row of a table its number and its numbers, in the units of their columns."""
    table = parse_table(table_text)
    if table is None:
        return
    factors = [_kind_of(unit_of(name)) for name in table.columns]
    for number, row in enumerate(table.rows):
        found = []
        for cell, column in zip(row, factors, strict=False):
            for each in quantities(cell):
                if not each.kind and column:
                    each = Quantity(each.value * column[1], column[0], each.start, each.end)
                found.append(each)
        yield number, found


def names(text: str) -> list[str]:
    """Return the words of a text that have figures in them and are no quantities.

    >>> names("Error E-07 deals 2d6 under 97.113(a)(4), 12 times, within 1.6 m")
    ['e-07', '2d6', '97.113(a)(4)']
    """
    found = []
    for match in _NAME.finditer(text):
        word = match.group()
        is_number = re.fullmatch(_DIGITS, word) is not None
        if not is_number and not _QUANTITY.fullmatch(word):
            found.append(word.casefold())
    return list(dict.fromkeys(found))


def _figures(text: str) -> Iterator[tuple[Quantity, bool]]:
    for match in _QUANTITY.finditer(text):
        sign, digits, unit = match.groups()
        end = match.end(2)
        value = _value(digits)
        if scaled := _SCALED.match(text, end):
            value *= _SCALES[scaled.group(1).casefold()]
            end, unit = scaled.end(1), scaled.group(2)
        kind = _kind_of((sign or "").strip()) or _kind_of(unit or "")
        if kind and not sign:
            end = max(end, scaled.end() if scaled else match.end())
        yield _quantity(value, kind, match.start(), end)


def _spelled(text: str) -> Iterator[tuple[Quantity, bool]]:
    for match in _SPELLED.finditer(text):
        first, second, scale, unit = match.groups()
        value = _word_value(first) + (_word_value(second) if second else 0.0)
        value *= _SCALES[scale.casefold()] if scale else 1.0
        kind = _kind_of(unit or "")
        # "no one", "one of them": the smallest words are more often no number at all.
        if value <= 1 and not kind:
            continue
        end = match.end() if kind else (match.end(3) if scale else match.end(2 if second else 1))
        yield _quantity(value, kind, match.start(), end)


def _quantity(
    value: float, kind: tuple[str, float] | None, start: int, end: int
) -> tuple[Quantity, bool]:
    if kind is None:
        return Quantity(value, "", start, end), False
    return Quantity(value * kind[1], kind[0], start, end), True


def _word_value(word: str) -> float:
    plain = word.casefold()
    return float(_WORDS.index(plain)) if plain in _WORDS else (_TENS.index(plain) + 2) * 10.0


def _value(digits: str) -> float:
    plain = re.sub(r"[,\u00a0\u202f](?=\d{3}(?:\D|$))", "", digits)
    return float(plain.replace(",", "."))


def _unit(written: str) -> float:
    """Return the factor of the unit at the end of a written quantity."""
    match = re.search(rf"({_UNIT})$", written)
    kind = _kind_of(match.group(1)) if match else None
    return kind[1] if kind else 1.0


@cache
def _units() -> dict[str, tuple[str, float]]:
    return {
        name: (kind, factor)
        for kind, factors in _KINDS.items()
        for factor, names_ in factors.items()
        for name in names_.split()
    }


def _kind_of(unit: str) -> tuple[str, float] | None:
    """Return what a unit measures and its factor; None if it is no unit that we know."""
    plain = unit.replace(" ", "").replace("\u00a0", "")
    if len(plain) == 1 and plain.isascii() and plain.isalpha() and plain not in _LETTERS:
        return None  # "5 a day" is no current
    return _EXACT_CASE.get(plain) or _units().get(plain.casefold())


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= SAME * max(abs(one), abs(other))
