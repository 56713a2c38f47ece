"""What paragraph and character styles say, inheritance followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

from pincite.ingest.formats.docx.archive import W, is_on, number, value
from pincite.ingest.formats.xml import Element

_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_MAX_CHAIN = 20
_BODY_LEVEL = 9  # the outline level that means none


class Styles:
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
