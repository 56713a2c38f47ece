"""The parts of a Word document: its archive, styles and numbering."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from pincite.model.errors import SourceError
from pincite.read.formats.archive import Archive
from pincite.read.formats.blocks import counted
from pincite.read.formats.xml import Element, local_name, parse_xml

_OLE = b"\xd0\xcf\x11\xe0"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_TRANSITIONAL = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
W = "{" + _TRANSITIONAL.decode() + "}"


def whole_office_file(data: bytes, name: str, old: str, new: str) -> None:
    """Raise SourceError for a file under a password, or of the format before this one."""
    if data.startswith(_OLE):
        raise SourceError(
            f"{name} is encrypted, or of the old format .{old}",
            hint=f"open it in LibreOffice or Office and save it as .{new} without a password",
        )


@dataclass(frozen=True, slots=True)
class RelatedParts:
    """The parts of an Office file that one of them names."""

    by_id: dict[str, str]
    roles: tuple[tuple[str, str], ...]  # "…/styles" and a path

    def first(self, role: str) -> str:
        """Return the path of the part in a role, empty where there is none."""
        return next((path for known, path in self.roles if known.endswith(f"/{role}")), "")


def related_parts(archive: Archive, source: str) -> RelatedParts:
    """Return what a part names; what lies outside of the file is never looked at."""
    folder, base = posixpath.split(source)
    relations = archive.part(posixpath.join(folder, "_rels", f"{base}.rels"))
    by_id, roles = {}, []
    for relation in relations if relations is not None else ():
        if local_name(relation) != "Relationship" or relation.get("TargetMode") == "External":
            continue
        path = posixpath.join("/", folder, relation.get("Target", ""))
        path = posixpath.normpath(path).lstrip("/")
        by_id[relation.get("Id", "")] = path
        roles.append((relation.get("Type", ""), path))
    return RelatedParts(by_id, tuple(roles))


class WordArchive:
    """Gives the XML parts of a Word document by their role."""

    def __init__(self, data: bytes, name: str) -> None:
        whole_office_file(data, name, "doc", "docx")
        self._archive = Archive(data, name, "DOCX")
        self.main = related_parts(self._archive, "").first("officeDocument") or "word/document.xml"

    def document(self) -> Element:
        """Return the main part."""
        found = self.part(self.main)
        if found is None:
            raise self._archive.broken(f"it has no {self.main}")
        return found

    def related(self, role: str) -> Element | None:
        """Return the part that the main one names in a role, such as ``styles``."""
        return self.part(related_parts(self._archive, self.main).first(role))

    def part(self, path: str) -> Element | None:
        """Return a part as XML under the usual names, None where there is none."""
        words = self._archive.read(path)
        if words is None:
            return None
        name = f"{self._archive.name} ({path})"
        return parse_xml(words.replace(_STRICT, _TRANSITIONAL), name)


def value(parent: Element | None, tag: str) -> str | None:
    """Return the ``w:val`` of a child, None where there is no such child."""
    child = parent.find(W + tag) if parent is not None else None
    return child.get(W + "val", "") if child is not None else None


def number(words: str | None) -> int | None:
    """Return a whole number of sensible size, None for anything else."""
    if words is None or not words.lstrip("-").isdecimal() or len(words) > 9:
        return None
    return int(words)


def is_on(parent: Element | None, tag: str) -> bool | None:
    """Return whether a switch such as ``w:b`` is on or off, None where it is not set."""
    found = value(parent, tag)
    return None if found is None else found.lower() not in ("0", "false", "off", "none")


_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_MAX_CHAIN = 20
_BODY_LEVEL = 9  # the outline level that means none


class DocxStyles:
    """Answers what a style means for the text: heading, numbering, emphasis, hidden."""

    def __init__(self, root: Element | None) -> None:
        found = root.findall(W + "style") if root is not None else []
        self._styles: dict[str, Element] = {s.get(W + "styleId", ""): s for s in found}
        self.default = next(
            (
                s.get(W + "styleId", "")
                for s in found
                if s.get(W + "type") == "paragraph" and s.get(W + "default") in ("1", "true")
            ),
            "",
        )
        self.heading_level: Callable[[str], int] = lru_cache(maxsize=4096)(self._heading_level)
        self.emphasis: Callable[[str, str], bool | None] = lru_cache(maxsize=4096)(self._emphasis)

    def chain(self, style: str) -> Iterator[Element]:
        """Yield the style and those it is based on."""
        for _ in range(_MAX_CHAIN):
            found = self._styles.get(style)
            if found is None:
                return
            yield found
            style = value(found, "basedOn") or ""

    def name(self, style: str) -> str:
        """Return the style's name in lower case, its id where it is unknown."""
        found = self._styles.get(style)
        return ((value(found, "name") if found is not None else None) or style).lower()

    def numbering(self, style: str) -> Iterator[tuple[str, Element]]:
        """Yield the numbering that the style and those below it ask for, with the style's id."""
        for found in self.chain(style):
            properties = found.find(f"{W}pPr/{W}numPr")
            if properties is not None:
                yield found.get(W + "styleId", ""), properties

    def _heading_level(self, style: str) -> int:
        """Return the level of a heading style, 0 for any other."""
        for found in self.chain(style):
            level = number(value(found.find(W + "pPr"), "outlineLvl"))
            if level is not None:
                return level + 1 if 0 <= level < _BODY_LEVEL else 0
            if match := _HEADING.fullmatch(value(found, "name") or ""):
                return int(match.group(1))
        return 0

    def _emphasis(self, style: str, switch: str) -> bool | None:
        """Return whether a style sets a switch of its runs: ``b``, ``i``, ``vanish``."""
        for found in self.chain(style):
            state = is_on(found.find(W + "rPr"), switch)
            if state is not None:
                return state
        return None


