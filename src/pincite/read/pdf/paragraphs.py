"""Paragraphs, footnotes and headings told by their looks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from pincite.model.locators import (
    FIGURE_WORD,
    HEADING_RANK,
    HEADING_WORD,
    TABLE_WORD,
    heading_label,
)
from pincite.read.pdf.headings import ALONE
from pincite.read.pdf.lines import MARK, Line
from pincite.read.structure.outline import is_table_caption

ParagraphKind = Literal["text", "heading", "code", "contents", "table", "footnote"]

# Symbol fonts put their bullets into the private use area.
BULLET = re.compile(r"(?:[•●▪■◦○‣⁃∙·➢►✓❖\uf020-\uf0ff]|[–—*-](?=\s+\S))\s*")
_ITEM = re.compile(
    r"(?:\((?:[0-9]{1,3}|[A-Za-z]|[ivxlc]{2,6}|[A-Z]{2})\)|(?:[0-9]{1,3}|[A-Za-z]|[ivxlc]{2,5})[.)]"
    r"|\[[0-9]{1,3}\]|§{1,2} ?[0-9]|[0-9]+(?:\.[0-9]+)+\.?)(?=\s|\()"
    # Some printers set the words right behind the label.
    r"|(?:[0-9]{1,2}\.|[0-9]{1,2}(?:\.[0-9]{1,2})+\.?)(?=[A-Z][a-z])"
    rf"|(?:{HEADING_WORD}|Item|ITEM) [0-9IVX]{{1,5}}(?:\.[0-9]{{1,3}}){{0,3}}[.:](?=\s|[A-Z]|$)"
)
_UNDERLINE = re.compile(r"[-=_ ]{4,}")
_CAPTION = re.compile(rf"(?i:{TABLE_WORD}|{FIGURE_WORD}) [0-9A-Z][0-9.A-Z-]*\b")
_ENDED = re.compile(rf"[.!?:;…][)\]”’\"'»*]*{MARK}*$")
_LIST_GOES_ON = re.compile(rf"(?:[.:;,—–]|[;,] (?:and|or|e|o|et|ou)){MARK}*$")
_SMALL = 0.93  # of the body's size: footnotes


@dataclass(slots=True)
class Paragraph:
    """Lines that belong together."""

    kind: ParagraphKind
    lines: list[Line] = field(default_factory=list)
    level: int = 0

    @property
    def text(self) -> str:
        """The words of all lines, without care for hyphens."""
        return " ".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True)
class PageMeasure:
    """What is usual in a document."""

    body: float  # the size of most characters
    pitches: dict[float, float]  # from one line to the next, for each size
    is_typed: bool = False  # all of it is set in typewriter type, which then means nothing

    def pitch(self, size: float) -> float:
        """Return the usual distance of two baselines."""
        return self.pitches.get(round(size), 1.2 * size)


def measure(pages: Iterable[Sequence[Line]]) -> PageMeasure:
    """Return what is usual in these pages."""
    sizes: Counter[float] = Counter()
    typed = 0
    steps: defaultdict[float, Counter[float]] = defaultdict(Counter)
    for lines in pages:
        for line in lines:
            sizes[line.size] += len(line.text)
            typed += len(line.text) * line.mono
        for before, line in pairwise(lines):
            step = line.base - before.base
            if before.size == line.size and 0.8 * line.size < step < 3 * line.size:
                steps[round(line.size)][round(step * 2) / 2] += 1
    body = sizes.most_common(1)[0][0] if sizes else 10.0
    pitches = {size: found.most_common(1)[0][0] for size, found in steps.items()}
    return PageMeasure(body, pitches, typed > 0.8 * sizes.total())


def set_edges(lines: Sequence[Line]) -> None:
    """Give the lines of a page the edges of their columns, furniture being gone."""
    columns: defaultdict[tuple[bool, int], list[Line]] = defaultdict(list)
    for line in lines:
        columns[line.turned, line.column].append(line)
    for members in columns.values():
        texts = [line for line in members if not line.table] or members
        ends = sorted(line.x1 for line in texts)
        # A line in twenty may stick out: code that did not fit.
        right = ends[-1 - len(ends) // 20]
        left = min(line.x0 for line in texts)
        for line in members:
            line.left, line.right = left, right


class Paragraphs:
    """Takes lines in reading order and groups them."""

    def __init__(self, usual: PageMeasure) -> None:
        self.found: list[Paragraph] = []
        self._usual = usual

    def add_page(self, lines: Sequence[Line], contents: range) -> None:
        """Take the lines of one page, of which some are a table of contents."""
        for place, line in enumerate(lines):
            if self._usual.is_typed and _UNDERLINE.fullmatch(line.text):
                if self.found:  # a typewriter's way to underline the words above
                    self.found[-1].lines[-1].base = line.base
                continue
            after = lines[place + 1] if place + 1 < len(lines) else None
            self._add(line, after, is_contents=place in contents)

    def _add(self, line: Line, after: Line | None, *, is_contents: bool) -> None:
        kind = self._kind(line, is_contents=is_contents)
        open_one = self.found[-1] if self.found else None
        last = open_one.lines[-1] if open_one else line
        is_same_column = (last.page, last.column, last.turned) == (
            line.page,
            line.column,
            line.turned,
        )
        if open_one and is_same_column:
            if kind == "code" and open_one.kind == "text" and self._is_inline(open_one, line):
                kind = "text"
            goes_on = kind == open_one.kind and self._goes_on(open_one, line, after)
            if open_one.kind == "footnote" and kind == "text" and line.size < self.small:
                goes_on, kind = self._goes_on(open_one, line, after), "footnote"
        else:
            # Footnotes come behind the last paragraph of their column.
            running = (p for p in reversed(self.found[-30:]) if p.kind != "footnote")
            open_one = next(running, None)
            goes_on = open_one is not None and self._crosses(open_one, kind, line)
        if goes_on and open_one:
            open_one.lines.append(line)
        else:
            self.found.append(Paragraph(kind, [line], line.heading))

    @property
    def small(self) -> float:
        """The size below which type is that of footnotes."""
        return _SMALL * self._usual.body

    def _kind(self, line: Line, *, is_contents: bool) -> ParagraphKind:
        if line.table:
            return "table"
        if line.heading:
            return "heading"
        if is_contents:
            return "contents"
        if line.mono and not self._usual.is_typed and not BULLET.match(line.text):
            return "code"
        if line.marked and line.size < self.small and line.box[1] > 0.3:
            return "footnote"
        return "text"

    def _is_inline(self, before: Paragraph, line: Line) -> bool:
        """Return whether a line in typewriter type is the middle of a sentence, not an example."""
        last = before.lines[-1]
        is_level = abs(line.x0 - last.x0) < 0.5 * line.size
        is_full = last.right - last.x1 < 0.05 * (last.right - last.left)
        return is_level and is_full and not _ENDED.search(last.text[-20:])

    def _crosses(self, before: Paragraph, kind: ParagraphKind, line: Line) -> bool:
        """Return whether a paragraph goes on in the next column or on the next page."""
        last = before.lines[-1]
        if kind == before.kind == "table":
            return line.continues
        if before.kind != kind or kind in ("table", "heading", "contents", "footnote"):
            return False
        if kind == "code":
            return line.page - last.page <= 1
        if abs(last.size - line.size) > 0.06 * last.size or line.turned != last.turned:
            return False
        if line.page - last.page > 1 or begins_item(line.text) or _ENDED.search(last.text[-20:]):
            return False
        if last.text.endswith("-") or line.text[:1].islower():
            return True
        return not self._is_short(last, line) and line.x0 - line.left < 0.5 * line.size

    def _goes_on(self, paragraph: Paragraph, line: Line, after: Line | None) -> bool:
        last = paragraph.lines[-1]
        if paragraph.kind == "heading":
            return line.heading_group == last.heading_group
        if paragraph.kind in ("code", "contents"):
            return line.base > last.base
        if paragraph.kind == "table" or line.turned != last.turned:
            return False
        step = line.base - last.base
        if not 0 < step <= 1.3 * self._usual.pitch(line.size):
            return False
        if abs(last.size - line.size) > 0.12 * line.size:
            return False
        if last.bold != line.bold and self._is_short(last, line):
            return False
        return not self._starts(paragraph, line, after)

    def _starts(self, paragraph: Paragraph, line: Line, after: Line | None) -> bool:
        """Return whether a line right below another begins a paragraph of its own."""
        last = paragraph.lines[-1]
        is_short = self._is_short(last, line)
        indent = line.x0 - last.x0
        is_level = abs(indent) < 0.8 * line.size
        if BULLET.match(line.text):
            return True
        if begins_item(line.text) and (
            is_short or not is_level or _LIST_GOES_ON.search(last.text[-20:]) is not None
        ):
            return True
        if is_short or (line.marked and line.size < self.small):
            return True
        is_first = len(paragraph.lines) == 1
        has_ended = _ENDED.search(last.text[-20:]) is not None
        if is_level:  # indented above a line that is not
            is_indented = line.x0 - line.left >= 0.8 * line.size
            is_alone = after is not None and after.x0 < line.x0 - 0.8 * line.size
            return is_first and is_indented and is_alone and has_ended
        if line.text[:1].islower() and not has_ended:
            return False
        if indent < 0:  # back from an indented first line, or on to the next hanging entry
            return not is_first
        if not is_first:
            return True
        hangs = after is None or after.x0 > line.x0 - 0.4 * line.size or last.gap > 1.2
        return not (hangs or begins_item(last.text) or BULLET.match(last.text))

    @staticmethod
    def _is_short(last: Line, line: Line) -> bool:
        """Return whether the line ended although the next word would have fitted."""
        left = last.right - last.x1
        return left > line.first_width + 0.6 * last.size + 0.015 * (last.right - last.left)


def begins_item(text: str) -> bool:
    """Return whether a line begins with a label or a caption's number."""
    return bool(_ITEM.match(text) or _CAPTION.match(text))


