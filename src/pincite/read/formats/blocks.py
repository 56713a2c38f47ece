"""Canonical text: blocks, inline words, grids as Markdown tables, counters of lists."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter

from pincite.model.errors import SourceError
from pincite.model.tables import INDENT
from pincite.model.types import ReaderWarning
from pincite.read.extracted import Block, BlockKind, ExtractedText

_SPACE = re.compile(r"[^\S\n]+")
_AROUND_BREAK = re.compile(r"(?<![^\S\n])[^\S\n]*\n\s*")
_UNIT = re.compile(r"(?:^|[^\w])(?:[kcdmµμn]?m|ft|in|yd|mi|s|h)$")
_RAISED = str.maketrans("0123456789+-−()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Inline:
    """Collects the pieces of one paragraph or cell.

    >>> words = Inline()
    >>> words.add("(a) ")
    >>> words.add("Fees. ", italic=True)
    >>> words.add("Ten  per m")
    >>> words.raised("2")
    >>> words.text()
    '(a) *Fees.* Ten per m²'
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[str, str]] = []  # words and the signs around them
        self._tail = ""

    def add(self, words: str, *, bold: bool = False, italic: bool = False) -> None:
        """Add words; a line break in them stays one."""
        if not words:
            return
        signs = "**" * bold + "*" * italic
        if self._pieces and (self._pieces[-1][1] == signs or not words.strip()):
            self._pieces[-1] = (self._pieces[-1][0] + words, self._pieces[-1][1])
        else:
            self._pieces.append((words, signs))
        self._tail = (self._tail + words)[-8:]

    def raised(self, words: str) -> None:
        """Add a superscript: a power behind a unit, else a mark such as that of a footnote."""
        words = words.strip()
        power = words.translate(_RAISED)
        is_power = _UNIT.search(self._tail) and not any(sign in words for sign in power)
        self.add(power if is_power else f"^{words}^" if words else "")

    def lowered(self, words: str) -> None:
        """Add a subscript: figures as such, letters behind a low line."""
        words = words.strip()
        self.add(words.translate(_LOWERED) if words.isdecimal() else f"_{words}" if words else "")

    def text(self, *, plain: bool = False) -> str:
        """Return the paragraph with single spaces; ``plain`` leaves emphasis out."""
        runs = [
            ("".join(words for words, _ in run), signs)
            for signs, run in groupby(self._pieces, key=itemgetter(1))
        ]
        joined = "".join(words if plain else _signed(words, signs) for words, signs in runs)
        return _AROUND_BREAK.sub("\n", _SPACE.sub(" ", joined)).strip()

    def clear(self) -> None:
        """Start a new paragraph."""
        self._pieces, self._tail = [], ""


def _signed(words: str, signs: str) -> str:
    """Return the words between emphasis signs, white space outside, and no sign in vain."""
    if not signs or "*" in words or not any(c.isalnum() for c in words):
        return words
    inner = words.strip()
    before, after = words.split(inner, 1)
    inner = f"{signs}\n{signs}".join(line.strip() for line in inner.split("\n") if line.strip())
    return f"{before}{signs}{inner}{signs}{after}"


def one_line(words: str) -> str:
    """Return the words with every run of white space as one space."""
    return " ".join(words.split())


