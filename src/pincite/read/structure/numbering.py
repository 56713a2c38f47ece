"""The numbering of a document, read as the cheapest explanation of all its labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pincite.model.locators import LABELLED_WORD, LETTERED, NUMBER_WORDS, PLACE_WORD, HeadingLabel

# Lines as a reader sees them, whatever ends them.
LINE = re.compile(r"[^\r\n\f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Mark:
    """A label that may open an item, with what speaks against it."""

    start: int  # where the item would begin: at the label or the sign in front of it
    end: int  # just behind the label
    label: str  # as printed: "(a)", "1."
    joined: bool = False  # directly behind another label, or behind the title that one opens
    preceded: bool = False  # the words before name the label before: "(i) …, (ii) …" in mid-line
    as_label: float = 0.0  # the cost of taking it as a label
    as_text: float = 3.0  # the cost of taking it as words


_CORE = (
    r"(?:[0-9]{1,3}(?:\.[0-9]{1,2})?[a-z]?|[ivxlc]{1,8}|[IVXLC]{1,8}"
    r"|(?P<letter>[A-Za-z])(?P=letter){0,2}(?:\.[0-9]{1,2})?)"
)
PAREN = re.compile(rf"\([*_]?(?P<core>{_CORE})[*_]?\)(?![a-z0-9])")
_DOTTED = re.compile(r"(?P<core>[0-9]{1,3}|[ivxlc]{1,6}|[IVXLC]{1,6}|[A-Za-z])\\?[.)](?=\s|$)")
_SIGNS = re.compile(r"[^\S\r\n]*(?P<signs>(?:>[ \t]*)*(?P<bullet>[-*+•–][ \t]+)?[*_]{0,2})")
_BETWEEN = re.compile(r"[*_]{0,3}[ \t]{0,3}[*_]{0,3}(?=\()")
_RUN_IN = re.compile(
    r"[*_]{0,3}[ \t]+[*_]{0,3}[A-Z0-9À-Þ][^\s.:;()]*(?: [^\s.:;()]+){0,8}"
    r"[.:—–]{1,2}[*_]{0,3}[ \t]*(?=\()"
)
_REFERENCE = re.compile(
    rf"[*_]*[ \t]*(?:of (?:this|that|these|such|§|{PLACE_WORD})|(?:above|below|hereof|thereof)\b"
    rf"|(?:through|to|or|and|and/or|–|-) ?(?:{LABELLED_WORD} )?\(|[,;)]|\.?$)"
)
_POINTER = re.compile(
    rf"(?:\b(?:{LABELLED_WORD}|see|under|with|of|in|by|to|from|the|a|than|per)|§|\() *$",
    re.IGNORECASE,
)
_ENDED = re.compile(r"(?:[.;:!?,—–)\]”\"'’*_|]|[;,] ?(?:and|or))\s*$")
_WRAP = 45  # a shorter line was not broken because it was full
_TAIL = 80  # what is looked at of the line before


def marks(text: str, start: int, end: int, *, dotted: bool) -> Iterator[Mark]:
    """Yield the labels at line starts of ``text[start:end]``, and those joined to them.

    With ``dotted`` also ``1.``, ``1)``, ``a.`` and ``a)`` count, not only labels in parentheses.
    """
    previous = ""
    for line in LINE.finditer(text, start, end):
        yield from _line_marks(text, line.start(), line.end(), previous, dotted)
        previous = line.group()[-_TAIL:]


def _line_marks(text: str, start: int, end: int, previous: str, dotted: bool) -> Iterator[Mark]:
    signs = _SIGNS.match(text, start, end)
    position = signs.end() if signs else start
    opening = signs.start("signs") if signs else start
    found = PAREN.match(text, position, end)
    if found and signs and signs["bullet"] and PAREN.search(text, found.end(), end):
        return  # a choice in one line: "- (a) a sword or (b) a bow"
    is_dotted = found is None and dotted and text[opening : opening + 1] != ">"
    if is_dotted:
        found = _DOTTED.match(text, position, end)
    joined = run_in = False
    while found:
        label = f"({found['core']})" if not is_dotted else found.group().replace("\\", "")
        as_label, as_text = _costs(text[found.end() : end][:60], "" if joined else previous)
        if is_dotted:
            as_label, as_text = as_label + 0.3, min(as_text, 2.0)
        as_text = min(as_text, 1.0) if run_in else as_text
        yield Mark(opening, found.end(), label, joined, False, as_label, as_text)
        joined, is_dotted = True, False
        behind = found.end()
        gap = _BETWEEN.match(text, behind, end) or _RUN_IN.match(text, behind, end)
        run_in = gap is not None and gap.re is _RUN_IN
        found = PAREN.match(text, gap.end(), end) if gap else None
        opening = gap.end() if gap else end


def _costs(after: str, previous: str) -> tuple[float, float]:
    """Return the costs of reading a label as a label and as text, from the words around it."""
    if "[reserved]" in after.lower():
        return 0.0, 3.0
    wrapped = is_wrapped(previous)
    if (_REFERENCE.match(after) and after.strip()) or (previous and _POINTER.search(previous)):
        return 3.0, 0.3
    if wrapped and after.lstrip(" \t*_")[:1].islower():
        return 2.5, 0.5
    return (1.2, 2.0) if wrapped else (0.0, 3.0)


def is_wrapped(previous: str) -> bool:
    """Return whether a line was broken in mid-sentence, so that the next one only goes on."""
    return len(previous) >= _WRAP and not _ENDED.search(previous)


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

Number = tuple[int, ...]  # of a heading
Level = tuple[str, float]  # style and last value
_TERM: Level = ("term", 1.0)  # defined terms are a level without order


class _BeamState(NamedTuple):
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


_APART = 3  # levels after which a style may come again, as in (a)(1)(i)(A)(1)


def is_place(labels: Sequence[str], elders: Mapping[str, float], *, is_announced: bool) -> bool:
    """Return whether a chain of labels names a place: the law that locators obey.

    Each level has a style of its own, and the last label goes on with the last value of its style
    among its ``elders``, the items before it in the same list. A list that begins in its middle
    must be announced: by the words before, which hold the label before.

    >>> is_place(["(b)", "(1)", "(ii)"], {"(i)": 1.0}, is_announced=False)
    True
    >>> is_place(["(d)", "(f)"], {}, is_announced=True)  # one level, twice
    False
    >>> is_place(["(a)"], {"(a)": 3.0}, is_announced=True)  # back again
    False
    """
    *above, last = ([style for style, _ in readings(label)] for label in labels)
    for style, value in readings(labels[-1]):
        before = elders.get(style)
        goes_on = value > before if before is not None else value < 2.0 or is_announced
        if goes_on and _is_apart([*above, [style]]):
            return True
    return not last


def _is_apart(chain: Sequence[Sequence[str]], taken: tuple[str, ...] = ()) -> bool:
    """Return whether styles can be chosen, one a level, of which none comes again too soon."""
    if not chain:
        return True
    near = taken[1 - _APART :]
    return any(
        (style == _TERM[0] or style not in near) and _is_apart(chain[1:], (*taken, style))
        for style in chain[0]
    )


def number_of(name: HeadingLabel) -> Number:
    """Return the number of a heading as integers, so that numbers can be compared.

    >>> from pincite.model.locators import heading_label
    >>> [number_of(heading_label(line)) for line in ("ARTICLE SEVEN", "Section 2.10 Fees")]
    [(7,), (2, 10)]
    """
    values: list[int] = []
    number = name.canonical.rpartition(" ")[2]
    if (word := number.lower().replace("-", "")) in NUMBER_WORDS:
        return (NUMBER_WORDS.index(word) + 1,)
    for part in re.split(r"[.–\-()]+", number):
        if digits := re.match(r"([0-9]{1,9})([A-Za-z]?)$", part):
            values.append(int(digits[1]))
            if digits[2]:  # "Item 1A" comes between 1 and 2
                values.append(ord(digits[2].lower()) - 96)
        elif part:
            found = readings(f"({part})") if part.isalpha() and part.isascii() else ()
            is_letter = name.scheme in LETTERED and len(part) == 1
            values.append(int(found[0 if is_letter else -1][1]) if found else 0)
    return tuple(values)


def depths(marks: Sequence[Mark]) -> list[int]:
    """Return for each label the depth at which it opens an item, or ``TEXT`` or ``AGAIN``.

    The cost is linear in the number of labels: at most sixteen readings are kept at any time.
    """
    if not marks:
        return []
    beam = [_BeamState(0.0, (), TEXT, None)]
    width = _BEAM if len(marks) <= _MANY else _BEAM // 4
    for position, mark in enumerate(marks):
        leads = position + 1 < len(marks) and marks[position + 1].joined
        best: dict[tuple[tuple[Level, ...], int], _BeamState] = {}
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


def _moves(state: _BeamState, mark: Mark, leads: bool) -> Iterator[_BeamState]:
    """Yield what each reading of a label makes of a state."""
    orphan = mark.joined and state.at == TEXT
    text_cost = 0.0 if orphan else mark.as_text
    yield _BeamState(state.cost + text_cost, state.levels, TEXT, (TEXT, state.trail))
    if orphan:
        return
    cost = state.cost + mark.as_label
    for style, value in readings(mark.label):
        yield from _continued(state, cost, style, value, mark.joined)
        if leads and not mark.joined:
            for depth, level in enumerate(state.levels):
                if level == (style, value):
                    again = (AGAIN, state.trail)
                    yield _BeamState(cost + 0.2, state.levels[: depth + 2], depth, again)
        yield from _opened(state, cost, style, value, mark)


def _continued(
    state: _BeamState, cost: float, style: str, value: float, joined: bool
) -> Iterator[_BeamState]:
    for depth in range(state.at + 1 if joined else 0, len(state.levels)):
        open_style, last = state.levels[depth]
        if open_style == style:
            # Of two open levels that both fit, the inner one is meant.
            outward = 0.05 * (len(state.levels) - 1 - depth)
            levels = (*state.levels[:depth], (style, value))
            total = cost + outward + (0.0 if style == _TERM[0] else _step(last, value))
            yield _BeamState(total, levels, depth, (depth, state.trail))


def _opened(
    state: _BeamState, cost: float, style: str, value: float, mark: Mark
) -> Iterator[_BeamState]:
    levels = state.levels[: state.at + 1] if mark.joined else state.levels
    if len(levels) >= _MAX_DEPTH:
        return
    cost += _OPEN
    if value != 1.0:
        cost += 1.0 if mark.preceded else _OPEN_LATE
    if any(style == open_style for open_style, _ in levels):
        cost += _SAME_STYLE
    depth = len(levels)
    yield _BeamState(cost, (*levels, (style, value)), depth, (depth, state.trail))


def _step(last: float, value: float) -> float:
    """Return the cost of going on from one value to another within a level."""
    delta = value - last
    if delta <= 0:
        return _BACK
    if delta <= 1:
        return 0.0 if delta == 1 else 0.3
    # Repealed and reserved items are missing in real codes, a long run of them seldom.
    return min(1.2 + 0.3 * (delta - 1), 5.0)
