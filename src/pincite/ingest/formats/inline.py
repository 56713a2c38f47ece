"""Words with emphasis and raised marks, as Markdown writes them."""

from __future__ import annotations

import re
from itertools import groupby
from operator import itemgetter

_SPACE = re.compile(r"[^\S\n]+")
_AROUND_BREAK = re.compile(r"(?<![^\S\n])[^\S\n]*\n\s*")
_EDGES = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_UNIT = re.compile(r"(?:^|[^\w])(?:[kcdmµμn]?m|ft|in|yd|mi|s|h)$")
_RAISED = str.maketrans("0123456789+-−()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁽⁾")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Inline:
    """Collects the pieces of one paragraph or cell.

    >>> words = Inline()
    >>> words.add("(a) ")
    >>> words.add("Fees. ", italic=True)
    >>> words.add("Ten  per m")
    >>> words.raised("2")
    >>> words.text()
    '(a) *Fees.* Ten per m²'
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[str, str]] = []  # words and the signs around them
        self._tail = ""

    def add(self, words: str, *, bold: bool = False, italic: bool = False) -> None:
        """Add words; a line break in them stays one."""
        if not words:
            return
        signs = "**" * bold + "*" * italic
        if self._pieces and (self._pieces[-1][1] == signs or not words.strip()):
            self._pieces[-1] = (self._pieces[-1][0] + words, self._pieces[-1][1])
        else:
            self._pieces.append((words, signs))
        self._tail = (self._tail + words)[-8:]

    def raised(self, words: str) -> None:
        """Add a superscript: a power behind a unit, else a mark such as that of a footnote."""
        words = words.strip()
        power = words.translate(_RAISED)
        is_power = _UNIT.search(self._tail) and not any(sign in words for sign in power)
        self.add(power if is_power else f"^{words}^" if words else "")

    def lowered(self, words: str) -> None:
        """Add a subscript: figures as such, letters behind a low line."""
        words = words.strip()
        self.add(words.translate(_LOWERED) if words.isdecimal() else f"_{words}" if words else "")

    def text(self, *, plain: bool = False) -> str:
        """Return the paragraph with single spaces; ``plain`` leaves emphasis out."""
        runs = [
            ("".join(words for words, _ in run), signs)
            for signs, run in groupby(self._pieces, key=itemgetter(1))
        ]
        joined = "".join(words if plain else _signed(words, signs) for words, signs in runs)
        return _AROUND_BREAK.sub("\n", _SPACE.sub(" ", joined)).strip()

    def clear(self) -> None:
        """Start a new paragraph."""
        self._pieces, self._tail = [], ""


def _signed(words: str, signs: str) -> str:
    """Return the words between emphasis signs, white space outside, and no sign in vain."""
    match = _EDGES.fullmatch(words)
    if not signs or match is None or "*" in words or not any(c.isalnum() for c in words):
        return words
    before, inner, after = match.groups()
    inner = f"{signs}\n{signs}".join(line.strip() for line in inner.split("\n") if line.strip())
    return f"{before}{signs}{inner}{signs}{after}"


def one_line(words: str) -> str:
    """Return the words with every run of white space as one space."""
    return " ".join(words.split())
