"""Filters as masks over an index: which rows, places and documents a search may return.

A place satisfies the filters by itself. A searched row is let through when it holds own words of a
place that satisfies them: a short section is searched as a whole, and a search for exceptions has
to find the one inside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pincite.core.editions import in_force, parse_date
from pincite.core.errors import ConfigError
from pincite.core.types import Filters
from pincite.index.groups import group_mask
from pincite.index.places import NO_PAGE, Places
from pincite.store.files import Array
from pincite.store.snapshot import Snapshot

REMEMBERED = 32
MAX_VALUES = 1000  # ids in one SQL statement
AUDIENCE = "for:"  # enrichment marks with such a tag for whom something is written
NOTHING = Filters()


class Masks(NamedTuple):
    """What one segment has for some filters."""

    places: Array  # of all chunks
    rows: Array  # of the searched ones


class RowFilter:
    """Answers for one snapshot what filters allow; each distinct Filters is worked out once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.parts = [Places(segment) for segment in snapshot.segments]
        self._masks = lru_cache(maxsize=REMEMBERED)(self._find_masks)
        self._documents = lru_cache(maxsize=REMEMBERED)(self._find_documents)
        self.known = lru_cache(maxsize=REMEMBERED)(self._find_known)

    def rows(self, filters: Filters) -> tuple[Array, ...] | None:
        """Return for each segment which searched rows are allowed; None if nothing is filtered."""
        if filters == NOTHING:
            return None
        return tuple(masks.rows for masks in self._masks(filters))

    def keep(self, filters: Filters, ids: Iterable[str]) -> set[str]:
        """Return those of the chunks that may come out of a search."""
        return self._chosen(filters, list(ids), rows=True)

    def satisfied(self, filters: Filters, ids: Iterable[str]) -> set[str]:
        """Return those of the chunks that satisfy the filters by themselves."""
        return self._chosen(filters, list(ids), rows=False)

    def allows_document(self, filters: Filters, doc_id: str) -> bool:
        """Return whether a document may be searched at all."""
        allowed = self.documents(filters)
        return allowed is None or doc_id in allowed

    def documents(self, filters: Filters) -> frozenset[str] | None:
        """Return the documents that may be searched; None if that is all of them."""
        part = Filters(documents=filters.documents, as_of=filters.as_of, access=filters.access)
        return None if part == NOTHING else self._documents(part)

    def _find_known(self, column: str) -> frozenset[str]:
        """Return all words that a column of the places has: kinds, tags, traits, headings."""
        found: set[str] = set()
        for part in self.parts:
            used = np.unique(part.column(column)[part.live]).tolist()
            for value in (part.values(column)[code] for code in used):
                found.update([value] if isinstance(value, str) else value)
        return frozenset(found - {""})

    def audiences(self) -> set[str]:
        """Return the audiences for which something in the index is written."""
        tags = self.known("tags")
        return {tag.removeprefix(AUDIENCE).casefold() for tag in tags if tag.startswith(AUDIENCE)}

    def _chosen(self, filters: Filters, ids: Sequence[str], *, rows: bool) -> set[str]:
        if filters == NOTHING:
            return set(ids)
        chosen: set[str] = set()
        for part, masks in zip(self.parts, self._masks(filters), strict=True):
            for start in range(0, len(ids), MAX_VALUES):
                some = ids[start : start + MAX_VALUES]
                for chunk_id, ordinal, searched in part.segment.ordinals(some):
                    allowed = masks.places[ordinal]
                    if rows and searched:
                        allowed = masks.rows[np.searchsorted(part.searched, ordinal)]
                    if allowed:
                        chosen.add(chunk_id)
        return chosen

    def _find_masks(self, filters: Filters) -> tuple[Masks, ...]:
        documents = self.documents(filters)
        found = []
        for part in self.parts:
            places = _places(part, filters, documents)
            # A row of a document is one of its places: without the others, nothing overlaps.
            only_documents = filters == replace(
                NOTHING,
                documents=filters.documents,
                as_of=filters.as_of,
                access=filters.access,
                groups=filters.groups,
            )
            rows = places[part.searched] if only_documents else part.rows_with(places)
            found.append(Masks(places, rows))
        return tuple(found)

    def _find_documents(self, filters: Filters) -> frozenset[str]:
        allowed = set(self.snapshot.documents())
        if filters.documents:
            allowed = {name for name in allowed if _is_named(name, filters.documents)}
        if filters.as_of:
            allowed &= documents_in_force(self.snapshot, filters.as_of)
        if filters.access is not None:
            mine = {tag.casefold() for tag in filters.access}
            headers = self.snapshot.headers()
            allowed &= {name for name, _, meta in headers if _may_see(meta, mine)}
        return frozenset(allowed)


