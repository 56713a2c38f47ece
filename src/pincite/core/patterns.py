"""Regular expressions that people write into profiles: compiled once, and only safe ones.

A profile's author is trusted, the documents are not. So patterns never see more than a window of
``WINDOW`` characters, and a pattern is refused when a failing match could take more than
``MOST_STEPS`` steps from one place: reading a document is linear in its length, whatever it holds.

The bound is worked out from the parsed pattern, from right to left. A repeat that cannot take the
character that comes after it has one way to end; one that can has as many as it is long, and each
of them tries the rest again.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from pincite.core.errors import ConfigError

MOST_CHARS = 500
MOST_STEPS = 5_000
WINDOW = 1_000

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_ONE_CHARACTER = (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN)
# Sets of characters are worked out over these, and those that the pattern names.
_ALPHABET = frozenset(map(chr, range(0x180))) | frozenset("‘’“”–—−§…")
_CATEGORIES = {
    sre.CATEGORY_DIGIT: re.compile(r"\d"),
    sre.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    sre.CATEGORY_SPACE: re.compile(r"\s"),
    sre.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    sre.CATEGORY_WORD: re.compile(r"\w"),
    sre.CATEGORY_NOT_WORD: re.compile(r"\W"),
}

Characters = frozenset[str]


def safe_pattern(pattern: str, *, where: str) -> re.Pattern[str]:
    """Return the compiled pattern; ConfigError if it is wrong, or could be slow on some text.

    ``^`` and ``$`` match at lines. Case counts, unless the pattern begins with ``(?i)``.

    >>> safe_pattern(r"^[*]{2}Level[*]{2} (\\d+)", where="example").search("**Level** 3")[1]
    '3'
    >>> safe_pattern(r"(a+)+b", where="example")
    Traceback (most recent call last):
    pincite.core.errors.ConfigError: example: (a+)+b: a repeat or a choice inside a repeated group
    """
    if len(pattern) > MOST_CHARS:
        shown = f"{pattern[:40]}…"
        raise _refused(where, shown, f"{len(pattern)} characters, at most {MOST_CHARS} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "[[" may mean something else some day
            compiled = re.compile(pattern, re.MULTILINE)
            parsed = _parser.parse(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise _refused(where, pattern, f"no valid pattern: {error}") from error
    try:
        rest = _Steps(pattern).before(list(parsed), _END)
    except ValueError as error:
        raise _refused(where, pattern, str(error)) from error
    if rest.cost > MOST_STEPS:
        raise _refused(where, pattern, "it could be slow on some texts")
    return compiled


def windows(text: str, start: int, end: int, size: int = WINDOW) -> Iterator[tuple[int, int]]:
    """Yield stretches of at most ``size`` characters, cut between paragraphs, lines or words.

    >>> list(windows("one\\n\\ntwo", 0, 8))
    [(0, 8)]
    """
    while end - start > size:
        least = start + size // 2
        for sign in ("\n\n", "\n", " "):
            cut = text.rfind(sign, least, start + size)
            if cut >= 0:
                break
        stop = cut + 1 if cut >= 0 else start + size
        yield start, stop
        start = stop
    if start < end:
        yield start, end


@dataclass(frozen=True, slots=True)
class _Rest:
    """What is known of a pattern from some place on to its end."""

    cost: int  # steps that a failing attempt takes at most
    first: Characters  # what it can begin with
    is_end: bool = False  # nothing more is asked of the text


_END = _Rest(0, frozenset(), is_end=True)


class _Steps:
    """Counts the steps of one pattern."""

    def __init__(self, pattern: str) -> None:
        self.folds = "(?i" in pattern
        self.alphabet = _ALPHABET | frozenset(pattern)

    def before(self, items: list[Any], rest: _Rest) -> _Rest:
        """Return the rest from the first of the items on."""
        for operation, value in reversed(items):
            rest = self._step(operation, value, rest)
        return rest

    def _step(self, operation: Any, value: Any, rest: _Rest) -> _Rest:
        if operation in _ONE_CHARACTER:
            return _Rest(1 + rest.cost, self._characters(operation, value))
        if operation in _REPEATS:
            least, most, body = value
            return self._repeat(least, most, list(body), rest)
        if operation is sre.SUBPATTERN:
            return self.before(list(value[-1]), rest)
        if operation is sre.ATOMIC_GROUP:
            return self.before(list(value), rest)
        if operation is sre.BRANCH:
            return self._any_of([self.before(list(branch), rest) for branch in value[1]])
        if operation is sre.AT:
            ends_line = value is sre.AT_END and rest.is_end
            return _Rest(1, frozenset("\n"), is_end=True) if ends_line else self._one_more(rest)
        if operation in (sre.ASSERT, sre.ASSERT_NOT):
            return _Rest(self.before(list(value[1]), _END).cost + rest.cost, rest.first)
        raise ValueError("back-references and conditions are not allowed")

    def _one_more(self, rest: _Rest) -> _Rest:
        return _Rest(1 + rest.cost, rest.first, rest.is_end)

    def _any_of(self, ways: list[_Rest]) -> _Rest:
        """Return the cost of trying all ways: those go on that the next character allows."""
        first = frozenset().union(*(way.first for way in ways))
        always = sum(way.cost for way in ways if not way.first)
        costs = [sum(way.cost for way in ways if sign in way.first) for sign in first]
        return _Rest(len(ways) + always + max(costs, default=0), first)

    def _repeat(self, least: int, most: int, items: list[Any], rest: _Rest) -> _Rest:
        if most == 1:
            return self._any_of([self.before(items, rest), *([rest] if least == 0 else [])])
        if _varies(items):
            raise ValueError("a repeat or a choice inside a repeated group")
        inner = self.before(items, _END)
        width = max(1, inner.cost) * (min(most, WINDOW) - least + 1)
        first = inner.first | (rest.first if least == 0 else frozenset())
        # The last repeat of a pattern ends the match wherever it stops: it cannot fail later.
        if rest.is_end and not inner.first & rest.first:
            return _Rest(1 + least * inner.cost, first)
        if inner.first & rest.first:
            return _Rest(least + width * (1 + rest.cost), first)
        return _Rest(least + width + rest.cost, first)

    def _characters(self, operation: Any, value: Any) -> Characters:
        if operation is sre.IN:
            return self._set(value)
        if operation is sre.ANY:
            return self.alphabet - {"\n"}
        one = self._folded(frozenset(chr(value)))
        return one if operation is sre.LITERAL else self.alphabet - one

    def _set(self, members: list[Any]) -> Characters:
        found: Characters = frozenset()
        for operation, value in members:
            if operation is sre.LITERAL:
                found |= frozenset(chr(value))
            elif operation is sre.RANGE:
                found |= {c for c in self.alphabet if value[0] <= ord(c) <= value[1]}
            elif operation is sre.CATEGORY:
                found |= {c for c in self.alphabet if _CATEGORIES[value].match(c)}
        found = self._folded(found)
        return self.alphabet - found if members[0][0] is sre.NEGATE else found

    def _folded(self, characters: Characters) -> Characters:
        if not self.folds:
            return characters
        return characters | {form for c in characters for form in (c.lower(), c.upper())}


def _varies(items: list[Any]) -> bool:
    """Return whether there is more than one way to match the items at one place."""
    for operation, value in items:
        if operation in _REPEATS and (value[0] != value[1] or _varies(list(value[2]))):
            return True
        if operation is sre.BRANCH:
            return True
        if operation is sre.SUBPATTERN and _varies(list(value[-1])):
            return True
        if operation is sre.ATOMIC_GROUP and _varies(list(value)):
            return True
    return False


def _refused(where: str, pattern: str, reason: str) -> ConfigError:
    return ConfigError(
        f"{where}: {pattern}: {reason}",
        hint="keep repeats apart by a character that only one of them takes, or bound them: "
        r"'[*]{2}Level[*]{2} (\d{1,2})', 'Range: (\S.{0,80})'",
    )
