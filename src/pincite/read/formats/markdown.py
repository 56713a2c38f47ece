"""Markdown as blocks: where headings, paragraphs, lists and tables begin and end."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt

from pincite.model.dates import named_dates
from pincite.model.locators import plain_words
from pincite.read.card import card_fields
from pincite.read.extracted import Block, BlockKind, ExtractedText, decode, form_feed_pages
from pincite.read.formats.latex import HAS_TABLES, read_latex

TITLE_CHARS = 120
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:(?!---)[^\r\n]*\r?\n){1,100}---[ \t]*(?:\r?\n|$)")
_FIELD = re.compile(r"^([A-Za-zÀ-ÿ' _-]{1,40}?)[ \t]*:[ \t]*([^\r\n#]{1,80})", re.MULTILINE)
_FIRST_HEADING = re.compile(r"^[^\S\n]*#[^\S\n]+(?![^\S\n])([^\n]+)$", re.MULTILINE)

# The lines that markdown-it counts; other separators (\f, U+2028) stay inside a line.
_NEWLINE = re.compile(r"\r\n?|\n")
_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "blockquote_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "html_block": "code",
}


@cache
def _parser() -> MarkdownIt:
    """Return a parser of block structure alone.

    Indented lines are paragraphs, for in legal text they are indented items far more often than
    code. Link definitions are text that a reader may cite. Only top-level blocks are used, so
    deep nesting is not followed; that keeps hostile input (thousands of ``>``) cheap.
    """
    parser = MarkdownIt("commonmark", {"maxNesting": 4})
    return parser.enable("table").disable(["code", "reference", "inline", "text_join"])


def markdown_blocks(text: str) -> list[Block]:
    """Return the top-level blocks of a Markdown text, with offsets in the text as given.

    >>> [(b.kind, b.level) for b in markdown_blocks("# Rules\\r\\n\\r\\n(a) One.\\r\\n")]
    [('heading', 1), ('paragraph', 0)]
    """
    starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    starts.append(len(text))
    blocks: list[Block] = []
    for token in _parser().parse(text):
        kind = _KINDS.get(token.type)
        if kind is None or token.level or token.map is None:
            continue
        first, last = token.map
        start, end = starts[first], starts[min(last, len(starts) - 1)]
        piece = text[start:end]
        start, end = end - len(piece.lstrip()), start + len(piece.rstrip())
        level = int(token.tag[1]) if kind == "heading" else 0
        if start < end:
            blocks.append(Block(kind, start, end, level))
    return blocks


def read(data: bytes, name: str) -> ExtractedText:
    """Return the document as it is: Markdown is the canonical text. Tables of LaTeX become such."""
    text = decode(data, name)
    front = _FRONT_MATTER.match(text)
    start = front.end() if front else 0
    # Dashes below a line of words would make it a heading: front matter is no Markdown, but as
    # blank lines it keeps all offsets.
    blank = re.sub(r"[^\r\n]", " ", text[:start])
    blocks = markdown_blocks(blank + text[start:])
    if HAS_TABLES in text:
        code = [(block.start, block.end) for block in blocks if block.kind == "code"]
        text, _ = read_latex(text, code)
        blocks = markdown_blocks(blank + text[start:])
    heading = _FIRST_HEADING.search(text, start, start + 4000)
    title = plain_words(heading.group()) if heading else ""
    blocks = [block for block in blocks if block.start >= start]
    fields: dict[str, str] = dict(_FIELD.findall(front.group())) if front else {}
    language = fields.get("lang", fields.get("language", "")).strip(" \t\"'")
    title = (title or Path(name).stem)[:TITLE_CHARS]
    meta = {**named_dates(fields), **card_fields(fields)}
    return ExtractedText(text, title, blocks, form_feed_pages(text), meta=meta, language=language)
