"""Judging by hand: what several pipelines find for a question, in an order that tells nothing.

The pool is judged blind (nobody sees who found what, nor at which rank), so that a set does not
lean towards the pipeline that was on the screen. Each judgement names a place and is written at
once; what was judged before does not come again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from pincite.measure.coverage import Corpus
from pincite.measure.questions import JudgedPlace, Need, Question, QuestionSet
from pincite.model.types import Chunk
from pincite.search.reader import IndexReader

NOT_JUDGED = "nothing is judged to answer yet"


@dataclass(frozen=True, slots=True)
class LabelCandidate:
    """A chunk to judge for a question."""

    question: Question
    chunk: Chunk
    left: int  # how many of this question's pool come after it


def pool(
    question: Question, indexes: Sequence[IndexReader], corpus: Corpus, depth: int
) -> Iterator[LabelCandidate]:
    """Yield what the pipelines find and nobody judged, in an order made of names alone."""
    gold = corpus.gold(question)
    found = {
        chunk_id
        for index in indexes
        for chunk_id in index.search_ranking(question.text, depth).ids
        if chunk_id not in gold.chunks and chunk_id not in gold.rejected
    }
    listed = {(p.document, p.start, p.end) for p in (*question.places, *question.rejected)}
    chunks = [
        chunk
        for chunk in corpus.snapshot.get(sorted(found, key=lambda name: _mark(question.id, name)))
        if not gold.met_by(chunk)
        and (chunk.span.doc_id, chunk.span.start, chunk.span.end) not in listed
    ]
    for at, chunk in enumerate(chunks, 1):
        yield LabelCandidate(question, chunk, len(chunks) - at)


def _mark(*names: str) -> bytes:
    return blake2b("\0".join(names).encode(), digest_size=8).digest()


def judged(
    questions: QuestionSet,
    candidate: LabelCandidate,
    grade: int,
    need: int = 0,
    by: str = "",
    when: str = "",
) -> QuestionSet:
    """Return the set with one more judgement; a grade above 0 is for one of the needs.

    It takes the place of what the same person said of the same place before.
    """
    place = replace(_place(candidate.chunk), grade=grade, by=by, when=when)
    changed = [
        _with(_without(each, place), place, need) if each.id == candidate.question.id else each
        for each in questions.questions
    ]
    return replace(questions, questions=changed)


def withdrawn(questions: QuestionSet, question: Question, chunk: Chunk, by: str) -> QuestionSet:
    """Return the set without what a person said of a place."""
    place = replace(_place(chunk), by=by)
    changed = [
        _without(each, place) if each.id == question.id else each for each in questions.questions
    ]
    return replace(questions, questions=changed)


def _place(chunk: Chunk) -> JudgedPlace:
    span = chunk.span
    return JudgedPlace(span.doc_id, start=span.start, end=span.end, locator=chunk.locator)


def _without(question: Question, place: JudgedPlace) -> Question:
    """Return the question without what the same person said of the same characters."""

    def kept(need: Need) -> Need:
        mine = (place.document, place.start, place.end, place.by)
        return tuple(p for p in need if (p.document, p.start, p.end, p.by) != mine)

    needs = tuple(need for need in map(kept, question.needs) if need)
    nothing = "" if needs else question.unanswerable or NOT_JUDGED
    rejected = kept(question.rejected)
    return replace(question, needs=needs, rejected=rejected, unanswerable=nothing)


def _with(question: Question, place: JudgedPlace, need: int) -> Question:
    if not place.grade:
        return replace(question, rejected=(*question.rejected, place))
    if not question.needs:
        return replace(question, needs=((place,),), unanswerable="")
    if not 0 <= need < len(question.needs):
        raise ValueError(f"need {need} of {len(question.needs)}")
    needs = (each + (place,) * (at == need) for at, each in enumerate(question.needs))
    return replace(question, needs=tuple(needs))


def added(questions: QuestionSet, texts: Sequence[str]) -> QuestionSet:
    """Return the set with new questions that nobody judged; one that is there is not added."""
    known = {question.text for question in questions.questions}
    new = [
        Question(f"q-{_mark(text).hex()[:10]}", text, unanswerable=NOT_JUDGED)
        for text in dict.fromkeys(texts)
        if text not in known
    ]
    return replace(questions, questions=[*questions.questions, *new])
