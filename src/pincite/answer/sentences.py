"""Sentences of a text that is still being written, and places as they are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.model.markup import plain, read_markup
from pincite.model.sentences import TextUnit, begins_item, ends_before, units
from pincite.model.tables import cells_of, parse_table

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
            is_next = word[0].isspace() and any(map(str.isalnum, word))
            is_next = is_next and ends_before(self._sentence, word)
            if is_next or "\n" in word or len(self._sentence) > MAX_CHARS:
                yield from self._end()
            self._sentence += word
            yield word

    def _end(self) -> Iterator[Ended]:
        if self._sentence.strip():
            yield Ended(self._sentence.strip(), tuple(dict.fromkeys(self._cited)))
        elif self._cited:
            yield Ended("", tuple(dict.fromkeys(self._cited)))
        self._sentence, self._cited = "", []


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


def place_shown(text: str, start: int, end: int) -> str:
    """Return a stretch of a place for reading: a line for each item, paragraph and row.

    Marks of footnotes are raised and stay, as the footnotes stand below with theirs.
    """
    lines: list[str] = []
    markup = read_markup(text)
    last, table = start, 0
    for unit in units(text):
        if unit.kind == "header":
            table = unit.start
        if unit.kind == "header" or unit.start < start or unit.end > end:
            continue
        words = " ".join(markup.shown(unit.start, unit.end).text.split())
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
    return "\n".join(line for line in lines if line)


def row_shown(text: str, row: TextUnit, *, keeps_marks: bool = False) -> str:
    """Return a row of a table with the names of its columns.

    Marks of footnotes are left out where the notes are quoted beside it (Quoter.with_notes).
    """
    table = parse_table(text)
    line = text[row.start : row.end]
    if table is None:
        return plain(" ".join(line.split()))
    said = (
        f"{name}: {cell}" if keeps_marks else f"{table.bare(name)}: {table.bare(cell)}"
        for name, cell in zip(table.columns, cells_of(line), strict=False)
        if cell
    )
    return plain("; ".join(said))
