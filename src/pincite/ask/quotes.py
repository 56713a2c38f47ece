"""Quotations: words of a source exactly as the document has them, and the place they are in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pincite.answer.sentences import units
from pincite.answer.values import Citation, Sentence, Source
from pincite.ask.shown import row_notes
from pincite.core.tables import parse_table
from pincite.core.types import Chunk, Span
from pincite.search.reader import IndexReader

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

    @property
    def is_row(self) -> bool:
        return self.words.startswith("|")

    @property
    def has_rows(self) -> bool:
        return self.is_row or "\n|" in self.words

    def repeats(self, other: Quote) -> bool:
        """Return whether both say the same: the same place, or the same words elsewhere."""
        return bool(self.span.overlap(other.span)) or self.shown == other.shown

    def sentence(self) -> Sentence:
        citation = Citation(self.source, self.locator, self.page, self.words, self.span)
        return Sentence(self.shown, (citation,))


class Quoter:
    """Makes quotations of an index's places."""

    def __init__(self, index: IndexReader) -> None:
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

    def with_notes(self, quotes: Sequence[Quote], sources: list[Source]) -> list[Quote]:
        """Return the quotations, rows of tables followed by the footnotes of their marks."""
        found: list[Quote] = []
        for quote in quotes:
            found.append(quote)
            for note in self._notes(quote, sources) if quote.has_rows else ():
                if not any(note.repeats(other) for other in (*quotes, *found)):
                    found.append(note)
        return found

    def _notes(self, quote: Quote, sources: list[Source]) -> Iterator[Quote]:
        """Yield the footnotes that the marks of rows point to; what has them becomes a source."""
        source = next(each for each in sources if each.number == quote.source)
        for place in self._tables(self.place_of(source, quote.span), quote.span):
            table = parse_table(place.text)
            start = place.span.start
            rows = place.text[max(0, quote.span.start - start) : quote.span.end - start]
            for note in row_notes(table, rows) if table else ():
                at = start + place.text.rfind(note)
                span = Span(place.span.doc_id, at, at + len(note))
                home = next((each for each in (source, *sources) if each.holds(span)), None)
                if home is None:
                    names = (source.title, place.locator, place.path, place.page)
                    home = Source(len(sources) + 1, place.id, *names, span, note, "table")
                    sources.append(home)
                yield self.quote(home, span)

    def _tables(self, place: Chunk, span: Span) -> list[Chunk]:
        """Return the table that a place is or is in, or those in it that a span touches."""
        if place.kind == "row" and place.parent:
            return self._snapshot.get([place.parent])
        if place.kind == "table":
            return [place]
        below = self._snapshot.children(place.id)
        return [each for each in below if each.kind == "table" and each.span.overlap(span)]

    def opening(self, place: Chunk) -> Span:
        """Return the beginning of a place without its heading: whole units, as many as fit."""
        every = units(place.text)
        body = [unit for unit in every if unit.kind not in NOT_QUOTED] or every
        if not body:
            return Span(place.span.doc_id, place.span.start, place.span.start)
        kept = [u for u in body if u.end - body[0].start <= MOST_PLACE_CHARS] or body[:1]
        start = place.span.start
        return Span(place.span.doc_id, start + kept[0].start, start + kept[-1].end)
