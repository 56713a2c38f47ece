"""Sentences, items and rows of a text, also of one that is still being written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pincite.model.tables import cells_of, parse_table

UnitKind = Literal["sentence", "row", "header", "heading"]

_LINE = re.compile(r"[^\n]*\n?")
# What begins a new unit at the start of a line: a list item, a numbered paragraph, a named value.
_ITEM = re.compile(r"\s*(?:[-*•–]\s|\(\w{1,5}\)\s|\d{1,3}[.)]\s|\*\*[^*\n]{1,40}\*\*\s)")
# "(B) Kitchens." and "**Tide line.**" are headings inside their paragraph: they are quoted with the
# sentence behind them.
_RUN_IN = re.compile(
    r"(?:(?:\(\w{1,5}\)|\d[\d.]{0,8})\s[^.!?:;]{1,60}\.|\*\*[^*]{1,60}\*\*\.?|_[^_]{1,60}_\.?)$"
)
_RULER = re.compile(r"[\s:|-]*$")  # with two dashes in it
_HEADING = re.compile(r"\s{0,3}#{1,6}\s|\s*\*\*[^*\n]{1,200}\*\*\s*$")
_QUOTES = re.compile(r"[\"“”«»]")
LONGEST_QUOTE = 400  # a quotation that does not end by then was none
# A full stop may be followed by closing marks, emphasis or a footnote's mark, and then by space.
_STOP = re.compile(r"[.!?…][\"”’»)\]*_]{0,4}(?:\^[^^\s]{1,3}\^)?(?=\s)")
_STARTS = re.compile(r"\s+[\"“‘«(\[*_]{0,4}[^\W_]")
# Behind these a full stop ends no sentence.
_SHORT = frozenset(
    re.findall(
        r"\S+",
        "e.g i.e etc cf vs no nos sec secs art arts fig figs ch par paras para p pp vol ed al dr "
        "mr mrs ms st approx max min incl excl resp u.s u.k inc ltd co corp jan feb mar apr jun "
        "jul aug sep sept oct nov dec z.b bzw ca s nr",
    )
)
_LAST_WORD = re.compile(r"([^\s(\[“\"]{1,12})$")
LONGEST_WORD = 14


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A stretch of a text that is quoted as a whole, without white space around it."""

    start: int
    end: int
    kind: UnitKind = "sentence"


def units(text: str) -> list[TextUnit]:
    """Return the units of a text in order; together they hold every word of it, each once.

    >>> text = "It is 2.5 m. See e.g. Table 3. Done."
    >>> [text[unit.start : unit.end] for unit in units(text)]
    ['It is 2.5 m.', 'See e.g. Table 3.', 'Done.']
    """
    found: list[TextUnit] = []
    for start, end, kind in _stretches(text):
        words = text[start:end].lstrip()
        if words:
            start = end - len(words)
            found.append(TextUnit(start, start + len(words.rstrip()), kind))
    return found


def begins_item(line: str) -> bool:
    """Return whether a line begins a unit of its own: an item, a numbered paragraph.

    >>> begins_item("(a) a horn"), begins_item("a horn")
    (True, False)
    """
    return _ITEM.match(line) is not None


def _stretches(text: str) -> Iterator[tuple[int, int, UnitKind]]:
    """Yield where units stand: the sentences of paragraphs and items, rows, headings."""
    begun: int | None = None  # a paragraph
    in_table = False
    at = 0
    for line in _LINE.findall(text):  # the last one is empty
        start, at = at, at + len(line)
        kind: UnitKind = "heading" if _HEADING.match(line) else "sentence"
        if line.lstrip().startswith("|"):
            kind = "row" if in_table else "header"
        in_table = kind in ("row", "header")
        is_new = kind != "sentence" or not line.strip() or _ITEM.match(line)
        if begun is not None and is_new:
            yield from _sentences(text, begun, start)
            begun = None
        if kind == "sentence":
            begun = start if begun is None and line.strip() else begun
        elif not in_table or "--" not in line or not _RULER.match(line):
            yield start, at, kind


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int, UnitKind]]:
    for stop in _STOP.finditer(text, start, end):
        if not _STARTS.match(text, stop.end(), end) or is_short(text, stop.start()):
            continue
        words = text[start : stop.end()].lstrip()
        is_open = len(words) <= LONGEST_QUOTE and len(_QUOTES.findall(words)) % 2
        if not is_open and not _RUN_IN.match(words):
            yield start, stop.end(), "sentence"
            start = stop.end()
    yield start, end, "sentence"


