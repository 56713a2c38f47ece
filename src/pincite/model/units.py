"""THE table of units: numbers of a text with their units, exact sums of them, and conversion.

Each unit stands here once, with its symbols, its words in the languages that we read and its exact
size. What a calculation takes, what an answer is checked with and what makes a number a quantity
and no place ("2.5 litres") are all read from this table. Numbers of releases, which look like
numbers of places as well, are told at its end.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from pincite.model.errors import PinciteError
from pincite.model.patterns import lazy_pattern

# Powers of metre, kilogram, second, ampere and kelvin.
Dimension = tuple[int, int, int, int, int]
NUMBER: Dimension = (0, 0, 0, 0, 0)
_LENGTH, _AREA, _VOLUME = (1, 0, 0, 0, 0), (2, 0, 0, 0, 0), (3, 0, 0, 0, 0)
_MASS, _TIME, _CURRENT, _DEGREE = (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0), (0, 0, 0, 0, 1)
_POWER, _VOLTAGE, _RESISTANCE = (2, 1, -3, 0, 0), (2, 1, -3, -1, 0), (2, 1, -3, -2, 0)
_ENERGY, _FORCE, _PRESSURE = (2, 1, -2, 0, 0), (1, 1, -2, 0, 0), (-1, 1, -2, 0, 0)
_FREQUENCY, _PER_AREA = (0, 0, -1, 0, 0), (0, 1, -3, 0, 0)
_BASE = ("m", "kg", "s", "A", "K")
# What a dimension is called, and what a result is shown in if the question has no such unit.
_CALLED: dict[Dimension, tuple[str, str]] = {
    NUMBER: ("a plain number", ""),
    _LENGTH: ("a length", "m"),
    _AREA: ("an area", "m²"),
    _VOLUME: ("a volume", "m³"),
    _MASS: ("a mass", "kg"),
    _TIME: ("a time", "s"),
    _CURRENT: ("a current", "A"),
    _VOLTAGE: ("a voltage", "V"),
    _POWER: ("a power", "W"),
    _RESISTANCE: ("a resistance", "Ω"),
    _ENERGY: ("an energy", "J"),
    _FORCE: ("a force", "N"),
    _PRESSURE: ("a pressure", "Pa"),
    _FREQUENCY: ("a frequency", "Hz"),
    _DEGREE: ("a temperature difference", "K"),
    _PER_AREA: ("a power per area", "W/m²"),
}


class _Row(NamedTuple):
    """A unit: what it measures, its size in the first unit of its kind, and how it is written.

    Prefixes are those that its symbols and its words may have; of two that differ in case alone,
    the first is meant where nobody minds the case ("mw" is a milliwatt, "mpa" a megapascal).
    """

    kind: str
    dimension: Dimension | None  # None: compared as written, and no part of a calculation
    size: Fraction | int
    symbols: str
    words: str = ""
    prefixes: str = ""


_INCH, _POUND = Fraction(254, 10_000), Fraction(45_359_237, 100_000_000)
_FOOT, _G = 12 * _INCH, Fraction(980_665, 100_000)
# Words without accents: a text is read without them, too.
_METRE = "metre metres meter meters metern metro metri metros"
_LITRE = "litre litres liter liters litern litro litri litros"
_GRAM = "gram grams gramme grammes gramm grammo grammi gramo gramos"
_AMPERE = "ampere amperes amp amps amperios"
_TABLE = (
    _Row("length", _LENGTH, 1, "m", _METRE, "k c m d µ n"),
    _Row("length", _LENGTH, _INCH, "~in ″", "inch inches pouce pouces zoll pollici pulgadas"),
    _Row("length", _LENGTH, _FOOT, "ft", "feet foot pieds piedi"),
    _Row("length", _LENGTH, 3 * _FOOT, "yd", "yard yards"),
    _Row("length", _LENGTH, 5280 * _FOOT, "mi", "mile miles"),
    _Row("area", _AREA, 4840 * 9 * _FOOT**2, "", "acre acres"),
    _Row("area", _AREA, 10_000, "", "hectare hectares hektar ettari hectareas"),
    _Row("area", _AREA, 1, "sqm"),
    _Row("volume", _VOLUME, Fraction(1, 1000), "l L", _LITRE, "m c d h"),
    _Row("mass", _MASS, Fraction(1, 1000), "g", _GRAM, "k m µ"),
    _Row("mass", _MASS, 1, "", "kilo kilos"),
    _Row("mass", _MASS, 1000, "t", "tonne tonnes tonnellate toneladas"),
    _Row("mass", _MASS, _POUND, "lb lbs", "pound pounds livres libbre libras pfund"),
    _Row("mass", _MASS, _POUND / 16, "oz", "ounce ounces onces"),
    _Row("time", _TIME, 1, "s", "sec second seconds secs seconde secondes secondi sekunde "
         "sekunden segundo segundos", "m µ n"),
    _Row("time", _TIME, 60, "min", "minute minutes mins minuti minuto minuten minutos"),
    _Row("time", _TIME, 3600, "h", "hour hours hr hrs heure heures ora ore stunde stunden hora "
         "horas"),
    _Row("time", _TIME, 86_400, "", "day days jour jours giorno giorni tage tagen dia dias"),
    _Row("time", _TIME, 604_800, "", "week weeks semaine semaines settimana settimane woche wochen "
         "semana semanas"),
    _Row("months", None, 1, "", "month months mois mese mesi monat monate monaten mes meses"),
    _Row("months", None, 12, "", "year years ans annee annees anno anni jahr jahre jahren ano "
         "anos"),
    _Row("current", _CURRENT, 1, "A", _AMPERE, "m k µ"),
    _Row("voltage", _VOLTAGE, 1, "V", "volt volts voltios", "m k M µ"),
    _Row("power", _POWER, 1, "W", "watt watts vatios", "m k M G"),
    _Row("apparent power", _POWER, 1, "VA", "", "k M"),
    _Row("horsepower", None, 1, "hp", "horsepower"),
    _Row("frequency", _FREQUENCY, 1, "Hz", "hertz", "M k G"),
    _Row("revolutions", None, 1, "rpm", "revolutions"),
    _Row("resistance", _RESISTANCE, 1, "Ω", "ohm ohms", "M k m"),
    _Row("resistance", _RESISTANCE, 1000, "", "kilohm kilohms"),
    _Row("pressure", _PRESSURE, 1, "Pa", "pascal pascals", "M k h"),
    _Row("pressure", _PRESSURE, 100_000, "bar", "bars", "m"),
    _Row("pressure", _PRESSURE, 101_325, "atm", "atmosphere atmospheres"),
    _Row("pressure", _PRESSURE, _POUND * _G / _INCH**2, "psi psig"),
    _Row("energy", _ENERGY, 1, "J", "joule joules", "k M G"),
    _Row("energy", _ENERGY, 3600, "Wh", "", "k M G"),
    _Row("energy", _ENERGY, Fraction(4184, 1000), "cal", "calorie calories", "k"),
    _Row("force", _FORCE, 1, "N", "newton newtons", "k M"),
    _Row("torque", _ENERGY, 1, "Nm"),
    _Row("share", NUMBER, Fraction(1, 100), "%", "percent per_cent pour_cent per_cento por_ciento "
         "prozent"),
    _Row("temperature C", _DEGREE, 1, "°C", "celsius"),
    _Row("temperature F", _DEGREE, Fraction(5, 9), "°F", "fahrenheit"),
    _Row("temperature K", _DEGREE, 1, "K", "kelvin kelvins"),
    _Row("capacitance", None, 1, "F", "farad farads", "µ n p m"),
    _Row("data", None, 1, "bit", "bits", "M k G"),
    _Row("data", None, 8, "B", "byte bytes", "M k G T"),
    _Row("data rate", None, 1, "bps", "", "M k G"),
    _Row("baud", None, 1, "bd", "baud bauds", "k m"),
    _Row("level", None, 1, "dB", "decibel decibels"),
    *(_Row(f"level {name}", None, 1, name) for name in ("dBm", "dBi", "dBd", "dBW", "dBA")),
    _Row("light", None, 1, "lm", "lumen lumens"),
    _Row("illuminance", None, 1, "lx", "lux"),
    _Row("luminous intensity", None, 1, "cd", "candela candelas"),
    _Row("speed in knots", None, 1, "", "knot knots"),
    _Row("speed in mph", None, 1, "mph"),
    # Of several sizes, by country: compared as written.
    _Row("gallons", None, 1, "gal", "gallon gallons"),
    _Row("pints", None, 1, "pt", "pint pints"),
    _Row("quarts", None, 1, "qt", "quart quarts"),
    _Row("tons", None, 1, "", "ton tons"),
    _Row("dollars", None, 1, "$ usd", "dollar dollars"),
    _Row("euros", None, 1, "€ eur", "euro euros"),
    _Row("pounds sterling", None, 1, "£ gbp"),
)  # fmt: skip
_PREFIXES = {"k": Fraction(1000), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12)}
_PREFIXES |= {"m": Fraction(1, 1000), "c": Fraction(1, 100), "d": Fraction(1, 10)}
_PREFIXES |= {"µ": Fraction(1, 10**6), "n": Fraction(1, 10**9), "p": Fraction(1, 10**12)}
_PREFIXES |= {"h": Fraction(100)}
_PREFIX_WORDS = {"k": "kilo chilo", "M": "mega", "G": "giga", "m": "milli mili", "c": "centi zenti"}
_PREFIX_WORDS |= {"µ": "micro mikro"}
# Behind a number these say how many there are, in no unit.
_COUNTS = (
    "thousand million millions billion billions times point points degree degrees dozen grad "
    "degres gradi grados"
)
_LETTERS = frozenset("AVWLmghsl")  # "5 a day" is no current
_RAISED = lazy_pattern(r"(mm|cm|km|m|in|ft|yd)(?:([²³])|([23]))")


class _Size(NamedTuple):
    kind: str
    dimension: Dimension | None
    size: Fraction


@cache
def _written() -> tuple[dict[str, _Size], dict[str, _Size]]:
    """Return the units as calculations write them, and as texts do: there the case is free."""
    exact: dict[str, _Size] = {}
    loose: dict[str, _Size] = {}
    for row in _TABLE:
        for prefix in ("", *row.prefixes.split()):
            size = _Size(row.kind, row.dimension, row.size * _PREFIXES.get(prefix, Fraction(1)))
            symbols = [f"{prefix}{each}" for each in row.symbols.split()]
            begins = _PREFIX_WORDS.get(prefix, "").split() if prefix else [""]
            words = [f"{begin}{word}" for begin in begins for word in row.words.split()]
            for name in (*symbols, *words):
                exact.setdefault(name.removeprefix("~"), size)
                if not name.startswith("~"):  # "3 in all" is no length
                    loose.setdefault(_bare(name), size)
    for base in ("m", "cm", "mm", "km", "in", "ft", "yd"):
        for power, kind, signs in ((2, "area", "²2"), (3, "volume", "³3")):
            size = _Size(kind, (power, 0, 0, 0, 0), exact[base].size ** power)
            loose |= {f"{base}{sign}": size for sign in signs}
    return exact, loose


def _bare(word: str) -> str:
    """Return a word in small letters without accents, as the table has it."""
    folded = word.casefold().replace("μ", "µ")  # the Greek letter for the sign
    if folded.isascii():
        return folded
    return unicodedata.normalize(
        "NFC", re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFD", folded))
    )


@cache
def symbols() -> frozenset[str]:
    """Return all symbols of units in small letters, such as stand in the heads of columns."""
    _, loose = _written()
    words = {word for row in _TABLE for word in row.words.split()}
    return frozenset(name for name in loose if len(name) <= 4 and name not in words) | {"in"}


class Kind(NamedTuple):
    """What a unit of a text measures, and its size in the first unit of that kind."""

    name: str
    size: float


def kind_of(unit: str) -> Kind | None:
    """Return what a unit measures and its size; None if it is no unit that we know.

    >>> kind_of("km"), kind_of("Liter").name, kind_of("a")
    (Kind(name='length', size=1000.0), 'volume', None)
    """
    plain = unit.replace(" ", "").replace("\u00a0", "")
    if len(plain) == 1 and plain.isascii() and plain.isalpha() and plain not in _LETTERS:
        return None
    exact, loose = _written()
    found = exact.get(plain) if plain != "in" else None
    found = found or loose.get(_bare(plain))
    if found is None:
        return None
    # A share is counted in percent, all else in the unit that the table gives its sizes in.
    return Kind(found.kind, 1.0 if found.kind == "share" else float(found.size))


# What may stand between a number and its unit: a gap, a hyphen, or the second number of a range.
_BEHIND = lazy_pattern(
    r"(?:\s{0,3}(?:[–—×x-]|to\b)\s{0,3}\d[\d.,]*)?\s{0,4}-?"
    r"(?:(?P<sign>[%°′″×€£]|(?i:per cento?|pour cent|por ciento)\b)"
    r"|(?P<word>[^\W\d_]{1,16})(?![’'](?!s\b)|[^\W\d_]))"
)
_ONE_LETTER = frozenset("mgshltvwAVWLNJKFBΩω")


def unit_follows(text: str, position: int) -> bool:
    """Return whether a number that ends here is a quantity: a unit stands behind it.

    >>> [unit_follows(text, 3) for text in ("2.5 litres", "2.5-inch", "2.5–3 mm", "2.5 applies")]
    [True, True, True, False]
    """
    found = _BEHIND.match(text, position)
    if found is None:
        return False
    word = found["word"]
    if not word:
        return True
    if len(word) == 1:
        return word in _ONE_LETTER
    bare = _bare(word)
    return bare in _written()[1] or bare in _counts()


@cache
def _counts() -> frozenset[str]:
    return frozenset(_COUNTS.split())


# --- Numbers of a text -------------------------------------------------------------------------

_WORDS = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen",
)
_TENS = re.findall(r"\w+", "twenty thirty forty fifty sixty seventy eighty ninety")
_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_DIGITS = r"\d{1,3}(?:[,\u00a0\u202f]\d{3})+(?:\.\d+)?|\d+,\d{1,2}(?!\d)|\d+(?:\.\d+)?"
_UNIT = r"%|″|°\s?[CF]\b|[kM]?Ω|[^\W\d]{1,12}[²³]?"
# A number stands alone: "2d6", "E-07", "97.113" and "310.16(B)" are names (see _NAME). A hyphen
# before it is a range or a compound, never a minus sign: no rule is lost by that.
_QUANTITY = lazy_pattern(
    rf"(?<![\w.,])(?<![^\W\d_]-)([$€£]\s?)?({_DIGITS})(?![\d.,]*\d)"
    rf"(?:[\s\u00a0\u202f-]?({_UNIT}))?(?![\w])"
)
_SPELLED = lazy_pattern(
    rf"\b({'|'.join((*_WORDS, *_TENS))})(?:[\s-]({'|'.join(_WORDS[1:10])}))?"
    rf"(?:\s({'|'.join(_SCALES)}))?\b(?:[\s-]({_UNIT}))?",
    re.IGNORECASE,
)
_SCALED = lazy_pattern(rf"\s?({'|'.join(_SCALES)})\b(?:\s({_UNIT}))?", re.IGNORECASE)
# What joins a number to a second one with the unit: "10–20 m", "10 to 20 m", "2 or 3 m".
_JOINED = lazy_pattern(r"\s*(?:-|–|—|to|through|and|or|,|×|x)\s*", re.IGNORECASE)
# A word with a figure in it that is no number: an identifier, a dice roll, a code, a date.
_NAME = lazy_pattern(
    r"(?<![\w.])(?=[\w./-]{0,80}?\d)[\w]+(?:[./:-][\w]+)*(?:\([0-9A-Za-z]{1,5}\))*"
)
_PER_CENT = lazy_pattern(r"\b(?:per cento?|pour cent|por ciento)\b", re.IGNORECASE)
SAME = 1e-9  # two numbers that differ by less than this share of them are one


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a text, in the first unit of its kind; a kind of "" means that it has no unit."""

    value: float
    kind: str
    start: int
    end: int

    def same(self, other: Quantity) -> bool:
        """Return whether both say the same. A bare number says as much as one with a unit."""
        if self.kind and self.kind != other.kind:
            return False
        return abs(self.value - other.value) <= SAME * max(abs(self.value), abs(other.value))


