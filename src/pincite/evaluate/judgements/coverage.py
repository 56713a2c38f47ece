"""Which chunks of an index a judged place is in, whatever the documents were cut into.

A chunk covers a place if they share at least half of the shorter one: so it does if it lies in the
place, if it holds the place, or if it has most of it. Where no searched chunk does, the one that
shares most does. Hence every place that any searched chunk touches is covered by some chunk, for
any way of cutting; ``tests/property/test_coverage_laws.py`` has the law.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pincite.core.editions import Edition
from pincite.core.tables import find_cells, parse_table
from pincite.core.types import Chunk, Span
from pincite.evaluate.grades import ideal_gains
from pincite.evaluate.judgements.questions import Place, Question
from pincite.model.locators import locator_key
from pincite.store.snapshot import Snapshot


def shares_half(chunk: Span, place: Span) -> bool:
    """Return whether the two share at least half of the shorter one.

    >>> place = Span("d", 8, 40)
    >>> shares_half(Span("d", 0, 10), place), shares_half(Span("d", 0, 99), place)
    (False, True)
    """
    shared = chunk.overlap(place)
    return shared > 0 and 2 * shared >= min(len(chunk), len(place))


def covering(place: Sequence[Span], chunks: Sequence[Span]) -> set[int]:
    """Return which of the searched chunks cover a place, which may stand at several spots."""
    found = {at for at, chunk in enumerate(chunks) if any(shares_half(chunk, s) for s in place)}
    if found:
        return found
    shared = [max((chunk.overlap(s) for s in place), default=0) for chunk in chunks]
    most = max(shared, default=0)
    return {shared.index(most)} if most else set()


@dataclass(frozen=True, slots=True)
class Gold:
    """A question's needs in one index."""

    question: Question
    spans: tuple[tuple[tuple[Span, int], ...], ...]  # of each need: spots with their grades
    chunks: Mapping[str, Mapping[int, float]]  # searched chunks with the needs that they meet
    rejected: frozenset[str]  # searched chunks that were judged and do not answer
    ideal: tuple[float, ...]
    documents: frozenset[str]

    @property
    def is_in_corpus(self) -> bool:
        """Whether every need has a place in the documents."""
        return bool(self.spans) and all(self.spans)

    @property
    def is_evaluable(self) -> bool:
        """Whether some need can be met by a chunk that is searched."""
        return bool(self.chunks)

    def met_by(self, chunk: Chunk) -> Mapping[int, float]:
        """Return the needs that a hit meets; a hit may also be a place that is not searched."""
        if chunk.id in self.chunks or chunk.searched:
            return self.chunks.get(chunk.id, {})
        return {
            at: float(max(grades))
            for at, need in enumerate(self.spans)
            if (grades := [grade for span, grade in need if shares_half(chunk.span, span)])
        }