_OWN_MARK = re.compile(r"\^([^\s^]{1,4})\^")
_MARK = re.compile(r"(?<![0-9])\^([^\s^]{1,4})\^")  # behind a figure it is an exponent


def settle_footnotes(paragraphs: Sequence[Paragraph], small: float) -> list[Paragraph]:
    """Return the paragraphs with each footnote before the heading that ends its mark's section.

    A footnote stays where it stands on the page if no heading comes between, or if its mark
    is not found on the page or in more than one section of it.
    """
    ends = [len(paragraphs)] * len(paragraphs)  # for each paragraph, where the next heading stands
    for place in range(len(paragraphs) - 1, 0, -1):
        ends[place - 1] = place if paragraphs[place].kind == "heading" else ends[place]
    marked: defaultdict[tuple[int, str], set[int]] = defaultdict(set)  # where their sections end
    moved: defaultdict[int, list[Paragraph]] = defaultdict(list)
    stays: list[tuple[int, Paragraph]] = []
    place = 0
    while place < len(paragraphs):
        paragraph = paragraphs[place]
        if paragraph.kind != "footnote":
            for line in paragraph.lines:
                for words in _MARK.findall(line.text):
                    marked[line.page, words].add(ends[place])
            stays.append((place, paragraph))
            place += 1
            continue
        after = _end_of_note(paragraphs, place, small)
        first = paragraph.lines[0]
        mark = _OWN_MARK.match(first.text)
        found = marked[first.page, mark[1] if mark else ""]
        target = next(iter(found)) if len(found) == 1 else place
        note = paragraphs[place:after]
        if target < place:
            moved[target] += note
        else:
            stays += enumerate(note, place)
        place = after
    return [p for place, stay in stays for p in (*moved[place], stay)]


