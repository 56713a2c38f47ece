"""Tables with what belongs to them: the caption above or below, and the footnotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.ingest.structure.numbering import LINE
from pincite.ingest.tree import Block
from pincite.model.locators import PLACE_WORD, TABLE_WORD, heading_label, plain_words

_NUMBER = r"(?:[A-Z]{0,2}[.-]?[0-9]+(?:[.–-][0-9A-Za-z]+)*(?:\([0-9A-Za-z]{1,4}\))*|[IVXLC]+|[A-Z])"
_CAPTION = re.compile(
    rf"(?i:{TABLE_WORD})\b(?: (?P<number>{_NUMBER})(?![\w(]))?"
    rf"(?P<to> (?i:to) (?:(?i:{PLACE_WORD})\b|§)[^—:]*)?"
    r" ?(?P<mark>-(?= )|[.:—–]*)[ \t]*"
)
_ALLOWED_CAPTION = 240
_FOOTNOTE = re.compile(
    r"\^[0-9a-z*]{1,2}\^|<sup>|[¹²³⁰⁴-⁹†‡]|\\\*|\*(?! )(?!\*)(?!.*\*)|\[\^[^\]]+\]:"
    r"|[0-9] (?=[A-ZÀ-Þ])|[*_]{0,2}(?:Notes?|NOTES?|Sources?)[*_]{0,2}:"
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table's span with caption and footnotes, and what its caption says."""

    start: int
    end: int
    first: int  # index of its first block
    last: int  # index of its last block
    number: str = ""  # "250.122"; empty when it has none
    title: str = ""
    is_local: bool = False  # numbered within a paragraph: "Table 1 to paragraph (f)"


@dataclass(frozen=True, slots=True)
class _Caption:
    start: int
    number: str
    title: str
    is_local: bool


def find_tables(text: str, blocks: Sequence[Block]) -> list[Table]:
    """Return the tables of a stretch of blocks, in order."""
    tables: list[Table] = []
    free = 0  # blocks before this one belong to an earlier table
    for position, block in enumerate(blocks):
        if block.kind != "table" or position < free:
            continue
        above = _above(text, blocks[position - 1]) if position > free else None
        caption, first, last = above, position, position
        if above is not None and above.start == blocks[position - 1].start:
            first = position - 1
        if above is None and (caption := _below(text, blocks, position)):
            last = position + 1
        last = _footnotes(text, blocks, last)
        start = min(above.start if above else block.start, block.start)
        found = caption or _Caption(start, "", "", False)
        tables.append(
            Table(start, blocks[last].end, first, last, found.number, found.title, found.is_local)
        )
        free = last + 1
    return tables


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


def _above(text: str, block: Block) -> _Caption | None:
    """Return the caption that a block directly above a table holds, if any."""
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
    if block.kind == "paragraph" and len(lines) == 1 and _is_title(whole):
        return _Caption(block.start, "", plain_words(whole).rstrip(".:"), False)
    return None


def _is_title(line: str) -> bool:
    """Return whether a short line is set as a title: all in bold, or all in capitals."""
    bare = line.strip()
    if len(bare) > 120 or heading_label(bare).scheme == "item":
        return False
    is_bold = re.fullmatch(r"(\*\*|__)(?!\s)[^*]+\1:?", bare) is not None
    return is_bold or (bare.isupper() and len(bare) > 3 and bare[-1:] not in ".;,")


def _below(text: str, blocks: Sequence[Block], position: int) -> _Caption | None:
    """Return the caption below a table, unless it stands right above the next table."""
    if position + 1 >= len(blocks) or blocks[position + 1].kind != "paragraph":
        return None
    if position + 2 < len(blocks) and blocks[position + 2].kind == "table":
        return None
    block = blocks[position + 1]
    caption = _numbered(plain_words(text[block.start : block.end]), block.start)
    return caption if caption and caption.number else None


def _footnotes(text: str, blocks: Sequence[Block], last: int) -> int:
    """Return the index of the last block that holds footnotes of the table."""
    while last + 1 < len(blocks) and blocks[last + 1].kind == "paragraph":
        block = blocks[last + 1]
        above_next = last + 2 < len(blocks) and blocks[last + 2].kind == "table"
        if above_next and _above(text, block):
            break
        if not _FOOTNOTE.match(text, block.start, block.end):
            break
        last += 1
    return last
