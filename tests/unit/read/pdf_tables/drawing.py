"""Words and rulings of small made-up pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pincite.read.pdf.page import Word
from pincite.read.pdf.tables.geometry import Rule, Rulings

SIZE = 10.0
LETTER = 5.0  # width of a letter
SPACE = 3.0


def words(text: str, x: float, y: float, **look: bool) -> list[Word]:
    """The words of a text that begins at x, with its top at y."""
    found = []
    for part in text.split():
        end = x + LETTER * len(part)
        found.append(Word(part, x, y, end, y + SIZE, SIZE, base=y + 8, **look))
        x = end + SPACE
    return found


def right(text: str, x: float, y: float) -> list[Word]:
    """The words of a text that ends at x."""
    width = sum(LETTER * len(part) for part in text.split()) + SPACE * text.count(" ")
    return words(text, x - width, y)


def rows(texts: Iterable[Sequence[str]], xs: Sequence[float], y: float = 100.0) -> list[Word]:
    """Rows of texts: the first column flush left at xs[0], the others flush right."""
    found: list[Word] = []
    for number, row in enumerate(texts):
        top = y + 14 * number
        for column, text in enumerate(row):
            found += words(text, xs[0], top) if column == 0 else right(text, xs[column], top)
    return found


def grid(xs: Sequence[float], ys: Sequence[float]) -> Rulings:
    """All the lines of a ruled table."""
    return Rulings(
        horizontal=[Rule(y, xs[0], xs[-1]) for y in ys],
        vertical=[Rule(x, ys[0], ys[-1]) for x in xs],
    )
