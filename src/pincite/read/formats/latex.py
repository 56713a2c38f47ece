r"""LaTeX in what other readers of pages wrote: tables, headings and lists become Markdown."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pincite.read.extracted import PARAGRAPH, Block, BlockKind
from pincite.read.formats.blocks import TableText, pipe_table
from pincite.read.formats.latex_tables import Environments, latex_table
from pincite.read.formats.latex_words import plain_latex
from pincite.read.structure.outline import is_units_line

HAS_TABLES = "\\begin{tabular"  # in a text that is worth reading as LaTeX
_TABLES = ("tabular", "tabular*", "tabularx", "tabulary", "longtable")
_LISTS = ("itemize", "enumerate", "description")
_LEVELS = dict(title=1, part=1, chapter=1, section=2, subsection=3, subsubsection=4, paragraph=5)
_ENVIRONMENT = re.compile(r"\\(?P<sign>begin|end)\{(?P<name>[A-Za-z]{1,20}\*?)\}")
_HEADING = re.compile(
    rf"^[ \t]*\\(?P<word>{'|'.join(_LEVELS)})\*?[ \t]*\{{"
    r"(?P<words>[^{}]{0,300}(?:\{[^{}]{0,80}\}[^{}]{0,80}){0,4})\}[ \t]*$",
    re.MULTILINE,
)
_BRACES = r"\{(?:[^{}]|\{[^{}]{0,40}\}){0,400}+\}"
_COLUMNS = re.compile(rf"\s*+(?:\[[a-z]\]\s*+)?{_BRACES}")
_CAPTION = (
    r"\\caption\*?(?:\[[^\]]{0,200}\])?\s*\{(?P<caption>(?:[^{}]|\{[^{}]{0,200}\}){0,1000}+)\}"
)
_ASIDE = (
    r"\\(?:centering|small|footnotesize|scriptsize|(?:label|vspace|setlength)\*?\{[^{}]{0,80}\})"
)
_OPENS = re.compile(
    rf"\\begin\{{table\*?\}}\s*(?:\[[^\]]{{0,8}}\]\s*)?(?:(?:{_CAPTION}|{_ASIDE})\s*){{0,6}}"
)
_CLOSES = re.compile(rf"\s*(?:(?:{_CAPTION}|{_ASIDE})\s*){{0,4}}\\end\{{table\*?\}}")
_OPENS_CHARS = 3_000  # between the signs of a table's place and of the table
_LINES_ABOVE, _CAPTION_CHARS = 4, 240
_NOTE_LINE = re.compile(r"^(?:\([a-z0-9]{1,2}\)|[*†‡¹²³]|\^|notes?:|sources?:)", re.I | re.M)
_LINE = re.compile(r"[^\n]*\n?")
_RULE_LINE = re.compile(r"\s*(?:\\(?:hline|toprule|midrule|bottomrule|centering)\s*)*$")
_ANY = -1  # cells of a row
_CUT = re.compile(
    rf"[ \t]*+\\begin\{{(?:tabular|longtable)\}}[ \t]*+(?:\[[a-z]\][ \t]*+)?{_BRACES}"
)
_CUT_END = re.compile(r"\s{0,9}\\end\{(?:tabular|longtable)\}")
_CELL_END = re.compile(r"(?<!\\)&")
_ROW = re.compile(r"\\\\\s*(?:\\(?:hline|bottomrule)\s*)?$")
_ITEM = re.compile(
    r"\\item(?![A-Za-z])\s*(?:\[(?P<label>[^\]\n]{0,80})\])?|" + _ENVIRONMENT.pattern
)


class _LatexPiece(NamedTuple):
    """Something of LaTeX in the text, and the blocks that it becomes; none if it has no words."""

    start: int
    end: int
    blocks: Sequence[tuple[BlockKind, str, int]]  # kind, words, level


def read_latex(text: str, left_out: Sequence[tuple[int, int]] = ()) -> tuple[str, list[Block]]:
    r"""Return the text with tables, headings and lists of LaTeX as Markdown, and their blocks.

    All else stays as it is, and so does what is broken, or stands where ``left_out`` says. Time
    grows with the length of the text.

    >>> print(read_latex(r"\begin{tabular}{ll} A & B \\ x & $5 \%$ \end{tabular}")[0])
    | A | B |
    | --- | --- |
    | x | 5% |
    """
    if "\\" not in text:
        return text, []
    pieces = _apart(_pieces(text), left_out)
    if not pieces:
        return text, []
    written = _Writer()
    at = 0
    for piece in pieces:
        written.add(text[at : piece.start])
        for kind, words, level in piece.blocks:
            written.block(kind, words, level)
        at = piece.end
    written.add(text[at:])
    return "".join(written.parts), written.blocks


def beside(text: str, found: Sequence[Block]) -> list[Block]:
    """Return the blocks with paragraphs of all that stands beside them; without any, all is one.

    The last lines above a table may be its caption and units, the first below it are notes.
    """
    if not found:
        return [Block("paragraph", 0, len(text))]
    blocks: list[Block] = []
    at, before = 0, "paragraph"
    for block in found:
        blocks += _paragraphs(text, at, block.start, before, block.kind)
        blocks.append(block)
        at, before = block.end, block.kind
    return [*blocks, *_paragraphs(text, at, len(text), before, "paragraph")]


def _paragraphs(text: str, start: int, end: int, before: str, behind: str) -> list[Block]:
    """Return the paragraphs between two blocks of these kinds."""
    spans = [match.span() for match in PARAGRAPH.finditer(text, start, end)]
    if spans and before == "table":
        low, high = spans[0]
        starts = [
            low,
            *(m.start() for m in _NOTE_LINE.finditer(text, low, high) if m.start() > low),
        ]
        spans[:1] = zip(starts, [*(at - 1 for at in starts[1:]), high], strict=True)
    spans = _lines_apart(text, spans) if behind == "table" else spans
    return [Block("paragraph", *span) for span in spans]


def _lines_apart(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return paragraphs above a table with their last line apart, and more if it tells units."""
    kept, lines = list(spans), list[tuple[int, int]]()
    while kept and len(lines) < _LINES_ABOVE:
        low, high = kept.pop()
        line = max(low, text.rfind("\n", low, high) + 1)
        if high - line > _CAPTION_CHARS:
            kept.append((low, high))
            break
        if line > low:
            kept.append((low, line - 1))
        lines.insert(0, (line, high))
        if not is_units_line(text[line:high]):
            break
    return [*kept, *lines]


