"""Why there is no answer: what a question names is not there, or nothing comes near."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pincite.answer.quotes import QuoteCandidate
from pincite.answer.values import Abstention, CitedPlace, Reason
from pincite.model.editions import years
from pincite.model.types import Filters
from pincite.search.passages import Passage
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader

MAX_NEAREST = 3
# Just below what is enough, something is there; further below, nothing is.
NEARLY = 0.8
RELATIONS = ("refers_to", "exception_to", "refers_outside")


def missing_place(
    index: IndexReader, query: ParsedQuery, passages: Sequence[Passage], wanted: str
) -> Abstention | None:
    """Return why a place that the question names is not there; None if one is, or none is named.

    ``wanted`` is what the question says beside the name. A bare number may be no place at all: it
    counts as one only where nothing else is said.
    """
    question, filters = query.text, query.filters
    found = [(key, question[start:end].strip()) for key, start, end in query.mention_spans]
    homes = {key: _homes(index, key, filters) for key, _ in found}
    named = [(key, written) for key, written in found if homes[key] or not wanted or _is_name(key)]
    if not named:
        return None
    near = nearest(passages)
    for key, written in named:
        if homes[key] and (removed := _other_edition(index, question, written, homes[key])):
            return Abstention("removed_in_this_edition", removed, near)
    if any(homes.values()):
        return None
    key, written = named[0]
    if filters.as_of and (others := _homes(index, key, replace(filters, as_of=""))):
        titles = _titles(index, others)
        message = f"{written} is in no edition in force on {filters.as_of}; it is in {titles}."
        return Abstention("removed_in_this_edition", message, near)
    if source := _referring(index, key, passages):
        message = f"{source} refers to {written}, which is not in these documents."
        return Abstention("referenced_but_missing", message, near)
    above = next((known for place, known in query.missing if known), "")
    more = f" The nearest place above it is {above}." if above else ""
    return Abstention("not_in_corpus", f"There is no {written} in these documents.{more}", near)


def unsure(
    index: IndexReader,
    confidence: float,
    least: float,
    passages: Sequence[Passage],
    candidates: Sequence[QuoteCandidate],
) -> Abstention:
    """Return why nothing that was found is likely to answer."""
    near = nearest(passages)
    if missing := _dangling(index, candidates[:1]):
        place, words = missing
        message = f"The nearest place, {place}, refers to {words}, which is not in these documents."
        return Abstention("referenced_but_missing", message, near)
    reason: Reason = "low_confidence" if confidence >= NEARLY * least else "not_in_corpus"
    words = (
        "Something in these documents comes near, but probably does not answer that."
        if reason == "low_confidence"
        else "These documents do not answer that."
    )
    return Abstention(reason, words, near)


def _is_name(key: str) -> bool:
    """Return whether a key can be nothing but a place: "2.5" may be anything."""
    return not key.replace(".", "").replace("-", "").isdigit()


def nearest(passages: Sequence[Passage]) -> tuple[CitedPlace, ...]:
    """Return the best hits as places."""
    places = (
        CitedPlace(
            each.place.span.doc_id, each.document, each.place.locator, each.page, each.page_label
        )
        for each in passages[:MAX_NEAREST]
    )
    return tuple(dict.fromkeys(places))


def _homes(index: IndexReader, key: str, filters: Filters) -> set[str]:
    """Return the documents that have a place, of those that the asker may see."""
    allowed = index.opened.filters
    homes = index.snapshot.documents_with([key]).get(key, set())
    return {doc_id for doc_id in homes if allowed.allows_document(filters, doc_id)}


def _other_edition(index: IndexReader, question: str, written: str, homes: set[str]) -> str:
    """Return that only another edition than the question's has a place; empty if its own has."""
    asked = years(question)
    snapshot = index.snapshot
    if not asked or any(asked & years(snapshot.title(each), each) for each in homes):
        return ""
    works = {snapshot.work(doc_id) for doc_id in homes}
    meant = [
        each.doc_id
        for each in snapshot.editions()
        if each.work in works and asked & years(snapshot.title(each.doc_id), each.doc_id)
    ]
    if not meant:
        return ""
    return f"{written} is not in {_titles(index, set(meant))}; it is in {_titles(index, homes)}."


def _titles(index: IndexReader, documents: set[str]) -> str:
    return ", ".join(sorted(index.opened.title_of(each) or each for each in documents))


def _referring(index: IndexReader, key: str, passages: Sequence[Passage]) -> str:
    """Return a place that refers to a key, of the documents that were found; empty if none."""
    for doc_id in sorted({passage.chunk.span.doc_id for passage in passages}):
        for link in index.snapshot.links(doc_id):
            if link.target == key and link.relation in RELATIONS:
                (place,) = index.snapshot.get([link.source])
                return place.locator
    return ""


def _dangling(index: IndexReader, candidates: Sequence[QuoteCandidate]) -> tuple[str, str] | None:
    """Return the place of a unit that refers to what is not there, and the words that do."""
    for each in candidates:
        doc_id = each.span.doc_id
        links = [k for k in index.snapshot.links(doc_id) if k.relation in RELATIONS]
        inside = [k for k in links if k.span.overlap(each.span) == len(k.span) > 0]
        known = index.snapshot.documents_with([link.target for link in inside])
        for link in inside:
            if link.target not in known:
                text = index.snapshot.text(doc_id)[link.span.start : link.span.end]
                return each.source.locator, " ".join(text.split())
    return None
