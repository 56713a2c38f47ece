"""A text as its letters and figures alone, and where a quotation stands in it.

Typography, white space, hyphenation, the signs of Markdown and the bars of tables differ between a
document and who quotes it; letters and figures do not. So both are folded to these, with the place
of every word kept, and a quotation is found by one search of a string however many pages, items or
cells it runs over. What stands between two figures is kept: 2.4 is not 24.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pincite.model.markup import read_markup
from pincite.model.patterns import lazy_pattern

# A number, a word, or a sign that changes what is said: 5 % is not $ 5.
# A label that is glued to its heading, "18.1.1Period", is one of its own.
_RUN = lazy_pattern(r"\d++(?:[.,/:]\d++)++(?:(?![^\W_])|(?=[A-Z][a-z]))|[^\W_]+|[%‰$€£¥§°<>≤≥=±×÷]")
# At the start of a line, or a footnote's mark: who quotes may leave these out.
_LABELS = lazy_pattern(
    r"^[ \t>#*_]*(?:(?:\([0-9A-Za-z.]{1,6}\)[ \t]*){1,4}"
    r"|(?:\d{1,3}(?:\.\d{1,3}){0,5}|[a-zA-Z]|[ivx]{2,5})[.)](?=\s)"
    r"|[-•▪●◦–][ \t])|\[\^?\w{1,4}\]|\^[^^\s]{1,3}\^",
    re.MULTILINE,
)
_SPANNED = lazy_pattern(r"(?<=\|)([^|\n]{1,200})(?=\|\1\|)")  # a cell over several columns
_ELLIPSIS = r"\[ ?(?:\. ?\. ?\.|…) ?\]|\( ?(?:\. ?\. ?\.|…) ?\)|\.(?: ?\.){2,4}|…\.?|\* \* \*"
_REMARK = (
    r"(?:emphas[ie]s|italics|footnotes?|citations?|references?|internal|alterations?|quotation|"
    r"hervorhebung|grassetto|corsivo|soulign)[^\]]{0,60}"
)
# What a quotation may have of its own.
_MARKS = lazy_pattern(
    rf"(?P<sic>\[(?:sic!?|!)\])|(?P<omitted>{_ELLIPSIS}|\[{_REMARK}\]|\({_REMARK}\))"
    r"|\[(?P<letter>[^\W\d_]{1,2})\](?=[^\W\d_])|(?<=[^\W\d_])(?P<ending>\[[^\W\d_]{0,5}\])"
    r"|(?P<instead>\[(?=[^\[\]\n]{0,9}[^\W\d_])[^\[\]\n]{1,200}\])",  # no "[*]"
    re.IGNORECASE,
)
_DASHES = tuple("-–—‐‑−")
MAX_OMITTED = 6_000  # letters that an ellipsis may stand for
MAX_INSTEAD = 250  # letters that words in brackets may stand for
MAX_ENDING = 8
MAX_OCCURRENCES = 64
MIN_PIECE = 6  # letters of the longest piece of a quotation with gaps


@dataclass(frozen=True, slots=True)
class Match:
    """Where a quotation stands: offsets of the document, and what its gaps leave out."""

    start: int
    end: int
    gaps: tuple[tuple[int, int], ...] = ()


class Folded:
    """A text as letters and figures, with where each of its words stands.

    >>> text = Folded("The li-\\ncensee **may** | pay 2.4 %.")
    >>> text.letters, [text.text[m.start : m.end] for m in text.find("licensee may")]
    ('thelicenseemaypay2.4%', ['li-\\ncensee **may'])
    """

    def __init__(self, text: str, *, has_labels: bool = True) -> None:
        self.text = text
        self._has_labels = has_labels
        seen = _shown(text)
        if not has_labels:
            seen = _SPANNED.sub(_blank, _LABELS.sub(_blank, seen))
        runs = list(_RUN.finditer(seen))
        parts: list[str] = []
        self.starts: list[int] = []  # of words, in the letters
        self.ends: list[int] = []
        self.places: list[int] = []  # of words, in the text
        self.stops: list[int] = []
        size, was_figure, before = 0, False, 0
        for run in runs:
            word = run.group()
            word = word.lower() if word.isascii() else _plain(word)
            if not word:
                continue
            start = run.start()
            if was_figure and word[:1].isdigit():
                parts.append("-" if seen[before:start].strip() in _DASHES else " ")
                size += 1
            self.starts.append(size)
            parts.append(word)
            size += len(word)
            self.ends.append(size)
            self.places.append(start)
            before = run.end()
            self.stops.append(before)
            was_figure = word[-1:].isdigit()
        self.letters = "".join(parts)

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def without_labels(self) -> Folded:
        """The same text without the labels of items, marks of footnotes and cells that repeat."""
        return Folded(self.text, has_labels=False) if self._has_labels else self

    def word(self, number: int) -> str:
        """Return a word, folded."""
        return self.letters[self.starts[number] : self.ends[number]]

    def words(self, first: int, last: int) -> list[str]:
        """Return the words from one up to another, folded."""
        return [self.word(number) for number in range(max(0, first), min(last, len(self)))]

    def stretch(self, first: int, last: int) -> str:
        """Return the letters of the words from one up to another."""
        return self.letters[self.starts[first] : self.ends[last - 1]] if first < last else ""

    def number_at(self, letter: int) -> int:
        """Return the number of the word that begins at a letter, or of the next one."""
        return bisect_left(self.starts, letter)

    def occurrences(self, letters: str, limit: int = MAX_OCCURRENCES) -> Iterator[int]:
        """Yield where letters stand, at the beginning of a word."""
        at, found = self.letters.find(letters), 0
        while at >= 0 and found < limit:
            if self._begins(at):
                found += 1
                yield at
            at = self.letters.find(letters, at + 1)

    def find(self, quote: str) -> list[Match]:
        """Return where a quotation stands, its ellipses and brackets being what they mean."""
        literal = Folded(quote).letters
        found = [] if not literal else list(self._whole(literal))
        if not found and literal and _MARKS.search(quote):
            found = list(self._in_pieces(pieces(quote)))
        return found

    def _begins(self, at: int) -> bool:
        number = bisect_left(self.starts, at)
        return number < len(self.starts) and self.starts[number] == at

    def _ends(self, at: int) -> bool:
        number = bisect_left(self.ends, at)
        return number < len(self.ends) and self.ends[number] == at

    def _whole(self, letters: str) -> Iterator[Match]:
        for at in self.occurrences(letters):
            if self._ends(at + len(letters)):
                yield self._match(at, at + len(letters), ())

    def _match(self, start: int, end: int, gaps: Sequence[tuple[int, int]]) -> Match:
        last = bisect_left(self.ends, end)
        left = tuple(self._place(a, b) for a, b in gaps if a < b)
        return Match(self.places[bisect_left(self.starts, start)], self.stops[last], left)

    def _place(self, start: int, end: int) -> tuple[int, int]:
        first = min(bisect_left(self.starts, start), len(self) - 1)
        last = max(first, bisect_left(self.ends, end))
        return self.places[first], self.stops[min(last, len(self) - 1)]

    def _in_pieces(self, parts: Sequence[Piece]) -> Iterator[Match]:
        if not parts or max(len(piece.letters) for piece in parts) < MIN_PIECE:
            return
        for at in self.occurrences(parts[0].letters):
            end, gaps = at, list[tuple[int, int]]()
            for number, piece in enumerate(parts):
                start = at if not number else self._next(piece.letters, end, parts[number - 1].gap)
                if start < 0:
                    break
                if number:
                    gaps.append((end, start))
                end = start + len(piece.letters)
                if not piece.is_open and not self._ends(end):
                    break
                if piece.is_open:  # of a word whose ending stands in brackets
                    end = self.ends[min(bisect_left(self.ends, end), len(self) - 1)]
            else:
                yield self._match(at, end, gaps)

    def _next(self, letters: str, start: int, gap: int) -> int:
        limit = start + gap + len(letters)
        at = self.letters.find(letters, start, limit)
        while at >= 0 and not self._begins(at):
            at = self.letters.find(letters, at + 1, limit)
        return at


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of a quotation that have to stand together, and how much may stand behind them."""

    letters: str
    gap: int = 0
    is_open: bool = False  # the ending of its last word is another


