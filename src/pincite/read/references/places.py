"""Which places and names a document has that a reference may mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pincite.model.locators import locator_key
from pincite.model.types import Chunk, by_id

MAX_RANGE = 50
_MIN_SECTIONS = 3  # as many bear the number of one part before others count as foreign
_NUMBER = re.compile(r"(?P<part>\d+)(?P<rest>\.\d)?")
_REMARK = re.compile(r"(?<!\s)\s*\[[^\[\]]*\]$")  # "Prone [Condition]" is cited as "Prone"
_CALLED = re.compile(r"(?P<word>[a-z]+) [\w.-]+")  # "part 97", "article 250"
_ALTERNATE = re.compile(r" Alternate [IVX]+$")
_SLUG_DROPPED = re.compile(r"[^\w\- ]")


class PlaceLookup:
    """Looks up places of a document by key, by label and by neighbourhood."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = [chunk for chunk in chunks if chunk.kind != "piece"]
        self.by_id = by_id(self.chunks)
        self.exact = {chunk.locator for chunk in self.chunks}
        self.by_key: dict[str, Chunk] = {}
        self.titles: dict[str, Chunk] = {}
        self.children: dict[str | None, list[Chunk]] = {}
        for chunk in self.chunks:
            self.by_key.setdefault(locator_key(chunk.locator), chunk)
            if chunk.title and chunk.kind in ("section", "table", "document"):
                self.titles.setdefault(locator_key(chunk.title), chunk)
                self.titles.setdefault(locator_key(_REMARK.sub("", chunk.title)), chunk)
            self.children.setdefault(chunk.parent, []).append(chunk)
        sections = (chunk for chunk in self.chunks if chunk.kind == "section")
        numbers = [match for chunk in sections if (match := _NUMBER.match(chunk.locator))]
        dotted = [match["part"] for match in numbers if match["rest"]]
        # Where most sections bear plain numbers, "11.1" was put in and "11.5" is a quantity.
        self.parts = Counter(dotted if 2 * len(dotted) > len(numbers) else [])
        self.slugs: dict[str, Chunk] = {}
        for chunk in self.chunks:
            if chunk.kind in ("section", "document"):
                self.slugs.setdefault(slug(chunk.title), chunk)
                self.slugs.setdefault(slug(chunk.path[-1] if chunk.path else chunk.title), chunk)
        self.tables = [chunk for chunk in self.chunks if chunk.kind == "table"]
        called = [(word, chunk.locator) for chunk in self.chunks if (word := _called(chunk))]
        counts = Counter(word for word, _ in called)
        # Headings that are the only ones of their kind: "Part 97" as a title.
        self._lone_names = {word: locator for word, locator in called if counts[word] == 1}

    def has(self, key: str) -> bool:
        """Return whether a locator or a heading of the document has this key."""
        return key in self.by_key or key in self.titles

    def is_foreign(self, number: str) -> bool:
        """Return whether a number is of another part than all sections of this document."""
        own = len(self.parts) == 1 and self.parts.total() >= _MIN_SECTIONS
        return own and "." in number and number.split(".")[0] not in self.parts

    def around(self, chunk: Chunk) -> Iterator[Chunk]:
        """Yield the chunk and what encloses it, innermost first."""
        at: Chunk | None = chunk
        while at is not None:
            yield at
            at = self.by_id.get(at.parent) if at.parent else None

    def section(self, chunk: Chunk) -> Chunk:
        """Return the section around a chunk: a heading that is no item of another one."""
        for each in self.around(chunk):
            if each.kind in ("section", "document") and not each.locator.endswith(")"):
                return each
        return chunk

    def alternate(self, chunk: Chunk) -> str:
        """Return the locator of the alternate of a clause around a chunk, or ""."""
        around = (each.locator for each in self.around(chunk))
        return next((locator for locator in around if _ALTERNATE.search(locator)), "")

    def own(self, word: str, chunk: Chunk) -> str:
        """Return the locator of what "this section" or "this article" means here, or ""."""
        inside = list(self.around(chunk))
        section = self.section(chunk)
        clauses = (each for each in inside if each.kind == "clause")
        items = [each for each in clauses if not _ALTERNATE.search(each.locator)]
        if word == "section":
            return section.locator if section.kind == "section" else ""
        if word == "subsection":
            first = items[-1].locator if items else ""
            return first if re.search(r"\(\d+\w?\)$", first) else section.locator
        if word in ("clause", "provision") and not (items and items[0].locator[-2:-1].isupper()):
            return section.locator  # a contract's clause; a law's one is an item such as (A)
        if word in ("paragraph", "subparagraph", "clause", "subclause", "item", "paragraphe"):
            return items[0].locator if items else ""
        named = [each.locator for each in inside if word and _called(each) == word]
        return named[0] if named else self._lone_names.get(word, "")

    def climb(self, chunk: Chunk, labels: Sequence[str]) -> str | None:
        """Return the locator below which the labels stand, looking from here outwards."""
        suffix = "".join(labels)
        for each in self.around(chunk):
            if each.locator + suffix in self.exact:
                return each.locator
        return None

    def between(self, first: str, last: str) -> list[str]:
        """Return the keys from one place to another beside it; both ends if they are not there."""
        start, end = self.by_key.get(first), self.by_key.get(last)
        if start is None or end is None or start.parent != end.parent:
            return [first, last]
        beside = [each for each in self.children[start.parent] if each.kind == start.kind]
        if start not in beside or end not in beside:
            return [first, last]
        inside = beside[beside.index(start) : beside.index(end) + 1]
        keys = [locator_key(each.locator) for each in inside]
        return keys if 0 < len(keys) <= MAX_RANGE else [first, last]

    def table_named(self, number: str, chunk: Chunk) -> str:
        """Return the locator of a numbered table, also of one that is numbered in its paragraph."""
        name = f"Table {number}"
        if locator_key(name) in self.by_key:
            return name
        for each in self._tables_around(chunk):
            if locator_key(each.locator).endswith(locator_key(f" {name}")):
                return each.locator
        return name

    def table_near(self, chunk: Chunk, position: int, *, is_above: bool) -> str:
        """Return the locator of the next or the previous table in the same section, or ""."""
        tables = self._tables_around(chunk)
        above = [each for each in tables if each.span.end <= position]
        below = [each for each in tables if each.span.start >= position]
        found = above[-1:] if is_above else below[:1]
        return found[0].locator if found else ""

    def _tables_around(self, chunk: Chunk) -> list[Chunk]:
        section = self.section(chunk)
        return [t for t in self.tables if section.span.overlap(t.span) == len(t.span)]


