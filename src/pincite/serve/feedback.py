"""The one store of what readers judged: a file beside each index that `eval` and `label` read."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from pincite.core.errors import StoreError
from pincite.core.types import Chunk
from pincite.evaluate.judgements.files import load, save
from pincite.evaluate.judgements.questions import Question, QuestionSet
from pincite.evaluate.labelling import Candidate, added, judged
from pincite.serve.collections import Collection
from pincite.serve.errors import ServiceError

MOST_QUESTIONS = 10_000


def file_of(collection: Collection, name: str) -> Path:
    """Return the file of a collection's judgements; ServiceError if the service keeps none."""
    if not name:
        raise ServiceError("this service keeps no feedback", 409, hint="see serve.feedback")
    return collection.folder / name


def read(file: Path) -> QuestionSet:
    """Return all judgements; none if nothing was judged yet."""
    return load(file) if file.exists() else QuestionSet(file.stem, [])


def change(file: Path, work: Callable[[QuestionSet], QuestionSet]) -> QuestionSet:
    """Change the judgements, one at a time; a set that comes back the same is not written."""
    with _locked(file):
        old = read(file)
        new = work(old)
        if len(new.questions) > MOST_QUESTIONS:
            raise ServiceError(f"{MOST_QUESTIONS:,} questions were judged: start a new file", 409)
        if new is not old:
            save(new, file)
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
            new = judged(new, Candidate(question, chunk, 0), grade, which, by, when)
            count += 1
        return new if count else found

    found = change(file, work)
    return question_of(added(found, [text]), text).id, count


def question_of(questions: QuestionSet, text: str) -> Question:
    """Return the question with these words, which must be there."""
    return next(each for each in questions.questions if each.text == text)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Let one request of one process change the file at a time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file.with_name(f"{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StoreError(
            "feedback cannot be written here", hint="see store.folder in the settings"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
