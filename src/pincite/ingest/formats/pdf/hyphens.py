"""How two lines of a paragraph are joined: with a space, without, or without the hyphen."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pincite.ingest.formats.pdf.lines import Line

_WORD = re.compile(r"[^\W\d_]+(?:[’'-][^\W\d_]+)*")
_HEAD = re.compile(r"(?P<whole>(?:[^\W\d_]+-)*(?P<head>[^\W\d_]+))[-‐\u00ad]$")
_ADDRESS = re.compile(r"(?:https?:/|www\.|ftp:/)\S*[/_.=&?%-]$")
# Between these no space was broken: "2018–" / "23", "words—" / "words", "and/" / "or".
_DASH = re.compile(r"\S[–—@]$|\d-$|\S[%/]-$|/$")
_LOOKED_AT = 200  # characters on both sides of the break
HYPHENS = ("-", "‐", "\u00ad")


class Joiner:
    """Joins lines with the words of the whole document at hand."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()  # those that stand whole within a line
        is_broken = False
        for line in lines:
            words = _WORD.findall(line.text.casefold())
            first = 1 if is_broken else 0
            is_broken = line.text.endswith(HYPHENS)
            self._words.update(words[first : len(words) - is_broken])

    def join(self, before: str, after: str) -> tuple[int, str]:
        """Return how many characters to drop from the first line, and what to put between.

        A hyphen at the end of a line goes if the joined word occurs elsewhere, stays if the word
        with its hyphen does or if both halves are words of their own, and goes otherwise.
        """
        before = before[-_LOOKED_AT:]
        head = _HEAD.search(before) if before.endswith(HYPHENS) else None
        tail = _WORD.match(after[:_LOOKED_AT])
        if head and tail and tail.group()[0].islower():
            return self._hyphen(before, head, tail.group())
        if before.endswith("\u00ad"):
            return 1, ""
        if head or _DASH.search(before) or _ADDRESS.search(before):
            return 0, ""
        return 0, " "

    def _hyphen(self, before: str, head: re.Match[str], tail: str) -> tuple[int, str]:
        left, right = head["whole"].casefold(), tail.casefold()
        if before.endswith("\u00ad") or left + right in self._words:
            return 1, ""
        is_compound = f"{left}-{right}" in self._words or (
            len(right) > 2 and head["head"].casefold() in self._words and right in self._words
        )
        return (0, "") if is_compound else (1, "")