def _called(chunk: Chunk) -> str:
    """Return the word of a section's name such as "part 97", or ""."""
    match = _CALLED.fullmatch(locator_key(chunk.locator)) if chunk.kind == "section" else None
    return match["word"] if match else ""


def slug(words: str) -> str:
    """Return a heading's anchor as Markdown viewers make it.

    >>> slug("Rules & Notes (2nd)")
    'rules--notes-2nd'
    """
    return _SLUG_DROPPED.sub("", words.casefold()).strip().replace(" ", "-")


_QUOTED = r"[\"“][^\"“”\r\n]{1,80}[\"”]"
_MARK = r"[*_]{0,3}"
_SEE = re.compile(
    rf"\b(?P<see>(?i:see)(?:\s+also)?|(?i:see){_MARK}\s+{_MARK}also){_MARK}:?{_MARK}\s+{_MARK}"
    rf"(?P<filler>[^\"“”.;:,()\r\n]{{0,60}}\b(?:in|under)\s+)?(?={_QUOTED})"
)
_NAME = re.compile(rf"{_MARK}(?P<name>{_QUOTED}){_MARK}")
_WITHIN = re.compile(rf"\s+(?:(?:later|earlier|above|below)\s+)?in\s+(?:the\s+)?{_QUOTED}")
_PARTS = re.compile(rf"\s+\((?P<parts>{_QUOTED}[^()\r\n]{{0,200}})\)")
_JOIN = re.compile(rf"(?:,?\s+(?:and|or|and/or)\s+|,?\s+)(?:see\s+)?(?={_MARK}{_QUOTED})")
_PLAIN = re.compile(
    rf"\b(?i:see){_MARK}(?P<also>\s+{_MARK}also)?{_MARK}:?{_MARK}\s+(?:the\s+)?{_MARK}"
    r"(?P<name>[A-Z][\w’'-]*(?: (?:[A-Z][\w’'-]*|of|the|and|in|to|for|a)){0,12})"
)
_TABLE = re.compile(
    r"\bthe\s+(?P<name>[A-Z][\w’'-]*"
    r"(?:\s+(?:[A-Z][\w’'-]*|of|the|and|in|to|for|by)){0,12})\s+table\b"
)
_LINK = re.compile(r"(?<!!)\[(?P<words>[^\[\]\r\n]{1,200})\]\((?P<to>[^()\s]{1,300})\)")