def around(text: str, blocks: Sequence[Block], found: Sequence[Block]) -> list[Block]:
    """Return blocks of a text with those that were found in it, which are no part of any other."""
    parts = list(found)
    at = 0
    for block in blocks:
        while at < len(found) and found[at].end <= block.start:
            at += 1
        start, last = block.start, at
        while last < len(found) and found[last].start < block.end:
            parts += _cut(text, block, start, found[last].start)
            start, last = found[last].end, last + 1
        parts += _cut(text, block, start, block.end)
    return sorted(parts, key=lambda part: part.start)


def _cut(text: str, block: Block, start: int, end: int) -> list[Block]:
    words = text[start:end]
    start, end = end - len(words.lstrip()), start + len(words.rstrip())
    return [replace(block, start=start, end=end)] if start < end else []


class _Writer:
    """Joins what stays and what is new, with a blank line between them."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.blocks: list[Block] = []
        self.length = 0
        self.ends_block = False

    def add(self, words: str) -> None:
        """Add words as they are."""
        if self.ends_block and words.strip():
            breaks = len(words) - len(words.lstrip("\n"))
            words = "\n" * max(0, 2 - breaks) + words
        self._put(words)
        self.ends_block = self.ends_block and not words.strip()

    def block(self, kind: BlockKind, words: str, level: int) -> None:
        """Add words that are a block of their own."""
        last = "".join(self.parts[-2:])[-2:]
        if last and self.length:
            self._put("\n" * (2 - len(last) + len(last.rstrip("\n"))))
        self.blocks.append(Block(kind, self.length, self.length + len(words), level))
        self._put(words)
        self.ends_block = True

    def _put(self, words: str) -> None:
        if words:
            self.parts.append(words)
            self.length += len(words)


def _pieces(text: str) -> list[_LatexPiece]:
    """Return what is understood, in order."""
    ends = _environments(text)
    found: list[_LatexPiece] = []
    free = 0  # what stands before is taken
    for start, (name, _, end) in sorted(ends.items()):
        if start < free:
            continue
        piece = None
        if name in _TABLES:
            piece = _table(text, start, ends, free)
        elif name in _LISTS:
            piece = _list(text, start, end, ends)
        if piece:
            found.append(piece)
        if piece or name not in ("table", "table*", "center", "figure", "document"):
            free = max(end, piece.end if piece else 0)
    for more in (_headings(text), _loose_rows(text, ends)):
        found = sorted([*found, *_apart(more, [(piece.start, piece.end) for piece in found])])
    return found


def _apart(pieces: Iterable[_LatexPiece], taken: Sequence[tuple[int, int]]) -> list[_LatexPiece]:
    """Return the pieces that share nothing with spans, which come in order."""
    starts = [start for start, _ in taken]
    before = ((piece, bisect_left(starts, piece.end)) for piece in pieces)
    return [piece for piece, count in before if not count or taken[count - 1][1] <= piece.start]


def _environments(text: str) -> Environments:
    """Return the environments that have an end; of those that were left open nothing is known."""
    found: Environments = {}
    open_: list[tuple[str, int]] = []
    counts: Counter[str] = Counter()
    for match in _ENVIRONMENT.finditer(text):
        name = match["name"]
        if match["sign"] == "begin":
            open_.append((name, match.start()))
            counts[name] += 1
        elif counts[name]:
            while open_:
                last, start = open_.pop()
                counts[last] -= 1
                if last == name:
                    found[start] = (name, match.start(), match.end())
                    break
    return found


def _table(text: str, start: int, ends: Environments, free: int) -> _LatexPiece | None:
    name, words_end, end = ends[start]
    at = text.index("}", start) + 1
    for _ in range(2 if name in ("tabular*", "tabularx", "tabulary") else 1):
        columns = _COLUMNS.match(text, at, words_end)
        at = columns.end() if columns else at
    caption = ""
    opens = text.rfind("\\begin{table", max(free, start - _OPENS_CHARS), start)
    if opens >= 0 and (before := _OPENS.fullmatch(text, opens, start)):
        start, caption = opens, before["caption"] or ""
        if after := _CLOSES.match(text, end):
            end, caption = after.end(), caption or after["caption"] or ""
    table = latex_table(text[at:words_end], at, ends, plain_latex(caption))
    return _LatexPiece(start, end, _table_blocks(table)) if table else None


def _table_blocks(table: TableText) -> list[tuple[BlockKind, str, int]]:
    """Return a table with its caption above and its notes below; one column is no table."""
    rows = [*table.head, *table.body]
    blocks: list[tuple[BlockKind, str, int]] = []
    if caption := table.caption.replace("*", ""):
        blocks.append(("paragraph", f"**{caption}**", 0))
    if max(map(len, rows), default=0) > 1:
        blocks.append(("table", pipe_table(table), 0))
    elif lines := [row[0] for row in rows if row]:
        blocks.append(("paragraph", "\n".join(lines), 0))
    return [*blocks, *(("paragraph", note, 0) for note in table.notes)]


def _headings(text: str) -> Iterator[_LatexPiece]:
    for match in _HEADING.finditer(text):
        level, words = _LEVELS[match["word"]], plain_latex(match["words"])
        yield _LatexPiece(
            *match.span(), [("heading", f"{'#' * level} {words}", level)] if words else []
        )


def _list(text: str, start: int, end: int, ends: Environments) -> _LatexPiece | None:
    """Return the lines of a list; None for one that holds anything but lists."""
    lines: list[str] = []
    counts: list[int] = []  # of the lists that are open: -1 without numbers
    at = start
    for match in _ITEM.finditer(text, start, end):
        if counts and (words := " ".join(text[at : match.start()].split())):
            lines[-1:] = [f"{lines[-1]} {words}" if lines else words]
        at = match.end()
        if match["sign"] == "begin" and match["name"] in _LISTS and match.start() in ends:
            counts.append(0 if match["name"] == "enumerate" else -1)
        elif match["sign"] == "end" and match["name"] in _LISTS and counts:
            counts.pop()
        elif match["sign"] or not counts:
            return None
        else:
            counts[-1] += counts[-1] >= 0
            sign = f"{counts[-1]}." if counts[-1] > 0 else "-"
            label = f" {match['label'].strip()}" if match["label"] else ""
            lines.append(f"{'   ' * (len(counts) - 1)}{sign}{label}")
    return _LatexPiece(start, end, [("list", "\n".join(lines), 0)]) if lines else None


def _loose_rows(text: str, ends: Environments) -> Iterator[_LatexPiece]:
    r"""Yield tables that were cut: lines that end with ``\\\\``, with as many cells each.

    Below ``\begin{tabular}`` they may have any number of cells.
    """
    if "\\\\" not in text or not _CELL_END.search(text) or text.count("$$") % 2:
        return
    taken = _formulas(text, ends)
    start = cells = rows = at = 0
    end = 0  # of the last row
    for line in _LINE.finditer(text):
        while at < len(taken) and taken[at][1] <= line.start():
            at += 1
        is_free = at == len(taken) or line.end() <= taken[at][0]
        words = line[0] if is_free else ""
        opens, is_row = _CUT.match(words), bool(_ROW.search(words))
        count = len(_CELL_END.findall(words)) if is_row else 0
        if not opens and is_row and cells and cells in (_ANY, count):
            rows, end = rows + 1, line.end()
        elif opens or not (cells and words and _RULE_LINE.fullmatch(words)):
            if rows > 1:
                yield from _cut_table(text, start, end)
            start, cells = line.start(), _ANY if opens else count
            rows, end = int(is_row), line.end()
    if rows > 1:
        yield from _cut_table(text, start, end)


def _cut_table(text: str, start: int, end: int) -> Iterator[_LatexPiece]:
    opens = _CUT.match(text, start, end)
    at = opens.end() if opens else start
    if table := latex_table(text[at:end], at, {}):
        after = _CUT_END.match(text, end)
        yield _LatexPiece(start, after.end() if after else end, _table_blocks(table))


def _formulas(text: str, ends: Environments) -> list[tuple[int, int]]:
    """Return where formulas and environments stand, in order; what has no end goes on for good."""
    marks = [match.start() for match in re.finditer(r"\$\$", text)]
    spans = list(zip(marks[::2], (mark + 2 for mark in marks[1::2]), strict=True))
    for match in _ENVIRONMENT.finditer(text):
        is_cut = match["name"] in _TABLES and match.start() not in ends
        if match["sign"] == "begin" and not is_cut and match["name"] not in ("table", "table*"):
            spans.append((match.start(), ends.get(match.start(), ("", 0, len(text)))[2]))
    joined: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined
