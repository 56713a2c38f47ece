"""Headings and captions as an outline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pincite.model.locators import (
    FIGURE_WORD,
    HEADING_RANK,
    LETTERED,
    NUMBER_WORDS,
    PLACE_WORD,
    TABLE_WORD,
    HeadingLabel,
    heading_label,
    plain_words,
    singular,
)
from pincite.model.sentences import sentence_ends
from pincite.read.extracted import Block
from pincite.read.structure.numbering import LINE, number_of

_NUMBER = r"(?:[A-Z]{0,2}[.-]?[0-9]+(?:[.–-][0-9A-Za-z]+)*(?:\([0-9A-Za-z]{1,4}\))*|[IVXLC]+|[A-Z])"
_CAPTION = re.compile(
    rf"(?i:{TABLE_WORD})\b(?: (?P<number>{_NUMBER})(?![\w(]))?"
    rf"(?P<to> (?i:to) (?:(?i:{PLACE_WORD})\b|§)[^—:]*)?"
    r" ?(?P<mark>-(?= )|[.:—–]*)[ \t]*"
)
_ALLOWED_CAPTION = 240
# What stands between the title of a statement and its figures: units, and the time they are of.
_UNITS = re.compile(
    r"\(?(?:[\w$€£¥.]{1,12}[ ,]{1,2}){0,6}in (?:hundreds|thousands|millions|billions)\b[^.]{0,120}"
    r"|\(?[$€£¥] ?(?:thousands?|millions?|billions?)\b[^.]{0,120}|\(?unaudited\)?"
    r"|(?:for )?(?:the )?(?:fiscal )?(?:years?|quarters?|(?:\w{3,12}|\d\d?) (?:months|weeks)) ended"
    r"\b[^.]{0,60}"
    r"|(?:as of |at )?(?:January|February|March|April|May|June|July|August|September|October"
    r"|November|December) \d{1,2}(?:, (?:19|20)\d\d)?[^.]{0,40}",
    re.IGNORECASE,
)
_UNITS_LINES = 3
_PERIOD = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_TITLE_WORDS = 14
_FOOTNOTE = re.compile(
    r"\^[0-9a-z*]{1,2}\^|<sup>|[¹²³⁰⁴-⁹†‡]|\\\*|\*(?! )(?!\*)(?!.*\*)|\[\^[^\]]+\]:"
    r"|[0-9] (?=[A-ZÀ-Þ])|[*_]{0,2}(?:Notes?|NOTES?|Sources?)[*_]{0,2}:"
)


_RULE = re.compile(r"[_—–-]{3,}\s*")
_LETTERED_NOTE = re.compile(r"\([a-z0-9]{1,2}\)")


@dataclass(frozen=True, slots=True)
class CaptionedTable:
    """A table's span with caption and footnotes, and what its caption says."""

    start: int
    end: int
    first: int  # index of its first block
    last: int  # index of its last block
    number: str = ""  # "250.122"; empty when it has none
    title: str = ""
    is_local: bool = False  # numbered within a paragraph: "Table 1 to paragraph (f)"


_FIGURE = re.compile(
    rf"(?P<word>(?i:{FIGURE_WORD}))(?:(?<=\.)\s?|\s)(?P<number>[A-Z]{{0,3}}[.-]?[0-9]{{1,4}}"
    r"(?:[.–-][0-9]{1,4}){0,4}[a-zA-Z]?)(?![\w(])(?:\s?(?P<mark>[.:—–|]+|-(?= )))?\s*"
)
_MAYBE_FIGURE = re.compile(rf"[\s*_!\[]{{0,6}}(?i:{FIGURE_WORD})")
_LEADER = re.compile(r"(?:\. ?){4}|…{2}")  # of a list of figures
_SHOWS = re.compile(r"[a-zß-ÿ]{2,}")  # "Figure 3 shows"


class FigureCaption(NamedTuple):
    """What a caption says of its figure."""

    name: str  # "Figure 3.2"
    title: str


def figure_caption(line: str) -> FigureCaption | None:
    """Return what a caption says, None for a sentence about a figure or an entry of a list of them.

    >>> figure_caption("**Fig. 3.2** — The pump.")
    FigureCaption(name='Figure 3.2', title='The pump')
    >>> figure_caption("Figure 3 shows a pump."), figure_caption("Figure 3: Pumps ........ 7")
    (None, None)
    """
    words = plain_words(line) if _MAYBE_FIGURE.match(line) else ""
    match = _FIGURE.match(words)
    if match is None:
        return None
    title = words[match.end() :]
    is_caption = bool(match["mark"]) or not title or title[0].isupper() or title[0] in '“"(['
    if not is_caption or _LEADER.search(title) or (match["mark"] == "." and _SHOWS.match(title)):
        return None
    title = title[: next(sentence_ends(title), len(title))][:_ALLOWED_CAPTION]
    name = f"{singular(match['word']).capitalize()} {match['number']}"
    return FigureCaption(name, title.rstrip("."))


@dataclass(frozen=True, slots=True)
class _Caption:
    start: int
    number: str
    title: str
    is_local: bool


def find_tables(text: str, blocks: Sequence[Block]) -> list[CaptionedTable]:
    """Return the tables of a stretch of blocks, in order."""
    tables: list[CaptionedTable] = []
    free = 0  # blocks before this one belong to an earlier table
    for position, block in enumerate(blocks):
        if block.kind != "table" or position < free:
            continue
        first = _units(text, blocks, position, free)
        head = text[block.start : text.find("\n", block.start)]
        is_statement = first < position or bool(_PERIOD.search(head))
        above = _above(text, blocks[first - 1], is_statement) if first > free else None
        caption, last = above, position
        if above is not None and above.start == blocks[first - 1].start:
            first -= 1
        if above is None and (caption := _below(text, blocks, position)):
            last = position + 1
        last = _footnotes(text, blocks, position, last)
        start = min(above.start if above else block.start, blocks[first].start)
        found = caption or _Caption(start, "", "", False)
        tables.append(
            CaptionedTable(
                start, blocks[last].end, first, last, found.number, found.title, found.is_local
            )
        )
        free = last + 1
    return tables


def is_units_line(line: str) -> bool:
    """Return whether a line only tells what the figures of a table are in, or of which time.

    >>> is_units_line("(In millions, except per share)"), is_units_line("In millions of homes.")
    (True, False)
    """
    return bool(_UNITS.fullmatch(plain_words(line)))


def _units(text: str, blocks: Sequence[Block], position: int, free: int) -> int:
    """Return the index of the first block of units right above a table; its own without any."""
    first = position
    while first > max(free, position - _UNITS_LINES) and is_units_line(
        _words_of(text, blocks[first - 1])
    ):
        first -= 1
    return first


def _words_of(text: str, block: Block) -> str:
    return text[block.start : min(block.end, block.start + _ALLOWED_CAPTION)]


def is_table_caption(line: str) -> bool:
    """Return whether a line is the caption of a numbered table, and no sentence about one.

    >>> is_table_caption("**Table 3.** Weights"), is_table_caption("Table 3 shows weights")
    (True, False)
    """
    return _numbered(plain_words(line), 0) is not None


def _numbered(words: str, start: int) -> _Caption | None:
    match = _CAPTION.match(words)
    if not match or len(words) > _ALLOWED_CAPTION:
        return None
    title, is_marked = words[match.end() :].strip(), bool(match["mark"])
    if not match["number"] and not is_marked:
        return None
    if title and not is_marked and not (title[0].isupper() or title[0] in "0123456789(["):
        return None
    title = title[:-1] if title.endswith(".") else title
    return _Caption(start, match["number"] or "", title, bool(match["to"]))


def _above(text: str, block: Block, is_statement: bool = False) -> _Caption | None:
    """Return the caption that a block directly above a table holds, if any.

    Above units or years a line in capitals at the beginning of its words is a title as well.
    """
    if block.kind not in ("paragraph", "heading"):
        return None
    lines = list(LINE.finditer(text, block.start, block.end))
    whole = text[block.start : block.end]
    if caption := _numbered(plain_words(whole), block.start):
        return caption
    last = lines[-1]
    before = text[block.start : last.start()].rstrip()
    if len(lines) > 1 and before[-1:] in ".:;" and is_table_caption(last.group()):
        return _numbered(plain_words(last.group()), last.start())
    is_title = _is_title(whole) or (is_statement and _is_capitalised(whole))
    if block.kind == "paragraph" and len(lines) == 1 and is_title:
        return _Caption(block.start, "", plain_words(whole).rstrip(".:"), False)
    return None


def _is_title(line: str) -> bool:
    """Return whether a short line is set as a title: all in bold, or all in capitals."""
    bare = line.strip()
    if len(bare) > 120 or heading_label(bare).scheme == "item":
        return False
    is_bold = re.fullmatch(r"(\*\*|__)(?!\s)[^*]+\1:?", bare) is not None
    return is_bold or (bare.isupper() and len(bare) > 3 and bare[-1:] not in ".;,")


