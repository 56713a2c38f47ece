"""Which labels open items, and how deep: the cheapest reading of a whole sequence of labels.

A label such as ``(i)`` is a letter or a Roman number, a new level or the next of an open one, or no
label at all but a cross reference at the start of a line. What comes after decides: ``(j)`` or
``(ii)``. So all readings of the labels below one heading are followed side by side, each with the
levels it has open and its cost, and the cheapest one at the end wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from pincite.ingest.structure.numbering import Mark

TEXT = -1  # the label is part of the words
AGAIN = -2  # the label only repeats an open item, as the first part of "(a)(2)" does

_BEAM = 16
_MANY = 2000  # labels below one heading; beyond it a quarter of the beam has to do
_HOPELESS = 9.0  # a reading that is dearer than the best by this much is given up
_MAX_DEPTH = 9
_OPEN = 0.5  # a new level is a little dearer than going on with an open one
_OPEN_LATE = 5.0  # a new level that does not begin with its first value
_SAME_STYLE = 2.0  # a style below itself: (1) in (A) in (1) does occur
_BACK = 6.0
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
_ROMAN_FORM = re.compile(r"c{0,3}(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")

Level = tuple[str, float]  # style and last value
_TERM: Level = ("term", 1.0)  # defined terms are a level without order


class _State(NamedTuple):
    cost: float
    levels: tuple[Level, ...]
    at: int  # depth of the label just read, or TEXT
    trail: tuple[int, object] | None  # readings so far, the last one first


@lru_cache(maxsize=4096)
def readings(label: str) -> tuple[Level, ...]:
    """Return the styles and values that a label can stand for.

    >>> readings("(i)")
    (('(a)', 9.0), ('(i)', 1.0))
    >>> readings("12.")
    (('1.', 12.0),)
    """
    if label.startswith("“"):
        return (_TERM,)
    core = label.strip("().")
    frame = "({})" if label.startswith("(") else "{}" + label[-1]
    whole, _, part = core.partition(".")
    fraction = int(part) / 100 if part.isdigit() else 0.0
    if whole[0].isdigit():
        digits = whole.rstrip("abcdefghijklmnopqrstuvwxyz")
        fraction += (ord(whole[-1]) - 96) / 100 if digits != whole else 0.0
        return ((frame.format("1"), int(digits) + fraction),)
    lower = whole.lower()
    found: list[Level] = []
    if len(set(lower)) == 1:
        style = "a" if whole.islower() else "A"
        found.append((frame.format(style), ord(lower[0]) - 96 + 26 * (len(lower) - 1) + fraction))
    if _ROMAN_FORM.fullmatch(lower):
        values = [_ROMAN[digit] for digit in lower]
        after = [*values[1:], 0]
        roman = float(sum(-v if v < w else v for v, w in zip(values, after, strict=True)))
        found.append((frame.format("i" if whole.islower() else "I"), roman + fraction))
    return tuple(found)


def depths(marks: Sequence[Mark]) -> list[int]:
    """Return for each label the depth at which it opens an item, or ``TEXT`` or ``AGAIN``.

    The cost is linear in the number of labels: at most sixteen readings are kept at any time.
    """
    if not marks:
        return []
    beam = [_State(0.0, (), TEXT, None)]
    width = _BEAM if len(marks) <= _MANY else _BEAM // 4
    for position, mark in enumerate(marks):
        leads = position + 1 < len(marks) and marks[position + 1].joined
        best: dict[tuple[tuple[Level, ...], int], _State] = {}
        for state in beam:
            for after in _moves(state, mark, leads):
                key = (after.levels, after.at)
                if key not in best or after.cost < best[key].cost:
                    best[key] = after
        limit = min(state.cost for state in best.values()) + _HOPELESS
        alive = [state for state in best.values() if state.cost <= limit]
        beam = sorted(alive, key=lambda state: state.cost)[:width]
    trail: object = beam[0].trail
    found: list[int] = []
    while isinstance(trail, tuple):
        depth, trail = trail
        found.append(depth)
    return found[::-1]


def _moves(state: _State, mark: Mark, leads: bool) -> Iterator[_State]:
    """Yield what each reading of a label makes of a state."""
    orphan = mark.joined and state.at == TEXT
    text_cost = 0.0 if orphan else mark.as_text
    yield _State(state.cost + text_cost, state.levels, TEXT, (TEXT, state.trail))
    if orphan:
        return
    cost = state.cost + mark.as_label
    for style, value in readings(mark.label):
        yield from _continued(state, cost, style, value, mark.joined)
        if leads and not mark.joined:
            for depth, level in enumerate(state.levels):
                if level == (style, value):
                    again = (AGAIN, state.trail)
                    yield _State(cost + 0.2, state.levels[: depth + 2], depth, again)
        yield from _opened(state, cost, style, value, mark)


def _continued(
    state: _State, cost: float, style: str, value: float, joined: bool
) -> Iterator[_State]:
    for depth in range(state.at + 1 if joined else 0, len(state.levels)):
        open_style, last = state.levels[depth]
        if open_style == style:
            # Of two open levels that both fit, the inner one is meant.
            outward = 0.05 * (len(state.levels) - 1 - depth)
            levels = (*state.levels[:depth], (style, value))
            total = cost + outward + (0.0 if style == _TERM[0] else _step(last, value))
            yield _State(total, levels, depth, (depth, state.trail))


def _opened(state: _State, cost: float, style: str, value: float, mark: Mark) -> Iterator[_State]:
    levels = state.levels[: state.at + 1] if mark.joined else state.levels
    if len(levels) >= _MAX_DEPTH:
        return
    cost += _OPEN
    if value != 1.0:
        cost += 1.0 if mark.preceded else _OPEN_LATE
    if any(style == open_style for open_style, _ in levels):
        cost += _SAME_STYLE
    depth = len(levels)
    yield _State(cost, (*levels, (style, value)), depth, (depth, state.trail))


def _step(last: float, value: float) -> float:
    """Return the cost of going on from one value to another within a level."""
    delta = value - last
    if delta <= 0:
        return _BACK
    if delta <= 1:
        return 0.0 if delta == 1 else 0.3
    # Repealed and reserved items are missing in real codes, a long run of them seldom.
    return min(1.2 + 0.3 * (delta - 1), 5.0)
