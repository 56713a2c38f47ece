"""Pages: where they begin in a text, what is printed on them, how they are cited."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple


class PageRef(NamedTuple):
    """A page as it is cited: its number in the file, and what is printed on it."""

    number: int | None  # None where the document has no pages
    label: str = ""  # "172", "iv", "F-3"; empty where it is not known or the number itself

    def __str__(self) -> str:
        """Return it behind the name of a place.

        >>> f"{PageRef(178, '172')}{PageRef(5)}{PageRef(None)}"
        ', p. 172 (PDF 178), p. 5'
        """
        if self.number is None:
            return ""
        return f", p. {self.label} (PDF {self.number})" if self.label else f", p. {self.number}"

    def plain(self) -> dict[str, int | str | None]:
        """Return it as fields of plain values."""
        return {"page": self.number, "page_label": self.label}


@dataclass(frozen=True, slots=True)
class Pages:
    """Where another page begins in a document's text, and what is printed on each.

    A page may come twice: its footnotes stand behind a paragraph that ends on the next one.
    """

    starts: Sequence[int] = field(default=())  # rising
    numbers: Sequence[int] = field(default=())  # of the page that begins at each
    labels: Mapping[int, str] = field(default_factory=dict)  # of pages that print another number

    def at(self, offset: int) -> int | None:
        """Return the page of a character, None where the document has no pages."""
        if not self.starts:
            return None
        return self.numbers[max(0, bisect_right(self.starts, offset) - 1)]

    def cited(self, offset: int) -> PageRef:
        """Return the page of a character as it is cited."""
        number = self.at(offset)
        return PageRef(number, self.labels.get(number, "") if number is not None else "")

    def __str__(self) -> str:
        """Return what ``read_pages`` reads: of each page, how far behind the last it begins.

        >>> str(Pages([0, 900, 1500], [1, 2, 4], {4: "ii"})), str(Pages())
        ('0 900 600:4=ii', '')
        """
        words, last = [], 0
        for before, start, number in zip(
            (0, *self.starts), self.starts, self.numbers, strict=False
        ):
            label = self.labels.get(number, "")
            named = "" if number == last + 1 else f":{number}"
            words.append(f"{start - before}{named}{label and '='}{label}")
            last = number
        return " ".join(words)

    def within(self, start: int, end: int) -> Pages:
        """Return the pages of a stretch of the text.

        >>> Pages([0, 900, 1500], [1, 2, 3], {3: "i"}).within(950, 1600)
        Pages(starts=(900, 1500), numbers=(2, 3), labels={3: 'i'})
        """
        first = max(0, bisect_right(self.starts, start) - 1)
        some = slice(first, bisect_left(self.starts, end, first + 1))
        numbers = tuple(self.numbers[some])
        labels = {number: self.labels[number] for number in numbers if number in self.labels}
        return Pages(tuple(self.starts[some]), numbers, labels)


@lru_cache(maxsize=64)
def read_pages(text: str) -> Pages:
    """Return pages that were written as text; words that are none of ours are passed over."""
    starts, numbers, labels = [], [], {}
    start = number = 0
    for word in text.split():
        begin, _, label = word.partition("=")
        step, _, named = begin.partition(":")
        if not step.isdecimal() or not (named or "1").isdecimal():
            continue
        start += int(step)
        number = int(named) if named else number + 1
        starts.append(start)
        numbers.append(number)
        if label:
            labels[number] = label
    return Pages(tuple(starts), tuple(numbers), labels)