def _is_capitalised(line: str) -> bool:
    """Return whether a line is words of a title: short, capitals at their beginning, no sentence.

    >>> _is_capitalised("Consolidated Statements of Income"), _is_capitalised("It was so in Rome")
    (True, False)
    """
    words = [word for word in re.findall(r"[^\W\d_]+", line) if len(word) > 3]
    is_short = len(words) >= 2 and len(line.split()) <= _TITLE_WORDS
    is_open = line[-1:].isalnum() or line.endswith((")", "’", "”"))
    return is_short and is_open and line[0].isalpha() and all(word[0].isupper() for word in words)


def _below(text: str, blocks: Sequence[Block], position: int) -> _Caption | None:
    """Return the caption below a table, unless it stands right above the next table."""
    if position + 1 >= len(blocks) or blocks[position + 1].kind != "paragraph":
        return None
    if position + 2 < len(blocks) and blocks[position + 2].kind == "table":
        return None
    block = blocks[position + 1]
    caption = _numbered(plain_words(text[block.start : block.end]), block.start)
    return caption if caption and caption.number else None


def _is_lettered_note(note: str, text: str, table: Block) -> bool:
    """Return whether a paragraph below a table explains a mark that stands behind its words."""
    mark = _LETTERED_NOTE.match(note)
    if mark is None or table.kind != "table":
        return False
    behind = re.compile(rf"[^\W\d_][.%’”\"]? ?{re.escape(mark.group())}(?!\w)")
    return behind.search(text, table.start, table.end) is not None


def _footnotes(text: str, blocks: Sequence[Block], table: int, last: int) -> int:
    """Return the index of the last block that holds footnotes of the table."""
    for place in range(last + 1, len(blocks)):
        block = blocks[place]
        note = text[block.start : block.end]
        if block.kind != "paragraph":
            break
        if _RULE.fullmatch(note):
            continue  # drawn between a table and its notes; without notes it is not the table's
        above_next = place + 1 < len(blocks) and blocks[place + 1].kind == "table"
        if above_next and _above(text, block):
            break
        if not _FOOTNOTE.match(note) and not _is_lettered_note(note, text, blocks[table]):
            break
        last = place
    return last


def first_words(text: str, start: int) -> str:
    """Return a place's name where its labels are not understood: how it begins, in quotes.

    >>> first_words("(b) The Servicer shall be entitled to terminate it.", 0)
    '“(b) The Servicer shall be entitled …”'
    """
    words = plain_words(text[start : start + 160].partition("\n\n")[0]).split()
    return f"“{' '.join(words[:6])}{' …' if len(words) > 6 else ''}”"