def _places(part: Places, filters: Filters, documents: frozenset[str] | None) -> Array:
    """Return which chunks of a segment satisfy all filters by themselves."""
    chosen = part.live.copy()
    if documents is not None:
        chosen &= part.where("document", (name in documents for name in part.values("document")))
    if filters.groups:
        chosen &= group_mask(part, filters.groups)
    if filters.kinds:
        kinds = _folded(filters.kinds)
        chosen &= part.where("kind", (kind in kinds for kind in part.values("kind"))) | part.where(
            "content", (kind.casefold() in kinds for kind in part.values("content"))
        )
    for column, wanted in (("tags", filters.tags), ("traits", filters.traits)):
        if wanted:
            names = _folded(wanted)
            chosen &= part.where(column, (bool(names & _folded(s)) for s in part.values(column)))
    if filters.audience:
        mine = f"{AUDIENCE}{filters.audience.casefold()}"
        chosen &= part.where("tags", (_is_for(mine, tags) for tags in part.values("tags")))
    if filters.path:
        words = _folded(filters.path)
        chosen &= part.where("path", (_is_below(path, words) for path in part.values("path")))
    if filters.pages:
        first, last = page_range(filters.pages)
        pages = part.column("page")
        chosen &= (pages != NO_PAGE) & (first < pages) & (pages <= last + 1)
    return chosen


def _folded(words: Iterable[str]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


def _is_named(doc_id: str, patterns: Sequence[str]) -> bool:
    return any(doc_id == pattern or fnmatchcase(doc_id, pattern) for pattern in patterns)


def _is_for(mine: str, tags: Sequence[str]) -> bool:
    """Return whether something is for this audience: for all if it names none."""
    named = {tag.casefold() for tag in tags if tag.startswith(AUDIENCE)}
    return not named or mine in named


def _is_below(path: Sequence[str], words: Iterable[str]) -> bool:
    headings = [heading.casefold() for heading in path]
    return any(word in heading for word in words for heading in headings)


def _may_see(meta: Mapping[str, str], mine: set[str]) -> bool:
    """Return whether a document is open to all, or to one who has these tags."""
    tags = meta.get("access", "")
    needed = {tag.strip().casefold() for tag in tags.split(",") if tag.strip()}
    return not needed or bool(needed & mine)


def page_range(pages: Sequence[int]) -> tuple[int, int]:
    """Return the first and the last page; ConfigError if they are no range.

    >>> page_range((3,)), page_range((3, 10))
    ((3, 3), (3, 10))
    """
    first, last = (*pages, *pages)[:2] if len(pages) == 1 else (*pages, -1)[:2]
    if len(pages) > 2 or not 0 <= first <= last:
        shown = "-".join(map(str, pages))
        raise ConfigError(f"pages {shown}: no range", hint="give the first and the last page: 3-10")
    return first, last


def documents_in_force(snapshot: Snapshot, as_of: str) -> set[str]:
    """Return the documents in force on a day: of each work the newest that had begun by then."""
    day = parse_date(as_of)
    if day is None:
        raise ConfigError(f"as of {as_of}: no date", hint="write 2022 or 2022-06-30")
    return in_force(snapshot.editions(), day)
