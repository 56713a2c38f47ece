"""Headings from bookmarks and pages of contents."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz

from pincite.model.locators import HEADING_WORD, NUMBER_WORD
from pincite.read.pdf.lines import MARK, Line, split_lead
from pincite.read.pdf.page import Word

_DOTS = ".·…_ "
_MIN_DOTS = 4
_PAGE = re.compile(r"[0-9A-Za-z-]{0,9}")
_NUMBERED = re.compile(r"\S.*\s([0-9]{1,4})$")
_FEWEST = 4


def is_entry(text: str) -> bool:
    """Return whether a line leads with dots to a page number.

    >>> is_entry("3.1 Fees . . . . . . . 12"), is_entry("3.1 Fees")
    (True, False)
    """
    return _parts(text) is not None


def without_leader(text: str) -> str:
    """Return the line with its dots drawn together.

    >>> without_leader("3.1 Fees . . . . . . . 12")
    '3.1 Fees … 12'
    """
    parts = _parts(text)
    return " … ".join(parts).rstrip() if parts else text


def _parts(text: str) -> tuple[str, str] | None:
    """Return what stands before and behind the dots; None if there are not enough of them."""
    if "..." not in text and ". ." not in text and "…" not in text and "···" not in text:
        return None
    bare = text.rstrip(_DOTS)
    start = max(bare.rfind(mark) for mark in _DOTS) + 1
    if not _PAGE.fullmatch(bare, start):
        return None
    before = text[: start if start < len(bare) else len(text)]
    words = before.rstrip(_DOTS)
    dots = before[len(words) :]
    count = len(dots) - dots.count(" ") + 2 * dots.count("…")
    return (words, bare[start:]) if words and count >= _MIN_DOTS else None


def contents_span(lines: Sequence[Line], *, goes_on: bool = False) -> range:
    """Return the lines of a page that are a table of contents.

    It has dotted lines, or numbers at the end of most lines that only grow; where the page before
    ended in one, fewer lines will do.
    """
    dotted = [place for place, line in enumerate(lines) if is_entry(line.text)]
    numbered = [place for place, line in enumerate(lines) if _NUMBERED.match(line.text)]
    run = _longest_ascending(numbered, lines)
    is_mostly = len(run) >= max(1 if goes_on else 6, 0.6 * len(lines))
    if len(dotted) >= (1 if goes_on else _FEWEST) or is_mostly:
        places = dotted + (run if is_mostly or len(run) == len(numbered) else [])
        return range(min(places), max(places) + 1)
    return range(0)


def _longest_ascending(places: Sequence[int], lines: Sequence[Line]) -> list[int]:
    """Return the longest run of the lines whose last numbers never fall: "… 2021" may head it."""
    runs: list[list[int]] = [[]]
    last = 0
    for place in places:
        number = int(lines[place].text.rsplit(None, 1)[1])
        if number < last:
            runs.append([])
        runs[-1].append(place)
        last = number
    return max(runs, key=len)


_LONGEST = 4  # lines of one heading
_FOOTNOTE_MARK = re.compile(f"{MARK}{{1,9}}$")
_NOT_WORDS = re.compile(r"[\W_]+")
_LABEL = re.compile(rf"{HEADING_WORD}?(?:\d{{1,12}}[a-z]?|[ivxlc]{{1,6}}|[a-z]\d{{0,6}})?")
ALONE = re.compile(
    rf"{HEADING_WORD} (?:[–—-] )?(?:\d{{1,4}}|[ivxlc]{{1,7}}|[a-z]|{NUMBER_WORD})[.:]?",
    re.IGNORECASE,
)  # a heading without its title
_MAX_ON_A_PAGE = 200  # bookmarks
_ALIKE = 82.0  # how similar title and line must be where no line is equal, out of 100
_NEAR = 0.12  # share of the page between a bookmark's target and its line


@dataclass(frozen=True, slots=True)
class BookmarkTarget:
    """A bookmark with its place in shares of the page."""

    title: str
    level: int
    y: float | None


def mark_bookmarked(pages: Sequence[list[Line]], targets: dict[int, list[BookmarkTarget]]) -> None:
    """Mark the lines that bookmarks name as headings; a bold beginning becomes a line."""
    group = 0
    for number in sorted(targets):
        for target in targets[number][:_MAX_ON_A_PAGE]:
            group += 1
            place = _find(pages, number, target)
            if place:
                _mark(*place, target, group)


def named_words(words: Sequence[Word], titles: Sequence[str]) -> set[Word]:
    """Return the words of rows that are a bookmark's title: no table may swallow them."""
    wanted = [_bare(title) for title in titles[:_MAX_ON_A_PAGE]]
    rows: defaultdict[int, list[Word]] = defaultdict(list)
    for word in words if wanted else ():
        rows[round(word.base)].append(word)
    named: set[Word] = set()
    for row in rows.values():
        bare = _bare(" ".join(word.text for word in row))
        if any(_is_same(bare, title) for title in wanted):
            named.update(row)
    return named