def is_short(text: str, stop: int) -> bool:
    """Return whether the full stop at a place belongs to a word: an abbreviation or an initial.

    >>> is_short("see e.g. there", 7), is_short("the end. There", 7)
    (True, False)
    """
    if text[stop] != ".":
        return False
    match = _LAST_WORD.search(text, max(0, stop - LONGEST_WORD), stop)
    word = match.group(1) if match else ""
    return word.casefold() in _SHORT or (len(word) == 1 and word.isupper())


# [1], [1, 2], [1-3], [Source 1], [^1], 【1】; anything else in brackets with a figure in it looks
# like a citation, and is none.
_MARKER = re.compile(r"[\[【]([^\[\]【】\n]{1,80})[\]】]")
_NAMED = re.compile(r"\s*\^?\s*(?:sources?|passages?|refs?\.?)?\s*", re.IGNORECASE)
_AND = re.compile(r"\s*(?:[,;&]|\band\b|\s)\s*")
_RANGE = re.compile(r"(\d{1,4})(?:\s?[-–]\s?(\d{1,4}))?")
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,300}\)")
# With the space before it, so that none is left over; a run of spaces is tried from its start only.
_ADDRESS = re.compile(
    r"(?:(?<![^\S\n])[^\S\n]+)?(?:(?:https?|ftp|file)://\S*|(?:javascript|data):\S+|www\.\S+)",
    re.IGNORECASE,
)
# Brackets that may become a marker, also around links, which say nothing; or a link.
_OPEN = re.compile(
    r"!?[\[【](?:[^\[\]【】\n]|\[[^\[\]\n]{0,300}\]\([^()\n]{0,300}\)){0,80}$"
    r"|!?\[[^\[\]\n]{0,300}\](?:\([^()\n]{0,300})?$"
)
_PIECE = re.compile(r"\s*\S+")
_END = re.compile(r"[.!?…][\"”’»)*_]{0,4}$")
MAX_CITED = 20
MAX_OPEN = 50  # brackets inside each other, or one after the other
LOOK_BACK = 700  # the longest link
MAX_CHARS = 4000  # of one sentence
NOBODY = 0  # the number of a source that does not exist


@dataclass(frozen=True, slots=True)
class Ended:
    """A sentence is whole: its words, without markers, and the sources that it names."""

    text: str
    cited: tuple[int, ...]


class SentenceReader:
    """Cuts a stream of text into words and sentences; its memory is one sentence."""

    def __init__(self) -> None:
        self._waiting = ""  # not yet whole
        self._sentence = ""
        self._cited: list[int] = []
        self._is_ended = False

    def feed(self, text: str) -> Iterator[str | Ended]:
        """Yield the words that are whole now, and a sentence when it has ended."""
        self._waiting += text
        whole = len(self._waiting)
        if whole <= MAX_CHARS:
            # The last word may go on; brackets that are open may become a marker or a link.
            words = self._waiting.rstrip()
            if len(words) == whole and words:
                words = words[: -len(words.split()[-1])].rstrip()
            whole = len(words)
            end = len(self._waiting)
            for _ in range(MAX_OPEN):
                held = _OPEN.search(self._waiting, max(0, end - LOOK_BACK), end)
                if held and held.start() < whole:
                    # Back to the beginning of the word: it must not be cut by how it arrives. That
                    # may be inside other brackets.
                    whole = _word_start(self._waiting[: held.start()])
                elif end == whole:
                    break
                end = whole
        ready, self._waiting = self._waiting[:whole], self._waiting[whole:]
        yield from self._read(ready)

    def close(self) -> Iterator[str | Ended]:
        """Yield what is left."""
        ready, self._waiting = self._waiting, ""
        yield from self._read(ready)
        yield from self._end()

    def _read(self, ready: str) -> Iterator[str | Ended]:
        ready = _ADDRESS.sub("", _LINK.sub(r"\1", ready))
        at = 0
        for marker in _MARKER.finditer(ready):
            if not any(c.isdigit() for c in marker.group(1)):
                continue  # words in brackets
            yield from self._words(ready[at : marker.start()])
            self._cited += cited_numbers(marker.group(1))
            del self._cited[MAX_CITED:]
            at = marker.end()
        yield from self._words(ready[at:])

    def _words(self, text: str) -> Iterator[str | Ended]:
        # Spaces at the end are no word, and looking for one from each of them takes long.
        for match in _PIECE.finditer(text.rstrip()):
            word = match.group()
            # Punctuation behind a marker still belongs to the sentence.
            is_next = self._is_ended and word[0].isspace() and any(map(str.isalnum, word))
            if is_next or "\n" in word or len(self._sentence) > MAX_CHARS:
                yield from self._end()
            self._sentence += word
            self._is_ended = self._ends()
            yield word

    def _ends(self) -> bool:
        stop = _END.search(self._sentence)
        return stop is not None and not is_short(self._sentence, stop.start())

    def _end(self) -> Iterator[Ended]:
        if self._sentence.strip():
            yield Ended(self._sentence.strip(), tuple(dict.fromkeys(self._cited)))
        elif self._cited:
            yield Ended("", tuple(dict.fromkeys(self._cited)))
        self._sentence, self._cited, self._is_ended = "", [], False


