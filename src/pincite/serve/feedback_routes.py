"""What readers think of hits: judgements in the file that `pincite eval` and `label` read."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from pincite.api import Index
from pincite.core.errors import StoreError
from pincite.evaluate.judgements.files import load, save
from pincite.evaluate.judgements.questions import QuestionSet
from pincite.evaluate.labelling import Candidate, added, judged
from pincite.serve.errors import ServiceError
from pincite.serve.requests import ERRORS, Reader, TheAsked, TheService, reply
from pincite.serve.schemas import CollectionName, Locator, Name, Query, Strict

router = APIRouter(prefix="/v1", tags=["feedback"], responses=ERRORS)
MOST_QUESTIONS = 10_000


class FeedbackBody(Strict):
    """Whether a place answers a question."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "question": "how far apart are earth rods",
                    "locator": "250.56(B)",
                    "document": "electrical-code-2024.md",
                    "grade": 1,
                }
            ]
        },
    )
    question: Query
    locator: Locator
    document: Name | None = None
    grade: Annotated[int, Field(ge=0, le=3, description="0: no answer; 1 to 3: how good.")]
    collection: CollectionName = ""


class FeedbackReply(BaseModel):
    collection: str
    question: str = Field(description="Id of the question in the file of judgements.")
    judged: int = Field(description="Places that were judged now; 0 if they were before.")


@router.post("/feedback", response_model=FeedbackReply, status_code=201)
async def feedback(
    body: FeedbackBody, service: TheService, caller: Reader, asked: TheAsked
) -> Response:
    """Keep a judgement, for evaluation and training."""
    chosen = service.collection(caller, body.collection)
    asked.collection, asked.query = chosen.name, body.question
    if not service.limits.feedback:
        raise ServiceError("this service keeps no feedback", 409, hint="see serve.feedback")
    file = chosen.folder / service.limits.feedback

    def work(index: Index) -> tuple[str, int]:
        places = index.show(body.locator, body.document)
        return _keep(file, body.question, index, [place.id for place in places], body.grade)

    question, count = await service.read(caller, chosen.name, work)
    return reply({"collection": chosen.name, "question": question, "judged": count}, 201)


def _keep(file: Path, text: str, index: Index, ids: list[str], grade: int) -> tuple[str, int]:
    """Add judgements to the file; one that is there already is not added again."""
    with _locked(file):
        found = load(file) if file.exists() else QuestionSet(file.stem, [])
        found = added(found, [text])
        if len(found.questions) > MOST_QUESTIONS:
            raise ServiceError(f"{MOST_QUESTIONS:,} questions were judged: start a new file", 409)
        count = 0
        for chunk in index.snapshot.get(ids):
            question = next(each for each in found.questions if each.text == text)
            span = (chunk.span.doc_id, chunk.span.start, chunk.span.end, grade)
            known = (*question.places, *question.rejected)
            if any((p.document, p.start, p.end, p.grade) == span for p in known):
                continue
            found = judged(found, Candidate(question, chunk, 0), grade)
            count += 1
        if count:
            save(found, file)
        return next(each.id for each in found.questions if each.text == text), count


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Let one request of one process change the file at a time."""
    try:
        handle = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError("feedback cannot be written here") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
