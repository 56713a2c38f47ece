"""The numbers that are printed on pages: what makes them page numbers is that they run along."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from pincite.read.pdf.lines import Line

_AROUND = 5  # pages on either side on which others of the run are looked for
_MIN_RUN = 3  # pages
_WIDEST_GAP = 12  # pages of a run that print no number
_HEIGHT = 0.006  # share of the page that two numbers at one height may differ
_MARGIN = 0.13  # share of the page at its top and bottom
_LARGE = 1.4  # times the usual size of a page
_LABEL = r"([A-Z]{1,3} ?[-–] ?|\d{1,3}[-–])?(\d{1,6}|[ivxlc]{1,7}|[IVXLC]{1,7})"
_ALONE = re.compile(
    r"(?:(?i:page|p\.|seite|pagina|página)\s?)?[-–—|•·~\[(\s]*"
    rf"{_LABEL}[-–—|•·~\])\s.]*+(?:(?i:of|de|di|von|/)\s?\d{{1,4}})?[-–—|•·\s.]*"
)
_WORD = re.compile(_LABEL)
_OF_SO_MANY = re.compile(rf"(?<!\S){_LABEL} ?(?:/|of) ?\d{{1,4}}$")
_PAGE_OF = re.compile(rf"\b(?i:page) {_LABEL} (?i:of) \d{{1,4}}\b")
_DASHED = re.compile(r"[-–—]\s?\d{1,4}\s?[-–—]")
_BARE = re.compile(r"[-–—\s]*(\d{1,3})[-–—\s]*")
_MIN_LINES = 10  # of a page of text that was printed from one with other pages
_SET_LOW = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}


class PrintedNumber(NamedTuple):
    """A word that may number its page."""

    page: int
    run: tuple[str, str, int]  # what stands before it, its kind, how far it is ahead of the page
    label: str
    line: Line
    is_alone: bool  # the line says nothing else
    height: float
    least: int = _MIN_RUN  # pages that have to agree


def printed_numbers(pages: Sequence[Sequence[Line]]) -> tuple[dict[int, str], dict[int, bool]]:
    """Return the numbers printed on pages, and which lines, by ``id``, have them: alone or not.

    A number counts if it is as far ahead of its page's place in the file as those of other pages
    nearby, or of one page nearby that has it at the height where this document has its numbers;
    or if it stands alone and fits between those of the pages around it.
    """
    found = [each for lines in pages for each in _candidates(lines)]
    runs: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
    for each in found:
        if runs[each.run][-1:] != [each.page]:
            runs[each.run].append(each.page)

    def nearby(each: PrintedNumber) -> int:
        run = runs[each.run]
        return bisect_right(run, each.page + _AROUND) - bisect_left(run, each.page - _AROUND)

    sure = [each for each in found if nearby(each) >= min(each.least, max(2, len(pages)))]
    heights = sorted({each.height for each in sure if each.is_alone})
    sure += [
        each
        for each in found
        if each.is_alone and nearby(each) == _MIN_RUN - 1 and _has_near(heights, each.height)
    ]
    best: dict[int, PrintedNumber] = {}
    for each in sorted(sure, key=lambda each: (len(runs[each.run]), each.is_alone)):
        best[each.page] = each
    sure += _fitting(best, [each for each in found if each.is_alone and each.page not in best])
    best |= {each.page: each for each in sure if each.page not in best}
    lines = {id(each.line): each.is_alone for each in sorted(sure, key=lambda each: each.is_alone)}
    rest = [line for page in pages for line in page if id(line) not in lines]
    lines |= dict.fromkeys(map(id, _counting_lines(rest)), True)
    return {page: each.label for page, each in sorted(best.items())}, lines


def _counting_lines(lines: Sequence[Line]) -> list[Line]:
    """Return numbers that stand alone and count on from page to page of an older print.

    A text with pages of its own was printed on other ones: its numbers stand anywhere on these.
    Numbers that are set as headings are those of chapters.
    """
    usual = median(line.size for line in lines) if lines else 0.0
    chains: dict[int, list[tuple[int, Line]]] = {}  # by the number that comes next
    for place, line in enumerate(lines):
        is_plain = not (line.table or line.turned or line.bold) and line.size <= 1.1 * usual
        match = _BARE.fullmatch(line.text) if is_plain and len(line.text) <= 12 else None
        if not match:
            continue
        value = int(match[1])
        chain = chains.get(value, [])
        if not chain or place - chain[-1][0] >= _MIN_LINES:
            chains.pop(value, None)
            chains[value + 1] = max([*chain, (place, line)], chains.get(value + 1, []), key=len)
    longest = max(chains.values(), key=len, default=[])
    return [line for _, line in longest] if len(longest) >= _MIN_RUN else []


def _fitting(
    best: Mapping[int, PrintedNumber], others: Sequence[PrintedNumber]
) -> list[PrintedNumber]:
    """Return the numbers between two pages of which the one has a lower, the other a higher one."""
    known = sorted(best)
    found = []
    for each in others:
        at = bisect_left(known, each.page)
        near = [best[page] for page in known[max(0, at - 1) : at + 1]]
        if len(near) == 2 and all(abs(one.page - each.page) <= _AROUND for one in near):
            values = [one.run[2] + one.page for one in (near[0], each, near[1])]
            if {one.run[:2] for one in near} == {each.run[:2]} and values == sorted(set(values)):
                found.append(each)
    return found


def page_labels(printed: Mapping[int, str], stated: Sequence[str]) -> dict[int, str]:
    """Return what pages are called: as printed, else as the file states it, else as between two.

    What the file states counts if it mostly agrees with what is printed. A page that is called by
    its place in the file is left out.
    """
    told = {page: label for page, label in enumerate(stated, 1) if _is_label(label)}
    both = [told[page] == label for page, label in printed.items() if page in told]
    labels: dict[int, str] = {}
    for (page, one), (after, other) in pairwise(sorted(printed.items())):
        if page + 1 < after <= page + _WIDEST_GAP:
            labels |= _between(page, one, after, other)
    labels |= {**(told if 2 * sum(both) >= len(both) else {}), **printed}
    return {page: label for page, label in sorted(labels.items()) if label != str(page)}


def _is_label(text: str) -> bool:
    return 0 < len(text) <= 20 and not any(map(str.isspace, text))


def _between(page: int, one: str, after: int, other: str) -> Iterator[tuple[int, str]]:
    """Yield the labels of pages between two of one run that is written in figures."""
    first, last = _WORD.fullmatch(one), _WORD.fullmatch(other)
    if not first or not last or first[1] != last[1] or not (first[2] + last[2]).isdecimal():
        return
    if int(last[2]) - int(first[2]) == after - page:
        for step in range(1, after - page):
            yield page + step, f"{first[1] or ''}{int(first[2]) + step}"


def _candidates(lines: Sequence[Line]) -> Iterator[PrintedNumber]:
    """Yield the numbers of the uppermost and the lowest lines, and at the sides.

    A notice of two or three lines may stand below a number, a title above it.
    """
    texts = [line for line in lines if line.text and not line.table]
    upright = sorted((line for line in texts if not line.turned), key=lambda line: line.box[1])
    ends = {id(line): line for line in (*upright[:3], *upright[-4:])}
    usual = median(line.size for line in texts) if texts else 0.0
    for line in (*ends.values(), *(line for line in texts if line.turned)):
        if line.size > _LARGE * usual and not _is_in_margin(line):
            continue  # the number of a chapter
        text = line.text.translate(_SET_LOW).strip()
        if len(text) <= 80 and (match := _PAGE_OF.search(text)):
            yield _number(line, match, is_alone=True)._replace(least=1)
        elif len(text) <= 40 and (match := _ALONE.fullmatch(text)):
            yield _alone(line, match)
        elif len(text) <= 120 and (words := text.split()):
            if match := _OF_SO_MANY.search(text):
                yield _number(line, match, is_alone=False)
            for word in dict.fromkeys((words[0], words[-1])):
                if match := _WORD.fullmatch(word.strip("|-–—•·")):
                    yield _number(line, match, is_alone=False)


def _alone(line: Line, match: re.Match[str]) -> PrintedNumber:
    """Return a number that is a line; few others have to agree if it is that of its page."""
    found = _number(line, match, is_alone=True)
    if found.label != str(line.page):
        return found._replace(least=_MIN_RUN - bool(_DASHED.fullmatch(match.string)))
    return found._replace(least=1 if _is_in_margin(line) else _MIN_RUN - 1)


def _is_in_margin(line: Line) -> bool:
    return line.box[3] < _MARGIN or line.box[1] > 1 - _MARGIN


def _number(line: Line, match: re.Match[str], *, is_alone: bool) -> PrintedNumber:
    before, digits = (match[1] or "").replace("–", "-").replace(" ", ""), match[2]
    if digits.isdecimal():
        kind, value = "figures", int(digits)
    else:
        kind, value = "roman" if digits.islower() else "ROMAN", _roman(digits.lower())
    height = line.box[0] if line.turned else line.box[1]
    run = (before, kind, value - line.page)
    return PrintedNumber(line.page, run, before + digits, line, is_alone, height)


def _roman(text: str) -> int:
    values = [_ROMAN[letter] for letter in text]
    pairs = pairwise([*values, 0])
    return sum(-value if value < after else value for value, after in pairs)


def _has_near(levels: Sequence[float], height: float) -> bool:
    at = bisect_left(levels, height - _HEIGHT)
    return at < len(levels) and levels[at] <= height + _HEIGHT
