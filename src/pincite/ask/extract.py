"""The units of the sources that answer a question, best first: sentences, items and rows.

A unit's score is how near its meaning is to the question's, how high its hit stands, and how much
of the question's words it has or stands under. Weights were chosen on half of Part 97's questions
(docs/decisions/0014-answers.md; a cross-encoder adds nothing).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pincite.answer.passage import Passage
from pincite.answer.sentences import Unit, units
from pincite.answer.values import Source
from pincite.ask.quotes import NOT_QUOTED, Quote, Quoter
from pincite.ask.shown import row_shown
from pincite.ask.terms import asked_term, defined
from pincite.core.types import Span
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader

MEANING, HIT, WORDS = 2.0, 1.0, 0.25
# So many units are compared in meaning: each takes some milliseconds the first time.
COMPARED = 24
# A further quotation is worth this share of the best one's score at least.
FURTHER = 0.93
# A further row of a table that is quoted already has to be nearly as good.
FURTHER_ROW = 0.98
# Units beside each other in one place become one quotation up to this length.
MOST_JOINED_CHARS = 500
MOST_UNIT_CHARS = 600  # that are read of one
DEFINES = 0.5  # what a unit that says what a term means is worth to who asks for it
_ITEM = re.compile(r"[-*•–]\s|\(\w{1,5}\)\s|\d{1,3}[.)]\s")
LEAST_LETTERS = 8  # a unit with fewer says nothing


@dataclass(frozen=True, slots=True)
class Candidate:
    """A unit of a source and its score."""

    source: Source
    unit: Unit  # in the source's text
    span: Span
    text: str  # as it is read: a row with the names of its columns
    share: float  # of the question's words, by weight, that it has or stands under
    meaning: float  # cosine with the question; 0 if nobody compared
    score: float


class Extractor:
    """Finds the units that answer; keeps nothing between questions."""

    def __init__(self, index: IndexReader) -> None:
        self._index = index
        self._meaning = index.searcher.meaning
        self.quoter = Quoter(index)

    def candidates(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: Sequence[Source]
    ) -> list[Candidate]:
        """Return the units of the sources, best first."""
        rough = sorted(self._rough(query, passages, sources), key=lambda each: -each.score)
        best = rough[:COMPARED]
        near = self._cosines(query, best)
        found = [
            replace(each, meaning=cosine, score=each.score + MEANING * cosine)
            for each, cosine in zip(best, near, strict=True)
        ]
        return sorted(found, key=lambda each: (-each.score, each.span))

    def quotes(
        self, candidates: Sequence[Candidate], most: int, sources: list[Source]
    ) -> list[Quote]:
        """Return the best candidates as quotations, items with what leads into them."""
        chosen: list[Candidate] = []
        for each in candidates:
            if len(chosen) == most or each.score < FURTHER * candidates[0].score:
                break
            is_row = each.unit.kind == "row" and any(c.source is each.source for c in chosen)
            if not is_row or each.score >= FURTHER_ROW * candidates[0].score:
                chosen.append(each)
        found: list[Quote] = []
        for each in chosen:
            for quote in self._with_lead(each, sources):
                if not any(quote.repeats(other) for other in found):
                    found.append(quote)
        whole = joined(found, self.quoter, {each.number: each for each in sources})
        return self.quoter.with_notes(whole, sources)

    def _with_lead(self, candidate: Candidate, sources: list[Source]) -> Iterator[Quote]:
        lead = self.quoter.lead_in(candidate.source, candidate.span, sources)
        if lead:
            yield lead
        shown = candidate.text if candidate.unit.kind == "row" else ""
        yield self.quoter.quote(candidate.source, with_items(candidate), shown)

    def _rough(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: Sequence[Source]
    ) -> Iterator[Candidate]:
        """Yield all units with what their words and their hit are worth."""
        opened = self._index.opened
        weights = query.weights
        total = sum(weights.values()) or 1.0
        scores = {passage.chunk.id: passage.hit.score for passage in passages}
        top = max(scores.values(), default=1.0) or 1.0
        last = min(scores.values(), default=0.0)
        term = asked_term(query.text)
        for source in sources:
            analyzer = opened.analyzer_of(source.span.doc_id)
            above = set(analyzer.terms(" ".join((*source.path[1:], source.locator))))
            worth = HIT * scores.get(source.chunk_id, last) / top
            for unit, span, text in readable(source):
                words = above.union(analyzer.terms(text))
                share = sum(weight for term, weight in weights.items() if term in words) / total
                defines = DEFINES if term and defined(term, text) else 0.0
                score = worth + WORDS * share + defines
                yield Candidate(source, unit, span, text, share, 0.0, score)

    def _cosines(self, query: ParsedQuery, candidates: Sequence[Candidate]) -> Sequence[float]:
        """Return the cosines of candidates with the question; zeros without an encoder."""
        if self._meaning is None or not candidates:
            return [0.0] * len(candidates)
        prefix = self._meaning.encoder.spec.text_prefix
        texts = [
            f"{prefix}{heading}\n{each.text[:MOST_UNIT_CHARS]}"
            for each in candidates
            for heading in [each.source.path[-1] if each.source.path else each.source.title]
        ]
        vectors = self._meaning.texts.of(texts)
        asked = self._meaning.encode(query.corrected)
        found: list[float] = np.vecdot(vectors, asked).tolist()
        return found


def with_items(candidate: Candidate) -> Span:
    """Return where a unit stands, with the items that it leads into, as many as fit."""
    source, span = candidate.source, candidate.span
    if not candidate.text.rstrip().endswith(":"):
        return span
    for unit, other, text in readable(source):
        if unit.start <= candidate.unit.start:
            continue
        whole = Span(span.doc_id, span.start, other.end)
        is_item = unit.kind == "sentence" and _ITEM.match(text)
        if not is_item or len(whole) > MOST_JOINED_CHARS or not source.holds(whole):
            break
        span = whole
    return span


def readable(source: Source) -> Iterator[tuple[Unit, Span, str]]:
    """Yield the units of a source that can be quoted, with where they stand and how they read."""
    for unit in units(source.text):
        words = source.text[unit.start : unit.end]
        if unit.kind in NOT_QUOTED or sum(map(str.isalnum, words)) < LEAST_LETTERS:
            continue
        span = source.find(words) if unit.kind == "row" else _located(source, unit)
        if span is not None:
            yield unit, span, row_shown(source.text, unit) if unit.kind == "row" else words


def _located(source: Source, unit: Unit) -> Span | None:
    """Return where a unit of a source's text stands in the document; None if it spans a gap."""
    before = 0
    for part in source.parts or (source.span,):
        if before <= unit.start and unit.end <= before + len(part):
            start = part.start + unit.start - before
            return Span(part.doc_id, start, start + unit.end - unit.start)
        before += len(part) + 1
    return None


def joined(quotes: Sequence[Quote], quoter: Quoter, sources: Mapping[int, Source]) -> list[Quote]:
    """Return the quotations with neighbours of one source made one, in the order of the best."""
    found: list[Quote] = []
    for quote in quotes:
        at = next((n for n, other in enumerate(found) if _touch(quote, other)), None)
        if at is None:
            found.append(quote)
            continue
        start, end = sorted((quote.span, found[at].span), key=lambda span: span.start)
        whole = Span(start.doc_id, start.start, end.end)
        found[at] = quoter.quote(sources[quote.source], whole)
    return found


def _touch(one: Quote, other: Quote) -> bool:
    """Return whether two quotations stand beside each other in one place, and are no rows."""
    if one.source != other.source or one.locator != other.locator:
        return False
    if one.is_row or other.is_row:
        return False
    first, second = sorted((one, other), key=lambda quote: quote.span.start)
    gap = second.span.start - first.span.end
    return 0 <= gap <= 4 and second.span.end - first.span.start <= MOST_JOINED_CHARS
