"""Which figure a question asks for: the formula, its years, the unit and the rounding.

A word beside the name of a line that is not understood changes which figure is meant ("deferred
revenue", "revenue from services"), so such a question is left to others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.answer.formulas import (
    FILLERS,
    MAX_CHARS,
    MAX_YEARS,
    MIN_YEAR,
    Formula,
    FormulaError,
    FormulaNames,
    Item,
    NamedToken,
    Operation,
    Token,
    in_year,
    mean,
    meant,
    operands,
    tokens_of,
    unit_of_formula,
    word_set,
)
from pincite.model.vocabulary import LineItem, Metric

ASKED_COMPANY = "company"  # stands for its name


@dataclass(frozen=True, slots=True)
class FigureQuestion:
    """What a question asks for."""

    formula: Formula  # years below MIN_YEAR count from the newest
    label: str  # what the figure is called
    unit: str  # "money", "per share", "percent", "points", "days" or "ratio"
    scale: str = ""  # that it wants: "million"
    decimals: int | None = None
    periods: int = 0  # of a compounded growth rate, whose formula is the ratio of both ends

    @property
    def has_year(self) -> bool:
        """Whether it says for which year."""
        return all(each.year >= MIN_YEAR for each in operands(self.formula))


_STATEMENT = re.compile(
    r"\b(?:consolidated )?(?:balance sheets?|income statements?|cash ?flows? statements?"
    r"|p&l(?: statements?)?|profit and loss(?: statements?| accounts?)?|10-?ks?\b|annual reports?"
    r"|statements? of (?:consolidated )?(?:comprehensive )?(?:financial (?:position|condition)"
    r"|incomes?|earnings|operations|cash ?flows?|profit (?:or|and) loss)|financial statements?)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(
    r"(?<=[.?!])\s+(?=[A-Z(])|:\s+(?=(?:what|how|calculate|compute)\b)", re.IGNORECASE
)
_DEFINES = (
    re.compile(r"\bdefine (?P<name>.{2,80}?) (?:here )?as\b:?(?P<formula>.{3,600})", re.I),
    re.compile(
        r"^(?P<name>.{2,160}?),?\(? ?(?:here |in this case )?(?:(?:is|are|can be|should be) )?"
        r"(?:here )?(?:defined|calculated|computed|measured|expressed) (?:as|by)\b:?"
        r"(?P<formula>.{3,600})",
        re.I,
    ),
    re.compile(r"^(?:where |let )?(?P<name>[^=]{2,80}?) ?= ?(?P<formula>[^=]{3,600})$", re.I),
)
_TAIL = re.compile(
    r"[?.;]\s*$|[,.]? (?:and |please |then )?(?:round|answer|using|based on|give|express)\b.*$",
    re.I,
)
_ASKS = re.compile(
    r"\b(?:what|how much|how many|by how|calculate|compute|determine|find|give|provide|tell)\b",
    re.I,
)
_POLAR = re.compile(
    r"^\W*(?:does|do|did|is|are|was|were|has|have|had|can|could|will|should)\b", re.I
)
_SCALE = re.compile(
    r"\b(?:in|nearest)\W{1,3}(?:of )?(?:USD|US ?\$|US dollars?|\$|dollars?)?\W{0,3}"
    r"(?P<a>thousand|million|billion)s?\b"
    r"|(?:\bUSD|\$)\W{0,2}(?P<b>thousand|million|billion|mm|mn|m|bn|b)s?\b",
    re.I,
)
_SHORT_SCALES = {"mm": "million", "mn": "million", "m": "million", "bn": "billion", "b": "billion"}
_PERCENT = re.compile(r"%|\bper ?cent(?:s|age)?\b", re.I)
_DECIMALS = re.compile(r"\b(?P<count>one|two|three|four|five|\d) decimal", re.I)
_WHOLE = re.compile(r"\b(?:nearest (?:whole|integer|million|billion|thousand)|whole number)", re.I)
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
# With these a figure is another one than a statement has.
_REFUSED = word_set(
    "segment division quarter quarterly month week adjusted non core organic forecast guidance "
    "expected projected estimate estimated budget region regional geographic product service "
    "category subsidiary parent forma tangible domestic international why which who if whether "
    "comparable constant currency median restated deferred each per"
)
_MODIFIERS = word_set(
    "average mean change growth increase decrease decline difference grow rise fall drop yoy cagr "
    "compound compounded rate percent percentage margin ratio over unit basis point sum combined "
    "compared vs versus relative prior previous between and from to "
    "grew grown rose fell dropped increased decreased declined changed"
)
_HARMLESS = word_set(
    "what is are was were be s the did do does have has had how much many calculate compute "
    "determine find give provide report tell state show me us it as of at on in for by with within "
    "please following question answer here get obtain generate generated record recorded spend "
    "spent pay paid post posted hold held earn earned make made statement result according "
    "financial metric our we you your can could would will there this out common shareholder "
    "stockholder thousand million billion january february march april may june july august "
    "september october november december"
)
_BOUNDARIES = word_set("who using based given assuming according where when")
_CAPITALS = word_set("fy usd us gaap sec i inc corp corporation co plc")
_SHARES = frozenset(("%", "percent", "percentage", "share", "proportion"))
_JOINS = {"plus": "+", "minus": "-", "less": "-", "+": "+", "-": "-", "/": "/", "divided": "/"}


_GROWTH = word_set("growth yoy grow grew grown")
_CHANGES = word_set(
    "change increase decrease decline rise fall drop changed increased decreased declined rose "
    "fell dropped"
)
_KNOWN = (_HARMLESS, _MODIFIERS, FILLERS, _BOUNDARIES, frozenset(_JOINS))
# A further sentence that says how to calculate; others only say who asks.
_SAYS_HOW = re.compile(
    r"\b(?:calculat|comput|us(?:e|ing)\b|includ|exclud|treat|add|subtract)", re.I
)


def could_ask(text: str) -> bool:
    """Return whether a question may ask for a figure: a quick test for those that do not."""
    return len(text) <= MAX_CHARS and bool(_ASKS.search(text))


def read_question(
    text: str, names: FormulaNames, company: Sequence[str] = ()
) -> FigureQuestion | None:
    """Return the figure that a question asks for; None if it asks for none, or for what else.

    ``company`` are the words that name the company.
    """
    if not could_ask(text):
        return None
    try:
        return _Reading(text, names, company).question()
    except FormulaError:
        return None


class _Reading:
    """A question in sentences: definitions, the one that asks, and remarks."""

    def __init__(self, text: str, names: FormulaNames, company: Sequence[str]) -> None:
        for words in company:
            text = re.sub(rf"(?<!\w){re.escape(words)}(?!\w)", f" {ASKED_COMPANY} ", text)
        self.text = _STATEMENT.sub(" statement ", text)
        self.names = names
        self.defined: set[str] = set()
        self.sentences: list[str] = []
        definitions: dict[str, str] = {}
        for sentence in filter(str.strip, _SENTENCE_END.split(self.text)):
            rest = self._define(sentence, definitions)
            if rest:
                self.sentences.append(rest)
        self.names = names.with_definitions(definitions)
        self.defined = set(definitions)

    def _define(self, sentence: str, definitions: dict[str, str]) -> str:
        """Take the definition out of a sentence and return what else it says."""
        for pattern in _DEFINES:
            found = pattern.search(sentence)
            if found is None:
                continue
            formula = _TAIL.sub("", found["formula"]).strip(" :.?")
            if _ASKS.search(found["name"]):
                # "What is the ROA, calculated as net income / total assets?"
                formula = (
                    formula.removesuffix(")")
                    if formula.count(")") > formula.count("(")
                    else formula
                )
                named = [
                    each for each in self._items(found["name"]) if isinstance(each, NamedToken)
                ]
                if not named:
                    raise FormulaError("defines what has no name")
                definitions[named[-1].words] = formula
                return f"{found['name']}?"
            name = re.sub(
                r"\([^()]*\)|\b(?:unadjusted|here|the|where)\b", " ", found["name"], flags=re.I
            )
            definitions[" ".join(name.split())] = formula
            return ""
        return sentence

    def _items(self, text: str) -> list[Item]:
        return self.names.read(tokens_of(text))

    def question(self) -> FigureQuestion | None:
        """Return what is asked for."""
        read = [(sentence, self._items(sentence)) for sentence in self.sentences]
        named = [(s, items) for s, items in read if any(isinstance(i, NamedToken) for i in items)]
        asking = [pair for pair in named if "?" in pair[0]] or named
        asking = [pair for pair in asking if _ASKS.search(pair[0]) and not _POLAR.match(pair[0])]
        if len(asking) != 1:
            return None
        sentence, items = asking[0]
        target = _Target(items, self.names)
        core = target.core()
        lines = {each.line for each in operands(core)}
        for other, rest in named:
            says_how = other is not sentence and _SAYS_HOW.search(other)
            if says_how and not _is_remark(rest, target, lines, self.names):
                return None
        return target.read(core, self.text)


def _is_remark(
    items: Sequence[Item], target: _Target, lines: set[LineItem], names: FormulaNames
) -> bool:
    """Return whether a sentence names nothing but what the formula is made of."""
    for item in items:
        if not isinstance(item, NamedToken) or item.meaning in target.meanings:
            continue
        if not {each.line for each in operands(meant(item, names))} <= lines:
            return False
    return True


class _Target:
    """The sentence that asks."""

    def __init__(self, items: Sequence[Item], names: FormulaNames) -> None:
        self.items = list(_without_remarks(items))
        self.names = names
        self.at = [n for n, each in enumerate(self.items) if isinstance(each, NamedToken)]
        self.meanings = [each.meaning for each in self.items if isinstance(each, NamedToken)]
        self.words = [each.text for each in self.items if isinstance(each, Token)]
        self.years = sorted({each.year for each in self.items if isinstance(each, Token)} - {0})
        self.is_share = False  # of one line in another
        if not self.at or _REFUSED & set(self.words):
            raise FormulaError("asks for something else")
        self._check_neighbours()

    def _check_neighbours(self) -> None:
        """Raise FormulaError for a word beside the names that is not understood."""
        first, last = self.at[0], self.at[-1]
        start = next((n for n in range(first - 1, -1, -1) if _is_boundary(self.items[n])), -1) + 1
        end = next(
            (n for n in range(last + 1, len(self.items)) if _is_boundary(self.items[n])), None
        )
        for number, item in enumerate(self.items[start:end], start):
            if isinstance(item, NamedToken) or item.kind != "word":
                continue
            known = any(item.text in each for each in _KNOWN)
            if not known and (number or item.is_capital is False):
                raise FormulaError(f"what is {item.text!r}?")
        for item in self.items[1:]:
            if isinstance(item, Token) and item.is_capital and not _is_known_capital(item.text):
                raise FormulaError(f"who is {item.text!r}?")

    def core(self) -> Formula:
        """Return the formula of what is asked for, before averages and changes."""
        found: Formula | None = None
        before = -1
        for at in self.at:
            item = self.items[at]
            assert isinstance(item, NamedToken)
            own = meant(item, self.names)
            found = own if found is None else self._joined(found, own, before, at)
            before = at
        if found is None:
            raise FormulaError("names nothing")
        if self._behind(before, "margin"):
            revenue = self.names.find("revenue")
            if revenue is None:
                raise FormulaError("no line for revenue")
            found = Operation("/", found, meant(NamedToken("revenue", revenue), self.names))
            self.is_share = True
        return found

    def _joined(self, left: Formula, right: Formula, before: int, at: int) -> Formula:
        between = [each.text for each in self.items[before + 1 : at] if isinstance(each, Token)]
        above = set(self.words_before(before))
        if left == right:  # "days payable outstanding (DPO)"
            return left
        if (
            above & _SHARES
            and self.items[before - 1] == Token("word", "of")
            and not _SHARES & set(between)
        ):
            self.is_share = True  # "what percentage of revenue was R&D?"
            return Operation("/", right, left)
        if "of" in between and _SHARES & set(between):
            self.is_share = True
            return Operation("/", left, right)
        signs = {_JOINS[word] for word in between if word in _JOINS}
        if len(signs) == 1:
            return Operation(signs.pop(), left, right)
        if not signs and "to" in between and "ratio" in self.words:
            return Operation("/", left, right)
        if not signs and "and" in between and above & {"sum", "combined"}:
            return Operation("+", left, right)
        if not signs and "and" in between and "difference" in above and len(self.at) == 2:
            return Operation("-", left, right)
        raise FormulaError("two names, and nothing that joins them")

    def words_before(self, at: int) -> list[str]:
        return [each.text for each in self.items[:at] if isinstance(each, Token)]

    def _behind(self, at: int, word: str) -> bool:
        for item in self.items[at + 1 : at + 3]:
            if isinstance(item, Token) and item.text == word:
                return True
            if not isinstance(item, Token) or item.text not in ("%", "percent", "percentage"):
                return False
        return False

    def read(self, core: Formula, text: str) -> FigureQuestion | None:
        """Return what is asked for with its years, unit and rounding."""
        unit = self._unit(core, text)
        found = FigureQuestion(core, self._label(), unit, _scale(text), _decimals(text))
        words = set(self.words)
        if not unit:
            return None
        if "cagr" in words or self._has("compound", "annual", "growth"):
            first, last = self._ends()
            ratio = Operation("/", in_year(core, last), in_year(core, first))
            return replace(found, formula=ratio, unit="percent", periods=last - first)
        if words & {"average", "mean"}:
            return replace(found, formula=mean([in_year(core, year) for year in self._averaged()]))
        if words & _CHANGES or self._is_growth() or ("difference" in words and len(self.at) == 1):
            return self._change(found, is_percent=bool(_PERCENT.search(text)))
        if len(self.years) == 1:
            return replace(found, formula=in_year(core, self.years[0]))
        return found if not self.years or found.has_year else None

    def _unit(self, core: Formula, text: str) -> str:
        unit = unit_of_formula(core)
        is_percent = self.is_share or self._is_rate() or bool(_PERCENT.search(text))
        return "percent" if unit == "ratio" and is_percent else unit

    def _is_growth(self) -> bool:
        return bool(_GROWTH & set(self.words)) or self._has("year", "over", "year")

    def _change(self, found: FigureQuestion, *, is_percent: bool) -> FigureQuestion:
        """Return the change between two years: of money in percent, if that is asked for."""
        first, last = self._ends()
        now, then = in_year(found.formula, last), in_year(found.formula, first)
        change = Operation("-", now, then)
        if found.unit == "percent":
            return replace(found, formula=change, unit="points")
        is_money = found.unit in ("money", "per share")
        if is_money and not found.scale and (is_percent or self._is_growth()):
            return replace(found, formula=Operation("/", change, then), unit="percent")
        return replace(found, formula=change)

    def _is_rate(self) -> bool:
        return any(isinstance(each, Metric) and each.unit == "percent" for each in self.meanings)

    def _has(self, *words: str) -> bool:
        """Return whether words follow each other, whatever fillers are between them."""
        found = [word for word in self.words if word in words]
        return any(tuple(found[n : n + len(words)]) == words for n in range(len(found)))

    def _ends(self) -> tuple[int, int]:
        """Return the first and the last year of a change."""
        if len(self.years) == 2:
            return self.years[0], self.years[1]
        if len(self.years) == 1:
            return self.years[0] - 1, self.years[0]
        raise FormulaError("a change between which years?")

    def _averaged(self) -> range:
        """Return the years of an average."""
        count = next(self._spoken_years(), 0)
        if not self.years:
            raise FormulaError("an average over which years?")
        last = self.years[-1]
        first = self.years[0] if len(self.years) > 1 else last - count + 1
        if not 1 < last - first + 1 <= MAX_YEARS or (count and count != last - first + 1):
            raise FormulaError("an average over which years?")
        return range(first, last + 1)

    def _spoken_years(self) -> Iterator[int]:
        """Yield the number before "year": "3 year average"."""
        for one, other in zip(self.items, self.items[1:], strict=False):
            if isinstance(one, Token) and isinstance(other, Token) and other.text == "year":
                if one.kind == "number" and one.text.isdigit():
                    yield int(one.text)
                elif one.text in _COUNTS:
                    yield _COUNTS[one.text]

    def _label(self) -> str:
        return " ".join(each.words for each in self.items if isinstance(each, NamedToken))


def _without_remarks(items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items without what stands in brackets and begins with "using" or the like."""
    depth, skipped = 0, 0
    for n, item in enumerate(items):
        if item == Token("sign", "("):
            depth += 1
            after = items[n + 1] if n + 1 < len(items) else item
            if (
                not skipped
                and isinstance(after, Token)
                and after.text in ("using", "from", "based", "in")
            ):
                skipped = depth
        if not skipped:
            yield item
        if item == Token("sign", ")"):
            if skipped == depth:
                skipped = 0
            depth -= 1


def _is_boundary(item: Item) -> bool:
    if isinstance(item, NamedToken):
        return False
    return item.text in _BOUNDARIES if item.kind == "word" else item.text in (",", ":", ";", "?")


def _is_known_capital(text: str) -> bool:
    return any(text in each for each in _KNOWN) or text in _CAPITALS


def _scale(text: str) -> str:
    found = _SCALE.search(text)
    if found is None:
        return ""
    word = (found["a"] or found["b"]).lower()
    return _SHORT_SCALES.get(word, word)


def _decimals(text: str) -> int | None:
    if found := _DECIMALS.search(text):
        count = found["count"].lower()
        return _COUNTS[count] if count in _COUNTS else int(count)
    return 0 if _WHOLE.search(text) else None
