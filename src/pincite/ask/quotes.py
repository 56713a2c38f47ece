"""Quotations: words of a source exactly as the document has them, and the place they are in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pincite.answer.sentences import Unit, units
from pincite.answer.values import Citation, Sentence, Source
from pincite.api import Index
from pincite.core.tables import parse_table
from pincite.core.types import Chunk, Span

# A clause that goes on in items ends like this; an item says nothing without it.
LEADS_IN = (":", "—", "–", ";", ",")
MOST_LEAD_CHARS = 400
MOST_PLACE_CHARS = 700  # of a place that is quoted as a whole
# An introduction to definitions; each of them stands on its own.
_SAYS_NOTHING = re.compile(r"\b(?:definitions?|following terms|terms used)\b", re.IGNORECASE)
NOT_QUOTED = ("heading", "header")


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a source, and how a reader sees them: of a row, with the names of its columns."""

    source: int
    span: Span
    words: str  # document.text[span]
    shown: str
    locator: str
    page: int | None

    def sentence(self) -> Sentence:
        citation = Citation(self.source, self.locator, self.page, self.words, self.span)
        return Sentence(self.shown, (citation,))


class Quoter:
    """Makes quotations of an index's places."""

    def __init__(self, index: Index) -> None:
        self._snapshot = index.snapshot

    def quote(self, source: Source, span: Span, shown: str = "", locator: str = "") -> Quote:
        """Return a stretch of a source as a quotation with the deepest place that holds it."""
        words = self._snapshot.text(span.doc_id)[span.start : span.end]
        place = self.place_of(source, span)
        named = locator or place.locator or source.locator
        return Quote(
            source.number, span, words, shown or " ".join(words.split()), named, place.page
        )

    def place_of(self, source: Source, span: Span) -> Chunk:
        """Return the deepest place of a source that holds a span as a whole."""
        (place,) = self._snapshot.get([source.chunk_id])
        if place.kind in ("piece", "text") and place.parent:
            (place,) = self._snapshot.get([place.parent])
        while True:
            below = [
                child
                for child in self._snapshot.children(place.id)
                if child.kind not in ("piece", "text") and child.span.overlap(span) == len(span)
            ]
            if not below:
                return place
            place = below[0]

    def lead_in(self, source: Source, span: Span, sources: list[Source]) -> Quote | None:
        """Return the words above an item that it completes; what has them becomes a source.

        "No station shall transmit:" stands above "(4) Music"; without it the item says the
        contrary of what the document says.
        """
        place = self.place_of(source, span)
        if place.kind != "clause" or place.parent is None:
            return None
        (parent,) = self._snapshot.get([place.parent])
        own = self._snapshot.text(span.doc_id)[parent.span.start : parent.own_end]
        above = [unit for unit in units(own) if unit.kind == "sentence"]
        if not above or not own[: above[-1].end].endswith(LEADS_IN):
            return None
        start = parent.span.start + above[-1].start
        lead = Span(span.doc_id, start, parent.span.start + above[-1].end)
        if (
            len(lead) > MOST_LEAD_CHARS
            or lead.overlap(span)
            or _SAYS_NOTHING.search(own, above[-1].start)
        ):
            return None
        home = next((each for each in (source, *sources) if each.holds(lead)), None)
        if home is None:
            home = self._introduction(parent, source, len(sources) + 1)
            sources.append(home)
        return self.quote(home, lead)

    def _introduction(self, parent: Chunk, below: Source, number: int) -> Source:
        span = Span(parent.span.doc_id, parent.span.start, parent.own_end)
        text = self._snapshot.text(span.doc_id)[span.start : span.end]
        names = (below.title, parent.locator, parent.path, parent.page)
        return Source(number, parent.id, *names, span, text, "introduction")

    def opening(self, place: Chunk) -> Span:
        """Return the beginning of a place without its heading: whole units, as many as fit."""
        every = units(place.text)
        body = [unit for unit in every if unit.kind not in NOT_QUOTED] or every
        if not body:
            return Span(place.span.doc_id, place.span.start, place.span.start)
        kept = [u for u in body if u.end - body[0].start <= MOST_PLACE_CHARS] or body[:1]
        start = place.span.start
        return Span(place.span.doc_id, start + kept[0].start, start + kept[-1].end)


def row_shown(text: str, row: Unit, only: Sequence[int] = ()) -> str:
    """Return a row of a table with the names of its columns; of some columns, if named."""
    table = parse_table(text)
    if table is None:
        return " ".join(text[row.start : row.end].split())
    line = text[row.start : row.end]
    alone = parse_table(f"| {' | '.join(table.columns)} |\n|---|\n{line}")
    cells = alone.rows[0] if alone and alone.rows else ()
    pairs = enumerate(zip(table.columns, cells, strict=False))
    said = [f"{name}: {cell}" for n, (name, cell) in pairs if cell and (not only or n in only)]
    return "; ".join(said)
