"""Our own regular expressions, found in the modules, on texts made to keep them busy.

For every repeat in a pattern a text is made: what leads there, then what the repeat takes, very
often, then something that does not fit. If twice as much text takes much more than twice the time,
the pattern is slow on some texts.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
import signal
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from re import _constants as sre
from re import _parser
from types import ModuleType
from typing import Any

import pincite
from fuzz.harness import ROOT
from fuzz.hostile import Case
from pincite.model.patterns import LazyPattern

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
# Repeats of a few pieces each are exponential if they are nested: short texts show that.
SHORTEST, LONGEST = 32, 4096
ENDS = ("\x00", "\n!")
# Twice the text in four times the time is quadratic; noise of a busy machine must stay below.
LEAST_SECONDS, MOST_GROWTH = 0.005, 3.0
# A text of so few characters that takes so much processor time is given up.
MOST_SECONDS = 1.0
# What people write over and over, whatever a pattern says.
WRITTEN = (
    "(a) ", "(1)", "(a), ", "(a) or ", "1-2 ", "1.1", "1.1-2 ", "a ", "A. ", "a-", "a.", ", ", "1 ",
    "section ", "section 1(a) ", "of this section ", "§ ", "- ", "| a ", "**", "[a](", "<a ", "&",
    " ", "\n", "\t\n", "\"", "' ", "$1,000 ", "(", ")", "I", "a@", "http://a.", "table 1 ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Own:
    """A pattern of ours; one that is only matched at a place is tried from one place at a time."""

    name: str
    pattern: re.Pattern[str]
    searches: bool


@cache
def own_patterns() -> list[Own]:
    """Return every pattern of our modules, of functions too, and how it is used."""
    everything = "\n".join(file.read_text() for file in sorted((ROOT / "src").rglob("*.py")))
    found: dict[tuple[str, int], Own] = {}
    for module in pkgutil.walk_packages(pincite.__path__, "pincite."):
        if module.name.endswith("__main__"):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # of an extra that is not installed
            continue
        code = Path(str(loaded.__file__)).read_text()
        for name, each in _named(loaded):
            searches = _is_searched(name, code if name[0] == "_" else everything)
            own = Own(f"{module.name}.{name}", each, searches)
            found.setdefault((each.pattern, each.flags), own)
        for line, method, each in _written(loaded, code):
            own = Own(f"{module.name}:{line}", each, method not in ("match", "fullmatch"))
            found.setdefault((each.pattern, each.flags), own)
    return list(found.values())


def _named(loaded: ModuleType) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the compiled patterns of a module with their names."""
    for name, value in vars(loaded).items():
        several = value.values() if isinstance(value, dict) else value
        for number, each in enumerate(
            several if isinstance(value, tuple | list | dict) else [value]
        ):
            if isinstance(each, LazyPattern):
                each = re.compile(each.pattern, each.flags)
            if isinstance(each, re.Pattern) and isinstance(each.pattern, str):
                yield f"{name}[{number}]", each


def _written(loaded: ModuleType, code: str) -> Iterator[tuple[int, str, re.Pattern[str]]]:
    """Yield the patterns that functions give to ``re``, as far as they are made of constants."""
    for call in ast.walk(ast.parse(code)):
        match call:
            case ast.Call(ast.Attribute(ast.Name("re"), method), [given, *_], named) if (
                method in _METHODS
            ):
                flags = [each.value for each in named if each.arg == "flags"]
                try:
                    value, *chosen = (
                        eval(compile(ast.Expression(each), "", "eval"), vars(loaded))  # noqa: S307
                        for each in (given, *flags)
                    )
                    found = re.compile(value, *chosen)
                except NameError:
                    continue  # made of what a function is given
                if isinstance(value, str):
                    yield call.lineno, method, found


_METHODS = ("search", "match", "fullmatch", "sub", "findall", "finditer", "split")


