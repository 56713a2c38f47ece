"""Quotations: the sentences that answer, with the deepest place that holds them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from pincite.answer.sentences import row_shown
from pincite.answer.values import Role, Source
from pincite.answer.windows import document_span
from pincite.model.markup import read_markup
from pincite.model.sentences import TextUnit, begins_item, units
from pincite.model.tables import cells_of, parse_table
from pincite.model.types import Chunk, PageRef, Span
from pincite.search.passages import Passage
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader

# A clause that goes on in items ends like this; an item says nothing without it.
LEADS_IN = (":", "—", "–", ";", ",")
MAX_LEAD_CHARS = 400
MAX_PARAGRAPH = 4000  # characters beside a quotation that may have signs that belong to its own
# Units beside each other in one place become one quotation up to this length.
MAX_JOINED_CHARS = 500
MAX_PLACE_CHARS = 700  # of a place that is quoted as a whole
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
    page: PageRef  # of its first word

    def repeats(self, other: Quote) -> bool:
        """Return whether both say the same: the same place, or the same words elsewhere."""
        return bool(self.span.overlap(other.span)) or self.shown == other.shown


class Quoter:
    """Makes quotations of an index's places."""

    def __init__(self, index: IndexReader) -> None:
        self._snapshot = index.snapshot

    def quote(self, source: Source, span: Span, shown: str = "", locator: str = "") -> Quote:
        """Return a stretch of a source as a quotation with the deepest place that holds it."""
        text = self._snapshot.text(span.doc_id)
        words = text[span.start : span.end]
        place = self.place_of(source, span)
        named = locator or place.locator or source.locator
        shown = shown or shown_words(text, span.start, span.end)
        return Quote(source.number, span, words, shown, named, source.page_at(span))

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
            len(lead) > MAX_LEAD_CHARS
            or lead.overlap(span)
            or _SAYS_NOTHING.search(own, above[-1].start)
        ):
            return None
        held = Span(span.doc_id, parent.span.start, parent.own_end)
        return self.quote(self._home(lead, parent, held, "introduction", source, sources), lead)

    def _home(
        self,
        span: Span,
        place: Chunk,
        held: Span,
        role: Role,
        source: Source,
        sources: list[Source],
    ) -> Source:
        """Return the source that has a span; if there is none, a stretch of a place becomes one."""
        home = next((each for each in (source, *sources) if each.holds(span)), None)
        if home is None:
            names = (source.title, place.locator, place.path, place.page)
            text = self._snapshot.text(held.doc_id)[held.start : held.end]
            pages = self._snapshot.pages_of(place)
            home = Source(
                *(len(sources) + 1, place.id, *names, held, text, role),
                page_label=pages.cited(place.span.start).label,
                pages=pages,
            )
            sources.append(home)
        return home

    def led_into(self, source: Source, span: Span, sources: list[Source]) -> Quote | None:
        """Return what a place goes on with behind words that lead into it: items, or a sentence."""
        place = self.place_of(source, span)
        end = min(place.span.end, span.end + MAX_JOINED_CHARS)
        text = self._snapshot.text(span.doc_id)[span.end : end]
        # What reaches the end may be cut there.
        fitting = [u for u in units(text) if u.end < len(text) or end == place.span.end]
        if not fitting or fitting[0].kind != "sentence":
            return None
        last = fitting[0].end
        for unit in fitting[1:]:
            if unit.kind != "sentence" or not begins_item(text[unit.start : unit.end]):
                break
            last = unit.end
        led = Span(span.doc_id, span.end + fitting[0].start, span.end + last)
        return self.quote(self._home(led, place, led, "clause", source, sources), led)

    def with_notes(self, quotes: Sequence[Quote], sources: list[Source]) -> list[Quote]:
        """Return the quotations, rows of tables followed by the footnotes of their marks."""
        found: list[Quote] = []
        for quote in quotes:
            found.append(quote)
            has_rows = "\n|" in f"\n{quote.words}"
            for note in self._notes(quote, sources) if has_rows else ():
                if not any(note.repeats(other) for other in (*quotes, *found)):
                    found.append(note)
        return found

    def _notes(self, quote: Quote, sources: list[Source]) -> Iterator[Quote]:
        """Yield the footnotes that the marks of rows point to; what has them becomes a source."""
        source = next(each for each in sources if each.number == quote.source)
        place = self.place_of(source, quote.span)
        places = [place, *self._snapshot.children(place.id)]
        if place.kind == "row" and place.parent:
            places = self._snapshot.get([place.parent])
        for place in places:
            table = parse_table(place.text) if place.kind == "table" else None
            if table is None or not place.span.overlap(quote.span):
                continue
            start = place.span.start
            words = place.text[max(0, quote.span.start - start) : quote.span.end - start]
            rows = [cells_of(line) for line in words.splitlines() if line.startswith("|")]
            cells = (cell for row in (*rows, table.columns) for cell in row)
            for note in dict.fromkeys(note for cell in cells for note in table.notes_of(cell)):
                at = start + place.text.rfind(note)
                span = Span(place.span.doc_id, at, at + len(note))
                yield self.quote(self._home(span, place, span, "table", source, sources), span)

    def opening(self, place: Chunk) -> Span:
        """Return the beginning of a place without its heading: whole units, as many as fit."""
        every = units(place.text)
        body = [unit for unit in every if unit.kind not in NOT_QUOTED] or every
        if not body:
            return Span(place.span.doc_id, place.span.start, place.span.start)
        kept = [u for u in body if u.end - body[0].start <= MAX_PLACE_CHARS] or body[:1]
        start = place.span.start
        return Span(place.span.doc_id, start + kept[0].start, start + kept[-1].end)


