"""Where the citations of a text lead in an index, and why one leads nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from pincite.check.citations import WrittenCitation
from pincite.index.cards import name_key
from pincite.model.editions import years as years_of
from pincite.model.locators import locator_key, other_keys
from pincite.model.patterns import lazy_pattern
from pincite.model.types import Chunk
from pincite.search.reader import IndexReader

_CODE = lazy_pattern(
    r"^(?P<title>\d{1,3})\s(?P<name>U\.?\s?S\.?\s?C|C\.?\s?F\.?\s?R)", re.IGNORECASE
)
_REPORTERS = {"usc": ("usc", "unitedstatescode"), "cfr": ("cfr", "codeoffederalregulations")}
_NAME_WORD = lazy_pattern(r"[^\W_]+")
_EMPTY = frozenset(
    ("the", "of", "and", "for", "on", "to", "in", "no", "de", "la", "du", "des", "del", "della",
     "der", "die", "und", "et", "ed", "edition", "eu", "as", "amended")
)  # fmt: skip
_STEM = lazy_pattern(r"(?:table )?(\d+[A-Za-z]?)[.-]\d")
_LAST_NUMBER = lazy_pattern(r"\d{1,6}(?=\D*$)")
MAX_SIBLINGS = 30

Lead = Literal["found", "missing", "outside"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a citation leads: places, or documents alone, or nowhere and why."""

    lead: Lead
    places: tuple[Chunk, ...] = ()
    documents: frozenset[str] = frozenset()
    is_named: bool = False  # the work is named, and these are its documents
    reason: str = ""
    nearest: str = ""  # the locator of the nearest place that is there


