"""What pages put between words: their numbers, and lines that repeat at their head or foot.

Who copies words over the end of a page has these among them, or a reader of PDFs left them in the
text. They are no part of a sentence, but only where a page begins, and only the words that stand
there: anything else between two words is a change.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property

from pincite.check.folding import Folded, Match
from pincite.model.patterns import lazy_pattern
from pincite.model.types import Pages

MIN_REPEATED = 3  # pages that have a line at their edge
EDGE_LINES = 3  # of a page at its head and at its foot
LONGEST_LINE = 400
MAX_NUMBER_RUNS = 6  # of a quotation that are tried as numbers of pages
MAX_NUMBERS = 3  # that stand together between two pages
MIN_WORDS = 4  # of a quotation without what pages put into it
ANY_FIGURE = "0"  # in a repeated line, of which the numbers differ
_FIGURES = lazy_pattern(r"\d+")
_ONLY_NUMBER = lazy_pattern(r"(?:page |p\. ?)?[-–— ]*(?:#|[ivxlc]{1,6})(?: of #)?[-–—. ]*")
_LONE_NUMBER = lazy_pattern(r"^[ \t]*[-–—]?[ \t]?(\d{1,4})[ \t]?[-–—]?[ \t]*$", re.MULTILINE)
_IS_NUMBER = lazy_pattern(r"\d{1,4}|[ivx]{1,5}")

Run = tuple[int, int]  # the first word and the one behind the last


class PageBreaks:
    """Where the pages of one document end, and what stands there beside its words."""

    def __init__(self, text: str, pages: Pages, furniture: str = "") -> None:
        self._text = text
        self._pages = pages
        lines = [Folded(line.replace("#", ANY_FIGURE)) for line in furniture.split("\n")]
        self._furniture = [each.words(0, len(each)) for each in lines if len(each)]

    def find(self, quote: str) -> list[Match]:
        """Return where a quotation stands, but for what pages put between its words."""
        found = self.folded.find(quote)
        if found:
            return found
        own = Folded(quote)
        for runs in self._readings(own):
            if len(own) - sum(end - start for start, end in runs) < MIN_WORDS:
                continue
            found = self.folded.find(_without(own, runs))
            kept = [each for each in found if self._is_broken(each, own, runs)]
            if kept:
                return kept
        return []

    @cached_property
    def folded(self) -> Folded:
        """The document without its numbers of pages and the lines that repeat beside them."""
        parts, at = [], 0
        for start, end, _ in self._between:
            if start >= at:
                parts += [self._text[at:start], " " * (end - start)]
                at = end
        return Folded("".join((*parts, self._text[at:])))

    @cached_property
    def _between(self) -> list[tuple[int, int, str]]:
        """Where lines stand that are of pages and not of the text, and what they say."""
        edges = {line for at in self._pages.starts for line in self._edge_lines(at)}
        said = Counter(line for _, _, line in edges)
        usual = Counter(_FIGURES.sub("#", line) for _, _, line in edges)
        found = [
            (start, end, line)
            for start, end, line in edges
            if said[line] >= MIN_REPEATED or _is_number(line, usual)
        ]
        return sorted({*found, *_running_numbers(self._text)})

    @cached_property
    def _starts(self) -> list[int]:
        """Where pages begin: those of the file, and those that it was made from."""
        numbers = (start for start, _, line in self._between if line.isdigit())
        return sorted({*self._pages.starts, *numbers})

    def _edge_lines(self, at: int) -> Iterator[tuple[int, int, str]]:
        """Yield the lines around the beginning of a page and where they stand."""
        end = at
        for _ in range(2 * EDGE_LINES):
            end = self._text.rfind("\n", 0, end)
            if end < 0 or not (yield from self._line(end)):
                break
        for _ in range(2 * EDGE_LINES):
            if at < 0 or not (yield from self._line(self._text.find("\n", at))):
                break
            at = self._text.find("\n", at) + 1 or -1

    def _line(self, end: int) -> Generator[tuple[int, int, str], None, bool]:
        """Yield the line that ends at an offset, if it has words; return whether it is short."""
        end = len(self._text) if end < 0 else end
        start = self._text.rfind("\n", 0, end) + 1
        line = " ".join(self._text[start:end].casefold().split())
        if line and len(line) <= LONGEST_LINE:
            yield start, end, line
        return len(line) <= LONGEST_LINE

    def _readings(self, own: Folded) -> Iterator[list[Run]]:
        """Yield what of a quotation may be of pages: repeated lines, numbers beside or alone."""
        words = own.words(0, len(own))
        lines = _merged(run for line in self._furniture for run in _places_of(line, words))
        lines = _merged(_with_numbers(run, words) for run in lines)
        if lines:
            yield lines
        numbers = [
            (at, end)
            for at, end in _number_runs(words)
            if end - at <= MAX_NUMBERS and not any(a <= at < b for a, b in lines)
        ]
        for run in numbers[:MAX_NUMBER_RUNS]:
            yield _merged([*lines, run])
        if 1 < len(numbers) <= MAX_NUMBER_RUNS:
            yield _merged([*lines, *numbers])

    def _is_broken(self, match: Match, own: Folded, runs: Sequence[Run]) -> bool:
        """Return whether each run stands where a page begins, and is what stands there."""
        letter = self.folded.starts[bisect_left(self.folded.places, match.start)]
        for at, (start, end) in enumerate(runs):
            before = Folded(_without(own, [*runs[:at], (start, len(own))]))
            number = self.folded.number_at(letter + len(before.letters))
            low = self.folded.stops[number - 1] if number else 0
            high = self.folded.places[number] if number < len(self.folded) else len(self._text)
            page = bisect_right(self._starts, high) - 1
            if page < 0 or self._starts[page] < low:
                return False
            said = own.words(start, end)
            allowed = self._numbers_of(page)
            if not all(map(str.isdigit, said)):  # a repeated line, which may have other numbers
                allowed = allowed.union(*self._furniture, filter(str.isdigit, said))
            if not allowed.issuperset(said):
                return False
        return True

    def _numbers_of(self, page: int) -> set[str]:
        """Return the numbers that may stand between a page and the one before."""
        starts = self._starts
        low = starts[max(0, page - 1)]
        high = starts[page + 1] if page + 1 < len(starts) else len(self._text)
        printed = Folded(" ".join(line for at, _, line in self._between if low <= at < high))
        found = {*printed.words(0, len(printed))}
        if (number := self._pages.at(starts[page])) is not None:
            found |= {str(number), *Folded(self._pages.labels.get(number, "")).words(0, 9)}
        return found | {str(int(each) - 1) for each in found if each.isdecimal()}


def _is_number(line: str, usual: Counter[str]) -> bool:
    """Return whether a line at the edge of a page is its number, as others have it there."""
    skeleton = _FIGURES.sub("#", line)
    return usual[skeleton] >= MIN_REPEATED and bool(_ONLY_NUMBER.fullmatch(skeleton))


def _running_numbers(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines with nothing but a number that goes on from one such line to the next."""
    run: list[tuple[int, int, str]] = []
    for match in _LONE_NUMBER.finditer(text):
        line = (*match.span(1), match[1])
        if run and not 0 < int(match[1]) - int(run[-1][2]) <= 2:
            yield from run if len(run) > MIN_REPEATED else ()
            run = []
        run.append(line)
    yield from run if len(run) > MIN_REPEATED else ()