_NOTHING: tuple[Quantity, Kind | None] = (Quantity(0.0, "", 0, 0), None)


def quantities(text: str) -> list[Quantity]:
    """Return the numbers of a text with their units, written in figures or in words.

    >>> [(q.value, q.kind) for q in quantities("at least two rods, 1600 mm to 2 m, 5 percent")]
    [(2.0, ''), (1.6, 'length'), (2.0, 'length'), (5.0, 'share')]
    """
    text = _PER_CENT.sub(lambda match: match.group().replace(" ", "_"), text)
    found = sorted([*_figures(text), *_spelled(text)], key=lambda each: each[0].start)
    shared: list[Quantity] = []
    for (each, unit), (behind, shared_unit) in zip_longest(found, found[1:], fillvalue=_NOTHING):
        # The unit behind the second number of a range is that of the first as well.
        is_shared = unit is None and shared_unit is not None
        if is_shared and _JOINED.fullmatch(text[each.end : behind.start]):
            each = _quantity(each.value, shared_unit, each.start, each.end)
        shared.append(each)
    return shared


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


def _figures(text: str) -> Iterator[tuple[Quantity, Kind | None]]:
    for match in _QUANTITY.finditer(text):
        sign, digits, unit = match.groups()
        end = match.end(2)
        value = _value(digits)
        if scaled := _SCALED.match(text, end):
            value *= _SCALES[scaled.group(1).casefold()]
            end, unit = scaled.end(1), scaled.group(2)
        kind = kind_of((sign or "").strip()) or kind_of(unit or "")
        if kind and not sign:
            end = max(end, scaled.end() if scaled else match.end())
        yield _quantity(value, kind, match.start(), end), kind


def _spelled(text: str) -> Iterator[tuple[Quantity, Kind | None]]:
    for match in _SPELLED.finditer(text):
        first, second, scale, unit = match.groups()
        value = _word_value(first) + (_word_value(second) if second else 0.0)
        value *= _SCALES[scale.casefold()] if scale else 1.0
        kind = kind_of(unit or "")
        # "no one", "one of them": the smallest words are more often no number at all.
        if value <= 1 and not kind:
            continue
        end = match.end() if kind else (match.end(3) if scale else match.end(2 if second else 1))
        yield _quantity(value, kind, match.start(), end), kind


def _quantity(value: float, kind: Kind | None, start: int, end: int) -> Quantity:
    if kind is None:
        return Quantity(value, "", start, end)
    return Quantity(value * kind.size, kind.name, start, end)


def _word_value(word: str) -> float:
    plain = word.casefold()
    return float(_WORDS.index(plain)) if plain in _WORDS else (_TENS.index(plain) + 2) * 10.0


def _value(digits: str) -> float:
    plain = re.sub(r"[,\u00a0\u202f](?=\d{3}(?:\D|$))", "", digits)
    return float(plain.replace(",", "."))


# --- Calculation ------------------------------------------------------------------------------

MAX_POWER = 20  # of a unit; nobody means more
SHOWN_DIGITS = 6
EXACT_DIGITS = 12  # a decimal that ends sooner is shown whole