class HeadingName(NamedTuple):
    """A heading that is referred to by its words."""

    key: str
    start: int
    end: int


def names(text: str, start: int, end: int, places: PlaceLookup) -> Iterator[HeadingName]:
    """Yield the headings that ``text[start:end]`` refers to by name."""
    yield from _seen(text, start, end, places)
    yield from _links(text, start, end, places)
    for match in _TABLE.finditer(text, start, end):
        found = places.titles.get(locator_key(match["name"]))
        if found is not None and found.kind == "table":
            yield HeadingName(locator_key(match["name"]), *match.span())
    for match in _PLAIN.finditer(text, start, end):
        is_title = text[match.start() - 1 : match.start()] in ("*", "_") and not match["also"]
        if not is_title and (key := _longest_known(match["name"], places)):
            stop = match.start("name") + len(key)
            yield HeadingName(_known(key, places), match.start("name"), stop)


def _seen(text: str, start: int, end: int, places: PlaceLookup) -> Iterator[HeadingName]:
    """Yield the names in quotation marks behind "see"."""
    position = start
    while match := _SEE.search(text, position, end):
        position = match.end()
        for name in _quoted(text, match.end(), end):
            position = name.end
            is_pointed = not match["filler"] or match["see"][0] == "S" or places.has(name.key)
            if is_pointed and name.key:
                yield name._replace(key=_known(name.key, places))


def _known(key: str, places: PlaceLookup) -> str:
    """Return the key, or that of the heading which it names without its remark in brackets."""
    titled = places.titles.get(key)
    if titled is None or key in places.by_key or locator_key(titled.title) == key:
        return key
    return locator_key(titled.locator)


def _longest_known(words: str, places: PlaceLookup) -> str:
    """Return the key of the longest heading that the words begin with, or ""."""
    parts = words.split(" ")
    for length in range(len(parts), 0, -1):
        key = locator_key(" ".join(parts[:length]))
        if places.has(key) and len(key) == len(" ".join(parts[:length])):
            return key
    return ""


def _quoted(text: str, position: int, end: int) -> Iterator[HeadingName]:
    """Yield the names of a list in quotation marks; the inner ones of "Book" ("Part")."""
    while match := _NAME.match(text, position, end):
        position = match.end()
        if inner := _PARTS.match(text, position, end):
            for part in re.finditer(_QUOTED, inner["parts"]):
                yield _name(part.group(), inner.start("parts") + part.start())
            position = inner.end()
        else:
            yield _name(match["name"], match.start("name"))
        if within := _WITHIN.match(text, position, end):
            position = within.end()
        join = _JOIN.match(text, position, end)
        position = join.end() if join else end


def _name(quoted: str, start: int) -> HeadingName:
    words = re.sub(r"(?<=[a-z])- (?=[a-z])", "", quoted[1:-1])  # a hyphen at a line's end
    return HeadingName(locator_key(words.strip(" ,.;:!?*_")), start, start + len(quoted))


def _links(text: str, start: int, end: int, places: PlaceLookup) -> Iterator[HeadingName]:
    """Yield the headings that Markdown links lead to; addresses on the web are none."""
    for match in _LINK.finditer(text, start, end):
        file, _, anchor = match["to"].partition("#")
        if ":" in file or file.startswith("//"):
            continue
        here = places.slugs.get(anchor.casefold()) if anchor and not file else None
        words = anchor.replace("-", " ") if anchor else match["words"]
        yield HeadingName(locator_key(here.locator if here else words), *match.span())
