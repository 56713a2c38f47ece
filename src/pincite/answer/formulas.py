"""A question for a figure of statements, read into a formula over lines and fiscal years.

Lines and metrics have their names from profiles (``model/vocabulary.py``); a question may define
more: "DPO is defined as: 365 * (average accounts payable between FY2019 and FY2020) / (FY2020
COGS)". Whatever is not understood gives no formula: a wrong figure is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from pincite.model.vocabulary import LineItem, Metric

MAX_CHARS = 3000  # of a question
MAX_DEPTH = 12  # of formulas in formulas and brackets
MAX_YEARS = 12  # that one figure is made of
MIN_YEAR = 1000  # smaller years count from the one that is asked for


class FormulaError(Exception):
    """Words that are no formula; the question is then not answered by a figure."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A line in a year."""

    line: LineItem
    words: str  # that the question names it by
    year: int = 0  # 0 is the year that is asked for, -1 the one before it


@dataclass(frozen=True, slots=True)
class Constant:
    """A number that the formula has itself."""

    text: str


@dataclass(frozen=True, slots=True)
class Operation:
    """Two formulas and what joins them: one of + - * /."""

    sign: str
    left: Formula
    right: Formula


Formula = Operand | Constant | Operation


def in_year(formula: Formula, year: int) -> Formula:
    """Return a formula with years counted from this one; those that it names itself stay."""
    if isinstance(formula, Operation):
        left, right = in_year(formula.left, year), in_year(formula.right, year)
        return Operation(formula.sign, left, right)
    if isinstance(formula, Operand) and formula.year < MIN_YEAR:
        return replace(formula, year=year + formula.year)
    return formula


def operands(formula: Formula) -> Iterator[Operand]:
    """Yield the lines of a formula, from left to right."""
    if isinstance(formula, Operation):
        yield from operands(formula.left)
        yield from operands(formula.right)
    elif isinstance(formula, Operand):
        yield formula


def mean(formulas: Sequence[Formula]) -> Formula:
    """Return the formula of an average."""
    total = formulas[0]
    for each in formulas[1:]:
        total = Operation("+", total, each)
    return Operation("/", total, Constant(str(len(formulas)))) if len(formulas) > 1 else total


def unit_of_formula(formula: Formula) -> str:
    """Return what a formula gives: "money", "per share", "days", "ratio", or "" for no unit."""
    power = _power(formula)
    if power == 1:
        return (
            "per share" if all(o.line.unit == "per share" for o in operands(formula)) else "money"
        )
    if power == 0:
        return "days" if any(each == "365" for each in _constants(formula)) else "ratio"
    return ""


def _power(formula: Formula) -> int:
    """Return how many times money is multiplied; -99 where it is added to something else."""
    if isinstance(formula, Constant):
        return 0
    if isinstance(formula, Operand):
        return 1
    left, right = _power(formula.left), _power(formula.right)
    if formula.sign in "+-":
        return left if left == right else -99
    return left + right if formula.sign == "*" else left - right


def _constants(formula: Formula) -> Iterator[str]:
    if isinstance(formula, Operation):
        yield from _constants(formula.left)
        yield from _constants(formula.right)
    elif isinstance(formula, Constant):
        yield formula.text


class Token(NamedTuple):
    """A word, a year, a number or a sign."""

    kind: str
    text: str  # of a word its stem
    year: int = 0
    is_capital: bool = False


_TOKEN = re.compile(
    r"(?P<year>(?<![\w.,$])(?:FYE?|fiscal(?: years?)?)?[ -]{0,2}(?:19|20)\d\d(?!\d|[.,]\d|%))"
    r"|(?P<number>\d[\d,]*(?:\.\d+)?)"
    r"|(?P<word>[^\W\d_]+(?:&[^\W\d_]+)*(?:['’][^\W\d_]*)?)"
    r"|(?P<sign>[-+*/×÷=()%,:;&–−—?])",
    re.IGNORECASE,
)
_TWO_DIGITS = re.compile(r"\bFY ?['’]?(\d\d)(?!\d)", re.IGNORECASE)
_REMARK = re.compile(r"\[[^\[\]]{0,80}\]")
_POSSESSIVE = re.compile(r"['’].*", re.DOTALL)
_SIGNS = {"×": "*", "÷": "/", "–": "-", "−": "-", "—": "-"}
_WORD_SIGNS = {
    "plus": "+", "minus": "-", "less": "-", "times": "*", "multiplied": "*", "divided": "/",
    "over": "/",
}  # fmt: skip