class Corpus:
    """An index as the judgements see it: where places stand, which chunks cover them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._editions: dict[str, Edition] | None = None
        self._chunks: dict[str, list[Chunk]] = {}

    def gold(self, question: Question) -> Gold:
        """Return what a question needs in this index."""
        chunks: dict[str, dict[int, float]] = {}
        spans = []
        for at, need in enumerate(question.needs):
            spots = [(span, place.grade) for place in need for span in self.spans(place)]
            spans.append(tuple(dict.fromkeys(spots)))
            for place in need:
                for chunk_id in self.covered(self.spans(place)):
                    met = chunks.setdefault(chunk_id, {})
                    met[at] = max(met.get(at, 0.0), float(place.grade))
        rejected = [self.covered(self.spans(place)) for place in question.rejected]
        return Gold(
            question,
            tuple(spans),
            chunks,
            frozenset(set().union(*rejected) - chunks.keys()),
            tuple(ideal_gains(list(chunks.values()))),
            frozenset(span.doc_id for need in spans for span, _ in need),
        )

    def covered(self, spans: Iterable[Span]) -> set[str]:
        """Return the ids of the searched chunks that cover a place."""
        found: set[str] = set()
        by_document: dict[str, list[Span]] = {}
        for span in spans:
            by_document.setdefault(span.doc_id, []).append(span)
        for doc_id, spots in by_document.items():
            searched = [chunk for chunk in self.chunks(doc_id) if chunk.searched]
            at = covering(spots, [chunk.span for chunk in searched])
            found |= {searched[each].id for each in at}
        return found

    def spans(self, place: Place) -> list[Span]:
        """Return where a place stands; nothing if the index does not have it."""
        named = place.table or place.locator
        if place.start is not None and place.end is not None:
            spots = [Span(doc_id, place.start, place.end) for doc_id in self._documents(place)]
            return [s for s in spots if s.start < len(self.snapshot.text(s.doc_id))]
        if named:
            chunks = self._named(named, place)
            return [c.span for c in (_rows(self, chunks, place) if place.table else chunks)]
        found = []
        for doc_id in self._documents(place):
            chunks = self.chunks(doc_id)
            if place.section:
                found += [c.span for c in chunks if is_below(c.locator, place.section)]
            elif place.page is not None:
                found += self._page(doc_id, place.page)
            elif chunks:
                found.append(Span(doc_id, 0, max(chunk.span.end for chunk in chunks)))
        return found

    def chunks(self, doc_id: str) -> list[Chunk]:
        """Return the chunks of a document, remembered."""
        if doc_id not in self._chunks:
            self._chunks[doc_id] = self.snapshot.chunks(doc_id)
        return self._chunks[doc_id]

    def _named(self, locator: str, place: Place) -> list[Chunk]:
        """Return the chunks with a locator; a heading of the same words only if there is none."""
        allowed = set(self._documents(place))
        found = [
            chunk
            for chunk in self.snapshot.found_by([locator_key(locator)])
            if chunk.span.doc_id in allowed
        ]
        # A piece stands for a part of a place of the same name, which is here as well.
        wholes = [chunk for chunk in found if chunk.kind not in ("text", "piece")] or found
        key = locator_key(locator)
        return [chunk for chunk in wholes if locator_key(chunk.locator) == key] or wholes

    def _documents(self, place: Place) -> list[str]:
        """Return the documents that a place may be in."""
        if self._editions is None:
            self._editions = {each.doc_id: each for each in self.snapshot.editions()}
        named = place.document
        if named in self._editions:
            found = [named]
        else:
            found = [d for d in self._editions if not named or fnmatchcase(d, named)]
        if not place.edition:
            return found
        starts = {d: self._editions[d].effective for d in found}
        return [d for d, day in starts.items() if day and day.isoformat().startswith(place.edition)]

    def _page(self, doc_id: str, page: int) -> list[Span]:
        """Return the text of a page: of its boxes, else from its first chunk to the next page's."""
        boxes = [box for box in self.snapshot.boxes(doc_id) if box.page == page]
        if boxes:
            return [Span(doc_id, min(b.start for b in boxes), max(b.end for b in boxes))]
        chunks = [chunk for chunk in self.chunks(doc_id) if chunk.page is not None]
        starts = [chunk.span.start for chunk in chunks if chunk.page == page]
        if not starts:
            return []
        first, last = min(starts), max(starts)
        later = [c.span.start for c in chunks if c.span.start > last and c.page != page]
        end = min(later) if later else max(chunk.span.end for chunk in chunks)
        return [Span(doc_id, first, end)]


def is_below(locator: str, section: str) -> bool:
    """Return whether a locator is that of a section or of a place inside it.

    >>> is_below("314.28(A)", "314.28"), is_below("314.28", "314.2"), is_below("314.28", "314")
    (True, False, True)
    """
    key, prefix = locator_key(locator), locator_key(section)
    return key.startswith(prefix) and not key[len(prefix) : len(prefix) + 1].isalnum()


def _rows(corpus: Corpus, tables: Sequence[Chunk], place: Place) -> list[Chunk]:
    """Return the rows of a cell; the table where its rows are not places of their own."""
    found = []
    for chunk in tables:
        table = parse_table(chunk.text)
        cells = find_cells(table, place.row, place.column) if table else []
        rows = [
            each
            for each in corpus.chunks(chunk.span.doc_id)
            if each.kind == "row" and each.parent == chunk.id
        ]
        whole = table is not None and len(rows) == len(table.rows)
        found += [rows[cell.row] if whole else chunk for cell in cells]
    return found