class PlaceResolver:
    """Finds what citations mean in one index."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._snapshot = index.snapshot
        self.resolve = lru_cache(maxsize=4096)(self._resolve)
        self.locators = lru_cache(maxsize=16)(self._find_locators)
        self.documents_of = lru_cache(maxsize=1024)(self._find_documents)

    @cached_property
    def _names(self) -> list[tuple[str, frozenset[str], str]]:
        """Every document with the words of its names, and all of them as one key."""
        found = []
        for doc_id, title, meta in self._snapshot.headers():
            said = " ".join((title, doc_id, meta.get("names", ""), meta.get("issuer", ""),
                             meta.get("kind", ""), meta.get("fiscal_year", "")))  # fmt: skip
            words = frozenset(word.casefold() for word in _NAME_WORD.findall(said))
            found.append((doc_id, words, name_key(said)))
        return found

    def _resolve(self, cited: WrittenCitation) -> Resolved:
        named = self.documents_of(cited.work, cited.years)
        if named is not None and not named:
            return Resolved("outside", reason=f"the index has no {cited.work}")
        if not cited.key:
            return Resolved("found", documents=named or frozenset(), is_named=named is not None)
        places = self._places(cited, named)
        if not places and (code := _CODE.match(cited.work)) and name_key(code["name"]) == "cfr":
            # Parts of the regulations seldom say what they are parts of.
            places = self._places(cited, self._untold)
        if not places:
            return self._missing(cited, named)
        own = frozenset(place.span.doc_id for place in places)
        return Resolved("found", tuple(places), own, named is not None)

    def _places(self, cited: WrittenCitation, named: frozenset[str] | None) -> list[Chunk]:
        """Return the places with the key of a citation, in the documents that it may mean."""
        found = self._keyed([cited.key])
        if cited.last:
            found = self._range(cited, found) or found
        if named is not None:
            found = [chunk for chunk in found if chunk.span.doc_id in named]
        elif cited.years:
            dated = [c for c in found if self._is_of(c.span.doc_id, cited.years)]
            found = dated or found
        if cited.within:
            holders = self._keyed([cited.within])
            inside = [
                c for c in found if any(h.span.overlap(c.span) == len(c.span) for h in holders)
            ]
            found = inside or found
        return found

    def _keyed(self, keys: Iterable[str]) -> list[Chunk]:
        wanted = [each for key in keys for each in (key, *other_keys(key))]
        found = self._snapshot.found_by(wanted)
        return [chunk for chunk in found if chunk.kind not in ("text", "piece")] or found

    def _range(self, cited: WrittenCitation, first: Sequence[Chunk]) -> list[Chunk]:
        """Return the places from the first to the last of a range, in one document."""
        lasts = self._keyed([cited.last])
        found: list[Chunk] = []
        for chunk in first:
            ends = [each for each in lasts if each.span.doc_id == chunk.span.doc_id]
            if ends and ends[-1].span.end > chunk.span.start:
                end = ends[-1].span.end
                doc_id = chunk.span.doc_id
                found += [
                    each
                    for each in self._snapshot.chunks_within(doc_id, chunk.span.start, end)
                    if each.kind == chunk.kind
                    and chunk.span.start <= each.span.start
                    and each.span.end <= end
                ]
        return found

    def _is_of(self, doc_id: str, years: Sequence[int]) -> bool:
        return bool(set(years) & years_of(self._snapshot.title(doc_id), doc_id))

    def _find_documents(self, work: str, years: tuple[int, ...]) -> frozenset[str] | None:
        """Return the documents of a work by its name; None if none is named, empty if unknown."""
        if not work:
            return None
        if code := _CODE.match(work):
            return self._of_code(code["title"], name_key(code["name"]))
        words = frozenset(w.casefold() for w in _NAME_WORD.findall(work)) - _EMPTY
        bare = frozenset(word for word in words if not (word.isdigit() and int(word) in years))
        key = name_key(work)
        found = {
            doc_id
            for doc_id, names, joined in self._names
            if (bare and bare <= names) or (len(key) > 4 and key in joined)
        }
        found |= self._by_card(work)
        dated = {doc_id for doc_id in found if years and self._is_of(doc_id, years)}
        return frozenset(dated or found)

    def _by_card(self, work: str) -> set[str]:
        cards = self._index.opened.cards
        numbers, _ = cards.named(name_key(work))
        return {cards.doc_ids[number] for number in numbers.tolist()}

    def _of_code(self, title: str, name: str) -> frozenset[str]:
        """Return the documents that are, or may be, of a title of a federal code."""
        signs = _REPORTERS[name]
        told = {
            doc_id: joined for doc_id, _, joined in self._names if any(s in joined for s in signs)
        }
        found = {
            doc_id
            for doc_id, joined in told.items()
            if f"{title}{signs[0]}" in joined or f"title{title}" in joined
        }
        return frozenset(found) if found or name != "cfr" else self._untold

    @cached_property
    def _untold(self) -> frozenset[str]:
        """The documents that do not say whether they are of the federal regulations."""
        signs = _REPORTERS["cfr"]
        return frozenset(d for d, _, joined in self._names if not any(s in joined for s in signs))

    def _missing(self, cited: WrittenCitation, named: frozenset[str] | None) -> Resolved:
        """Return why there is no such place: it never was, or another edition has it."""
        elsewhere = sorted({chunk.span.doc_id for chunk in self._keyed([cited.key])})
        nearest = self._nearest(cited, named)
        if named is None and not nearest and len(self._names) > 1:
            return Resolved("outside", reason="no document of the index has places of this name")
        title = self._index.opened.title_of
        reason = f"there is no {cited.key}"
        if named:
            reason += f" in {title(min(named)) or min(named)}"
            works = {self._snapshot.work(doc_id) for doc_id in named}
            others = [doc_id for doc_id in elsewhere if self._snapshot.work(doc_id) in works]
            if others:
                reason += f"; it is in {title(others[0]) or others[0]}"
        return Resolved("missing", documents=named or frozenset(), reason=reason, nearest=nearest)

    def _nearest(self, cited: WrittenCitation, named: frozenset[str] | None) -> str:
        """Return the nearest place that is there: above, or beside by its number."""
        key = cited.key
        while key.endswith(")") and "(" in key:
            key = key[: key.rindex("(")]
            above = self._places(WrittenCitation(0, 0, key=key), named)
            if above:
                return above[0].locator
        if cited.within and (
            holder := self._places(WrittenCitation(0, 0, key=cited.within), named)
        ):
            return holder[0].locator
        return self._beside(key, named)

    def _beside(self, key: str, named: frozenset[str] | None) -> str:
        """Return the place whose number comes nearest to that of a key."""
        number = _LAST_NUMBER.search(key)
        if number is None:
            return ""
        head, value, tail = key[: number.start()], int(number.group()), key[number.end() :]
        if named is None and len(self._names) > 1 and not _STEM.match(key):
            return ""
        if named is None and len(self._names) > 1:  # "97.": whoever has others of these is meant
            near = [f"{head}{value + step}{tail}" for step in range(-MAX_SIBLINGS, MAX_SIBLINGS)]
            named = frozenset(c.span.doc_id for c in self._keyed(near))
        best: tuple[int, str] | None = None
        for doc_id in named if named is not None else [each[0] for each in self._names]:
            for locator in self.locators(doc_id):
                other = locator_key(locator)
                if not other.startswith(head) or not other[len(head) :].isdigit():
                    continue
                distance = abs(int(other[len(head) :]) - value)
                best = min(best, (distance, locator)) if best else (distance, locator)
        return best[1] if best else ""

    def _find_locators(self, doc_id: str) -> list[str]:
        return [chunk.locator for chunk in self._snapshot.chunks(doc_id) if chunk.locator]
