"""Numbers as lists print them: letters, Roman figures, ordinals."""

from __future__ import annotations

_ROMAN = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l")),
    *((40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}
_MOST = 3_999  # beyond it nobody writes Roman figures, nor letters


def counted(number: int, style: str) -> str:
    """Return a number in a style, under the names that Word has for them; empty for ``none``.

    >>> [counted(3, style) for style in ("decimal", "lowerLetter", "upperRoman", "ordinal")]
    ['3', 'c', 'III', '3rd']
    >>> counted(28, "lowerLetter"), counted(0, "lowerLetter")
    ('bb', '')
    """
    if style in ("none", "bullet"):
        return ""
    if style in ("lowerLetter", "upperLetter", "lowerRoman", "upperRoman"):
        if not 0 < number <= _MOST:
            return ""
        # A letter is doubled after z: that is how Word goes on, and so do laws.
        letters = chr(97 + (number - 1) % 26) * (1 + (number - 1) // 26)
        word = letters if style.endswith("Letter") else _roman(number)
        return word.upper() if style.startswith("upper") else word
    if style == "decimalZero":
        return f"{number:02d}"
    if style != "ordinal":
        return str(number)
    is_teen = number % 100 in (11, 12, 13)
    return f"{number}{'th' if is_teen else _SUFFIXES.get(number % 10, 'th')}"


def _roman(number: int) -> str:
    word = ""
    for value, digits in _ROMAN:
        word += digits * (number // value)
        number %= value
    return word