_PLACE = re.compile(r"%([1-9])")
_LEVELS = 9


@dataclass(frozen=True, slots=True)
class Level:
    """How one level of a list counts."""

    start: int = 1
    style: str = "decimal"
    text: str = ""
    restart: int | None = None  # the level (from 1) that restarts it; None for any above, 0 never
    is_legal: bool = False  # all numbers in Arabic figures
    linked: str = ""  # the paragraph style that means this level


@dataclass
class _DocxList:
    levels: dict[int, Level]
    abstract: str
    restarted: set[int] = field(default_factory=set)  # levels that begin anew, once


class Numbering:
    """Counts through a document; call ``label`` once for each numbered paragraph, in order."""

    def __init__(self, root: Element | None, styles: DocxStyles) -> None:
        self._styles = styles
        self._abstract: dict[str, dict[int, Level]] = {}
        self._lists: dict[str, _DocxList] = {}
        self._counters: dict[str, dict[int, int]] = {}  # by abstract list
        self._begun: set[str] = set()
        if root is not None:
            self._read(root)

    def place(self, properties: Element | None, style: str) -> tuple[str, int] | None:
        """Return list and level of a paragraph, from itself or its style; None without number."""
        own = value(properties, "numId") if properties is not None else None
        level = number(value(properties, "ilvl")) if properties is not None else None
        linked = ""
        for owner, inherited in self._styles.numbering(style):
            if own is None:
                own, linked = value(inherited, "numId"), owner
            if level is None:
                level = number(value(inherited, "ilvl"))
        if own is None or own == "0" or own not in self._lists:
            return None
        if linked and level is None:
            meant = {rule.linked: at for at, rule in reversed(self._lists[own].levels.items())}
            level = meant.get(style, meant.get(linked))
        return own, min(max(level or 0, 0), _LEVELS - 1)

    def label(self, list_id: str, level: int) -> tuple[str, bool]:
        """Count one further and return the label as printed, and whether it is a bullet."""
        list_ = self._lists[list_id]
        rule = list_.levels.get(level)
        if rule is None:
            return "", False
        counters = self._counters.setdefault(list_.abstract, {})
        if list_id not in self._begun:  # one that overrides its start begins anew, once
            self._begun.add(list_id)
            first = min(list_.restarted, default=_LEVELS)
            for deeper in [key for key in counters if key >= first]:
                del counters[deeper]
        counters[level] = counters[level] + 1 if level in counters else rule.start
        for deeper in [key for key in counters if key > level]:
            restart = list_.levels.get(deeper, Level()).restart
            if restart is None or restart > level:
                del counters[deeper]
        if rule.style == "bullet":
            return "-", True
        label = _PLACE.sub(lambda match: self._part(list_, counters, match, rule), rule.text)
        return (label.strip() if any(sign.isalnum() for sign in label) else ""), False

    def _part(
        self, list_: _DocxList, counters: dict[int, int], match: re.Match[str], shown: Level
    ) -> str:
        at = int(match.group(1)) - 1
        rule = list_.levels.get(at, Level())
        style = "decimal" if shown.is_legal and rule.style not in ("none", "bullet") else rule.style
        return counted(counters.get(at, rule.start), style)

    def _read(self, root: Element) -> None:
        links: dict[str, str] = {}
        for abstract in root.findall(W + "abstractNum"):
            key = abstract.get(W + "abstractNumId", "")
            self._abstract[key] = dict(_levels(abstract))
            if link := value(abstract, "numStyleLink"):
                links[key] = link
        for element in root.findall(W + "num"):
            key = self._followed(root, value(element, "abstractNumId") or "", links)
            list_ = _DocxList(dict(self._abstract.get(key, {})), key)
            for override in element.findall(W + "lvlOverride"):
                level = number(override.get(W + "ilvl")) or 0
                list_.levels.update(_levels(override))
                start = number(value(override, "startOverride"))
                if start is not None:
                    list_.restarted.add(level)
                    list_.levels[level] = replace(list_.levels.get(level, Level()), start=start)
            self._lists[element.get(W + "numId", "")] = list_

    def _followed(self, root: Element, key: str, links: dict[str, str]) -> str:
        """Return the abstract list behind one that only names a list style."""
        if key not in links:
            return key
        for _, properties in self._styles.numbering(links[key]):
            wanted = value(properties, "numId")
            for element in root.findall(W + "num"):
                if element.get(W + "numId") == wanted:
                    return value(element, "abstractNumId") or key
        return key


def _levels(parent: Element) -> Iterator[tuple[int, Level]]:
    """Yield the levels that an abstract list or an override defines; the first of a number wins."""
    seen: set[int] = set()
    for element in parent.findall(W + "lvl"):
        at = number(element.get(W + "ilvl")) or 0
        if at in seen or not 0 <= at < _LEVELS:
            continue
        seen.add(at)
        start = number(value(element, "start"))
        level = Level(
            start=1 if start is None else start,
            style=value(element, "numFmt") or "decimal",
            text=value(element, "lvlText") or "",
            restart=number(value(element, "lvlRestart")),
            is_legal=bool(is_on(element, "isLgl")),
            linked=value(element, "pStyle") or "",
        )
        yield at, level