def _is_searched(name: str, code: str) -> bool:
    """Return whether a pattern is looked for anywhere in a text, as far as the code shows."""
    bare = name.rpartition(".")[2].partition("[")[0]
    used = set(re.findall(rf"\b{re.escape(bare)}\.(\w+)", code))
    if not used and (loop := re.search(rf"for (\w+) in {re.escape(bare)}\b", code)):
        used = set(re.findall(rf"\b{loop.group(1)}\.(\w+)\(", code))
    return not used or bool(used - {"match", "fullmatch"})


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of what leads to a repeat, and what the repeat takes once."""
    found = _pumps(list(_parser.parse(pattern.pattern, pattern.flags)), "")
    pairs = ((each, pump) for lead, pump in found for each in (lead, ""))
    written = (("", pump) for pump in WRITTEN)
    yield from dict.fromkeys(pair for pair in itertools.chain(pairs, written) if pair[1])


def _pumps(items: list[Any], lead: str) -> Iterator[tuple[str, str]]:
    for operation, value in items:
        if operation in _REPEATS and value[1] > 1:
            yield from ((lead[-200:], pump) for pump in _samples(list(value[2])))
        for inner in _inside(operation, value):
            yield from _pumps(inner, lead)
        lead += _sample([(operation, value)])


def _inside(operation: Any, value: Any) -> list[list[Any]]:
    """Return the sequences that an operation is made of."""
    if operation is sre.BRANCH:
        return [list(branch) for branch in value[1]]
    if operation in (*_REPEATS, sre.SUBPATTERN, sre.ASSERT, sre.ASSERT_NOT):
        return [list(value[-1])]
    return [list(value)] if operation is sre.ATOMIC_GROUP else []


def _samples(items: list[Any]) -> list[str]:
    """Return texts that the items match: with what may be left out, without, by every branch."""
    found = [_sample(items, least=least) for least in (False, True)]
    for operation, value in items:
        if operation is sre.BRANCH:
            for branch in value[1][:8]:
                found += [_sample(list(branch), least=least) for least in (False, True)]
        elif operation is sre.SUBPATTERN:
            found += _samples(list(value[-1]))
    return list(dict.fromkeys(found))


def _sample(items: list[Any], *, least: bool = False) -> str:
    """Return some text that the items match, if they are looked at alone."""
    return "".join(_one(operation, value, least) for operation, value in items)


def _one(operation: Any, value: Any, least: bool) -> str:
    if operation is sre.LITERAL:
        return chr(value)
    if operation is sre.ANY:
        return "a"
    if operation is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if operation is sre.IN:
        return next((c for c in "a1 (.-,'#*_|A\té\n" if _member(c, value)), "a")
    if operation in _REPEATS:
        times = value[0] if least else max(1, value[0]) if value[1] else 0
        return _sample(list(value[2]), least=least) * times
    if operation in (sre.SUBPATTERN, sre.ATOMIC_GROUP, sre.BRANCH):
        return _sample(_inside(operation, value)[0], least=least)
    return ""


def _member(character: str, members: list[Any]) -> bool:
    text = "".join(_class(operation, value) for operation, value in members)
    return re.match(f"[{text}]", character) is not None


_CLASSES = {
    sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S", sre.CATEGORY_WORD: r"\w", sre.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


def _class(operation: Any, value: Any) -> str:
    if operation is sre.NEGATE:
        return "^"
    if operation is sre.LITERAL:
        return re.escape(chr(value))
    if operation is sre.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return _CLASSES[value]


def growth(own: Own, lead: str, pump: str) -> tuple[float, float]:
    """Return how much longer twice the text takes, and how long that is; the worst of the ends."""
    worst = (0.0, 0.0)
    for end in ENDS:
        count = max(1, SHORTEST // len(pump))
        before = _seconds(own, lead + pump * count + end)
        while count * len(pump) < LONGEST:
            count *= 2
            text = lead + pump * count + end
            now = _seconds(own, text)
            if now > LEAST_SECONDS:
                # Twice, and the quicker one counts: somebody else may have had the processor.
                now = min(now, _seconds(own, text))
                worst = max(worst, (now / max(before, 1e-6), now))
                break
            before = now
    return worst


def _seconds(own: Own, text: str) -> float:
    started = time.thread_time()
    with _given_up_after(MOST_SECONDS):
        if own.searches:
            deque(own.pattern.finditer(text), maxlen=0)
        else:
            own.pattern.match(text)
            own.pattern.fullmatch(text)
    return time.thread_time() - started


@contextmanager
def _given_up_after(seconds: float) -> Iterator[None]:
    """End the matching inside after so much processor time; the main thread only."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    except TimeoutError:
        pass  # the time it took tells
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def slow(own: Own) -> list[tuple[str, str, float, float]]:
    """Return the attacks that a pattern is slow on: lead, pump, growth, seconds."""
    found = []
    for lead, pump in attacks(own.pattern):
        times, seconds = growth(own, lead, pump)
        if times > MOST_GROWTH:  # looked at again: others may have had the processor
            times, seconds = min((times, seconds), growth(own, lead, pump))
        if times > MOST_GROWTH:
            found.append((lead, pump, round(times, 1), round(seconds, 3)))
    return found


# Quadratic, and used where a text is short. Whoever adds one here says why.
_BREAK = "the last 200 characters of a line"
KNOWN = {
    "pincite.answer.sentences._PIECE[0]": "spaces at the end are taken off before",
    "pincite.model.locators._INNER_GAPS[0]": "several spaces are one before",
    "pincite.measure.synthetic._MARKUP[0]": "a line of the owner's documents",
    "pincite.measure.synthetic._UNIT_ENDING[0]": "a cell of the owner's documents",
    "pincite.read.card._JUNK[0]": "the first 300 characters of a line",
    "pincite.read.parties._CAPITALS[0]": "the first 1,500 characters of a document",
    "pincite.read.parties._LAST[0]": "the last 80 characters of a part",
    "pincite.read.pdf.lines._HEAD[0]": _BREAK,
    "pincite.read.pdf.lines._ADDRESS[0]": _BREAK,
    "pincite.read.structure.sections._LEADERS[0]": "the last 80 characters of a line",
    "pincite.read.references.resolve._EXCEPTION[0]": "a locator",
}
# A pattern that is slow takes minutes for so many; a busy machine doubles what others take.
QUICK_CHARS, QUICK_SECONDS = 8000, 5.0


def quick(own: Own, _: Path) -> None:
    """On 8,000 characters no pattern takes a second."""
    for lead, pump in attacks(own.pattern):
        took = _seconds(own, lead + pump * (QUICK_CHARS // len(pump)) + ENDS[0])
        assert took < QUICK_SECONDS, f"{own.pattern.pattern[:80]} on {pump!r}: {took:.2f} s"


def thorough(own: Own, _: Path) -> None:
    """Twice the text takes about twice the time."""
    found = slow(own)
    assert not found or own.name in KNOWN, f"{own.pattern.pattern[:80]}: {found[:3]}"


CASES = [
    *(Case("our own patterns", each.name, partial(quick, each)) for each in own_patterns()),
    *(Case("our own patterns", f"{each.name}, growth", partial(thorough, each), slow=True)
      for each in own_patterns()),
]  # fmt: skip
