"""What readers think of hits: judgements in the file that `pincite eval` and `label` read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

from pincite.search.reader import IndexReader
from pincite.serve.callers import OWNER
from pincite.serve.feedback import file_of, keep
from pincite.serve.requests import ERRORS, Reader, TheAsked, TheService, reply
from pincite.serve.schemas import CollectionName, Locator, Name, Query, Strict

router = APIRouter(prefix="/v1", tags=["feedback"], responses=ERRORS)


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
    file = file_of(chosen, service.limits.feedback)

    def work(index: IndexReader) -> tuple[str, int]:
        places = index.show(body.locator, body.document)
        by = "" if caller is OWNER else caller.signature
        return keep(file, body.question, places, body.grade, by)

    question, count = await service.read(caller, chosen.name, work)
    return reply({"collection": chosen.name, "question": question, "judged": count}, 201)
