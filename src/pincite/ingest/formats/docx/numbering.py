"""The numbers that Word computes: they are in no text, yet "(a)" is how a rule is cited.

A paragraph names a list (``numId``) and a level. The list points to an abstract one, whose levels
say how a number looks (``lvlText`` such as ``%1.%2``), where it starts and what restarts it. Lists
that share an abstract one go on counting together, unless one of them overrides its start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pincite.ingest.formats.counting import counted
from pincite.ingest.formats.docx.archive import W, is_on, number, value
from pincite.ingest.formats.docx.styles import Styles
from pincite.ingest.formats.xml import Element

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
class _List:
    levels: dict[int, Level]
    abstract: str
    restarted: set[int] = field(default_factory=set)  # levels that begin anew, once


class Numbering:
    """Counts through a document; call ``label`` once for each numbered paragraph, in order."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._styles = styles
        self._abstract: dict[str, dict[int, Level]] = {}
        self._lists: dict[str, _List] = {}
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
        self, list_: _List, counters: dict[int, int], match: re.Match[str], shown: Level
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
            list_ = _List(dict(self._abstract.get(key, {})), key)
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