def _word_start(text: str) -> int:
    """Return where the word that a text ends with begins, with the space before it."""
    if text and not text[-1].isspace():
        text = text[: -len(text.split()[-1])]
    return len(text.rstrip())


def cited_numbers(inside: str) -> list[int]:
    """Return the numbers of sources that a marker names; NOBODY if it names none.

    >>> cited_numbers("1, 3-5"), cited_numbers("97.113"), cited_numbers("Smith 2020")
    ([1, 3, 4, 5], [0], [0])
    """
    found: list[int] = []
    for part in _AND.split(_NAMED.sub("", inside, count=1).strip()):
        match = _RANGE.fullmatch(part)
        if match is None:
            return [NOBODY]
        low, high = int(match.group(1)), int(match.group(2) or match.group(1))
        found += range(low, min(high, low + MAX_CITED) + 1)
    return found or [NOBODY]


_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_RAISED = re.compile(r"\^([0-9a-z]{1,3})\^")
_RAISING = str.maketrans(
    "0123456789abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
)


def place_shown(text: str, start: int, end: int) -> str:
    """Return a stretch of a place for reading: a line for each item, paragraph and row.

    Marks of footnotes are raised and stay, as the footnotes stand below with theirs.
    """
    lines: list[str] = []
    last, table = start, 0
    for unit in units(text):
        if unit.kind == "header":
            table = unit.start
        if unit.kind == "header" or unit.start < start or unit.end > end:
            continue
        words = " ".join(text[unit.start : unit.end].split())
        if unit.kind == "row":
            row = TextUnit(unit.start - table, unit.end - table, "row")
            words = row_shown(text[table:], row, keeps_marks=True)
        gap = text[last : unit.start]
        is_new = unit.kind != "sentence" or _BLANK_LINE.search(gap) or "|" in gap
        if not lines or is_new or ("\n" in gap and begins_item(words)):
            lines.append(words)
        else:
            lines[-1] += f" {words}"
        last = unit.end
    return "\n".join(map(raised, lines))


def raised(text: str) -> str:
    """Return a text with its marks and exponents as one would print them.

    >>> raised("95^1^ and 10^3^ m")
    '95¹ and 10³ m'
    """
    return _RAISED.sub(lambda match: match[1].translate(_RAISING), text)


def row_shown(text: str, row: TextUnit, *, keeps_marks: bool = False) -> str:
    """Return a row of a table with the names of its columns.

    Marks of footnotes are left out where the notes are quoted beside it (Quoter.with_notes).
    """
    table = parse_table(text)
    line = text[row.start : row.end]
    if table is None:
        return " ".join(line.split())
    said = (
        f"{name}: {cell}" if keeps_marks else f"{table.bare(name)}: {table.bare(cell)}"
        for name, cell in zip(table.columns, cells_of(line), strict=False)
        if cell
    )
    return "; ".join(said)