def shown_words(text: str, start: int, end: int) -> str:
    """Return a stretch in one line as it is read, by the signs of the paragraphs it stands in."""
    low = text.rfind("\n\n", max(0, start - MAX_PARAGRAPH), start) + 2
    low = low if low > 1 else max(0, start - MAX_PARAGRAPH)
    high = text.find("\n\n", end, end + MAX_PARAGRAPH)
    high = high if high >= 0 else min(len(text), end + MAX_PARAGRAPH)
    return " ".join(read_markup(text[low:high]).shown(start - low, end - low).text.split())


_ASKS_MEANING = re.compile(
    r"(?:what does|what do) (?:an? |the )?[\"“]?(.{1,60}?)[\"”]? mean\??"
    r"|what (?:is|are) (?:meant by )?(?:an? )?(?!the\b|my\b)[\"“]?([\w’' -]{1,40}?)[\"”]?\?"
    r"|(?:define|definition of|meaning of) [\"“]?(.{1,60}?)[\"”]?\??",
    re.IGNORECASE,
)
_SAYS = re.compile(r"[\"”*_]{0,3}(?:\s\([^)]{1,20}\)[*_]{0,2})?\s?(?:(?:is|are|means?)\b|:|—|–)")


def asked_term(question: str) -> str:
    """Return the term whose meaning a question asks for; empty if it asks for something else.

    >>> asked_term("What does drag mean?"), asked_term("What is the range of it?")
    ('drag', '')
    """
    match = _ASKS_MEANING.fullmatch(" ".join(question.split()))
    return next((group for group in match.groups() if group), "").strip() if match else ""


def defined(term: str, text: str) -> bool:
    """Return whether a text says what a term means: the term stands first, or marked, or with "is".

    >>> defined("drag", "If you have **drag**, roll three dice."), defined("drag", "They drag it.")
    (True, False)
    """
    at = text.casefold().find(term.casefold())
    if at < 0:
        return False
    before, after = text[max(0, at - 2) : at], text[at + len(term) : at + len(term) + 30]
    return before.endswith(("**", "“", '"', "*", "_")) or bool(_SAYS.match(after))


MEANING, HIT, WORDS = 2.0, 1.0, 0.25
# So many units are compared in meaning: each takes some milliseconds the first time.
COMPARED = 24
# A further quotation is worth this share of the best one's score at least.
FURTHER = 0.93
# A further row of a table that is quoted already has to be nearly as good.
FURTHER_ROW = 0.98
MAX_UNIT_CHARS = 600  # that are read of one
DEFINES = 0.5  # what a unit that says what a term means is worth to who asks for it
MIN_LETTERS = 8  # a unit with fewer says nothing


@dataclass(frozen=True, slots=True)
class QuoteCandidate:
    """A unit of a source and its score."""

    source: Source
    unit: TextUnit  # in the source's text
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
    ) -> list[QuoteCandidate]:
        """Return the units of the sources, best first; without an encoder, by their words alone."""
        rough = self._rough(query, passages, sources)
        best = sorted(rough, key=attrgetter("score"), reverse=True)[:COMPARED]
        if self._meaning is not None and best:
            titles = (
                each.source.path[-1] if each.source.path else each.source.title for each in best
            )
            texts = [
                f"{title}\n{each.text[:MAX_UNIT_CHARS]}"
                for title, each in zip(titles, best, strict=True)
            ]
            vectors = self._meaning.texts.of(texts)
            near = np.vecdot(vectors, self._meaning.encode(query.corrected)).tolist()
            best = [
                replace(each, meaning=cosine, score=each.score + MEANING * cosine)
                for each, cosine in zip(best, near, strict=True)
            ]
        best.sort(key=attrgetter("span"))
        return sorted(best, key=attrgetter("score"), reverse=True)

    def quotes(
        self, candidates: Sequence[QuoteCandidate], most: int, sources: list[Source]
    ) -> list[Quote]:
        """Return the best candidates as quotations, items with what leads into them."""
        chosen: list[QuoteCandidate] = []
        for each in candidates:
            if len(chosen) == most or each.score < FURTHER * candidates[0].score:
                break
            is_row = each.unit.kind == "row" and any(c.source is each.source for c in chosen)
            if not is_row or each.score >= FURTHER_ROW * candidates[0].score:
                chosen.append(each)
        found: list[Quote] = []
        for each in chosen:
            for quote in self._whole(each, sources):
                if not any(quote.repeats(other) for other in found):
                    found.append(quote)
        whole = joined(found, self.quoter, sources) if len(found) > 1 else found
        return self.quoter.with_notes(whole, sources)

    def _whole(self, chosen: QuoteCandidate, sources: list[Source]) -> Iterator[Quote]:
        """Yield a unit with what leads into it and what it leads into."""
        source, span = chosen.source, chosen.span
        lead = self.quoter.lead_in(source, span, sources)
        above = None if lead else list_lead(chosen)
        if lead or above:
            yield lead or self.quoter.quote(source, above or span)
        is_lead = _leads_in(chosen.text)
        whole = with_items(chosen) if is_lead else span
        shown = chosen.text if chosen.unit.kind == "row" else ""
        yield self.quoter.quote(source, whole, shown)
        if is_lead and whole == span and (items := self.quoter.led_into(source, span, sources)):
            yield items

    def _rough(
        self, query: ParsedQuery, passages: Sequence[Passage], sources: Sequence[Source]
    ) -> Iterator[QuoteCandidate]:
        """Yield all units with what their words and their hit are worth."""
        weights = query.weights
        total = sum(weights.values()) or 1.0
        scores = {passage.chunk.id: passage.hit.score for passage in passages}
        top = max(scores.values(), default=1.0) or 1.0
        last = min(scores.values(), default=0.0)
        term = asked_term(query.text)
        for source in sources:
            analyzer = self._index.opened.analyzer_of(source.span.doc_id)
            above = set(analyzer.terms(" ".join((*source.path[1:], source.locator))))
            worth = HIT * scores.get(source.chunk_id, last) / top
            for unit, span, text in readable(source):
                words = above.union(analyzer.terms(text))
                share = sum(weight for term, weight in weights.items() if term in words) / total
                defines = DEFINES if term and defined(term, text) else 0.0
                score = worth + WORDS * share + defines
                yield QuoteCandidate(source, unit, span, text, share, 0.0, score)


