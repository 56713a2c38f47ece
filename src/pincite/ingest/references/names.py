"""References by heading: ``See also "Grabbed"``, ``the Experience table``, Markdown links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pincite.ingest.references.places import Places
from pincite.model.locators import locator_key

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


class Name(NamedTuple):
    """A heading that is referred to by its words."""

    key: str
    start: int
    end: int


def names(text: str, start: int, end: int, places: Places) -> Iterator[Name]:
    """Yield the headings that ``text[start:end]`` refers to by name."""
    yield from _seen(text, start, end, places)
    yield from _links(text, start, end, places)
    for match in _TABLE.finditer(text, start, end):
        found = places.titles.get(locator_key(match["name"]))
        if found is not None and found.kind == "table":
            yield Name(locator_key(match["name"]), *match.span())
    for match in _PLAIN.finditer(text, start, end):
        is_title = text[match.start() - 1 : match.start()] in ("*", "_") and not match["also"]
        if not is_title and (key := _longest_known(match["name"], places)):
            stop = match.start("name") + len(key)
            yield Name(_known(key, places), match.start("name"), stop)


def _seen(text: str, start: int, end: int, places: Places) -> Iterator[Name]:
    """Yield the names in quotation marks behind "see"."""
    position = start
    while match := _SEE.search(text, position, end):
        position = match.end()
        for name in _quoted(text, match.end(), end):
            position = name.end
            is_pointed = not match["filler"] or match["see"][0] == "S" or places.has(name.key)
            if is_pointed and name.key:
                yield name._replace(key=_known(name.key, places))


def _known(key: str, places: Places) -> str:
    """Return the key, or that of the heading which it names without its remark in brackets."""
    titled = places.titles.get(key)
    if titled is None or key in places.by_key or locator_key(titled.title) == key:
        return key
    return locator_key(titled.locator)


def _longest_known(words: str, places: Places) -> str:
    """Return the key of the longest heading that the words begin with, or ""."""
    parts = words.split(" ")
    for length in range(len(parts), 0, -1):
        key = locator_key(" ".join(parts[:length]))
        if places.has(key) and len(key) == len(" ".join(parts[:length])):
            return key
    return ""


def _quoted(text: str, position: int, end: int) -> Iterator[Name]:
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


def _name(quoted: str, start: int) -> Name:
    words = re.sub(r"(?<=[a-z])- (?=[a-z])", "", quoted[1:-1])  # a hyphen at a line's end
    return Name(locator_key(words.strip(" ,.;:!?*_")), start, start + len(quoted))


def _links(text: str, start: int, end: int, places: Places) -> Iterator[Name]:
    """Yield the headings that Markdown links lead to; addresses on the web are none."""
    for match in _LINK.finditer(text, start, end):
        file, _, anchor = match["to"].partition("#")
        if ":" in file or file.startswith("//"):
            continue
        here = places.slugs.get(anchor.casefold()) if anchor and not file else None
        words = anchor.replace("-", " ") if anchor else match["words"]
        yield Name(locator_key(here.locator if here else words), *match.span())
