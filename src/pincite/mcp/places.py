"""Places as an agent names them: ids that stay, links, and only what the asker may see.

An id is ``document#locator`` wherever that means one place: an agent can read it, and it lives on
when the index gets a new generation. Where a locator stands for several places of a document, the
id is the chunk's own, which stays as long as the words do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError

from pincite.api import Index
from pincite.core.editions import in_force, parse_date
from pincite.core.locators import locator_key
from pincite.core.types import Chunk, Filters
from pincite.store.graph import GraphRows, Place

SCHEME = "pincite://document/"
NAMED_DOCUMENTS = 20  # in an error
SEARCH_FIRST = "Call search with words of what you look for; its results have ids."
_PARTS = ("piece", "text")


class Reader:
    """One open index as one asker may see it."""

    def __init__(self, index: Index, filters: Filters, links: str = "") -> None:
        self.index = index
        self.filters = filters
        self.links = links
        self.rows = GraphRows(index.snapshot)
        self.allowed = index.opened.filters.documents(filters)

    def may_see(self, doc_id: str) -> bool:
        """Return whether the asker may see a document."""
        return self.allowed is None or doc_id in self.allowed

    def documents(self) -> list[str]:
        """Return the ids of the documents that the asker may see."""
        return [doc_id for doc_id in self.index.documents() if self.may_see(doc_id)]

    def narrowed(self, documents: Sequence[str], as_of: str) -> Filters:
        """Return the asker's filters with what the call adds; it never widens them."""
        filters = replace(self.filters, as_of=day_of(as_of)) if as_of else self.filters
        if not documents:
            return filters
        named = Filters(documents=tuple(documents))
        chosen = self.index.opened.filters.documents(named) or frozenset()
        mine = tuple(sorted(doc_id for doc_id in chosen if self.may_see(doc_id)))
        if not mine:
            raise self._no_document(", ".join(documents))
        # Names as they are written, unless the asker's own patterns have to hold as well.
        return replace(filters, documents=mine if self.filters.documents else tuple(documents))

    def find(self, place_id: str) -> Chunk:
        """Return the place with this id; ToolError if there is none."""
        snapshot = self.index.snapshot
        chunk = self.rows.places([place_id]).get(place_id)
        if chunk is not None and self.may_see(chunk.doc_id):
            return snapshot.get([place_id])[0]
        known = set(self.documents())
        if place_id in known:
            return next(each for each in snapshot.chunks(place_id) if each.kind == "document")
        for document, locator in _splits(place_id):
            if document in known:
                places = self._named(locator, document)
                if len(places) > 1:
                    ids = ", ".join(place.id for place in places[:NAMED_DOCUMENTS])
                    raise ToolError(f"{place_id!r} means several places. Fetch one of: {ids}")
                if places:
                    return snapshot.get([places[0].id])[0]
        raise ToolError(f"no place with id {place_id!r} in these documents. {SEARCH_FIRST}")

    def named(self, locator: str, document: str | None, as_of: str) -> list[Place]:
        """Return the places of this name; ToolError with what is near if there are none."""
        if document is not None and document not in self.documents():
            raise self._no_document(document)
        places = self._named(locator, document)
        if as_of:
            day = date.fromisoformat(day_of(as_of))
            valid = in_force(self.index.snapshot.editions(), day)
            elsewhere = sorted({place.doc_id for place in places})
            places = [place for place in places if place.doc_id in valid]
            if elsewhere and not places:
                others = ", ".join(elsewhere[:NAMED_DOCUMENTS])
                raise ToolError(
                    f"no place {locator!r} in force on {day}; it is in {others}. "
                    "Leave as_of out, or name one of these as document."
                )
        if not places:
            raise self._no_place(locator, document)
        return places

    def id_of(self, chunk: Chunk) -> str:
        """Return the id that an agent gives to fetch."""
        doc_id = chunk.span.doc_id
        if chunk.kind == "document":
            return doc_id
        same = self._named(chunk.locator, doc_id)
        return f"{doc_id}#{chunk.locator}" if [p.id for p in same] == [chunk.id] else chunk.id

    def url_of(self, chunk: Chunk) -> str:
        """Return a link to the place: below the base that was given, or to the resource."""
        base = self.links or SCHEME
        anchor = "" if chunk.kind == "document" else "#" + quote(chunk.locator, safe="()")
        return base + quote(chunk.span.doc_id) + anchor

    def title_of(self, doc_id: str) -> str:
        """Return what a document is called."""
        return self.index.opened.title_of(doc_id) or doc_id

    def citation_of(self, chunk: Chunk) -> str:
        """Return the place as one would write it in a text."""
        document, page = self.title_of(chunk.span.doc_id), chunk.page
        where = document if chunk.kind == "document" else f"{document}, {chunk.locator}"
        return where if page is None else f"{where}, p. {page}"

    def _named(self, locator: str, document: str | None) -> list[Place]:
        """Return the places of this name, the very same writing first, wholes before parts."""
        key = locator_key(locator)
        found = [
            place
            for place in self.rows.named([key]).get(key, [])
            if self.may_see(place.doc_id) and document in (None, place.doc_id)
        ]
        wholes = [place for place in found if place.kind not in _PARTS] or found
        exact = [place for place in wholes if place.locator == locator.strip()]
        return sorted(exact or wholes, key=lambda place: (place.doc_id, place.start))

    def _no_document(self, name: str) -> ToolError:
        known = self.documents()
        more = f" and {len(known) - NAMED_DOCUMENTS} more" if len(known) > NAMED_DOCUMENTS else ""
        names = ", ".join(known[:NAMED_DOCUMENTS])
        return ToolError(f"no document {name!r}. The documents are: {names}{more}.")

    def _no_place(self, locator: str, document: str | None) -> ToolError:
        where = f" in {document}" if document else ""
        near = dict(self.index.missing_places(locator, self.filters)).values()
        nearest = ", ".join(sorted(name for name in near if name))
        hint = f" The nearest is {nearest}." if nearest else ""
        elsewhere = sorted({p.doc_id for p in self._named(locator, None)}) if document else []
        if elsewhere:
            hint = f" It is in {', '.join(elsewhere[:NAMED_DOCUMENTS])}."
        return ToolError(f"no place {locator!r}{where}.{hint} {SEARCH_FIRST}")


def day_of(text: str) -> str:
    """Return the day that a date or a year means, as ISO writes it; ToolError if it is none."""
    day = parse_date(text)
    if day is None:
        raise ToolError(f"as_of is no date: {text!r}. Write 2022-07-15, or 2022.")
    return day.isoformat()


def _splits(place_id: str) -> Iterator[tuple[str, str]]:
    """Yield every way to read an id as a document and a locator; both may hold a ``#``."""
    for at, letter in enumerate(place_id):
        if letter == "#":
            yield place_id[:at], place_id[at + 1 :]
