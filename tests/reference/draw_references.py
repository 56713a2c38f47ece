"""Draw the strings of Part 97 that look like cross references, for a person to judge.

The net is wide and knows nothing of the extractor: words for places, section signs, labels in
parentheses that open no item, numbers with a point. Neighbours joined by "and", "or", "of this
section" are one string. Run it to see where the judged sample comes from:

    python tests/reference/draw_references.py ../shared/data/part97/part97.md
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

SEED = 97
_PLACE = (
    r"(?:sub)?(?:section|paragraph|part|chapter|clause)s?|appendix|tables?|articles?|footnotes?"
)
NET = re.compile(
    rf"§+|\b(?:[Tt]his (?:rule )?)?(?i:{_PLACE}|annex|schedule|items?)\b(?:\(s\))?(?: [0-9A-Z]+\b)?"
    r"|\b(?i:elements?|rules?|titles?|resolution)(?: No\.)? \d+|\b(?:\d+ )?(?:CFR|U\.S\.C\.)"
    r"|\b[Aa]ct\b|(?<!^)(?<!\n)\([0-9A-Za-z]{1,5}\)|\d+\.\d+",
)
GLUE = re.compile(r"[\s,.]*(?:(?:and|or|through|to|of|in|the)\s+){0,3}\(?|[–-]|\d+")


def strings(text: str) -> list[tuple[int, int]]:
    """Return where the strings that may be references stand, headings left out."""
    found: list[tuple[int, int]] = []
    for match in NET.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if line.startswith("#"):
            continue
        gap = text[found[-1][1] : match.start()] if found else "\n"
        if found and "\n" not in gap and GLUE.fullmatch(gap):
            found[-1] = (found[-1][0], match.end())
        else:
            found.append(match.span())
    return found


def drawn(text: str) -> list[tuple[int, int]]:
    """Return the strings in the order in which they are drawn."""
    order = strings(text)
    random.Random(SEED).shuffle(order)
    return order


def in_table(text: str, start: int) -> bool:
    """Return whether a string stands in a row of a table."""
    return text[text.rfind("\n", 0, start) + 1] == "|"


def main() -> None:
    """Print the strings in drawing order, with the words around them."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    for start, end in drawn(text):
        kind = "table" if in_table(text, start) else "words"
        around = text[max(0, start - 70) : start], text[start:end], text[end : end + 50]
        print(start, kind, " ".join(f"{around[0]}⟦{around[1]}⟧{around[2]}".split()))


if __name__ == "__main__":
    main()
