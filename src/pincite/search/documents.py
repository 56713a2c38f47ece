"""Which documents a question is about, as a factor of every score of their rows.

A question may name who made a document or what it is called, a year or a quarter, a kind of
document, an exact date. Each of these lowers the documents that do not fit, none leaves one out,
and a question that names nothing of the kind changes nothing (decision 33).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Protocol

import numpy as np

from pincite.index.cards import MAX_NAME_WORDS, NAME_WORD, CardIndex, NameKind, name_key
from pincite.index.opened import OpenIndex
from pincite.model.patterns import lazy_pattern
from pincite.model.types import Filters
from pincite.store.files import Array

DOCUMENT = "document"  # the column with the factors
LIKELY = 0.5  # documents with such a factor may be meant


def weigh(scores: Array, factors: Array, floor: float | Array) -> Array:
    """Return scores with their part above the floor multiplied.

    >>> weigh(np.array([4.0, 1.0]), np.array([0.5, 1.0]), 0.0).tolist()
    [2.0, 1.0]
    """
    return np.asarray(floor + (scores - floor) * factors)


@dataclass(frozen=True, slots=True)
class DocumentFactors:
    """What the scores of rows are multiplied by for their documents: 1 for those that fit best."""

    values: Array  # of each document
    documents: Array  # the number of each row's document, over all segments
    offsets: Sequence[int]  # where each segment's rows begin
    note: str = ""  # what the question names, and which documents that may be

    def of_rows(self, rows: Array | slice) -> Array:
        """Return the factors of some rows of the index."""
        return np.asarray(self.values[self.documents[rows]])

    def of_segment(self, number: int) -> Array:
        """Return the factors of all rows of a segment."""
        return self.of_rows(slice(self.offsets[number], self.offsets[number + 1]))

    def likely(self, masks: Sequence[Array | None]) -> list[Array | None]:
        """Return masks of rows with those alone whose documents may be meant."""
        found: list[Array | None] = []
        for number, mask in enumerate(masks):
            own = self.of_segment(number) >= LIKELY
            found.append(own if mask is None else own & mask)
        return found


class DocumentEvidence(Protocol):
    """Tells which documents of an index a question is about."""

    def factors(self, text: str, filters: Filters) -> DocumentFactors | None:
        """Return what each document is worth for a question; None if it names none of them."""
        ...


OF_TITLE = 0.4  # what a title tells beside a maker: it may be said of the thing, not the document
HALF = 2  # a name that half of all documents has tells as much as a name can
# So many times as often as in others stands a word in documents that it may be a name of.
DISTINCT_WORD = 30
DISTINCT_WORDS = 3  # several together
# What is left of a document's scores where the question names something else.
OTHER_NAME = 0.12
OTHER_KIND = 0.4
OTHER_DAY = 0.35
OTHER_QUARTER = 0.4
OTHER_YEAR = 0.3  # of an edition, a letter, a contract
NO_YEAR = 0.5
# A report on a year tells of the years before it as well, for comparison: so many years later.
LATER_REPORT = (1.0, 0.5, 0.3)
OTHER_REPORT = 0.2
LEAST = 0.02
# Who names company and year, and no kind of report, means the annual one.
NOT_ANNUAL = 0.8
OLDER = 0.95  # who names no year means the newest: of each year that it is older
OLDEST = 0.8

_ANNUAL = ("10-K", "20-F", "40-F")
_FILED = (*_ANNUAL, "10-Q", "8-K", "6-K", "earnings release")
_KINDS = (
    (lazy_pattern(r"\b(?:10-?k|20-?f|40-?f)s?\b|\bannual (?:report|filing)s?\b", re.I), _ANNUAL),
    (lazy_pattern(r"\b10-?qs?\b|\bquarterly (?:report|filing)s?\b", re.I), ("10-Q",)),
    (lazy_pattern(r"\b(?:8-?k|6-k)s?\b|\bcurrent reports?\b", re.I), ("8-K", "6-K")),
    (
        lazy_pattern(r"\b(?:earnings|press|results) (?:release|announcement|call)s?\b", re.I),
        ("earnings release",),
    ),
)
_YEAR = lazy_pattern(r"(?<![\d.,$€£#/-])(?:19|20)\d\d(?![\d%]|[.,]\d|-\d)")
_FISCAL = lazy_pattern(r"\b(?:FY|fiscal(?: year)?|[1-4]Q|Q[1-4])[ -]?['’]?(\d\d)(?!\d)", re.I)
_SPAN = lazy_pattern(
    r"(?<!\d)((?:19|20)\d\d) ?(?:-|–|—|to|through|until) ?(?:FY ?)?((?:19|20)\d\d)\b", re.I
)
_QUARTER = lazy_pattern(
    r"(?<![A-Za-z])(?:Q(?P<q>[1-4])|(?<!\d)(?P<n>[1-4])Q"
    r"|(?P<nth>first|second|third|fourth|[1-4](?:st|nd|rd|th))[ -](?:fiscal |financial )?quarter)"
    r"(?![A-Za-z])",
    re.I,
)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
_EDITION = lazy_pattern(r"\b(?:edition|version|revision|release)\b", re.I)
MAX_WORDS = 200  # of a question, looked at for names
MAX_YEARS = 12
MAX_TITLES = 3  # of other documents, told
NO_ROWS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time and the kind of document that a question names."""

    years: tuple[int, ...]
    quarter: int
    days: tuple[int, ...]  # as 20221231
    kinds: tuple[str, ...]
    is_edition: bool  # it speaks of editions

    @classmethod
    def of(cls, text: str) -> AskedTime:
        """Return what a question says.

        >>> asked = AskedTime.of("Did sales grow in Q2 of FY2023 against FY22?")
        >>> asked.years, asked.quarter
        ((2022, 2023), 2)
        """
        years = {int(year) for year in _YEAR.findall(text)}
        years |= {2000 + int(year) for year in _FISCAL.findall(text)}
        for first, last in _SPAN.findall(text):
            years |= set(range(int(first), min(int(last), int(first) + MAX_YEARS) + 1))
        quarter = _QUARTER.search(text)
        kinds = (kind for pattern, names in _KINDS if pattern.search(text) for kind in names)
        return cls(
            tuple(sorted(years)),
            _quarter(quarter) if quarter else 0,
            _days(text) if years else (),
            tuple(kinds),
            bool(_EDITION.search(text)),
        )