def pieces(quote: str) -> list[Piece]:
    """Return what has to stand of a quotation with ellipses and brackets.

    >>> [(each.letters, each.gap) for each in pieces("[T]he station … must [sic] not [it] send")]
    [('thestation', 6000), ('mustnot', 250), ('send', 0)]
    """
    found: list[Piece] = []
    words, at = "", 0
    for mark in _MARKS.finditer(quote):
        words += quote[at : mark.start()]
        at = mark.end()
        if mark["letter"]:
            words += mark["letter"]
        elif not mark["sic"]:
            gap = MAX_OMITTED if mark["omitted"] else MAX_INSTEAD
            is_open = mark["ending"] is not None
            gap = MAX_ENDING if is_open else gap
            found += [Piece(letters, gap, is_open)] if (letters := Folded(words).letters) else []
            words = ""
    if letters := Folded(words + quote[at:]).letters:
        found.append(Piece(letters))
    return found


def has_omissions(quote: str) -> bool:
    """Return whether a quotation says itself that it leaves something out or changes it.

    >>> has_omissions("the … station"), has_omissions("the station")
    (True, False)
    """
    return _MARKS.search(quote) is not None


def _shown(text: str) -> str:
    """Return a text with spaces for the signs of Markdown; all else stands where it stood."""
    signs = read_markup(text).signs
    if not signs:
        return text
    parts, at = [], 0
    for start, end, _ in sorted(signs):
        if start >= at:
            parts += [text[at:start], " " * (end - start)]
            at = end
    return "".join((*parts, text[at:]))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def _plain(word: str) -> str:
    """Return a word in small letters with ligatures and raised figures spelled out."""
    plain = unicodedata.normalize("NFKC", word).casefold().replace("⁄", "/")
    return "".join(char for char in plain if char.isalnum() or char in "/%‰€£¥§°≤≥±×÷")
