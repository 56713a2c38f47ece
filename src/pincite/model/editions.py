"""Editions of one work: years, dates in force, and the same place in another edition."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import NamedTuple

from pincite.model.locators import locator_key
from pincite.model.patterns import lazy_pattern
from pincite.model.types import Chunk

_YEAR = lazy_pattern(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_EDITION = lazy_pattern(
    r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|new|revised)?\s*"
    r"(?:edition|version|release|revision|rev\.?|issue)\b(?:\s*\d+(?:\.\d+)*)?",
    re.IGNORECASE,
)

_ISO = lazy_pattern(r"(?P<year>(?:1[5-9]|20|21)\d\d)(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?)?")


class Edition(NamedTuple):
    """One document as an edition of a work; both dates are days on which it is in force."""

    doc_id: str
    work: str
    effective: date | None = None
    until: date | None = None


def years(*names: str) -> set[int]:
    """Return the years that the names mention.

    >>> sorted(years("Code, 2021 Edition", "code-2024.md"))
    [2021, 2024]
    """
    return {int(year) for name in names for year in _YEAR.findall(name)}


def work_of(title: str) -> str:
    """Return the title without what tells editions apart.

    >>> work_of("Harbour Code, 2021 Edition") == work_of("Harbour Code, 2024 edition")
    True
    """
    bare = _EDITION.sub(" ", _YEAR.sub(" ", title))
    return " ".join(re.sub(r"[^\w]+", " ", bare).casefold().split())


def parse_date(text: str) -> date | None:
    """Return the day that an ISO date names, the first one of a bare year or month.

    >>> parse_date("2024"), parse_date("2024-07-15"), parse_date("soon")
    (datetime.date(2024, 1, 1), datetime.date(2024, 7, 15), None)
    """
    match = _ISO.fullmatch(text.strip())
    try:
        return date(*(int(part or 1) for part in match.groups())) if match else None
    except ValueError:
        return None


# Of these kinds of documents a later edition replaces an earlier one; a filing, a report or a
# letter is of its own day, and another year's is another document.
_EDITIONED = frozenset(
    ("act", "bylaws", "code", "manual", "policy", "regulation", "rulebook", "standard")
)


def may_be_in_force(card: Mapping[str, str]) -> bool:
    """Return whether a document, by its card, is of a kind that is in force from a day on."""
    return card.get("kind", "") in ("", "contract", *_EDITIONED)


def edition_of(doc_id: str, title: str, meta: Mapping[str, str]) -> Edition:
    """Return which work a document is an edition of, and when it is in force.

    That day is the stated one, else the first of the year in its title, or in the name of a file
    that is known to be a code, a manual or the like.

    >>> edition_of("code.md", "Harbour Code, 2021 Edition", {}).effective
    datetime.date(2021, 1, 1)
    >>> edition_of("2019/code.md", "Harbour Code", {"kind": "code"}).effective
    datetime.date(2019, 1, 1)
    >>> edition_of("10k-2019.pdf", "Tug Inc., Form 10-K of 2019", {"kind": "10-K"}).effective
    """
    kind = meta.get("kind", "")
    until = parse_date(meta.get("until", ""))
    effective = parse_date(meta.get("effective", ""))
    if kind not in ("", *_EDITIONED):
        return Edition(doc_id, doc_id, effective, until)
    named = years(title)
    if kind:
        named = named or years(doc_id.rpartition("/")[2]) or years(doc_id)
    if effective is None and named:
        effective = date(max(named), 1, 1)
    return Edition(doc_id, work_of(title or doc_id), effective, until)


def when(edition: Edition) -> str:
    """Return a document with its dates in plain words.

    >>> when(Edition("code.md", "code", date(2021, 1, 1)))
    'code.md (from 2021-01-01)'
    """
    dates = (("from", edition.effective), ("until", edition.until))
    words = " ".join(f"{word} {day}" for word, day in dates if day)
    return f"{edition.doc_id} ({words or 'without a date'})"


def earlier_editions(editions: Sequence[Edition]) -> dict[str, str]:
    """Return for each document the edition of its work that came before, where both have dates."""
    works: defaultdict[str, list[tuple[date, str]]] = defaultdict(list)
    for each in editions:
        if each.work and each.effective is not None:
            works[each.work].append((each.effective, each.doc_id))
    return {
        later: earlier
        for dated in works.values()
        for (before, earlier), (after, later) in pairwise(sorted(dated))
        if before < after
    }


def in_force(editions: Sequence[Edition], as_of: date) -> set[str]:
    """Return the documents in force on a day: of each work, the newest that had begun by then.

    A document without a date is always in force. An edition that had ended is out, and the one
    before it does not come back: what has been replaced once is not law again because its
    successor lapsed.
    """
    kept = {each.doc_id for each in editions if each.effective is None}
    works: defaultdict[str, list[tuple[date, Edition]]] = defaultdict(list)
    for each in editions:
        if each.effective is not None and each.effective <= as_of:
            works[each.work or each.doc_id].append((each.effective, each))
    for begun in works.values():
        newest = max(effective for effective, _ in begun)
        kept |= {each.doc_id for effective, each in begun if effective == newest}
    return kept - {each.doc_id for each in editions if each.until and each.until < as_of}


# So much of the words of two places must be in both (Dice, by count of each word) for them to be
# one place: under the same number, and under another.
SAME_SHARE = 0.5
MOVED_SHARE = 0.6
# Fewer words than this say too little to be known again under another number without a heading.
FEW_WORDS = 8
# Pairs of siblings that are compared; in longer lists only equal words are found again.
MAX_PAIRS = 40_000
_WORD = lazy_pattern(r"\w+")
_LABEL = lazy_pattern(r"[#>|*_\s]*(?:\([0-9A-Za-z]{1,6}\)|§?\s{0,4}\d[\w.-]*[.)]?(?=\s))[*_\s]*")


@dataclass(frozen=True, slots=True)
class EditionPlace:
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


def places_of(text: str, chunks: Sequence[Chunk]) -> dict[str, EditionPlace]:
    """Return every place of a document by locator, in its order."""
    by_id = {chunk.id: chunk for chunk in chunks}
    places: dict[str, EditionPlace] = {}
    for chunk in chunks:
        if chunk.kind in ("piece", "document"):
            continue
        words = text[chunk.span.start : chunk.own_end].strip()
        if chunk.locator in places:  # text that goes on below a table belongs to its clause
            first = places[chunk.locator]
            whole = f"{first.words}\n{words}"
            places[chunk.locator] = EditionPlace(first.chunk, whole, first.parent, first.bag)
            continue
        above = by_id.get(chunk.parent or "")
        bag = Counter(_WORD.findall(_without_label(chunk.text).casefold()))
        places[chunk.locator] = EditionPlace(chunk, words, above.locator if above else "", bag)
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


def same_places(
    old: Mapping[str, EditionPlace], new: Mapping[str, EditionPlace]
) -> list[tuple[EditionPlace, EditionPlace]]:
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

    def __init__(self, old: Mapping[str, EditionPlace], new: Mapping[str, EditionPlace]) -> None:
        self.old = old
        self.new = new
        self.source: dict[str, str] = {}  # by the new locator
        self.target: dict[str, str] = {}  # by the old one

    def pair(self, old: str, new: str) -> None:
        self.source[new] = old
        self.target[old] = new

    def left(self) -> tuple[list[EditionPlace], list[EditionPlace]]:
        olds = [place for name, place in self.old.items() if name not in self.target]
        return olds, [place for name, place in self.new.items() if name not in self.source]

    def same_number(self, is_same: Callable[[EditionPlace, EditionPlace], bool]) -> None:
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
        by_title: defaultdict[tuple[str, str], list[EditionPlace]] = defaultdict(list)
        for place in news:
            if place.title:
                by_title[place.title, place.chunk.kind].append(place)
        for place in olds:
            self.best(place, by_title.get((place.title, place.chunk.kind), ()), SAME_SHARE)

    def same_neighbours(self) -> None:
        """Pair what is left below places that are the same; parents come before their items."""
        olds, news = self.left()
        below: defaultdict[tuple[str, str], list[EditionPlace]] = defaultdict(list)
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

    def best(self, place: EditionPlace, others: Iterable[EditionPlace], least: float) -> None:
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


def _by_words(
    places: Sequence[EditionPlace],
) -> dict[frozenset[tuple[str, int]], list[EditionPlace]]:
    found: defaultdict[frozenset[tuple[str, int]], list[EditionPlace]] = defaultdict(list)
    for place in places:
        if place.bag.total() >= FEW_WORDS:
            found[frozenset(place.bag.items())].append(place)
    return dict(found)