Place = tuple[Sequence[Line], int, int]


def _find(pages: Sequence[list[Line]], number: int, target: BookmarkTarget) -> Place | None:
    """Return the lines that a bookmark names: on its page if possible, else beside it."""
    own = pages[number]
    if span := _equal(own, target, target.y) or _lead(own, target) or _similar(own, target):
        return own, *span
    for page in (number + 1, number - 1):
        if 0 <= page < len(pages) and (span := _equal(pages[page], target, None)):
            return pages[page], *span
    return None


def _mark(lines: Sequence[Line], first: int, end: int, target: BookmarkTarget, group: int) -> None:
    words = ""  # "Chapter 1" may stand above its title, also in two lines
    for at in range(first - 1, max(first - 3, -1), -1):
        words = f"{lines[at].text} {words}".strip()
        if not _is_free(lines[at]):
            break
        if ALONE.fullmatch(words):
            first = at
            break
    for line in lines[first:end]:
        line.heading, line.heading_group = min(target.level, 6), group


def _lead(lines: list[Line], target: BookmarkTarget) -> tuple[int, int] | None:
    """Return the line made of the bold words that begin a paragraph, if they are the title."""
    wanted = _bare(target.title)
    for place, line in enumerate(lines):
        if not line.lead or not _is_free(line):
            continue
        for end in (line.lead, len(target.title)):
            if end <= line.lead and _is_same(_bare(line.text[:end]), wanted):
                lines[place : place + 1] = split_lead(line, end)
                return place, place + 1
    return None


def _is_free(line: Line) -> bool:
    return not line.heading and not line.table and not is_entry(line.text)


def _equal(
    lines: Sequence[Line], target: BookmarkTarget, y: float | None
) -> tuple[int, int] | None:
    """Return the lines whose words are the title's, with or without a label."""
    wanted = _bare(target.title)
    if not wanted:
        return None
    fits: list[tuple[float, int, int]] = []
    for first, line in enumerate(lines):
        words = ""
        for last in range(first, min(first + _LONGEST, len(lines))):
            if not _is_free(lines[last]):
                break
            words += _bare(lines[last].text)
            if len(words) > len(wanted) + 24:
                break
            if _is_same(words, wanted):
                distance = abs(line.box[1] - y) if y is not None else 0.0
                fits.append((distance - 0.01 * line.size, first, last + 1))
                break
    return min(fits)[1:] if fits else None


def _is_same(words: str, wanted: str) -> bool:
    if words == wanted:
        return True
    longer, shorter = (words, wanted) if len(words) > len(wanted) else (wanted, words)
    if len(shorter) < 2 or not longer.endswith(shorter):
        return False
    return _LABEL.fullmatch(longer[: len(longer) - len(shorter)]) is not None


def _similar(lines: Sequence[Line], target: BookmarkTarget) -> tuple[int, int] | None:
    """Return the one or two lines near the target that are most like the title."""
    if target.y is None:
        return None
    wanted = _bare(target.title)
    best, span = _ALIKE, None
    for first, line in enumerate(lines):
        if line.mono or not -0.03 <= line.box[1] - target.y <= _NEAR:
            continue
        words = ""
        for last in range(first, min(first + 2, len(lines))):
            if not _is_free(lines[last]):
                break
            words += _bare(lines[last].text)
            if (score := fuzz.ratio(words, wanted)) > best:
                best, span = score, (first, last + 1)
    return span


@lru_cache(maxsize=10_000)
def _bare(text: str) -> str:
    plain = unicodedata.normalize("NFKC", _FOOTNOTE_MARK.sub("", text))
    return _NOT_WORDS.sub("", plain.casefold())


def styles_of(pages: Iterable[Sequence[Line]]) -> dict[tuple[float, bool], int]:
    """Return the level of each style (size, bold) in which bookmarked headings are set.

    Of several lines the last counts: "Chapter" above it may be as small as words of the text.
    """
    last = {line.heading_group: line for lines in pages for line in lines if line.heading}
    levels: defaultdict[tuple[float, bool], Counter[int]] = defaultdict(Counter)
    for line in last.values():
        levels[line.size, line.bold][line.heading] += 1
    return {style: found.most_common(1)[0][0] for style, found in levels.items()}