class CalculationError(PinciteError):
    """A calculation that cannot be done, and why."""


@dataclass(frozen=True, slots=True)
class UnitOfMeasure:
    """A unit as somebody wrote it."""

    name: str
    dimension: Dimension
    size: Fraction  # in base units


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of base units, exact unless a root was taken."""

    value: Fraction
    dimension: Dimension = NUMBER
    is_exact: bool = True

    def __add__(self, other: Amount) -> Amount:
        self._fit(other, "add", "and")
        return self._with(other, self.value + other.value)

    def __sub__(self, other: Amount) -> Amount:
        self._fit(other, "subtract", "and")
        return self._with(other, self.value - other.value)

    def __mul__(self, other: Amount) -> Amount:
        sums = zip(self.dimension, other.dimension, strict=True)
        return self._with(other, self.value * other.value, [a + b for a, b in sums])

    def __truediv__(self, other: Amount) -> Amount:
        if not other.value:
            raise CalculationError("division by zero", hint="check the numbers")
        differences = zip(self.dimension, other.dimension, strict=True)
        return self._with(other, self.value / other.value, [a - b for a, b in differences])

    def _with(self, other: Amount, value: Fraction, dimension: list[int] | None = None) -> Amount:
        kept = self.dimension if dimension is None else _dimension(dimension)
        return Amount(value, kept, self.is_exact and other.is_exact)

    def _fit(self, other: Amount, verb: str, joint: str) -> None:
        if self.dimension != other.dimension:
            raise CalculationError(
                f"cannot {verb} {in_words(self.dimension)} {joint} {in_words(other.dimension)}",
                hint="give both numbers units of the same kind",
            )

    def compared(self, other: Amount) -> bool:
        """Return whether this is the smaller one."""
        self._fit(other, "compare", "and")
        return self.value < other.value

    def to_power(self, power: int) -> Amount:
        """Return the amount times itself."""
        if not self.value and power < 0:
            raise CalculationError("division by zero", hint="check the numbers")
        dimension = _dimension([each * power for each in self.dimension])
        return Amount(self.value**power, dimension, self.is_exact)

    def shown(self, unit: UnitOfMeasure) -> str:
        """Return the number and the unit; ≈ where digits were left out."""
        number = self.value / unit.size
        text, is_whole = decimal(number)
        sign = "" if is_whole and self.is_exact else "≈ "
        return f"{sign}{text} {unit.name}".rstrip()


def _dimension(powers: list[int]) -> Dimension:
    if any(abs(power) > MAX_POWER for power in powers):
        raise CalculationError("a unit has too high a power", hint="check the exponents")
    metre, kilogram, second, ampere, kelvin = powers
    return metre, kilogram, second, ampere, kelvin


def find_unit(name: str) -> UnitOfMeasure | None:
    """Return the unit of this name; None if there is none.

    >>> find_unit("mm2").name, find_unit("parsec")
    ('mm²', None)
    """
    if name in ("degC", "degF"):
        name = f"°{name[-1]}"
    exact, _ = _written()
    if known := exact.get(name):
        if known.dimension is None:
            return None
        return UnitOfMeasure(
            "%" if known.kind == "share" else name, known.dimension, Fraction(known.size)
        )
    raised = _RAISED.fullmatch(name)
    if raised is None:
        return None
    base, sign, digit = raised.groups()
    power = {"²": 2, "³": 3}.get(sign) or int(digit)
    return UnitOfMeasure(
        f"{base}{'²' if power == 2 else '³'}", (power, 0, 0, 0, 0), exact[base].size ** power
    )


def usual_unit(dimension: Dimension) -> UnitOfMeasure:
    """Return what a result of this dimension is shown in."""
    name = _CALLED[dimension][1] if dimension in _CALLED else _product(dimension)
    return UnitOfMeasure(name, dimension, Fraction(1))


def _product(dimension: Dimension) -> str:
    powers = zip(_BASE, dimension, strict=True)
    return "·".join(f"{name}^{power}" if power != 1 else name for name, power in powers if power)


def in_words(dimension: Dimension) -> str:
    """Return what a dimension is called.

    >>> in_words(find_unit("kV").dimension)
    'a voltage'
    """
    return _CALLED[dimension][0] if dimension in _CALLED else f"a value in {_product(dimension)}"


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


# "version 2.1", "OpenSSL 3.0", "HTTP/1.1"; "2.5.1 release". Names of documents ("NEC 250.122")
# have no small letter before a capital one.
MAX_BESIDE = 40
_VERSION_BEFORE = lazy_pattern(
    r"(?:\b(?i:version|versione|versión|release|rev|revision|upgrade[ds]?\ to|ver|v)\b\.?\s{0,2}"
    r"|\b\w{0,30}[a-z][A-Z]\w{0,30}\s|\w/)$"
)
_VERSION_BEHIND = lazy_pattern(
    r"\s{1,2}(?:(?:release|version|upgrade|build|beta|alpha|rc\d?)\b"
    r"|(?:or|and)\ (?:later|newer)\b)",
    re.IGNORECASE,
)


def is_version(text: str, start: int, end: int) -> bool:
    """Return whether a number is of a release: a word for it, or a product's name, is beside it.

    >>> [is_version(text, 8, 11) for text in ("OpenSSL 3.0", "section 3.0", "see the 3.0 release")]
    [True, False, True]
    """
    before = text[max(0, start - MAX_BESIDE) : start]
    return bool(_VERSION_BEFORE.search(before) or _VERSION_BEHIND.match(text, end))