def _days(text: str) -> tuple[int, ...]:
    """Return the dates with a day that a text has."""
    # Few questions have a date, and its patterns take a while to load.
    from pincite.model.dates import dates_in

    return tuple(int(day.replace("-", "")) for _, day in dates_in(text) if len(day) == 10)


def _quarter(found: re.Match[str]) -> int:
    if digit := found["q"] or found["n"]:
        return int(digit)
    nth = found["nth"].lower()
    return _ORDINALS.get(nth) or int(nth[0])


@dataclass(frozen=True, slots=True)
class NameMention:
    """Words of a question that are the name of some documents."""

    words: str
    documents: Array
    strength: float  # 0: all documents have it; 1: few do


@dataclass(frozen=True, slots=True)
class _QuestionWord:
    text: str
    key: str
    is_marked: bool  # written as a name is
    is_free: bool  # nothing is: capitals are not used for names here


@dataclass(frozen=True)
class CardEvidence:
    """Weighs the documents of an index by what their cards say of names, times and kinds."""

    index: OpenIndex

    @cached_property
    def cards(self) -> CardIndex:
        return self.index.cards

    def factors(self, text: str, filters: Filters) -> DocumentFactors | None:
        """Return what each document is worth for a question; None if it names none of them."""
        cards = self.cards
        if len(cards.doc_ids) < 2:
            return None
        asked, mentions = AskedTime.of(text), list(self.mentions(text))
        if not (mentions or asked.years or asked.quarter or asked.days or asked.kinds):
            return None
        values = self._named(mentions) * self._timed(asked, mentions) * self._kinds(asked, mentions)
        allowed = self._allowed(filters)
        best = float(values[allowed].max(initial=0.0))
        if not best or values[allowed].min() == best:
            return None
        values = np.maximum(LEAST, np.where(allowed, values / best, 0.0))
        note = self._note(mentions, np.where(allowed, values, 0.0))
        return DocumentFactors(values, cards.documents, cards.offsets, note)

    def _allowed(self, filters: Filters) -> Array:
        documents = self.index.filters.documents(filters)
        if documents is None:
            return np.ones(len(self.cards), dtype=bool)
        return np.fromiter((each in documents for each in self.cards.doc_ids), dtype=bool)

    def mentions(self, text: str) -> Iterator[NameMention]:
        """Yield the names of documents that a text has, the longest where one holds another."""
        words, told = _question_words(text), set[str]()
        starts = (words[at : at + MAX_NAME_WORDS] for at in range(len(words)))
        keys = [list(accumulate(word.key for word in some)) for some in starts]  # by length
        known = self.cards.known(list(chain.from_iterable(keys)))
        at = 0
        while at < len(words):
            for length in range(len(keys[at]), 0, -1):
                key = keys[at][length - 1]
                if key in told:
                    break
                if key in known and (found := self._mention(key, words[at : at + length])):
                    told.add(key)
                    yield found
                    break
            at += length

    def _mention(self, key: str, words: Sequence[_QuestionWord]) -> NameMention | None:
        documents, kinds = self.cards.named(key)
        fits = kinds == NameKind.SURE
        if len(words) == 1 and words[0].is_marked:
            fits = fits | (kinds == NameKind.WORD)
            fits = fits | ((kinds == NameKind.CAPITALS) & words[0].text.isupper())
        rest = ~fits & (kinds != NameKind.CAPITALS)
        if len(words) == 1 and not words[0].is_marked:  # a title of one word is a word
            rest = rest & (kinds != NameKind.TITLE)
            rest = rest & ((kinds != NameKind.BEGINNING) | words[0].is_free)
        if rest.any():
            is_marked = all(word.is_marked for word in words)
            is_loose = (kinds == NameKind.TITLE) | ((kinds == NameKind.TITLE_BEGINNING) & is_marked)
            least = np.where(is_loose & (len(words) > 1), DISTINCT_WORDS, DISTINCT_WORD)
            fits = fits | (rest & (self._distinction(words, documents) >= least))
        is_title = bool(np.isin(kinds[fits], (NameKind.TITLE, NameKind.TITLE_BEGINNING)).all())
        documents = documents[fits]
        if not 0 < len(documents) < len(self.cards):
            return None
        strength = min(1.0, math.log(len(self.cards) / len(documents), HALF))
        strength *= OF_TITLE if is_title else 1.0
        return NameMention(" ".join(word.text for word in words), documents, strength)

    def _distinction(self, words: Sequence[_QuestionWord], documents: Array) -> float:
        """Return how much more often than others some documents have all of some words at once."""
        index, cards = self.index, self.cards
        found = np.zeros(len(cards))
        terms = [index.lexical.resolve(index.analyzer.word(word.text)).terms for word in words]
        for number, segment in enumerate(index.lexical.segments):
            has = np.array(segment.live)
            for readings in terms:
                is_there = np.zeros(len(has), dtype=bool)
                for each in readings:
                    is_there[segment.term.rows[slice(*each.postings[number])]] = True
                has &= is_there
            owners = cards.documents[np.flatnonzero(has) + cards.offsets[number]]
            found += np.bincount(owners, minlength=len(cards))
        own, size = found[documents].sum(), cards.sizes[documents].sum()
        others, rest = found.sum() - own, cards.sizes.sum() - size
        return float(own / size * (rest + 1) / (others + 1))

    def _named(self, mentions: Sequence[NameMention]) -> Array:
        """Return what names leave: who has the most of those that are named has all."""
        values: Array = np.ones(len(self.cards))
        if mentions:
            has: Array = np.zeros(len(self.cards))
            for each in mentions:
                has[each.documents] += 1
            share = 1 - has / has.max()
            values = OTHER_NAME ** (share * max(each.strength for each in mentions))
        return values

    def _timed(self, asked: AskedTime, mentions: Sequence[NameMention]) -> Array:
        """Return what years, quarters and days leave."""
        cards = self.cards
        values: Array = np.ones(len(cards))
        if asked.years:
            values = self._in_years(asked, is_told=bool(mentions) or asked.is_edition)
        elif mentions:
            values = self._newest(mentions)
        if asked.quarter:
            fits = cards.quarter == asked.quarter
            if fits.any():
                values = values * np.where(fits | (cards.kind == ""), 1.0, OTHER_QUARTER)
        if asked.days:
            fits = np.isin(cards.days, asked.days).any(axis=1)
            if fits.any():
                values = values * np.where(fits, 1.0, OTHER_DAY)
        return values

    def _in_years(self, asked: AskedTime, *, is_told: bool) -> Array:
        """Return how well documents fit the years of a question.

        A report on a year also tells of earlier ones. What has a year of another sort, an edition
        or a letter, is judged by it only where the question is about documents.
        """
        cards, last = self.cards, max(asked.years)
        later = cards.year.astype(int) - last
        reports = OTHER_REPORT * OLDER ** np.clip(-1 - later, 0, 8)
        for count, worth in enumerate(LATER_REPORT):
            reports[later == count] = worth
        values = np.where(cards.is_period, reports, 1.0)
        if is_told:
            is_of = np.isin(cards.year, asked.years)
            others = np.where(is_of, 1.0, np.where(cards.year > 0, OTHER_YEAR, NO_YEAR))
            values = np.where(cards.is_period, values, others)
        return np.asarray(values)

    def _newest(self, mentions: Sequence[NameMention]) -> Array:
        """Return a little less for what is older than the newest document of the same name."""
        values: Array = np.ones(len(self.cards))
        for each in mentions:
            years = self.cards.year[each.documents].astype(int)
            age = np.where(years > 0, years.max(initial=0) - years, 0)
            values[each.documents] = np.maximum(OLDEST, OLDER**age)
        return values

    def _kinds(self, asked: AskedTime, mentions: Sequence[NameMention]) -> Array:
        """Return what the kind of document leaves."""
        kind = self.cards.kind
        if asked.kinds and np.isin(kind, asked.kinds).any():
            return np.where(np.isin(kind, asked.kinds), 1.0, OTHER_KIND)
        is_open = asked.quarter or asked.days or not (mentions or asked.years)
        if is_open:
            return np.ones(len(kind))
        return np.where(np.isin(kind, _FILED) & ~np.isin(kind, _ANNUAL), NOT_ANNUAL, 1.0)

    def _note(self, mentions: Sequence[NameMention], values: Array) -> str:
        """Return which document fits best, and which others have the same name."""
        same = np.unique(np.concatenate([NO_ROWS, *(each.documents for each in mentions)]))
        best = np.flatnonzero(values == 1.0)
        if len(best) > MAX_TITLES and not len(same):
            return ""
        cards, those = self.cards, {*best.tolist(), *same[values[same] > 0].tolist()}
        order = sorted(those, key=lambda at: (-values[at], -cards.year[at], cards.doc_ids[at]))
        titles = [cards.titles[at] or cards.doc_ids[at] for at in order]
        shown, more = titles[: MAX_TITLES + 1], len(titles) - MAX_TITLES - 1
        others = f"; also: {'; '.join(shown[1:])}" if len(shown) > 1 else ""
        return f"document: {shown[0]}{others}{f' and {more} more' if more > 0 else ''}"


def _question_words(text: str) -> list[_QuestionWord]:
    """Return the words of a question, and whether each is written as a name.

    >>> [word.text for word in _question_words("Which of JPM's rules hold?") if word.is_marked]
    ['JPM']
    """
    is_shouted = not any(map(str.islower, text))
    found = []
    for match in list(NAME_WORD.finditer(text))[:MAX_WORDS]:
        word = match.group()
        bare = re.sub(r"['’]s?$", "", word)
        before = text[max(0, match.start() - 3) : match.start()].strip()
        begins = match.start() == 0 or before[-1:] in (".", "?", "!", ":")
        is_name = word[0].isupper() and (not begins or bare != word or not bare[1:].islower())
        is_marked = not is_shouted and (is_name or before[-1:] in ("*", "_", '"', "“", "‘", "«"))
        found.append((bare, name_key(word), is_marked))
    is_free = not any(is_marked for _, _, is_marked in found)
    return [_QuestionWord(*each, is_free) for each in found]
