"""The fourth area: say of hits whether they answer; a blind queue; do people agree?

What is said goes into the collection's one file of judgements (``serve/feedback.py``), with who and
when. It shows questions and places of everybody, so that it needs the scope ``write``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import RedirectResponse, Response

from pincite.core.errors import StoreError
from pincite.core.types import Chunk
from pincite.evaluate.judgements.questions import QuestionSet
from pincite.evaluate.labelling import added, withdrawn
from pincite.search.reader import IndexReader
from pincite.serve import feedback
from pincite.serve.callers import Caller
from pincite.serve.errors import ServiceError
from pincite.serve.page.frame import PageRoute, render
from pincite.serve.page.judging import agreed, hits, queue, recent
from pincite.serve.page.look import TheLook
from pincite.serve.requests import TheAsked, TheService, Writer
from pincite.serve.schemas import QUERY_CHARS

router = APIRouter(route_class=PageRoute, include_in_schema=False)
MOST_ADDED = 200
NAME_CHARS = 80
NOBODY = "reader"

Short = Annotated[str, Form(max_length=1000)]
Written = Annotated[str, Form(max_length=QUERY_CHARS)]


@router.get("/judge")
async def judge(
    request: Request, look: TheLook, service: TheService, caller: Writer, asked: TheAsked
) -> Response:
    """Show hits to judge for a question, or else the next thing of the queue."""
    chosen = service.collection(caller, look.c)
    asked.collection, asked.query = chosen.name, look.q or None
    file = feedback.file_of(chosen, service.limits.feedback)
    who = signature(caller, look.rest.get("by", ""), has_keys=service.has_keys)

    def work(index: IndexReader) -> Response:
        said = feedback.read(file)
        values: dict[str, Any] = {
            "who": who,
            "hits": lambda: hits(index, look, said, who),
            "queue": lambda: queue(index, look, said, who),
            "agreed": lambda: agreed(said, look),
            "recent": lambda: recent(index, said, who, look),
            "here": look.url("/judge"),
        }
        return render(request, "judge.html", look, values, parts=("judging", "agreement"))

    return await service.read(caller, look.c, work)


@router.post("/judge")
async def say(
    service: TheService,
    caller: Writer,
    asked: TheAsked,
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
    chosen = service.collection(caller, c)
    asked.collection, asked.query = chosen.name, question
    file = feedback.file_of(chosen, service.limits.feedback)
    who = signature(caller, by, has_keys=service.has_keys)
    text = question.strip()
    if not text:
        raise ServiceError("no question to judge a place for", 422, hint="ask something first")

    def work(index: IndexReader) -> None:
        places = _places(index, doc, at, locator)
        if grade >= 0:
            feedback.keep(file, text, places, grade, who, need)
            return

        def without(found: QuestionSet) -> QuestionSet:
            for chunk in places:
                found = withdrawn(found, feedback.question_of(found, text), chunk, who)
            return found

        if any(each.text == text for each in feedback.read(file).questions):
            feedback.change(file, without)

    await service.read(caller, chosen.name, work)
    return RedirectResponse(_local(next), 303)


@router.post("/judge/questions")
async def add(
    service: TheService,
    caller: Writer,
    questions: Annotated[str, Form(max_length=100_000)],
    c: Annotated[str, Form(max_length=100)] = "",
    next: Annotated[str, Form(max_length=8000)] = "/judge",
) -> Response:
    """Put questions into the queue, one a line."""
    chosen = service.collection(caller, c)
    file = feedback.file_of(chosen, service.limits.feedback)
    texts = [line.strip() for line in questions.splitlines() if line.strip()]
    if len(texts) > MOST_ADDED or any(len(text) > QUERY_CHARS for text in texts):
        raise ServiceError(
            f"at most {MOST_ADDED} questions of {QUERY_CHARS:,} characters at a time", 422
        )
    await service.searching.run(
        service.limits.search_seconds, feedback.change, file, lambda found: added(found, texts)
    )
    return RedirectResponse(_local(next), 303)


def signature(caller: Caller, written: str, *, has_keys: bool) -> str:
    """Return who judges: the key, or without keys the name that was written."""
    if has_keys:
        return caller.signature
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
    span = (int(start), int(end))
    around = index.snapshot.chunks_within(doc, span[0], max(span[1], span[0] + 1))
    exact = [chunk for chunk in around if (chunk.span.start, chunk.span.end) == span]
    if not exact:
        raise StoreError("no such place", hint="the document may have changed")
    return exact[:1]