def _end_of_note(paragraphs: Sequence[Paragraph], place: int, small: float) -> int:
    """Return where a footnote ends: code and paragraphs in small type below belong to it."""
    last = paragraphs[place].lines[-1]
    end = place + 1
    while end < len(paragraphs) and paragraphs[end].kind in ("text", "code"):
        lines = paragraphs[end].lines
        if any(line.page != last.page or line.size >= small for line in lines):
            break
        if lines[0].base <= last.base:
            break
        last = lines[-1]
        end += 1
    return end


Style = tuple[float, bool]

_LARGER = 1.12
_LONGEST = 200  # characters
_MAX_LINES = 4
_WIDEST_GAP = 3.0  # in sizes, between two words; more is a row of a table
_FIGURE = re.compile(rf"(?i:{FIGURE_WORD}|source|note(?! [0-9]))\b")
# "(In millions)", "(Former name, if changed since last report)": about the line above.
_REMARK = re.compile(
    r"\(.*\)$|\(?\s*(?:unaudited\b|(?:amounts|dollars|figures|shares|all)?\b[^()]{0,30}\bin"
    r" (?:thousands|millions|billions)\b)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?;:,]['”’)]*$")
_LETTERS = re.compile(r"[^\W\d_]")
_NEAR_PAGES = 2