MAX_COLUMNS = 1_000
MAX_CELLS = 2_000_000
REPEATED_CHARS = 200  # longer words stand once in their row, or a note would fill the table
Row = list[str]


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell as its document has it: words, and how far it reaches."""

    words: str
    columns: int = 1
    rows: int = 1
    column: int = -1  # where it stands; -1 for the next free place


@dataclass(frozen=True, slots=True)
class TableText:
    """A table as rows of words, with what belongs to it."""

    head: Sequence[Row]
    body: Sequence[Row]
    caption: str = ""
    notes: Sequence[str] = ()
    indents: Sequence[int] = ()  # how many steps the label of each row is set in; none if flush


def spread(rows: Sequence[Sequence[GridCell]], *, width: int = 0) -> list[Row]:
    """Return rows of equal length, in which a spanning cell stands wherever it reaches.

    >>> spread([[GridCell("a", rows=2), GridCell("b", columns=2)], [GridCell("c"), GridCell("d")]])
    [['a', 'b', 'b'], ['a', 'c', 'd']]
    """
    filled: list[dict[int, str]] = [{} for _ in rows]
    total = 0
    for at, row in enumerate(rows):
        column = 0
        for cell in row:
            if cell.column >= 0:
                column = cell.column
            while column in filled[at]:
                column += 1
            down = range(at, min(at + max(1, cell.rows), len(rows)))
            across = range(column, column + max(1, cell.columns))
            total += len(down) * len(across)
            if across.stop > MAX_COLUMNS or total > MAX_CELLS:
                raise SourceError(
                    f"a table has more than {MAX_COLUMNS:,} columns or {MAX_CELLS:,} cells",
                    hint="leave the file out, or give its table as CSV",
                )
            words = across_columns(cell.words, len(across))
            for line in down:
                filled[line].update(zip(across, words, strict=True))
            column = across.stop
    width = max([width, *(max(line, default=-1) + 1 for line in filled)])
    return [[line.get(column, "") for column in range(width)] for line in filled]


def across_columns(words: str, columns: int) -> Row:
    """Return the cells of one row that spanning words fill."""
    repeated = words if len(words) <= REPEATED_CHARS else ""
    return [words, *[repeated] * (columns - 1)]


def flat_head(head: Sequence[Row]) -> Row:
    """Return one name a column: the levels of the head joined, repetitions left out.

    >>> flat_head([["Size", "Depth", "Depth"], ["Size", "mm", "in"]])
    ['Size', 'Depth – mm', 'Depth – in']
    """
    columns = zip(*head, strict=False)
    return [" – ".join(dict.fromkeys(word for word in column if word)) for column in columns]


_MAX_STEPS = 6  # labels that begin at more different places are not set in by steps


def indent_steps(lefts: Sequence[float], near: float) -> list[int]:
    """Return how many steps each label is set in by where it begins; none where all are flush.

    >>> indent_steps([10.0, 18.2, 18.0, 10.1], near=2.0), indent_steps([10.0, 10.1], near=2.0)
    ([0, 1, 1, 0], [])
    """
    ordered = sorted(lefts)
    opens = [b for a, b in pairwise(ordered) if b - a > near]
    return [bisect_right(opens, left) for left in lefts] if 0 < len(opens) < _MAX_STEPS else []


def pipe_table(table: TableText) -> str:
    """Return the table in Markdown; without a head its names are empty."""
    width = max((len(row) for row in (*table.head, *table.body)), default=0)
    head = flat_head(table.head) or [""] * width
    lines = [_line(head), "|" + " --- |" * len(head)]
    steps = table.indents or [0] * len(table.body)
    rows = (_line(row, count) for row, count in zip(table.body, steps, strict=True))
    return "\n".join([*lines, *rows])


def _line(row: Row, steps: int = 0) -> str:
    cells = [one_line(cell).replace("|", "\\|") for cell in row]
    if steps and cells[0]:
        cells[0] = INDENT * steps + cells[0]
    return "|" + "".join(f" {cell} |" if cell else "  |" for cell in cells)


# What stands above a list that only names what follows.
CONTENTS_TITLE = re.compile(
    r"(?:(?:short |brief |table of )?contents|on this page|(?P<other>list of \w{1,20})"
    r"|table des matières|sommaire|inhalt(?:sverzeichnis)?|indice|índice|inhoudsopgave)[ .:]*",
    re.IGNORECASE,
)
TITLE_CHARS = 120
# A document of more words than any book; repeated cells could make a small file as long.
MAX_CHARS = 100_000_000
MAX_FINDINGS = 100
# What Markdown takes for a list; "(a)" and "a." are paragraphs to it.
_LIST_MARKER = re.compile(r"[-*+]|[0-9]{1,9}[.)]")


class BlockWriter:
    """Writes a document from top to bottom.

    >>> writer = BlockWriter("rules.html")
    >>> writer.heading(2, "4.2 Fees")
    >>> writer.paragraph("(a) None.")
    >>> writer.line("-", "One", 0)
    >>> parsed = writer.parsed("Rules")
    >>> parsed.text
    '## 4.2 Fees\\n\\n(a) None.\\n\\n- One\\n'
    >>> [block.kind for block in parsed.blocks]
    ['heading', 'paragraph', 'list']
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.findings: list[ReaderWarning] = []
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []

    def heading(self, level: int, words: str) -> None:
        """Write a heading; one without words is left out."""
        if words := one_line(words):
            self._put("heading", f"{'#' * min(level, 6)} {words}", level=level)

    def paragraph(self, words: str) -> None:
        """Write a paragraph; line breaks in it stay."""
        if words := words.strip():
            self._put("paragraph", words)

    def item(self, label: str, words: str, depth: int, *, name: str = "") -> None:
        """Write an item that is known to open at a depth; ``name`` replaces the label in locators.

        A definition has a name, the term, and no label.
        """
        if line := f"{label} {words}".strip():
            self._put("item", line, level=depth, label=name or label)

    def goes_on(self, words: str, depth: int) -> None:
        """Write words behind items that are not of the last one, but of what holds that depth."""
        if words := words.strip():
            self._put("item", words, level=depth)

    def line(self, marker: str, words: str, depth: int, *, goes_on: bool = False) -> None:
        """Write a line of a list, or one more paragraph of its item."""
        if not words.strip():
            return
        if not _LIST_MARKER.fullmatch(marker):
            self.paragraph(words if goes_on else f"{marker} {words}")
            return
        indent = "   " * depth
        inner = "\n".join(one_line(part) for part in words.split("\n"))
        inner = inner.replace("\n", f"\n{indent}   ")
        self._put("list", f"{indent}   {inner}" if goes_on else f"{indent}{marker} {inner}")

    def code(self, words: str) -> None:
        """Write lines as they are."""
        if words.strip():
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", words)), default=0))
            self._put("code", f"{fence}\n{words.strip(chr(10))}\n{fence}")

    def table(self, table: TableText) -> None:
        """Write a table with its caption above and its notes below."""
        if not any(any(row) for row in (*table.head, *table.body)):
            return
        self.caption(table.caption)
        self._put("table", pipe_table(table))
        for note in table.notes:
            is_starred = note.startswith("*") and not note.startswith("**")
            self.paragraph(f"\\{note}" if is_starred else note)

    def caption(self, words: str) -> None:
        """Write the caption of a table that follows."""
        if words := one_line(words.replace("*", "")):
            self._put("paragraph", f"**{words}**")

    @property
    def end(self) -> int:
        """How much has been written."""
        return self._length

    def start_after(self, offset: int) -> int | None:
        """Return where the first block behind an offset starts; None if there is none."""
        at = bisect_left(self._blocks, offset, key=attrgetter("start"))
        return self._blocks[at].start if at < len(self._blocks) else None

    def find(self, finding: ReaderWarning) -> None:
        """Keep something that the user should know."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)

    def parsed(self, title: str, language: str = "") -> ExtractedText:
        """Return the document; SourceError if it has no words."""
        if not self._blocks:
            raise SourceError(f"{self.name} has no text", hint="check how it was exported")
        text = "".join(self._parts) + "\n"
        title = one_line(title)[:TITLE_CHARS]
        return ExtractedText(text, title, self._blocks, findings=self.findings, language=language)

    def _put(self, kind: BlockKind, words: str, *, level: int = 0, label: str = "") -> None:
        goes_on = kind == "list" and bool(self._blocks) and self._blocks[-1].kind == "list"
        before = "" if not self._blocks else "\n" if goes_on else "\n\n"
        self._parts += (before, words)
        start = self._length + len(before)
        self._length = start + len(words)
        if self._length > MAX_CHARS:
            raise SourceError(
                f"{self.name} has more than {MAX_CHARS // 1_000_000} million characters of text",
                hint="split it",
            )
        if goes_on:
            start = self._blocks.pop().start
        lead = len(words) - len(words.lstrip()) if not goes_on else 0
        self._blocks.append(Block(kind, start + lead, self._length, level, label))


def titled(name: str, *candidates: str | None) -> str:
    """Return the first candidate that says something, else the file's name without ending."""
    for candidate in candidates:
        if candidate and candidate.strip():
            return candidate
    return re.sub(r"\.[^.]*$", "", name.rpartition("/")[2])


_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_MAX_COUNT = 3_999  # beyond it nobody writes Roman figures, nor letters


def counted(number: int, style: str) -> str:
    """Return a number in a style, under the names that Word has for them; empty for ``none``.

    >>> [counted(3, style) for style in ("decimal", "lowerLetter", "upperRoman", "ordinal")]
    ['3', 'c', 'III', '3rd']
    >>> counted(28, "lowerLetter"), counted(0, "lowerLetter")
    ('bb', '')
    """
    if style in ("none", "bullet"):
        return ""
    if style in ("lowerLetter", "upperLetter", "lowerRoman", "upperRoman"):
        if not 0 < number <= _MAX_COUNT:
            return ""
        # A letter is doubled after z: that is how Word goes on, and so do laws.
        letters = chr(97 + (number - 1) % 26) * (1 + (number - 1) // 26)
        word = letters if style.endswith("Letter") else _roman(number)
        return word.upper() if style.startswith("upper") else word
    if style == "decimalZero":
        return f"{number:02d}"
    if style != "ordinal":
        return str(number)
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else _SUFFIXES.get(number % 10, 'th')}"


def _roman(number: int) -> str:
    word = ""
    for value, digits in _ROMAN:
        word += digits * (number // value)
        number %= value
    return word