def stem(word: str) -> str:
    """Return a word without case and plural.

    >>> [stem(word) for word in ("Inventories", "taxes", "Gross", "shareholders'")]
    ['inventory', 'tax', 'gross', 'shareholder']
    """
    word = _POSSESSIVE.sub("", word).casefold()
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("xes", "sses", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a text; a dash is a sign only between spaces, brackets or years."""
    text = _REMARK.sub(" ", _TWO_DIGITS.sub(r"FY20\1", text[:MAX_CHARS]))
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind, words = match.lastgroup or "", match.group()
        if kind == "year":
            found.append(Token("year", words, int(words[-4:])))
        elif kind == "word":
            found.append(Token("word", stem(words), is_capital=words[0].isupper()))
        elif kind == "number":
            found.append(Token("number", words.replace(",", "")))
        elif words == "&":
            found.append(Token("word", "and"))
        elif words in "-–−—" and not _is_spaced(text, match.start(), match.end()):
            continue
        else:
            found.append(Token("sign", _SIGNS.get(words, words)))
    return found


def _is_spaced(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    if before.isdigit() and re.match(r"(?:FY)? ?(?:19|20)\d\d", text[end:], re.IGNORECASE):
        return True
    return (before.isspace() or before == ")") and (after.isspace() or after == "(")


Meaning = LineItem | Metric | str  # a text is a formula that the question gives


class NamedToken(NamedTuple):
    """A name in a text, and what it stands for."""

    words: str
    meaning: Meaning


Item = Token | NamedToken


class FormulaNames:
    """What names stand for: those of a vocabulary, and those that a question defines."""

    def __init__(self, lines: Sequence[LineItem], metrics: Sequence[Metric]) -> None:
        self._known: dict[tuple[str, ...], Meaning] = {}
        meanings: list[LineItem | Metric] = [*lines, *metrics]
        for meaning in meanings:
            for name in meaning.names:
                self._known.setdefault(_key(name), meaning)

    def with_definitions(self, definitions: Mapping[str, str]) -> FormulaNames:
        """Return the names with those of a question; what it defines has all of its names."""
        found = FormulaNames((), ())
        found._known = dict(self._known)
        for name, formula in definitions.items():
            key = _key(name)
            before = self._known.get(key)
            for other, meaning in self._known.items():
                if before is not None and meaning is before:
                    found._known[other] = formula
            found._known[key] = formula
        return found

    def has_any(self, text: str) -> bool:
        """Return whether a text has a name."""
        return any(isinstance(each, NamedToken) for each in self.read(tokens_of(text)))

    def find(self, name: str) -> Meaning | None:
        return self._known.get(_key(name))

    @cached_property
    def _by_first(self) -> Mapping[str, Sequence[tuple[str, ...]]]:
        first: dict[str, list[tuple[str, ...]]] = {}
        for key in sorted(self._known, key=len, reverse=True):
            if key:
                first.setdefault(key[0], []).append(key)
        return first

    def read(self, tokens: Sequence[Token]) -> list[Item]:
        """Return the tokens with names in the place of their words, the longest ones."""
        found: list[Item] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            keys = self._by_first.get(token.text, ()) if token.kind == "word" else ()
            ends = ((key, _end_of(tokens, at, key)) for key in keys)
            key, end = next(((key, end) for key, end in ends if end), ((), at + 1))
            if key:
                found.append(NamedToken(" ".join(key), self._known[key]))
            else:
                found.append(token)
            at = end
        return found


def _key(name: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokens_of(name) if token.kind in ("word", "number"))


def _end_of(tokens: Sequence[Token], at: int, key: tuple[str, ...]) -> int:
    """Return where a name ends that begins here; 0 if it does not. Commas in it do not count."""
    for word in key:
        while at < len(tokens) and tokens[at] == Token("sign", ","):
            at += 1
        if (
            at >= len(tokens)
            or tokens[at].kind not in ("word", "number")
            or tokens[at].text != word
        ):
            return 0
        at += 1
    return at


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(words.split())


# Words that say nothing of which figure is meant.
FILLERS = word_set(
    "the a an of for in at on by its their company firm fiscal year end ended ending total overall "
    "annual full unadjusted reported gaap consolidated value amount figure number level balance "
    "from as and same period during usd us dollar respective that statement line item shown"
)


class FormulaReader:
    """Reads a formula in words, names and signs from left to right."""

    def __init__(self, items: Sequence[Item], names: FormulaNames, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise FormulaError("too deep")
        self._items = [each for each in items if not _is_filler(each)]
        self._names = names
        self._depth = depth
        self._at = 0

    @classmethod
    def of(cls, text: str, names: FormulaNames, depth: int = 0) -> Formula:
        """Return the formula of a text, all of it."""
        reader = cls(names.read(tokens_of(text)), names, depth)
        found = reader.sum()
        if reader._at < len(reader._items):
            raise FormulaError(f"did not expect {reader._items[reader._at]}")
        return found

    def sum(self) -> Formula:
        found = self._product()
        while sign := self._sign("+", "-"):
            found = Operation(sign, found, self._product())
        return found

    def _product(self) -> Formula:
        found = self._factor()
        while sign := self._sign("*", "/"):
            found = Operation(sign, found, self._factor())
        return found

    def _factor(self) -> Formula:
        item = self._next()
        if isinstance(item, NamedToken):
            return self._in_years(meant(item, self._names, self._depth))
        if item.kind == "year":
            return in_year(self._factor(), item.year)
        if item.kind == "number":
            is_percent = self._is("sign", "%") and bool(self._next())
            number = Constant(item.text)
            return Operation("/", number, Constant("100")) if is_percent else number
        if item.text == "(":
            return self._bracket()
        if item.text in ("average", "mean"):
            return self._average()
        if item.text in ("change", "increase"):
            formula = self._factor_bare()
            first, last = self._years()
            return Operation("-", in_year(formula, last), in_year(formula, first))
        if item.text == "-":
            return Operation("-", Constant("0"), self._factor())
        raise FormulaError(f"did not expect {item.text!r}")

    def _bracket(self) -> Formula:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise FormulaError("too deep")
        found = self.sum()
        self._expect(")")
        self._depth -= 1
        return self._in_years(found)

    def _average(self) -> Formula:
        formula = self._factor_bare()
        first, last = self._years()
        if not 0 < last - first <= MAX_YEARS:
            raise FormulaError("no years for an average")
        return mean([in_year(formula, year) for year in range(first, last + 1)])

    def _factor_bare(self) -> Formula:
        item = self._next()
        if isinstance(item, NamedToken):
            return meant(item, self._names, self._depth)
        if item.text == "(":
            found = self.sum()
            self._expect(")")
            return found
        raise FormulaError(f"did not expect {item.text!r}")

    def _years(self) -> tuple[int, int]:
        """Return the years that follow: two, or those around one; this and the last if none do."""
        is_said = self._word("between", "over", "through")
        if not self._is("year"):
            if is_said:
                raise FormulaError("years are missing")
            return -1, 0
        first = self._next()
        self._word("to", "through", "until", "vs")
        self._sign("-")
        assert isinstance(first, Token)
        if not self._is("year"):
            return first.year - 1, first.year
        last = self._next()
        assert isinstance(last, Token)
        return min(first.year, last.year), max(first.year, last.year)

    def _in_years(self, formula: Formula) -> Formula:
        """Return a formula in the year that stands behind it, with or without brackets."""
        at = self._at
        has_bracket = self._is("sign", "(") and bool(self._next())
        if self._is("year"):
            year = self._next()
            assert isinstance(year, Token)
            if not has_bracket or self._sign(")"):
                return in_year(formula, year.year)
        self._at = at
        return formula

    def _sign(self, *signs: str) -> str:
        """Return the sign that stands here, and go on behind it; nothing if none does."""
        if self._at >= len(self._items):
            return ""
        item = self._items[self._at]
        if isinstance(item, NamedToken):
            return ""
        sign = _WORD_SIGNS.get(item.text, item.text if item.kind == "sign" else "")
        if sign not in signs:
            return ""
        self._at += 1
        return sign

    def _word(self, *words: str) -> bool:
        if self._is("word") and self._items[self._at][1] in words:
            self._at += 1
            return True
        return False

    def _is(self, kind: str, text: str = "") -> bool:
        if self._at >= len(self._items):
            return False
        item = self._items[self._at]
        return isinstance(item, Token) and item.kind == kind and text in ("", item.text)

    def _next(self) -> Item:
        if self._at >= len(self._items):
            raise FormulaError("ends too early")
        self._at += 1
        return self._items[self._at - 1]

    def _expect(self, sign: str) -> None:
        if not self._sign(sign):
            raise FormulaError(f"{sign!r} is missing")


def _is_filler(item: Item) -> bool:
    if isinstance(item, NamedToken):
        return False
    return (item.kind == "word" and item.text in FILLERS) or item == Token("sign", ",")


def meant(item: NamedToken, names: FormulaNames, depth: int = 0) -> Formula:
    """Return the formula that a name stands for."""
    if isinstance(item.meaning, LineItem):
        return Operand(item.meaning, item.words)
    text = item.meaning if isinstance(item.meaning, str) else item.meaning.formula
    return FormulaReader.of(text, names, depth + 1)
