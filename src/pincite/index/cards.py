"""The cards of all documents as arrays: who is called what, and of which time and kind each is.

A name is kept as its letters and digits alone, so that "Best Buy", "BestBuy" and "BESTBUY" are one;
see ``name_key``. Made once a generation from what the documents' cards say (``read/card.py``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache, lru_cache

import numpy as np

from pincite.index.filters import Groups
from pincite.model.editions import work_of, years
from pincite.model.languages import function_words
from pincite.model.patterns import lazy_pattern
from pincite.store.files import Array
from pincite.store.snapshot import Snapshot

MAX_NAME_WORDS = 8
NAME_WORD = lazy_pattern(r"[^\W_]+(?:[&.'’/-][^\W_]+)*")
_POSSESSIVE = lazy_pattern(r"['’]s?$")
# What a company is called says nothing of who it is.
_LEGAL = lazy_pattern(
    r"inc|incorporated|corp|corporation|compan(?:y|ies)|co|l?l[cp]|ltd|limited|plc|sp?a|gmbh|ag"
    r"|[nb]v|se|kg|oy|ab|asa?|pty|pte|srl|sarl|sas|kk|na|holdings?|group|trust"
)
_PARTS = lazy_pattern(r"[:;|()\[\]—–]| - |, ")
_DATED = lazy_pattern(r"(?:19|20)\d\d")
# Numbers behind these are places of any document.
_PLACE = lazy_pattern(
    r"section|table|figure|chapter|article|schedule|appendix|annex|clause|exhibit|item|page"
)
_NUMBER = lazy_pattern(r"\d{2,6}[a-z]?")
_CODED = lazy_pattern(
    r"\W{0,2}(?=[^\d]{0,12}\d{2})(?=\W{0,2}[A-Za-z])[\w./-]{5,24}\W{0,2}"
)  # SOR/86-304
_MAIN_YEAR = 40  # the percent of all years it mentions that tell a document's own


class NameKind(IntEnum):
    """What a name must be in a question to be taken for one."""

    SURE = 0  # several words of a maker's name, or a number that a title has: as it is
    WORD = 1  # a maker's name of one word: written as a name, or a word that others do not use
    BEGINNING = 2  # the first word of a maker's name: a word that others do not use
    TITLE = 3  # words of a title: words that others use less
    TITLE_BEGINNING = 4  # the first words of a title: written as names, or hardly used by others
    CAPITALS = 5  # the ticker of shares, or initials: in capitals


def name_key(words: str) -> str:
    """Return what names that are written differently have in common.

    >>> name_key("Coca-Cola's") == name_key("COCA COLA"), name_key("SOR/86-304")
    (True, 'sor86304')
    """
    return "".join(filter(str.isalnum, _POSSESSIVE.sub("", words).casefold()))


def names_of(title: str, card: Mapping[str, str]) -> Iterator[tuple[str, NameKind]]:
    """Yield the keys of what a document may be called, by its makers or by its title."""
    makers = [card.get("issuer", ""), *_listed(card, "parties")]
    for maker in filter(None, (*makers, *_listed(card, "names"))):
        yield from _of_maker(maker)
    if ticker := card.get("ticker", ""):
        yield name_key(ticker), NameKind.CAPITALS
    if not any(makers) or card.get("kind") == "contract":
        yield from _of_title(title.partition(" between ")[0])


def _listed(card: Mapping[str, str], field: str) -> list[str]:
    return [each.strip() for each in card.get(field, "").split(";")]


@lru_cache(maxsize=10_000)
def _of_maker(name: str) -> tuple[tuple[str, NameKind], ...]:
    """Return the keys of a person or company: the name, how it begins, its initials."""
    words = NAME_WORD.findall(name)[:MAX_NAME_WORDS]
    if words and words[0].casefold() == "the":
        words = words[1:]
    while len(words) > 1 and _LEGAL.fullmatch(name_key(words[-1])):
        words = words[:-1]
    if len(words) == 1:
        bare = words[0].partition(".")[0]  # amazon.com
        found = [(name_key(each), NameKind.WORD) for each in dict.fromkeys((words[0], bare))]
    else:
        found = [(key, NameKind.SURE) for key in _beginnings(words)]
        found += ((name_key(word), NameKind.BEGINNING) for word in words[:1])
        initials = "".join(word[0] for word in words if word[0].isupper())
        found += [(name_key(initials), NameKind.CAPITALS)] if len(initials) > 2 else []
    return tuple(each for each in found if len(each[0]) > 1)


@lru_cache(maxsize=10_000)
def _of_title(title: str) -> tuple[tuple[str, NameKind], ...]:
    """Return the keys of a title: of its parts, and of how they begin with two words or more."""
    found: list[tuple[str, NameKind]] = []
    parts = [NAME_WORD.findall(work_of(part)) for part in _PARTS.split(title)]
    for words in parts:
        if words and words[0] not in _empty_words():
            whole = name_key("".join(words))
            kinds = {whole: NameKind.TITLE}
            found += ((key, kinds.get(key, NameKind.TITLE_BEGINNING)) for key in _beginnings(words))
            if len(words) > 1 and not _PLACE.fullmatch(words[0]) and _NUMBER.fullmatch(words[1]):
                found.append((name_key("".join(words[:2])), NameKind.SURE))  # "Part 97"
    if len(parts) == 1 and len(parts[0]) == 1:
        found.append((name_key(title), NameKind.TITLE))
    coded = filter(_CODED.fullmatch, title.split())
    return tuple(dict.fromkeys((*found, *((name_key(each), NameKind.SURE) for each in coded))))


def _beginnings(words: Sequence[str]) -> Iterator[str]:
    """Yield the keys of the first words, two at least, and of all."""
    for length in range(2, min(len(words), MAX_NAME_WORDS) + 1):
        if words[length - 1].casefold() not in _empty_words():
            yield name_key("".join(words[:length]))


@cache
def _empty_words() -> frozenset[str]:
    return function_words("english")


class CardIndex:
    """The cards of the documents of a snapshot; a document's number is its place in ``doc_ids``.

    Attributes:
        doc_ids: of all documents that have rows.
        documents: the number of each row's document, over all segments.
        offsets: where the rows of each segment begin.
        sizes: how many rows each document has.
        year: of each document; 0 where nothing tells it.
        is_period: it reports on that year, and on those before it.
        quarter: of that year; 0 for other documents.
        kind: "10-K", "contract", ...; empty where nothing tells it.
        days: the dates of each document as numbers such as 20221231: its own, and its period's end.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        groups = Groups(snapshot, "document")
        self.doc_ids = [name.partition(":")[2] for name in groups.names]
        rows = [np.zeros(0, dtype=np.int32), *(each.astype(np.int32) for each in groups.rows)]
        self.documents: Array = np.concatenate(rows)
        self.offsets: list[int] = np.cumsum([len(each) for each in rows]).tolist()
        live = [np.zeros(0, dtype=bool), *(each.live_rows() for each in snapshot.segments)]
        seen = self.documents[np.concatenate(live)]
        self.sizes: Array = np.bincount(seen, minlength=len(self.doc_ids))
        known = {doc_id: (title, card) for doc_id, title, card in snapshot.headers()}
        headers = [known.get(doc_id, ("", {})) for doc_id in self.doc_ids]
        self.titles = [title for title, _ in headers]
        self.kind: Array = np.array([card.get("kind", "") for _, card in headers], dtype=np.str_)
        periods = [_number(card.get("fiscal_year", "")) for _, card in headers]
        self.is_period: Array = np.array(periods, dtype=np.int16) > 0
        told = (period or _own_year(*each) for period, each in zip(periods, headers, strict=True))
        self.year: Array = np.fromiter(told, dtype=np.int16, count=len(headers))
        quarters = [_number(card.get("quarter", "")) for _, card in headers]
        self.quarter: Array = np.array(quarters, dtype=np.int8)
        days = [(_day(card, "date"), _day(card, "period_end")) for _, card in headers]
        self.days: Array = np.array(days, dtype=np.int32).reshape(-1, 2)
        self._keys, self._named = self._postings(headers)

    def __len__(self) -> int:
        return len(self.doc_ids)

    def known(self, keys: Sequence[str]) -> set[str]:
        """Return which of these names some document has; all are looked up at once."""
        wanted = np.fromiter(map(hash, keys), dtype=np.int64, count=len(keys))
        at = np.searchsorted(self._keys, wanted)
        at[at == len(self._keys)] = 0
        found = np.flatnonzero(self._keys[at] == wanted) if len(self._keys) else at[:0]
        return {keys[each] for each in found.tolist()}

    def named(self, key: str) -> tuple[Array, Array]:
        """Return the documents that have a name, and what kind of name it is of each."""
        first = np.searchsorted(self._keys, hash(key), side="left")
        last = np.searchsorted(self._keys, hash(key), side="right")
        found = self._named[first:last]
        return found >> 3, found & 7

    def _postings(self, headers: Sequence[tuple[str, Mapping[str, str]]]) -> tuple[Array, Array]:
        """Return the hashes of all names in rising order, and whose each is with its kind.

        The hashes are of this process alone, and nowhere kept.
        """
        keys, owners = list[int](), list[int]()
        for number, (title, card) in enumerate(headers):
            best: dict[str, int] = {}
            for key, kind in names_of(title, card):
                best[key] = min(kind, best.get(key, kind))
            keys += map(hash, best)
            owners += (number << 3 | kind for kind in best.values())
        hashes, named = np.array(keys, dtype=np.int64), np.array(owners, dtype=np.int32)
        order = np.lexsort((named, hashes))
        return hashes[order], named[order]


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else 0


def _day(card: Mapping[str, str], field: str) -> int:
    value = card.get(field, "").replace("-", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) == 8 else 0


def _own_year(title: str, card: Mapping[str, str]) -> int:
    """Return the year that a title, an edition or a date names, or that the text is about."""
    if named := years(title) or years(card.get("edition", "")):
        return max(named)
    if found := _DATED.match(card.get("date", "") or card.get("effective", "")):
        return int(found.group())
    most, _, share = (card.get("years", "").split() or [""])[0].partition(":")
    return _number(most) if _number(share) >= _MAIN_YEAR else 0
