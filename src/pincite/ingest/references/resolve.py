"""From a citation to the keys of the places it means, as seen from the clause that cites."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pincite.core.types import Chunk
from pincite.ingest.references.citations import Citation, Cited, citations
from pincite.ingest.references.french import french_citations, is_french
from pincite.ingest.references.laws import law_stretches
from pincite.ingest.references.places import Places
from pincite.ingest.structure.sequence import readings
from pincite.model.locators import EVERYDAY, INNER, NAMED, TABLE_WORDS, locator_key

INSIDE, OUTSIDE = "refers_to", "refers_outside"
# Before a bare number: what makes it a place, and what makes it a quantity.
_POINTER = re.compile(
    r"\b(?:see|also|refer to|under|per|(?:comply(?:ing)?|complies|accordance) with|at|in|FAR"
    r"|(?:required|permitted|prescribed) by)[\s*_]*$",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?:\b(?:than|exceeds?|exceeding|about|approximately|nearly|equals?|version|of at least|at"
    r" (?:least|most)|by|times)|[=<>≥≤×±+$€£])\s*$",
    re.IGNORECASE,
)
_FAR = 30
_LARGE = 10  # a smaller number before the point is more often a quantity than a section


class Target(NamedTuple):
    """A place that is meant: its key, whether it is outside, and the words that say so."""

    key: str
    relation: str
    start: int
    end: int


class Resolver:
    """Resolves what the clauses of one document cite."""

    def __init__(self, text: str, places: Places, title: str) -> None:
        self.text = text
        self.places = places
        self.title = title.casefold()
        self.citations = french_citations if is_french(text) else citations
        self.laws = law_stretches(text, places.tables)

    def targets(self, citation: Citation, chunk: Chunk) -> list[Target]:
        """Return the places that a citation in a chunk means; none if it is no reference."""
        if citation.is_own:
            key = locator_key(self.places.own(citation.word, chunk))
            return [Target(key, INSIDE, citation.start, citation.end)] if key else []
        if citation.is_bare and not self._is_place(citation.cited[0], chunk):
            return []
        whole = _completed(citation.cited)
        if not whole[0].number:
            located = self._located(citation, whole, chunk)
        else:
            located = [(self._absolute(citation, each, chunk), each) for each in whole]
        found = [self._of_law(each) for each in self._linked(citation, located)]
        if not found and citation.word in EVERYDAY and citation.tail.place:
            return self.targets(citation.tail.place, chunk)  # "Division II of Part VI of the Act"
        return found

    def _of_law(self, target: Target) -> Target:
        """Return a number as of another law, where a table says that it is."""
        if target.relation != INSIDE or not target.key[:1].isdigit() or self.places.has(target.key):
            return target
        at = bisect_right(self.laws, target.start, key=lambda stretch: stretch[0]) - 1
        if at < 0 or self.laws[at][1] <= target.start:
            return target
        return target._replace(key=f"{self.laws[at][2]} {target.key}", relation=OUTSIDE)

    def _linked(self, citation: Citation, located: Sequence[tuple[str, Cited]]) -> Iterator[Target]:
        """Yield the targets of named places, with ranges as their members."""
        tail, last = citation.tail, len(located) - 1
        for position, (name, cited) in enumerate(located):
            key = locator_key(name)
            if not name or (cited.is_doubtful and not self.places.has(key)):
                continue
            if position < last and located[position + 1][1].is_inner:
                continue
            start = cited.start
            if position and (cited.is_inner or cited.ends_range):
                start = located[position - 1][1].start
            end = max(cited.end, tail.end) if position == last else cited.end
            relation, key = self._relation(citation, cited, key)
            keys = [key]
            if cited.ends_range and position and located[position - 1][0]:
                keys = self.places.between(locator_key(located[position - 1][0]), key)[1:]
            if position == last and citation.aside:
                whole = locator_key(f"{keys[0]} {citation.aside}")
                keys, end = [whole if self.places.has(whole) else keys[0]], citation.end
            for each in keys:
                yield Target(each, relation, start, end)

    def _is_place(self, cited: Cited, chunk: Chunk) -> bool:
        """Return whether a bare number is a place and no quantity."""
        before = self.text[max(0, cited.start - 40) : cited.start]
        known = self.places.has(locator_key(cited.number + "".join(cited.labels)))
        if known and (cited.labels or _POINTER.search(before)):
            return True
        if _POINTER.search(before) and self.places.parts:
            # The number of a section looks like "702.5", "2.106", "4.2(b)".
            whole, _, rest = cited.number.partition(".")
            is_shaped = bool(cited.labels) or len(whole) >= 3 or len(rest) >= 3
            return self._is_alike(cited) or is_shaped
        if cited.labels:
            return "." in cited.number and self._is_alike(cited)
        if chunk.kind in ("table", "row"):  # of numbers, mostly
            return False
        large = int(cited.number.split(".")[0]) >= _LARGE
        return large and self._is_alike(cited) and not _AMOUNT.search(before)

    def _is_alike(self, cited: Cited) -> bool:
        """Return whether sections of this document are numbered alike."""
        return cited.number.split(".")[0] in self.places.parts or "-" in cited.number

    def _absolute(self, citation: Citation, cited: Cited, chunk: Chunk) -> str:
        """Return the locator of a numbered place."""
        word, labels = citation.word, "".join(cited.labels)
        number = cited.number + labels
        if citation.law and not ("CFR" in citation.law.replace(".", "") and "." in number):
            name = word if word in NAMED else ""
            return " ".join(f"{citation.law} {name} {number}".split())
        if word in TABLE_WORDS:
            named = self._table(citation, number, chunk)
            known = word == "table" or self.places.has(locator_key(named))
            return named if known else f"{word} {number}"
        if word in NAMED:
            name = f"{word} {number}"
            is_section = word in ("article", "articolo") and not self.places.has(locator_key(name))
            return number if is_section and self.places.has(number) else name
        if word and INNER.get(word, 0) and not labels and "." not in number:
            base = self.places.climb(chunk, (f"({number})",))
            if base is not None:
                return f"{base}({number})"
            return number if word in ("subsection", "clause") else ""
        return f"section {number}" if number[:1].isalpha() else number

    def _table(self, citation: Citation, number: str, chunk: Chunk) -> str:
        place = citation.tail.place
        if place and not place.cited[0].number:
            base = self._located(place, _completed(place.cited), chunk)
            if base and base[0][0] and f"{base[0][0]} Table {number}" in self.places.exact:
                return f"{base[0][0]} Table {number}"
        return self.places.table_named(number, chunk)

    def _located(
        self, citation: Citation, whole: Sequence[Cited], chunk: Chunk
    ) -> list[tuple[str, Cited]]:
        """Return the locators of places that are cited by their labels alone."""
        base = self._base(citation, whole[0], chunk)
        if base is None:
            return []
        names = [base + "".join(each.labels) for each in whole]
        if base and base == self.places.alternate(chunk):  # what it leaves alone stands outside it
            clause = self.places.section(chunk).locator
            names = [
                name if name in self.places.exact else clause + name.removeprefix(base)
                for name in names
            ]
        return list(zip(names, whole, strict=True))

    def _base(self, citation: Citation, first: Cited, chunk: Chunk) -> str | None:
        """Return the locator that labels are to be added to, None if they are of something else."""
        tail, places = citation.tail, self.places
        if tail.kind in ("other", "name"):
            return None
        if tail.place:
            inner = self.targets(tail.place, chunk)
            return inner[0].key if inner else None
        climbed = places.climb(chunk, first.labels)
        section = places.section(chunk).locator
        if tail.word == "section" or (tail.word == "subsection" and climbed is None):
            return section
        if tail.word in ("clause", "provision"):  # as it reads with the alternate in it
            alternate = places.alternate(chunk)
            if alternate and alternate + "".join(first.labels) in places.exact:
                return alternate
        own = places.own(tail.word, chunk) if tail.word in INNER else ""
        if own and own + "".join(first.labels) in places.exact:
            return own
        if climbed is not None:
            return climbed
        is_cell = chunk.kind in ("table", "row") and not tail.kind
        return None if first.is_doubtful or is_cell else section

    def _relation(self, citation: Citation, cited: Cited, key: str) -> tuple[str, str]:
        """Return whether a place is outside this document, and the key under which it is."""
        tail = citation.tail
        if tail.place and citation.word in NAMED:
            within = self._relation_of_place(citation, key)
            if self.places.has(within[1]):
                return within
        if self.places.has(key) and not (tail.kind == "name" and not self._is_own(tail.name)):
            return INSIDE, key
        if citation.law:
            return OUTSIDE, key
        if tail.place:
            return self._relation_of_place(citation, key)
        if tail.kind == "name" and not self._is_own(tail.name):
            return OUTSIDE, key if "." in cited.number else f"{key} of the {tail.name.casefold()}"
        if tail.kind == "this" and tail.word in ("chapter", "title", "subchapter", "act"):
            own = any(key.startswith(f"{tail.word} ") for key in self.places.by_key)
            return (INSIDE if own else OUTSIDE), key
        return (OUTSIDE if self.places.is_foreign(cited.number) else INSIDE), key

    def _relation_of_place(self, citation: Citation, key: str) -> tuple[str, str]:
        place = citation.tail.place
        assert place is not None
        last = place.cited[-1] if place.cited else None
        if last is None or not last.number:
            return INSIDE, key
        name = locator_key(f"{place.word if place.word in NAMED else ''} {last.number}")
        relation, name = self._relation(place, last, name)
        if self.places.has(f"{name} > {key}"):
            return INSIDE, f"{name} > {key}"
        if citation.word in NAMED and not self.places.has(name):
            return relation, f"{key} of {name}"
        return relation, key

    def _is_own(self, name: str) -> bool:
        return name.casefold() in self.title


def _completed(cited: Sequence[Cited]) -> list[Cited]:
    """Return the places with what their neighbours let them leave out: "(c)(2) or (3)"."""
    whole: list[Cited] = []
    for each in cited:
        if whole and not each.number:
            number, before = whole[-1].number, whole[-1].labels
            labels = before + each.labels if each.is_inner else merged(before, each.labels)
            flags = each.ends_range, each.is_inner, each.is_doubtful
            each = Cited(each.start, each.end, number, labels, *flags)
        whole.append(each)
    return whole


def merged(before: Sequence[str], labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels with those of the place before that they go on from.

    >>> merged(("(c)", "(3)", "(i)"), ("(ii)",)), merged(("(a)", "(1)"), ("(b)", "(2)"))
    (('(c)', '(3)', '(ii)'), ('(b)', '(2)'))
    """
    if len(labels) > 1 and labels[0] in before:
        return (*before[: list(before).index(labels[0])], *labels)
    first = dict(readings(labels[0]))
    for depth in range(len(before) - 1, -1, -1):
        steps = [first[style] - value for style, value in readings(before[depth]) if style in first]
        if any(0 < step < _FAR for step in steps):  # "(c)" is not the hundredth of "(i)"
            return (*before[:depth], *labels)
    return labels if len(before) <= len(labels) else (*before[: len(before) - len(labels)], *labels)
