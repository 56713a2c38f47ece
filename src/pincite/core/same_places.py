"""Which places of two editions are the same place, also where numbers have changed.

Links are kept with the document they start in; this depends on two documents, so it is worked out
when it is asked for.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pincite.core.types import Chunk
from pincite.model.locators import locator_key

# So much of the words of two places must be in both (Dice, by count of each word) for them to be
# one place: under the same number, and under another.
SAME_SHARE = 0.5
MOVED_SHARE = 0.6
# Fewer words than this say too little to be known again under another number without a heading.
FEW_WORDS = 8
# Pairs of siblings that are compared; in longer lists only equal words are found again.
MAX_PAIRS = 40_000
_WORD = re.compile(r"\w+")
_LABEL = re.compile(r"[#>|*_\s]*(?:\([0-9A-Za-z]{1,6}\)|§?\s{0,4}\d[\w.-]*[.)]?(?=\s))[*_\s]*")


@dataclass(frozen=True, slots=True)
class Place:
    """A place of one edition with its own words, without those of places below it."""

    chunk: Chunk
    words: str
    parent: str  # its locator
    bag: Counter[str] = field(repr=False)  # the words of all of it, without its label

    @property
    def key(self) -> str:
        return locator_key(self.chunk.locator)

    @property
    def title(self) -> str:
        return locator_key(self.chunk.title)


def places_of(text: str, chunks: Sequence[Chunk]) -> dict[str, Place]:
    """Return every place of a document by locator, in its order."""
    by_id = {chunk.id: chunk for chunk in chunks}
    places: dict[str, Place] = {}
    for chunk in chunks:
        if chunk.kind in ("piece", "document"):
            continue
        words = text[chunk.span.start : chunk.own_end].strip()
        if chunk.locator in places:  # text that goes on below a table belongs to its clause
            first = places[chunk.locator]
            whole = f"{first.words}\n{words}"
            places[chunk.locator] = Place(first.chunk, whole, first.parent, first.bag)
            continue
        above = by_id.get(chunk.parent or "")
        bag = Counter(_WORD.findall(_without_label(chunk.text).casefold()))
        places[chunk.locator] = Place(chunk, words, above.locator if above else "", bag)
    return places


def _without_label(text: str) -> str:
    label = _LABEL.match(text)
    return text[label.end() :] if label else text


def overlap(first: Counter[str], second: Counter[str]) -> float:
    """Return the share of words that two places have in common, from 0 to 1.

    >>> overlap(Counter("the box shall close".split()), Counter("the lid shall close".split()))
    0.75
    """
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0


def same_places(old: Mapping[str, Place], new: Mapping[str, Place]) -> list[tuple[Place, Place]]:
    """Return which places of an edition are which of the next, in the order of the new one.

    First those under the same number with the same heading or the same words; then equal words
    under another number; then much the same words under the same number; at last places with the
    same heading or among the same neighbours, if most of their words are the same.
    """
    match = _Match(old, new)
    match.same_number(lambda a, b: (bool(a.title) and a.title == b.title) or a.bag == b.bag)
    match.equal_words()
    match.same_number(lambda a, b: overlap(a.bag, b.bag) >= SAME_SHARE)
    match.same_heading()
    match.same_neighbours()
    return [(old[match.source[name]], place) for name, place in new.items() if name in match.source]


class _Match:
    """Pairs that were found, and what is left on both sides."""

    def __init__(self, old: Mapping[str, Place], new: Mapping[str, Place]) -> None:
        self.old = old
        self.new = new
        self.source: dict[str, str] = {}  # by the new locator
        self.target: dict[str, str] = {}  # by the old one

    def pair(self, old: str, new: str) -> None:
        self.source[new] = old
        self.target[old] = new

    def left(self) -> tuple[list[Place], list[Place]]:
        olds = [place for name, place in self.old.items() if name not in self.target]
        return olds, [place for name, place in self.new.items() if name not in self.source]

    def same_number(self, is_same: Callable[[Place, Place], bool]) -> None:
        olds, news = self.left()
        by_key = {place.key: place for place in news}
        for place in olds:
            other = by_key.get(place.key)
            if other and other.chunk.kind == place.chunk.kind and is_same(place, other):
                self.pair(place.chunk.locator, other.chunk.locator)

    def equal_words(self) -> None:
        """Pair places whose words stand once in each edition, and unchanged."""
        olds, news = (_by_words(places) for places in self.left())
        for words in olds.keys() & news.keys():
            if len(olds[words]) == len(news[words]) == 1:
                self.pair(olds[words][0].chunk.locator, news[words][0].chunk.locator)

    def same_heading(self) -> None:
        olds, news = self.left()
        by_title: defaultdict[tuple[str, str], list[Place]] = defaultdict(list)
        for place in news:
            if place.title:
                by_title[place.title, place.chunk.kind].append(place)
        for place in olds:
            self.best(place, by_title.get((place.title, place.chunk.kind), ()), SAME_SHARE)

    def same_neighbours(self) -> None:
        """Pair what is left below places that are the same; parents come before their items."""
        olds, news = self.left()
        below: defaultdict[tuple[str, str], list[Place]] = defaultdict(list)
        for place in news:
            below[place.parent, place.chunk.kind].append(place)
        counts = Counter(place.parent for place in olds)
        for place in olds:
            parent = self.target.get(place.parent, "" if place.parent == "" else None)
            if parent is None:
                continue
            beside = below.get((parent, place.chunk.kind), [])
            suffix = place.chunk.locator.removeprefix(place.parent)
            own = [each for each in beside if each.chunk.locator == parent + suffix]
            self.best(place, own, SAME_SHARE)
            if len(beside) * counts[place.parent] <= MAX_PAIRS and place.bag.total() >= FEW_WORDS:
                self.best(place, beside, MOVED_SHARE)

    def best(self, place: Place, others: Iterable[Place], least: float) -> None:
        """Pair a place with the most similar of the others that is free, if one is enough so."""
        if place.chunk.locator in self.target:
            return
        free = [each for each in others if each.chunk.locator not in self.source]
        if not free:
            return
        share, other = max(
            ((overlap(place.bag, each.bag), each) for each in free), key=lambda pair: pair[0]
        )
        if share >= least:
            self.pair(place.chunk.locator, other.chunk.locator)


def _by_words(places: Sequence[Place]) -> dict[frozenset[tuple[str, int]], list[Place]]:
    found: defaultdict[frozenset[tuple[str, int]], list[Place]] = defaultdict(list)
    for place in places:
        if place.bag.total() >= FEW_WORDS:
            found[frozenset(place.bag.items())].append(place)
    return dict(found)