_UNDERLINE = re.compile(r"(?<![\r\n])[\r\n]+[ \t]*(?:=+|-+|([~*^.#+\"'`])\1{2,})[ \t]*$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with the blocks up to the next heading."""

    start: int
    label: str
    locator: str
    title: str
    path: tuple[str, ...]  # headings down to this one
    parent: int  # index among the sections; -1 for the document
    blocks: tuple[Block, ...]
    body: int  # where the words below the heading begin


@dataclass(frozen=True, slots=True)
class _Heading:
    block: Block
    words: str
    name: HeadingLabel
    blocks: tuple[Block, ...]
    is_title: bool = False


def outline(text: str, blocks: Sequence[Block]) -> tuple[tuple[Block, ...], list[Section]]:
    """Return the blocks that belong to the document itself, and its sections in order.

    A first-level heading at the very beginning is the title: nothing nests below it.
    """
    opening, headings = _headings(text, blocks)
    parents, paths = _nested(headings)
    shared = _shared_suffixes(headings, paths)
    taken: set[str] = set()
    sections: list[Section] = []
    for heading, parent, path in zip(headings, parents, paths, strict=True):
        name = heading.name
        locator = name.canonical or _unique_suffix(path, shared)
        if name.scheme == "item" and parent >= 0:
            locator = sections[parent].locator + name.canonical
        elif locator in taken and parent >= 0:
            # Numbers begin anew in schedules and books: the first keeps the plain name.
            locator = f"{sections[parent].locator} > {locator}"
        if locator in taken and name.canonical:
            locator = first_words(text, heading.block.start)
        taken.add(locator)
        names = name.label, locator, name.title
        start, body = heading.block.start, heading.block.end
        sections.append(Section(start, *names, path, parent, heading.blocks, body))
    return opening, sections


def _headings(text: str, blocks: Sequence[Block]) -> tuple[tuple[Block, ...], list[_Heading]]:
    starts = [i for i, block in enumerate(blocks) if _opens_section(text, blocks, i)]
    lines = [_UNDERLINE.sub("", text[blocks[i].start : blocks[i].end]) for i in starts]
    names = _supported([heading_label(line) for line in lines])
    stops = [*starts[1:], len(blocks)] if starts else []
    headings = []
    opening = tuple(blocks[: starts[0]] if starts else blocks)
    for i, stop, line, name in zip(starts, stops, lines, names, strict=True):
        content = tuple(blocks[i + 1 : stop])
        is_title = i == 0 and blocks[i].level == 1
        if is_title and not name.label:
            opening = content
            continue
        words = plain_words(line)
        words = words[:-1] if words.endswith(".") and name.label else words
        headings.append(_Heading(blocks[i], words, name, content, is_title))
    return opening, headings


def _opens_section(text: str, blocks: Sequence[Block], position: int) -> bool:
    """Return whether a block is a heading, and not one set above a table as its caption."""
    block = blocks[position]
    if block.kind != "heading":
        return False
    below = next(
        (
            at
            for at in range(position, len(blocks))
            if not is_units_line(_words_of(text, blocks[at]))
        ),
        position,
    )
    if below > position and blocks[below].kind == "table":
        return False
    above_table = position + 1 < len(blocks) and blocks[position + 1].kind == "table"
    return not (above_table and is_table_caption(text[block.start : block.end]))


def _supported(names: Sequence[HeadingLabel]) -> list[HeadingLabel]:
    """Return the names, where a bare number is a label only if other headings bear it out.

    "4 Requirements" is a label beside "3 Terms" or "4.1 Tests"; "7 Ways to Pack" is not.
    """
    bare = {int(name.label) for name in names if name.scheme == "bare"}
    roots = {name.canonical.split(".")[0] for name in names if name.scheme == "decimal"}
    found = []
    for name in names:
        if name.scheme == "bare":
            value = int(name.label)
            if name.label not in roots and not {value - 1, value + 1} & bare:
                name = HeadingLabel("", "", f"{name.label} {name.title}", "")
        found.append(name)
    return found


def _nested(headings: Sequence[_Heading]) -> tuple[list[int], list[tuple[str, ...]]]:
    parents: list[int] = []
    paths: list[tuple[str, ...]] = []
    open_: list[int] = []
    for position, heading in enumerate(headings):
        while open_:
            above = headings[open_[-1]]
            if _extends(heading.name, above.name) or heading.block.level > above.block.level:
                break
            open_.pop()
        parent = open_[-1] if open_ else -1
        parents.append(parent)
        paths.append((*(paths[parent] if parent >= 0 else ()), heading.words))
        if not heading.is_title or _is_chapter(heading, headings[1:3]):
            open_.append(position)
    return parents, paths


def _extends(name: HeadingLabel, above: HeadingLabel) -> bool:
    """Return whether a number is one below another: 4.2 below 4, and below Chapter 4."""
    root = above.canonical.rpartition(" ")[2]
    if root.lower() in NUMBER_WORDS:
        root = str(number_of(above)[0])
    return bool(root) and name.canonical.startswith((f"{root}.", f"{root}("))


def _is_chapter(title: _Heading, following: Sequence[_Heading]) -> bool:
    """Return whether the first heading is that of a file's only chapter, not of a whole work."""
    is_work = HEADING_RANK.get(title.name.scheme) == 1 and title.name.scheme not in LETTERED
    return not is_work and any(_extends(each.name, title.name) for each in following)


def _shared_suffixes(
    headings: Sequence[_Heading], paths: Sequence[tuple[str, ...]]
) -> Counter[tuple[str, ...]]:
    """Return how many headings each ending of a path stands for, names of sections included."""
    counts: Counter[tuple[str, ...]] = Counter()
    for path in paths:
        counts.update(path[-length:] for length in range(1, len(path) + 1))
    # A plain heading must not be mistaken for a numbered one either: "Rule 5" and "**Rule 5**".
    counts.update({(h.name.canonical,) for h in headings if h.name.canonical})
    return counts


def _unique_suffix(path: tuple[str, ...], shared: Counter[tuple[str, ...]]) -> str:
    for length in range(1, len(path)):
        if shared[path[-length:]] == 1:
            return " > ".join(path[-length:])
    return " > ".join(path)