def with_items(candidate: QuoteCandidate) -> Span:
    """Return where a unit stands, with the items that it leads into, as many as fit."""
    source, span = candidate.source, candidate.span
    for unit, other, text in readable(source):
        if unit.start <= candidate.unit.start:
            continue
        whole = Span(span.doc_id, span.start, other.end)
        is_led = unit.kind == "sentence" and (begins_item(text) or span == candidate.span)
        if not is_led or len(whole) > MAX_JOINED_CHARS or not source.holds(whole):
            break
        span = whole
    return span


def _leads_in(text: str) -> bool:
    """Return whether words say nothing without what follows them."""
    return text.rstrip("*_ ").endswith(":")


def list_lead(candidate: QuoteCandidate) -> Span | None:
    """Return where the words stand that lead into the list that an item belongs to."""
    lead: Span | None = None
    for unit, span, text in readable(candidate.source) if begins_item(candidate.text) else ():
        if unit.start >= candidate.unit.start:
            return lead
        if unit.kind != "sentence" or not begins_item(text):
            is_lead = _leads_in(text) and unit.kind == "sentence" and len(span) <= MAX_LEAD_CHARS
            lead = span if is_lead else None
    return None


def readable(source: Source) -> Iterator[tuple[TextUnit, Span, str]]:
    """Yield the units of a source that can be quoted, with where they stand and how they read."""
    for unit in units(source.text):
        words = source.text[unit.start : unit.end]
        if unit.kind in NOT_QUOTED or sum(map(str.isalnum, words)) < MIN_LETTERS:
            continue
        if span := document_span(source, unit.start, unit.end):
            yield unit, span, row_shown(source.text, unit) if unit.kind == "row" else words


def joined(quotes: Sequence[Quote], quoter: Quoter, sources: Sequence[Source]) -> list[Quote]:
    """Return the quotations with neighbours of one source made one, in the order of the best."""
    numbered = {each.number: each for each in sources}
    found: list[Quote] = []
    for quote in quotes:
        at = next((n for n, other in enumerate(found) if _touch(quote, other)), None)
        if at is None:
            found.append(quote)
            continue
        start, end = sorted((quote.span, found[at].span), key=attrgetter("start"))
        whole = Span(start.doc_id, start.start, end.end)
        found[at] = quoter.quote(numbered[quote.source], whole)
    return found


def _touch(one: Quote, other: Quote) -> bool:
    """Return whether two quotations stand beside each other in one place, and are no rows."""
    if (one.source, one.locator) != (other.source, other.locator):
        return False
    if one.words.startswith("|") or other.words.startswith("|"):
        return False
    first, second = sorted((one.span, other.span), key=attrgetter("start"))
    return 0 <= second.start - first.end <= 4 and second.end - first.start <= MAX_JOINED_CHARS


FEATURES = ("near",)  # cosine of the question and the unit that is nearest to it


@dataclass(frozen=True, slots=True)
class ConfidenceModel:
    """A logistic model by names of features."""

    weights: Mapping[str, float]
    offset: float

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that features stand for; 1 where there are none to judge by."""
        if not features:
            return 1.0
        value = self.offset + sum(w * features[name] for name, w in sorted(self.weights.items()))
        return 1 / (1 + math.exp(-max(-500.0, min(500.0, value))))


MODEL = ConfidenceModel({"near": 8.25}, -5.49)
