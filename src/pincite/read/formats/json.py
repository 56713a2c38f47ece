"""JSON of codes and of pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pincite.model.errors import MALFORMED, SourceError
from pincite.model.locators import heading_label
from pincite.model.types import Pages
from pincite.read.extracted import Block, ExtractedText, decode
from pincite.read.formats.blocks import MAX_COLUMNS, BlockWriter, Row, TableText, one_line, titled
from pincite.read.formats.latex import beside, read_latex

MAX_DEPTH = 40
# Where the parts of a level are found, and what the level is called when a part has no word for it.
_SECTIONS = {
    **dict(chapters="Chapter", articles="Article", parts="Part", annexes="Annex"),
    **dict.fromkeys(("sections", "subsections"), ""),
}
_ITEMS = ("sub_items", "subitems", "items", "children", "list_items")
_NUMBERS = ("number", "id", "section_id", "section", "article", "chapter", "label", "letter")
_TITLES = ("title", "name", "heading")
_TEXTS = ("front_matter", "text", "content", "body")
_LABEL = re.compile(r"\(?([0-9]{1,3}|[A-Za-z]{1,5})[.)]?")
Part = Mapping[str, Any]


def is_code(value: Any) -> bool:
    """Return whether a JSON value is a code, or a list of its chapters, articles or sections."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, Mapping) and _is_level(item) for item in value)
    return isinstance(value, Mapping) and _is_level(value)


def _is_level(part: Part) -> bool:
    is_section = "front_matter" in part and any(key in part for key in _NUMBERS)
    return is_section or any(key in part for key in (*_SECTIONS, "tables"))


def read_code(value: Any, name: str) -> ExtractedText:
    """Return the code as canonical text: numbered headings, items by letter, tables."""
    writer = BlockWriter(name)
    root: Part = value if isinstance(value, Mapping) else {"chapters": value}
    if isinstance(value, list) and all("front_matter" in item for item in value):
        root = {"sections": value}
    title = titled(name, _words(root, _TITLES))
    writer.heading(1, title)
    writer.paragraph(_words(root, _TEXTS))
    _Code(writer).inside(root, level=2)
    return writer.parsed(title)


def _words(part: Part, keys: tuple[str, ...]) -> str:
    """Return the first of several fields that holds words or a number."""
    for key in keys:
        found = part.get(key)
        if isinstance(found, list) and all(isinstance(word, str) for word in found):
            found = "\n\n".join(found)
        if isinstance(found, (str, int)) and not isinstance(found, bool) and str(found).strip():
            return str(found).strip()
    return ""


def _parts(value: Any) -> Iterator[Part]:
    """Yield the parts of a list, or of an object whose keys are their numbers."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield {"number": key, **(part if isinstance(part, Mapping) else {"text": part})}
    elif isinstance(value, list):
        for part in value:
            if not isinstance(part, (Mapping, str)):
                raise _unfit(f"expected an object, got {part!r:.60}")
            yield part if isinstance(part, Mapping) else {"text": part}
    else:
        raise _unfit(f"expected a list, got {value!r:.60}")


def _unfit(words: str) -> SourceError:
    return SourceError(words, hint="see docs/formats.md")


class _Code:
    """Writes the levels of a code."""

    def __init__(self, writer: BlockWriter) -> None:
        self.writer = writer

    def inside(self, part: Part, *, level: int) -> None:
        """Write what a part holds: items, tables, references to tables, then its own parts."""
        if level > MAX_DEPTH:
            raise _unfit(f"more than {MAX_DEPTH} levels")
        self.items(part, depth=0)
        for table in _parts(part.get("tables", [])):
            self.table(table)
        self.references(part)
        for key, word in _SECTIONS.items():
            for inner in _parts(part.get(key, [])):
                self.section(inner, word, level)

    def section(self, part: Part, word: str, level: int) -> None:
        number, title = _words(part, _NUMBERS), _words(part, _TITLES)
        # A part among the sections may be an item in truth: "(A)", "B".
        if not word and re.fullmatch(r"\([0-9A-Za-z]{1,5}\)|[A-Za-z]", number):
            self.item(part, depth=0)
            return
        if number and title.startswith(number):
            number = ""
        elif word and number and not number.lower().startswith(word.lower()):
            number = f"{word} {number}"
        elif number and heading_label(f"{number} {title}").scheme in ("", "bare"):
            number = f"§ {number}" if number[0].isdigit() else number
        self.writer.heading(level, f"{number} {title}")
        words = _words(part, _TEXTS)
        for opening in (f"{number} {title}", title):
            # Front matter often begins with the heading itself.
            if opening.strip() and words.startswith(opening.strip()):
                words = words[len(opening.strip()) :].lstrip(" .:")
        for paragraph in words.split("\n\n"):
            self.writer.paragraph(paragraph)
        self.inside(part, level=level + 1)

    def items(self, part: Part, *, depth: int) -> None:
        for key in _ITEMS:
            for item in _parts(part.get(key, [])):
                self.item(item, depth=depth)

    def item(self, part: Part, *, depth: int) -> None:
        """Write an item with its label as "(A)"; what has none is a paragraph."""
        if depth > MAX_DEPTH:
            raise _unfit(f"more than {MAX_DEPTH} levels")
        label = _LABEL.fullmatch(_words(part, _NUMBERS))
        title, words = one_line(_words(part, _TITLES)), _words(part, _TEXTS)
        line = f"{title.rstrip('.')}. {words}" if title and words else title or words
        if label and not line.startswith(f"({label.group(1)})"):
            self.writer.item(f"({label.group(1)})", line, depth)
        elif label:
            self.writer.item("", line, depth, name=f"({label.group(1)})")
        else:
            self.writer.paragraph(line)
        self.items(part, depth=depth + bool(label))
        for key in ("subsections", "sections"):
            for inner in _parts(part.get(key, [])):
                self.item(inner, depth=depth + bool(label))
        for table in _parts(part.get("tables", [])):
            self.table(table)

    def references(self, part: Part) -> None:
        """Write the tables that a section refers to, unless its words name them already."""
        named = [str(name) for name in part.get("referenced_tables", []) if isinstance(name, str)]
        words = _words(part, _TEXTS)
        names = [name if name.lower().startswith("table") else f"Table {name}" for name in named]
        if missing := [name for name in names if name not in words]:
            self.writer.paragraph(f"See {', '.join(missing)}.")

    def table(self, part: Part) -> None:
        number, title = _words(part, ("table_id", "number", "id")), _words(part, _TITLES)
        number = re.sub(r"^[Tt]able\s*", "", number)
        has_number = title.lower().startswith("table") or not number
        caption = title if has_number else f"Table {number}. {title}"
        head = _head(part)
        rows = [_row(row, head) for row in part.get("rows", [])]
        notes = [_words(note, ("text", "note")) for note in _parts(part.get("footnotes", []))]
        self.writer.table(TableText([head] if head else [], rows, caption.rstrip(". "), notes))


def _head(part: Part) -> Row:
    for key in ("column_headers", "columns", "headers"):
        found = part.get(key)
        if isinstance(found, list):
            return [" – ".join(map(str, c)) if isinstance(c, list) else str(c) for c in found]
    return []


def _row(row: Any, head: Row) -> Row:
    """Return a row of words from a list, or from an object by column."""
    if isinstance(row, Mapping):
        cells = [row.get(column, "") for column in head] if head else list(row.values())
    elif isinstance(row, list):
        cells = row
    else:
        raise _unfit(f"a row is a list or an object, got {row!r:.60}")
    return ["" if cell is None else str(cell) for cell in cells[:MAX_COLUMNS]]


MAX_PAGE = 10_000_000


def read(data: bytes, name: str) -> ExtractedText:
    """Return the document that the JSON holds, or one error that says which kinds there are."""
    text = decode(data, name)
    try:
        value = json.loads(text)
        if is_code(value):
            return read_code(value, name)
        if not isinstance(value, list):
            raise _Unfit("it is no list, and has none of these names")
        entries = [_page_of(item, at) for at, item in enumerate(value, 1)]
    except json.JSONDecodeError as error:
        raise SourceError(f"{name} is not JSON: {error}", hint="write it again") from error
    except MALFORMED as error:
        reason = str(error) if isinstance(error, _Unfit) else "a value in it is of another kind"
        reason = "it is nested too deep" if isinstance(error, RecursionError) else reason
        raise SourceError(
            f'{name} is neither a list of {{"text": ..., "page_idx": ...}} nor a code with '
            f'"chapters", "articles" or "sections": {reason}',
            hint="see docs/formats.md",
        ) from error
    return _pages(entries, name)


class _Unfit(ValueError):
    """What does not fit, in words."""


def _pages(entries: list[tuple[int, str]], name: str) -> ExtractedText:
    """Return pages as a document: a page is a block, with tables and headings set apart."""
    starts, labels, parts, at = [], [], [], 0
    blocks: list[Block] = []
    for page, words in entries:
        words, found = read_latex(words)
        starts.append(at)
        labels.append(page)
        parts.append(words + "\n\n")
        blocks += (
            replace(block, start=at + block.start, end=at + block.end)
            for block in beside(parts[-1], found)
        )
        at += len(parts[-1])
    text = "".join(parts)
    if not text.strip():
        raise SourceError(f"{name} has no text on any page", hint="leave it out")
    return ExtractedText(text, Path(name).stem, blocks, Pages(starts, labels))


def _page_of(item: Any, at: int) -> tuple[int, str]:
    """Return the number and the text of an entry."""
    if not isinstance(item, dict) or "page_idx" not in item:
        raise _Unfit(f'entry {at} has no "page_idx"')
    try:
        page = int(item["page_idx"])
    except MALFORMED:
        page = -1
    if not 0 <= page < MAX_PAGE:
        raise _Unfit(f'"page_idx" of entry {at} is no page\'s number')
    text = item.get("text")
    if not isinstance(text, str):
        raise _Unfit(f'entry {at} has no "text" that is a string')
    return page, text
