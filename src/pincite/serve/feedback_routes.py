"""What users say of hits, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import Field

from pincite.measure.labelling import LabelCandidate, added, judged
from pincite.measure.questions import Question, QuestionSet, load, save
from pincite.model.types import Chunk
from pincite.search.reader import IndexReader
from pincite.serve.access import OWNER, locked
from pincite.serve.errors import ServiceError
from pincite.serve.requests import (
    ERRORS,
    CollectionName,
    Locator,
    Name,
    Query,
    Reader,
    Strict,
    Visit,
    described,
    reply,
    schema,
    strict,
)

MAX_QUESTIONS = 10_000


def file_of(visit: Visit, collection: str, query: str | None = None) -> Path:
    """Return the file of a collection's judgements; ServiceError if the service keeps none."""
    chosen, name = visit.collection(collection, query), visit.service.limits.feedback
    if not name:
        raise ServiceError("this service keeps no feedback", 409, hint="see serve.feedback")
    return chosen.folder / name


# What each file had when it was read or written last: one judgement more is no reason to read
# thousands again.
_read: dict[Path, tuple[tuple[int, int, int], QuestionSet]] = {}


def read(file: Path) -> QuestionSet:
    """Return all judgements; none if nothing was judged yet."""
    if not file.exists():
        return QuestionSet(file.stem, [])
    stamp = _stamp(file)
    known = _read.get(file)
    if known is None or known[0] != stamp:
        known = _read[file] = (stamp, load(file))
    return known[1]


def _stamp(file: Path) -> tuple[int, int, int]:
    facts = file.stat()
    return facts.st_mtime_ns, facts.st_ino, facts.st_size


def change(file: Path, work: Callable[[QuestionSet], QuestionSet]) -> QuestionSet:
    """Change the judgements, one at a time; a set that comes back the same is not written."""
    problem, hint = "feedback cannot be written here", "see store.folder in the settings"
    with locked(file, problem, hint, makes_folder=True):
        old = read(file)
        new = work(old)
        if len(new.questions) > MAX_QUESTIONS:
            raise ServiceError(f"{MAX_QUESTIONS:,} questions were judged: start a new file", 409)
        if new is not old:
            save(new, file)
            _read[file] = (_stamp(file), new)
        return new


def keep(
    file: Path, text: str, places: Sequence[Chunk], grade: int, by: str, need: int = 0
) -> tuple[str, int]:
    """Add judgements of a question; what the same person said before is not added again.

    Returns the question's id and how many judgements are new.
    """
    when = datetime.now(UTC).isoformat(timespec="seconds")
    count = 0

    def work(found: QuestionSet) -> QuestionSet:
        nonlocal count
        new = added(found, [text])
        for chunk in places:
            question = question_of(new, text)
            span = (chunk.span.doc_id, chunk.span.start, chunk.span.end, grade, by)
            known = (*question.places, *question.rejected)
            if any((p.document, p.start, p.end, p.grade, p.by) == span for p in known):
                continue
            which = min(need, max(0, len(question.needs) - 1))
            new = judged(new, LabelCandidate(question, chunk, 0), grade, which, by, when)
            count += 1
        return new if count else found

    found = change(file, work)
    return question_of(added(found, [text]), text).id, count


def question_of(questions: QuestionSet, text: str) -> Question:
    """Return the question with these words, which must be there."""
    return next(each for each in questions.questions if each.text == text)


feedback_router = APIRouter(prefix="/v1", tags=["feedback"], responses=ERRORS)


class FeedbackBody(Strict):
    """Whether a place answers a question."""

    model_config = strict(
        question="how far apart are earth rods",
        locator="250.56(B)",
        document="electrical-code-2024.md",
        grade=1,
    )
    question: Query
    locator: Locator
    document: Name | None = None
    grade: Annotated[int, Field(ge=0, le=3, description="0: no answer; 1 to 3: how good.")]
    collection: CollectionName = ""


FeedbackReply = schema(
    "FeedbackReply",
    collection=str,
    question=described(str, "Id of the question in the file of judgements."),
    judged=described(int, "Places that were judged now; 0 if they were before."),
)


@feedback_router.post("/feedback", response_model=FeedbackReply, status_code=201)
async def feedback(body: FeedbackBody, visit: Reader) -> Response:
    """Keep a judgement, for evaluation and training."""
    file, caller = file_of(visit, body.collection, body.question), visit.caller

    def work(index: IndexReader) -> tuple[str, int]:
        places = index.show(body.locator, body.document)
        by = "" if caller is OWNER else caller.signature
        return keep(file, body.question, places, body.grade, by)

    question, count = await visit.read(body.collection, work, body.question)
    told = {"collection": visit.asked.collection, "question": question, "judged": count}
    return reply(told, 201)