def mark_typographic(
    paragraphs: Sequence[Paragraph], usual: PageMeasure, known: dict[Style, int]
) -> None:
    """Make headings of paragraphs that are set like headings, with levels by size and weight.

    ``known`` are the levels of styles that bookmarked headings have; other styles come below
    the known ones of at least their size. Where bookmarks tell most headings, only those styles
    and larger type are believed, and nothing on the pages before the first but the title.
    """
    candidates = [p for p in paragraphs if p.kind == "text" and is_heading(p, usual)]
    if known:
        candidates = _credible(paragraphs, candidates, usual, known)
    styles = {style_of(p) for p in candidates}
    levels: dict[Style, int] = {}  # the larger the higher, bold above plain
    deepest = 0
    for style in sorted(styles | set(known), reverse=True):
        deepest = max(deepest, known[style]) if style in known else deepest + 1
        levels[style] = known.get(style, min(deepest, 6))
    for paragraph in candidates:
        paragraph.kind = "heading"
        paragraph.level = levels[style_of(paragraph)]
    _mark_statements(paragraphs)


def _mark_statements(paragraphs: Sequence[Paragraph]) -> None:
    """Make headings of centred titles that open a page above a table, whatever type they are in.

    Nothing small stands before them: they are as high as the highest heading shortly before.
    """
    page = 0
    recent: list[tuple[int, int]] = []  # page and level of headings
    for place, paragraph in enumerate(paragraphs):
        is_first, page = paragraph.lines[0].page > page, paragraph.lines[0].page
        if is_first and paragraph.kind == "text" and _is_centred_title(paragraph):
            below = place + 1
            while below < len(paragraphs) and _REMARK.match(paragraphs[below].text):
                below += 1
            if below < len(paragraphs) and paragraphs[below].kind == "table":
                near = [level for at, level in recent if page - at <= _NEAR_PAGES]
                paragraph.kind, paragraph.level = "heading", max(2, min(near, default=2))
        if paragraph.kind == "heading":
            recent.append((page, paragraph.level))


def _is_centred_title(paragraph: Paragraph) -> bool:
    (left, _, right, _), text = paragraph.lines[0].box, paragraph.text
    words = [word for word in text.split() if len(word) > 3]
    return (
        len(paragraph.lines) == 1
        and abs(left + right - 1) < 0.06
        and left > 0.2
        and bool(words)
        and all(word[0].isupper() for word in words)
        and not _SENTENCE_END.search(text)
        and not _REMARK.match(text)
    )


def with_titles(paragraphs: Sequence[Paragraph]) -> list[Paragraph]:
    """Return the paragraphs, with a heading that is a number alone joined to its title below."""
    done: list[Paragraph] = []
    for paragraph in paragraphs:
        last = done[-1] if done else None
        if (
            last
            and last.kind == paragraph.kind == "heading"
            and last.lines[-1].page == paragraph.lines[0].page
            and ALONE.fullmatch(last.text)
            and not heading_label(paragraph.text).label
        ):
            last.lines += paragraph.lines
        else:
            done.append(paragraph)
    return done


def _credible(
    paragraphs: Sequence[Paragraph],
    candidates: Sequence[Paragraph],
    usual: PageMeasure,
    known: dict[Style, int],
) -> list[Paragraph]:
    first = next((p.lines[0].page for p in paragraphs if p.kind == "heading"), 0)
    early = [p for p in candidates if p.lines[0].page < first]
    title = max(early, key=lambda p: p.lines[0].size) if early else None
    return [
        p
        for p in candidates
        if p is title
        or style_of(p) in known
        or (p.lines[0].page >= first and p.lines[0].size >= _LARGER * usual.body)
    ]


def style_of(paragraph: Paragraph) -> Style:
    """Return size and weight of a paragraph's first line."""
    return paragraph.lines[0].size, paragraph.lines[0].bold


def is_heading(paragraph: Paragraph, usual: PageMeasure) -> bool:
    """Return whether a paragraph looks like a heading of a document whose body is as usual."""
    lines, text = paragraph.lines, paragraph.text
    if len(lines) > _MAX_LINES or len(text) > _LONGEST or len(_LETTERS.findall(text)) < 2:
        return False
    if BULLET.match(text) or _FIGURE.match(text) or is_table_caption(text) or lines[0].turned:
        return False
    if _REMARK.match(text):
        return False
    size = lines[0].size
    is_numbered = heading_label(text).scheme in HEADING_RANK
    if not is_numbered and any(line.gap > _WIDEST_GAP for line in lines):
        return False
    if _SENTENCE_END.search(text) and not is_numbered:
        return False
    if size >= _LARGER * usual.body:
        return True
    if size < 0.97 * usual.body:
        return False
    is_bold = all(line.bold for line in lines)
    is_capital = text.isupper() and len(_LETTERS.findall(text)) >= 4
    first = text[:1]
    is_title = len(text) <= 120 and (first.isupper() or first.isdigit() or first in '§(“‘"')
    return (is_bold and is_title) or (is_capital and len(lines) <= 2 and len(text) < 100)
