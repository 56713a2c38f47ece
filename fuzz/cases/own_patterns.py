"""Our own regular expressions, found in the modules, on texts made to keep them busy.

For every repeat in a pattern a text is made: what leads there, then what the repeat takes, very
often, then something that does not fit. If twice as much text takes much more than twice the time,
the pattern is slow on some texts.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from re import _constants as sre
from re import _parser
from typing import Any

import pincite
from fuzz.harness import ROOT
from fuzz.hostile import Case
from pincite.model.patterns import LazyPattern

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
SMALL, TIMES = 1000, 4
ENDS = ("\x00", "\n", "!")
# Twice the text in four times the time is quadratic; noise of a busy machine must stay below.
LEAST_SECONDS, MOST_GROWTH = 0.01, 3.0


@dataclass(frozen=True, slots=True)
class Own:
    """A pattern of ours; one that is only matched at a place is tried from one place at a time."""

    name: str
    pattern: re.Pattern[str]
    searches: bool


@cache
def own_patterns() -> list[Own]:
    """Return every compiled pattern of our modules, and how it is used."""
    everything = "\n".join(file.read_text() for file in sorted((ROOT / "src").rglob("*.py")))
    found: dict[str, re.Pattern[str]] = {}
    code: dict[str, str] = {}
    for module in pkgutil.walk_packages(pincite.__path__, "pincite."):
        if module.name.endswith("__main__"):
            continue
        try:
            loaded = importlib.import_module(module.name)
        except ImportError:  # of an extra that is not installed
            continue
        for name, value in vars(loaded).items():
            for number, each in enumerate(value if isinstance(value, tuple | list) else [value]):
                if isinstance(each, LazyPattern):
                    each = re.compile(each.pattern, each.flags)
                if isinstance(each, re.Pattern) and isinstance(each.pattern, str):
                    found.setdefault(f"{module.name}.{name}[{number}]", each)
                    own = Path(str(loaded.__file__)).read_text()
                    code[f"{module.name}.{name}[{number}]"] = own if name[0] == "_" else everything
    once: dict[tuple[str, int], str] = {}
    for name, each in found.items():
        once.setdefault((each.pattern, each.flags), name)
    return [Own(name, found[name], _is_searched(name, code[name])) for name in once.values()]


def _is_searched(name: str, code: str) -> bool:
    """Return whether a pattern is looked for anywhere in a text, as far as the code shows."""
    bare = name.rpartition(".")[2].partition("[")[0]
    used = set(re.findall(rf"\b{re.escape(bare)}\.(\w+)\(", code))
    if not used and (loop := re.search(rf"for (\w+) in {re.escape(bare)}\b", code)):
        used = set(re.findall(rf"\b{loop.group(1)}\.(\w+)\(", code))
    return not used or bool(used - {"match", "fullmatch"})


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of what leads to a repeat, and what the repeat takes once."""
    seen = set()
    for lead, pump in _pumps(list(_parser.parse(pattern.pattern, pattern.flags)), ""):
        if pump and (lead, pump) not in seen:
            seen.add((lead, pump))
            yield lead, pump
            yield "", pump


def _pumps(items: list[Any], lead: str) -> Iterator[tuple[str, str]]:
    for operation, value in items:
        if operation in _REPEATS and value[1] > 20:
            yield lead[-200:], _sample(list(value[2]))
        yield from _inner(operation, value, lead)
        lead += _sample([(operation, value)])


def _inner(operation: Any, value: Any, lead: str) -> Iterator[tuple[str, str]]:
    if operation in _REPEATS:
        yield from _pumps(list(value[2]), lead)
    elif operation is sre.SUBPATTERN:
        yield from _pumps(list(value[-1]), lead)
    elif operation is sre.BRANCH:
        for branch in value[1]:
            yield from _pumps(list(branch), lead)
    elif operation in (sre.ASSERT, sre.ASSERT_NOT):
        yield from _pumps(list(value[1]), lead)


def _sample(items: list[Any]) -> str:
    """Return some text that the items match, if they are looked at alone."""
    return "".join(_one(operation, value) for operation, value in items)


def _one(operation: Any, value: Any) -> str:
    if operation is sre.LITERAL:
        return chr(value)
    if operation is sre.ANY:
        return "a"
    if operation is sre.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if operation is sre.IN:
        return next((c for c in "a1 (.-,'#*_|A\té\n" if _member(c, value)), "a")
    if operation in _REPEATS:
        return _sample(list(value[2])) * max(1, value[0]) if value[0] or value[1] else ""
    if operation is sre.SUBPATTERN:
        return _sample(list(value[-1]))
    if operation is sre.BRANCH:
        return _sample(list(value[1][0]))
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
        count = max(1, SMALL // len(pump))
        before = _seconds(own, lead + pump * count + end)
        for _ in range(TIMES):
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
    if own.searches:
        deque(own.pattern.finditer(text), maxlen=0)
    else:
        own.pattern.match(text)
    return time.thread_time() - started


def slow(own: Own) -> list[tuple[str, str, float, float]]:
    """Return the attacks that a pattern is slow on: lead, pump, growth, seconds."""
    found = []
    for lead, pump in attacks(own.pattern):
        times, seconds = growth(own, lead, pump)
        if times > MOST_GROWTH:
            found.append((lead, pump, round(times, 1), round(seconds, 3)))
    return found


# Quadratic on a text of one kind of character, and used where such a text is short, or in a child
# whose time is limited. Whoever adds one here says why.
_LINE = "a line of a page, read in a child"
_SHORT = "a heading, a label or a cell of the owner's documents"
KNOWN = {
    "pincite.answer.sentences._PIECE[0]": "spaces at the end are taken off before",
    "pincite.model.locators._INNER_GAPS[0]": "several spaces are one before",
    "pincite.measure.synthetic._MARKUP[0]": _SHORT,
    "pincite.measure.synthetic._UNIT_ENDING[0]": _SHORT,
    "pincite.read.enrich.summary._SKIPPED[0]": _LINE,
    "pincite.read.pdf.headings._FOOTNOTE_MARK[0]": _LINE,
    "pincite.read.pdf.lines._HEAD[0]": _LINE,
    "pincite.read.pdf.tables.find._ENTRY[0]": _LINE,
    "pincite.read.pdf.tables.ruled._CAPTION[0]": _LINE,
    "pincite.read.pdf.tables.geometry._NUMBER[0]": _LINE,
    "pincite.read.formats.plain._LEADERS[0]": "the last 80 characters of a line",
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
