"""Places as an agent names them: ids that stay, links, and errors that help.

An id is ``document#locator`` wherever that means one place: an agent can read it, and it lives on
when the index gets a new generation. Where a locator stands for several places of a document, the
id is the chunk's own, which stays as long as the words do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError

from pincite.core.editions import in_force, parse_date
from pincite.core.types import Chunk, Filters
from pincite.model.locators import locator_key
from pincite.search.reader import IndexReader
from pincite.store.graph import Place

SCHEME = "pincite://document/"
LISTED = 20  # in an error
SEARCH_FIRST = "Call search with words of what you look for; its results have ids."
_PARTS = ("piece", "text")


class Reader:
    """One open index as the asker sees it: what is kept from the asker is not in it at all."""

    def __init__(self, index: IndexReader, links: str = "") -> None:
        self.index = index
        self.links = links
        self.rows = index.snapshot.graph_rows()

    def filters(self, documents: Sequence[str], as_of: str) -> Filters:
        """Return the filters that a call names; ToolError if they leave no document."""
        named = Filters(documents=tuple(documents), as_of=day_of(as_of) if as_of else "")
        if self.index.opened.filters.documents(Filters(documents=named.documents)) == frozenset():
            raise self._no_document(", ".join(documents))
        return named

    def find(self, place_id: str) -> Chunk:
        """Return the place with this id; ToolError if there is none."""
        snapshot = self.index.snapshot
        if self.rows.places([place_id]):
            return snapshot.get([place_id])[0]
        known = set(self.index.documents())
        if place_id in known:
            return next(each for each in snapshot.chunks(place_id) if each.kind == "document")
        for document, locator in _splits(place_id):
            if document in known:
                places = self._named(locator, document)
                if len(places) > 1:
                    chunks = snapshot.get([place.id for place in places[:LISTED]])
                    ids = " or ".join(map(repr, map(self.id_of, chunks)))
                    raise ToolError(f"{place_id!r} means several places. Use {ids}.")
                if places:
                    return snapshot.get([places[0].id])[0]
        raise ToolError(f"no place with id {place_id!r} in these documents. {SEARCH_FIRST}")

    def named(self, locator: str, document: str | None, as_of: str) -> list[Place]:
        """Return the places of this name; ToolError with what is near if there are none."""
        if document is not None and document not in self.index.documents():
            raise self._no_document(document)
        places = self._named(locator, document)
        if as_of:
            day = date.fromisoformat(day_of(as_of))
            valid = in_force(self.index.snapshot.editions(), day)
            elsewhere = sorted({place.doc_id for place in places})
            places = [place for place in places if place.doc_id in valid]
            if elsewhere and not places:
                others = ", ".join(elsewhere[:LISTED])
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
            if document in (None, place.doc_id)
        ]
        wholes = [place for place in found if place.kind not in _PARTS] or found
        exact = [place for place in wholes if place.locator == locator.strip()]
        return sorted(exact or wholes, key=lambda place: (place.doc_id, place.start))

    def _no_document(self, name: str) -> ToolError:
        known = self.index.documents()
        more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
        names = ", ".join(known[:LISTED])
        return ToolError(f"no document {name!r}. The documents are: {names}{more}.")

    def _no_place(self, locator: str, document: str | None) -> ToolError:
        where = f" in {document}" if document else ""
        near = dict(self.index.missing_places(locator)).values()
        nearest = ", ".join(sorted(name for name in near if name))
        hint = f" The nearest is {nearest}." if nearest else ""
        elsewhere = sorted({p.doc_id for p in self._named(locator, None)}) if document else []
        if elsewhere:
            hint = f" It is in {', '.join(elsewhere[:LISTED])}."
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
