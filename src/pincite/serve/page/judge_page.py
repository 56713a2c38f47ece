"""Judging hits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from pincite.measure.coverage import Corpus, agreement, by_person
from pincite.measure.labelling import LabelCandidate, added, pool, withdrawn
from pincite.measure.questions import JudgedPlace, Question, QuestionSet
from pincite.model.types import Chunk
from pincite.search.passages import passage_values
from pincite.search.reader import IndexReader
from pincite.serve import feedback_routes
from pincite.serve.errors import ServiceError
from pincite.serve.page.look import Look, PageRoute, TheLook, exact_place, render
from pincite.serve.page.search_page import shown
from pincite.serve.page.text import MarkedText
from pincite.serve.page.why_page import with_pipeline
from pincite.serve.requests import QUERY_CHARS, Visit, Writer

# Who finds what is judged blind, so that no pipeline is favoured; so deep in each.
POOLED, DEPTH = ("lexical", "hybrid"), 5
# Questions that are looked through for something to judge, in one request.
LOOK_AHEAD = 20
SHOWN_CHARS = 3000
# An index as judgements see it; it remembers documents as long as the index lives.
_corpora: WeakKeyDictionary[IndexReader, Corpus] = WeakKeyDictionary()
_lock = Lock()
MAX_LISTED, MAX_RECENT, MAX_DISPUTED, MAX_HITS = 100, 12, 20, 50


def hits(index: IndexReader, look: Look, said: QuestionSet, who: str) -> list[dict[str, Any]]:
    """Return what a search finds with what was said of each place."""
    k = min(look.k or index.settings.search.k, MAX_HITS)
    result = index.search(look.q, k, look.filters())
    question = next((each for each in said.questions if each.text == look.q), None)
    found = []
    for passage in result.passages:
        hit = shown(index, passage_values(passage), look)
        grades = _grades(question, hit["document"], *hit["span"])
        mine = grades.pop(who, None)
        read = Look(c=look.c, q=look.q, doc=hit["document"], at=tuple(hit["span"])).url("/")
        found.append({**hit, "mine": mine, "others": grades, "read": read})
    return found


def _grades(question: Question | None, doc_id: str, start: int, end: int) -> dict[str, int]:
    if question is None:
        return {}
    spots = (*question.places, *question.rejected)
    here = [p for p in spots if (p.document, p.start, p.end) == (doc_id, start, end)]
    return {place.by or "unsigned": place.grade for place in here}


def queue(index: IndexReader, look: Look, said: QuestionSet, who: str) -> dict[str, Any]:
    """Return the next thing to judge blind, and where in the queue it is."""
    wanted, is_second = look.rest.get("question", ""), look.rest.get("second") == "1"
    skipped = look.number("skip")
    ids = [question.id for question in said.questions]
    first = ids.index(wanted) if wanted in ids else 0
    ahead = [*said.questions[first:], *said.questions[:first]][:LOOK_AHEAD]
    rest = {n: v for n, v in look.rest.items() if n in ("by", "second")}
    lines = [
        {
            "text": each.text,
            "count": len(each.places) + len(each.rejected),
            "url": look.but(rest={**rest, "question": each.id}).url("/judge"),
        }
        for each in said.questions[:MAX_LISTED]
    ]
    told: dict[str, Any] = {"count": len(ids), "questions": lines, "candidate": None}
    for question in ahead:
        view = _seen_by(who, question) if is_second else question
        with _lock:
            corpus = _corpora.setdefault(index, Corpus(index.snapshot))
        left = [*pool(view, [with_pipeline(index, name) for name in POOLED], corpus, DEPTH)]
        if len(left) > skipped:
            same = {**rest, "question": question.id}
            told["candidate"] = _candidate(left[skipped], question, look)
            told["here"] = look.but(rest={**same, "skip": str(skipped or "")}).url("/judge")
            told["skip"] = look.but(rest={**same, "skip": str(skipped + 1)}).url("/judge")
            told["left"], told["number"] = len(left) - skipped - 1, ids.index(question.id) + 1
            return told
        skipped = 0
    return told


def _seen_by(who: str, question: Question) -> Question:
    """Return the question with what this person and its author said, and nobody else."""

    def kept(places: Sequence[JudgedPlace]) -> tuple[JudgedPlace, ...]:
        return tuple(place for place in places if place.by in ("", who))

    needs = tuple(need for need in map(kept, question.needs) if need)
    return replace(question, needs=needs, rejected=kept(question.rejected))


def _candidate(each: LabelCandidate, question: Question, look: Look) -> dict[str, Any]:
    chunk = each.chunk
    return {
        "question": question.text,
        "needs": [" or ".join(map(str, need)) for need in question.needs],
        "chunk": chunk,
        "blocks": MarkedText(chunk.text[:SHOWN_CHARS]).blocks(),
        "is_cut": len(chunk.text) > SHOWN_CHARS,
        "at": f"{chunk.span.start}-{chunk.span.end}",
        "read": look.place(chunk, "/"),
    }


def agreed(said: QuestionSet, look: Look) -> dict[str, Any]:
    """Return who judged how much, and how far they agree beyond chance."""
    people = by_person(said)
    counts = {
        who: sum(len(each.places) + len(each.rejected) for each in theirs.questions)
        for who, theirs in people.items()
    }
    if len(people) < 2:
        return {"people": counts, "places": 0, "nominal": None, "ordinal": None, "disputed": []}
    found = agreement(list(people.values()))
    texts = {each.id: each.text for each in said.questions}
    rest = {"by": look.rest["by"]} if "by" in look.rest else {}
    disputed = [
        {
            "question": texts[question],
            "place": place,
            "grades": list(zip(people, grades, strict=True)),
            "url": Look(c=look.c, q=texts[question], rest=rest).url("/judge"),
        }
        for question, place, grades in found.disputed[:MAX_DISPUTED]
    ]
    nominal, ordinal = (None if math.isnan(a) else a for a in (found.nominal, found.ordinal))
    return {
        "people": counts,
        "places": found.places,
        "nominal": nominal,
        "ordinal": ordinal,
        "disputed": disputed,
        "disputes": len(found.disputed),
    }


def recent(index: IndexReader, said: QuestionSet, who: str, look: Look) -> list[dict[str, Any]]:
    """Return what was judged last, with who and when."""
    every = [
        (place.when, question.text, place)
        for question in said.questions
        for place in (*question.places, *question.rejected)
        if place.when and place.start is not None
    ]
    latest = sorted(every, key=lambda each: each[0], reverse=True)[:MAX_RECENT]
    return [
        {
            "question": text,
            "place": place,
            "title": index.snapshot.title(place.document)
            if index.snapshot.meta(place.document)
            else place.document,
            "at": f"{place.start}-{place.end}",
            "is_mine": place.by == who,
            "url": Look(c=look.c, doc=place.document, at=(place.start or 0, place.end or 0)).url(
                "/"
            ),
        }
        for _, text, place in latest
    ]


router = APIRouter(route_class=PageRoute, include_in_schema=False)
MAX_ADDED = 200
NAME_CHARS = 80
NOBODY = "reader"

Short = Annotated[str, Form(max_length=1000)]
Written = Annotated[str, Form(max_length=QUERY_CHARS)]


@router.get("/judge")
async def judge(request: Request, look: TheLook, visit: Writer) -> Response:
    """Show hits to judge for a question, or else the next thing of the queue."""
    file = feedback_routes.file_of(visit, look.c)
    who = signature(visit, look.rest.get("by", ""))

    def work(index: IndexReader) -> Response:
        said = feedback_routes.read(file)
        values: dict[str, Any] = {
            "who": who,
            "hits": lambda: hits(index, look, said, who),
            "queue": lambda: queue(index, look, said, who),
            "agreed": lambda: agreed(said, look),
            "recent": lambda: recent(index, said, who, look),
            "here": look.url("/judge"),
        }
        return render(request, "judge.html", look, values, parts=("judging", "agreement"))

    return await visit.read(look.c, work, look.q or None)


@router.post("/judge")
async def say(
    visit: Writer,
    question: Written,
    c: Annotated[str, Form(max_length=100)] = "",
    doc: Short = "",
    at: Short = "",
    locator: Short = "",
    grade: Annotated[int, Form(ge=-1, le=3)] = 1,
    need: Annotated[int, Form(ge=0, le=100)] = 0,
    by: Short = "",
    next: Annotated[str, Form(max_length=8000)] = "/judge",
) -> Response:
    """Keep a judgement of a place, named by its characters or its locator; -1 takes it back."""
    file, who = feedback_routes.file_of(visit, c, question), signature(visit, by)
    text = question.strip()
    if not text:
        raise ServiceError("no question to judge a place for", 422, hint="ask something first")

    def work(index: IndexReader) -> None:
        places = _places(index, doc, at, locator)
        if grade >= 0:
            feedback_routes.keep(file, text, places, grade, who, need)
            return

        def without(found: QuestionSet) -> QuestionSet:
            for chunk in places:
                found = withdrawn(found, feedback_routes.question_of(found, text), chunk, who)
            return found

        if any(each.text == text for each in feedback_routes.read(file).questions):
            feedback_routes.change(file, without)

    await visit.read(c, work, question)
    return RedirectResponse(_local(next), 303)


@router.post("/judge/questions")
async def add(
    visit: Writer,
    questions: Annotated[str, Form(max_length=100_000)],
    c: Annotated[str, Form(max_length=100)] = "",
    next: Annotated[str, Form(max_length=8000)] = "/judge",
) -> Response:
    """Put questions into the queue, one a line."""
    file = feedback_routes.file_of(visit, c)
    texts = [line.strip() for line in questions.splitlines() if line.strip()]
    if len(texts) > MAX_ADDED or any(len(text) > QUERY_CHARS for text in texts):
        raise ServiceError(
            f"at most {MAX_ADDED} questions of {QUERY_CHARS:,} characters at a time", 422
        )
    await visit.in_thread(feedback_routes.change, file, lambda found: added(found, texts))
    return RedirectResponse(_local(next), 303)


def signature(visit: Visit, written: str) -> str:
    """Return who judges: the key, or without keys the name that was written."""
    if visit.service.has_keys:
        return visit.caller.signature
    return " ".join(written.split())[:NAME_CHARS] or NOBODY


def _local(target: str) -> str:
    is_here = target == "/judge" or target.startswith("/judge?")
    return target if is_here and target.isprintable() else "/judge"


def _places(index: IndexReader, doc: str, at: str, locator: str) -> Sequence[Chunk]:
    if locator:
        return index.show(locator, doc or None)
    start, _, end = at.partition("-")
    if not (start.isdecimal() and end.isdecimal() and len(start) < 10 and len(end) < 10):
        raise ServiceError("which place?", 422, hint="name its locator")
    return [exact_place(index, doc, (int(start), int(end)))]