def _without(own: Folded, runs: Sequence[Run]) -> str:
    """Return the words of a quotation that are not of pages."""
    parts, at = [], 0
    for start, end in (*runs, (len(own), len(own))):
        if at < start:
            parts.append(own.text[own.places[at] : own.stops[start - 1]])
        at = end
    return " ".join(parts)


def _places_of(line: Sequence[str], words: Sequence[str]) -> Iterator[Run]:
    """Yield where the words of a line stand among others; a figure of it may be any."""
    for at in range(len(words) - len(line) + 1):
        if all(
            own == word or (own == ANY_FIGURE and word.isdigit())
            for own, word in zip(line, words[at : at + len(line)], strict=True)
        ):
            yield at, at + len(line)


def _with_numbers(run: Run, words: Sequence[str]) -> Run:
    """Return a run with the few numbers that stand right beside it."""
    start, end = run
    while start > max(0, run[0] - MAX_NUMBERS) and _IS_NUMBER.fullmatch(words[start - 1]):
        start -= 1
    while end < min(len(words), run[1] + 1) and _IS_NUMBER.fullmatch(words[end]):
        end += 1
    return start, end


def _number_runs(words: Sequence[str]) -> Iterator[Run]:
    at = 0
    while at < len(words):
        end = at
        while end < len(words) and _IS_NUMBER.fullmatch(words[end]):
            end += 1
        if end > at:
            yield at, end
        at = max(end, at + 1)


def _merged(runs: Iterator[Run] | Sequence[Run]) -> list[Run]:
    """Return runs in order, those that touch as one."""
    found: list[Run] = []
    for start, end in sorted(runs):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
