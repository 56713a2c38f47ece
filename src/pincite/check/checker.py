"""Verdicts: every quotation, citation and statement of a text against one index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from pincite.check.citations import WrittenCitation
from pincite.check.claims import Claim, read_claims
from pincite.check.judge import LANGUAGE, open_judge
from pincite.check.places import PlaceResolver, Resolved
from pincite.check.quotations import CANDIDATES, Found, QuotationFinder
from pincite.check.rules import without_polarity
from pincite.check.support import Support, TextParts, probability, shared_words, weighed
from pincite.check.values import CheckedClaim, CheckReport, CheckVerdict, SourceEvidence
from pincite.model.locators import locator_key
from pincite.model.types import Chunk, Span
from pincite.search.citing import cite_place
from pincite.search.reader import IndexReader

MAX_CHARS = 1_000_000  # of a text; about five hundred pages
MAX_EVIDENCE_CHARS = 1_200
MAX_SHOWN_CHANGES = 12
MAX_COMPARED_PLACES = 8
MAX_OTHERS = 8  # documents that are not cited, in which a changed quotation is looked for
ALIKE = 0.8  # share of words from which on no likelier stretch is looked for
PARTS_OF_WORKS = ("title", "part", "division", "book", "subpart", "chapter", "teil", "titre")
MAX_STATED_CHARS = 20_000  # of a place that a statement is held against
MAX_READ = 400  # statements of a text that the model reads; some forty milliseconds each
NONE = "none"  # no model is wanted
# So much of a quotation, or of the place, has to stand in the place that is cited.
MIN_INSIDE = 0.5
SECTION_KINDS = ("section", "clause", "exception", "note", "table", "row", "figure", "document")
_REASONS = {
    "words": "words differ",
    "number": "a number, unit or date differs",
    "opposite": "the change turns it round",
}
_VERDICTS: dict[str, CheckVerdict] = {
    "words": "altered",
    "number": "number_differs",
    "opposite": "opposite",
}


class Checking(NamedTuple):
    """A check on its way: verdicts as they are reached, and what was left out."""

    claims: Iterator[CheckedClaim]
    notes: tuple[str, ...]


class Checker:
    """Checks texts against one index.

    Args:
        support: says how probable it is that evidence bears out a statement; without one, or where
            it does not know, the judge that ships says it (check/judge.py), and where that cannot
            (another language, no models wanted), shared words.
    """

    def __init__(self, index: IndexReader, support: Support | None = None) -> None:
        self._index = index
        self._snapshot = index.snapshot
        self._support = support
        self._places = PlaceResolver(index)
        self._quotes = QuotationFinder(index)
        self._texts: dict[str, TextParts] = {}

    def check(self, text: str) -> CheckReport:
        """Return a verdict for everything that a text claims to have from a source."""
        checking = self.stream(text)
        return CheckReport(tuple(checking.claims), checking.notes)

    def stream(self, text: str) -> Checking:
        """Return the same verdicts one after the other, as they are reached."""
        notes = []
        if len(text) > MAX_CHARS:
            notes.append(f"only the first {MAX_CHARS:,} characters were checked")
        read = read_claims(text[:MAX_CHARS])
        if read.is_cut:
            notes.append(f"only the first {len(read.claims):,} claims were checked")
        if sum(claim.kind == "statement" for claim in read.claims) > MAX_READ:
            notes.append(f"statements beyond the first {MAX_READ} were judged by their words alone")
        return Checking(self._verdicts(read.claims, text), tuple(notes))

    def _verdicts(self, claims: Sequence[Claim], text: str) -> Iterator[CheckedClaim]:
        read = 0
        for claim in claims:
            # A bare number, as in "grew by 3.50", is a place only where there is such a place.
            cited = tuple(
                each
                for each in claim.citations
                if not each.is_bare or self._places.resolve(_bare(each)).lead == "found"
            )
            if cited or claim.kind == "quotation":
                read += claim.kind == "statement"
                told = self._checked(replace(claim, citations=cited), is_read=read <= MAX_READ)
                # What was judged of a statement is without its citations; who reads wants all.
                whole = text[claim.start : claim.end].strip()
                yield replace(told, text=whole) if claim.kind == "statement" else told

    def _checked(self, claim: Claim, *, is_read: bool) -> CheckedClaim:
        leads = [(each, self._places.resolve(_bare(each))) for each in claim.citations]
        cited = "; ".join(dict.fromkeys(_written(each) for each in claim.citations))
        plain = CheckedClaim(claim.kind, claim.start, claim.end, claim.words.strip(), "exact")
        plain = replace(plain, cited=cited)
        if claim.kind == "quotation":
            return self._quotation(claim, plain, leads)
        if (bad := _nowhere(leads)) is not None:
            return _led_nowhere(plain, bad)
        if claim.kind == "citation":
            return self._place(plain, leads)
        return self._statement(claim, plain, leads, is_read=is_read)

    # --- Quotations ----------------------------------------------------------------------------

    def _quotation(
        self, claim: Claim, plain: CheckedClaim, leads: Sequence[tuple[WrittenCitation, Resolved]]
    ) -> CheckedClaim:
        quote = claim.words
        resolved = [lead for _, lead in leads]
        named = sorted({doc_id for lead in resolved for doc_id in lead.documents})
        if leads and all(lead.lead == "outside" for lead in resolved):
            return replace(plain, verdict="outside", reason=resolved[0].reason)
        others = [doc_id for doc_id in self._quotes.candidates(quote) if doc_id not in named]
        quotes, likely = self._quotes, others[:CANDIDATES]
        found = (
            quotes.exact(quote, named)
            or quotes.exact(quote, likely)
            or quotes.across_pages(quote, [*named, *likely])
            or quotes.exact(quote, others[CANDIDATES:])
        )
        exact = [each for each in found if each.change is None]
        inside = [each for each in exact if self._is_inside(each, leads)]
        if inside:
            return self._told(plain, inside[0], "exact", "")
        if exact:
            return self._elsewhere(plain, exact, leads)
        turned = found[0] if found else None
        if turned is None:
            turned = self._best_altered(quote, named, others, resolved)
        if turned is None:
            reason = "no document of the index has these words"
            return replace(plain, verdict="not_found", reason=reason)
        change = turned.change or "words"
        told = self._told(plain, turned, _VERDICTS[change], turned.reason or _REASONS[change])
        return replace(told, changes=turned.changes[:MAX_SHOWN_CHANGES])

    def _best_altered(
        self, quote: str, named: Sequence[str], others: Sequence[str], leads: Sequence[Resolved]
    ) -> Found | None:
        """Return the likest stretch: of the place that is cited, of its document, of another."""
        places = [place for lead in leads for place in lead.places][:MAX_COMPARED_PLACES]
        own = max(
            filter(None, (self._quotes.altered_in(quote, place) for place in places)),
            key=lambda found: found.same,
            default=None,
        )
        if own is None or own.same < ALIKE:
            own = self._quotes.altered(quote, named) or own
        if own is not None and own.same >= ALIKE:
            return own
        other = self._quotes.altered(quote, others[:MAX_OTHERS])
        if own is None or (other is not None and other.same > own.same):
            return other
        return own

    def _is_inside(self, found: Found, leads: Sequence[tuple[WrittenCitation, Resolved]]) -> bool:
        """Return whether a quotation stands where it is said to stand."""
        if not leads:
            return True
        span = Span(found.doc_id, found.start, found.end)
        for cited, lead in leads:
            if lead.lead == "missing" or (lead.is_named and found.doc_id not in lead.documents):
                continue
            if cited.page and lead.is_named and not self._is_on_page(found, cited.page):
                continue
            if not lead.places or any(self._holds(place, span) for place in lead.places):
                return True
        return False

    def _holds(self, place: Chunk, span: Span) -> bool:
        """Return whether a place holds a quotation, or is introduced by what is quoted."""
        shared = place.span.overlap(span)
        if shared and shared >= MIN_INSIDE * min(len(span), len(place.span)):
            return True
        if place.span.doc_id != span.doc_id or place.parent is None:
            return False
        (parent,) = self._snapshot.get([place.parent])
        lead_in = Span(span.doc_id, parent.span.start, parent.own_end)
        if parent.kind in ("section", "clause") and "(" in place.locator:
            return lead_in.overlap(span) == len(span)
        return False

    def _is_on_page(self, found: Found, page: str) -> bool:
        pages = self._snapshot.pages(found.doc_id)
        if not pages.starts:
            return True
        first, last = pages.cited(found.start), pages.cited(max(found.start, found.end - 1))
        said = {str(each) for ref in (first, last) for each in (ref.number, ref.label) if each}
        return page in said

    def _elsewhere(
        self,
        plain: CheckedClaim,
        exact: Sequence[Found],
        leads: Sequence[tuple[WrittenCitation, Resolved]],
    ) -> CheckedClaim:
        """Return that the words stand, but not where they are said to stand."""
        told = self._told(plain, exact[0], "elsewhere", "")
        assert told.evidence is not None
        bad = next((lead for _, lead in leads if lead.lead == "missing"), None)
        where = told.evidence.citation
        reason = (
            f"{bad.reason}; the words stand at {where}" if bad else f"the words stand at {where}"
        )
        return replace(told, reason=reason, remedy=where)

    # --- Citations and statements ----------------------------------------------------------------

    def _place(
        self, plain: CheckedClaim, leads: Sequence[tuple[WrittenCitation, Resolved]]
    ) -> CheckedClaim:
        places = [place for _, lead in leads for place in lead.places]
        return replace(plain, evidence=self._evidence_of(places[0])) if places else plain

    def _statement(
        self,
        claim: Claim,
        plain: CheckedClaim,
        leads: Sequence[tuple[WrittenCitation, Resolved]],
        *,
        is_read: bool,
    ) -> CheckedClaim:
        """Return whether a sentence holds in the places that it cites."""
        places = [place for _, lead in leads for place in lead.places]
        if not places:
            return replace(plain, verdict="outside", reason="the citation names no place to read")
        if any(_is_whole(place) for place in places):
            return self._place(plain, leads)
        texts = self._parts(places[0].span.doc_id)
        words = texts.content(without_polarity(claim.words))
        # Of a name that several documents have, the one that says most of it is meant.
        places = sorted(places, key=lambda p: -shared_words(words, texts.of(self._around(p))))
        kept = [p for p in places if p.span.doc_id == places[0].span.doc_id]
        text = "\n\n".join(dict.fromkeys(self._around(place) for place in kept))
        sure = self._probability(claim.words, text, texts, is_read=is_read)
        verdict, reason, sure = weighed(claim.words, texts.of(text), words, sure)
        return replace(
            plain, verdict=verdict, reason=reason, probability=round(sure, 3),
            evidence=self._evidence_of(places[0]),
        )  # fmt: skip

    def _probability(self, claim: str, text: str, texts: TextParts, *, is_read: bool) -> float:
        """Return how probable it is that a text bears out a claim, before any rule."""
        sure = self._support(claim, text) if self._support else None
        if sure is not None:
            return sure
        if is_read and texts.language == LANGUAGE and self._index.settings.embedding.model != NONE:
            return open_judge().probability(claim, text, texts)
        return probability(shared_words(texts.content(without_polarity(claim)), texts.of(text)))

    def _around(self, place: Chunk) -> str:
        """Return the text of a place with what leads into it: a rule is not whole without."""
        leads: list[str] = []
        parent = place.parent
        while parent is not None and place.kind in ("clause", "row", "exception", "note"):
            (above,) = self._snapshot.get([parent])
            if above.kind not in ("section", "clause", "table"):
                break
            own = self._snapshot.text(above.span.doc_id)[above.span.start : above.own_end]
            leads.insert(0, own.strip())
            parent = above.parent if above.kind == "clause" else None
        return "\n".join((*leads, place.text))

    def _parts(self, doc_id: str) -> TextParts:
        analyzer = self._index.opened.analyzer_of(doc_id)
        return self._texts.setdefault(analyzer.language, TextParts(analyzer))

    # --- Evidence --------------------------------------------------------------------------------

    def _told(
        self, plain: CheckedClaim, found: Found, verdict: CheckVerdict, reason: str
    ) -> CheckedClaim:
        text = self._snapshot.text(found.doc_id)[found.start : found.end]
        evidence = self._evidence(found, text)
        is_same = verdict == "exact" and _squeezed(text) != _squeezed(plain.text)
        remedy = "" if verdict == "exact" else text[:MAX_EVIDENCE_CHARS]
        if is_same:
            reason = "only typography differs"
        return replace(plain, verdict=verdict, reason=reason, evidence=evidence, remedy=remedy)

    def _evidence(self, found: Found, text: str) -> SourceEvidence:
        place = self._deepest(found)
        page = self._snapshot.pages(found.doc_id).cited(found.start)
        title = self._index.opened.title_of(found.doc_id)
        span = Span(found.doc_id, found.start, found.end)
        return SourceEvidence(
            found.doc_id, place.locator, cite_place(title, place, page), text[:MAX_EVIDENCE_CHARS],
            span, page.number, page.label,
        )  # fmt: skip

    def _deepest(self, found: Found) -> Chunk:
        """Return the smallest place that holds a stretch of a document."""
        chunks = self._snapshot.chunks_within(found.doc_id, found.start, found.end)
        holding = [
            chunk
            for chunk in chunks
            if chunk.span.start <= found.start
            and found.end <= chunk.span.end
            and chunk.kind in SECTION_KINDS
        ]
        if not holding:
            holding = [c for c in self._snapshot.chunks(found.doc_id) if c.kind == "document"]
            holding = holding or self._snapshot.chunks(found.doc_id)[:1]
        return min(holding, key=lambda chunk: (len(chunk.span), chunk.kind == "row"))

    def _evidence_of(self, place: Chunk) -> SourceEvidence:
        page = self._snapshot.page_of(place)
        title = self._index.opened.title_of(place.span.doc_id)
        text = self._around(place)[:MAX_EVIDENCE_CHARS]
        return SourceEvidence(
            place.span.doc_id, place.locator, cite_place(title, place, page), text, place.span,
            page.number, page.label,
        )  # fmt: skip


def _bare(cited: WrittenCitation) -> WrittenCitation:
    """Return a citation without where it stands, so that equal ones are looked up once."""
    return replace(cited, start=0, end=0)


def _written(cited: WrittenCitation) -> str:
    place = f"{cited.key}–{cited.last}" if cited.last else cited.key
    page = f"p. {cited.page}" if cited.page else ""
    return ", ".join(filter(None, (cited.work, place, page)))


def _nowhere(leads: Sequence[tuple[WrittenCitation, Resolved]]) -> Resolved | None:
    """Return the first citation of a place that is not there; or of another work, if all are."""
    bad = [lead for _, lead in leads if lead.lead != "found"]
    missing = [lead for lead in bad if lead.lead == "missing"]
    return next(iter(missing), bad[0] if bad and len(bad) == len(leads) else None)


def _led_nowhere(plain: CheckedClaim, lead: Resolved) -> CheckedClaim:
    if lead.lead == "outside":
        return replace(plain, verdict="outside", reason=lead.reason)
    near_by = f"; the nearest place is {lead.nearest}" if lead.nearest else ""
    reason = f"{lead.reason}{near_by}"
    return replace(plain, verdict="no_such_place", reason=reason, remedy=lead.nearest)


def _is_whole(place: Chunk) -> bool:
    """Return whether a place is a whole work or part, of which much may be said."""
    word = locator_key(place.locator).partition(" ")[0]
    return word in PARTS_OF_WORKS or len(place.span) > MAX_STATED_CHARS


def _squeezed(text: str) -> str:
    return " ".join(text.split())
