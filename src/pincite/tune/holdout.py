"""Questions that are kept for the end, and a count of how often somebody looked.

A hold-out says the truth once. Whoever tunes, looks, and tunes again has chosen on it. So every
look is written beside the file, with the questions that were asked: an edited file does not forget.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, ConfigError, SourceError
from pincite.evaluate.judgements.questions import Question, QuestionSet
from pincite.store.files import write_durably

MAX_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Peeks:
    """The looks at a hold-out, this one included."""

    count: int
    file: Path

    @property
    def warning(self) -> str:
        """What to think of the figure; empty after the first look."""
        if self.count < 2:
            return ""
        return (
            f"these hold-out questions were looked at {self.count} times: what was chosen after "
            "an earlier look has seen them, and the figure is too good"
        )


def counter_of(file: Path) -> Path:
    """Return where the looks at a file of questions are counted."""
    return file.with_name(f"{file.name}.peeks.json")


def look(file: Path, questions: QuestionSet, made: str) -> Peeks:
    """Count a look, before anything is asked, and return how many there were with this one."""
    counter = counter_of(file)
    looks = _looks(counter)
    own = [_short(question) for question in questions.questions]
    looks.append({"hash": questions.hash, "made": made, "questions": own})
    try:
        write_durably(counter, f"{json.dumps({'looks': looks}, indent=1)}\n".encode())
    except OSError as error:
        raise SourceError(
            f"the look at {file} cannot be counted: {error}",
            hint="put the hold-out into a folder that can be written",
        ) from error
    return Peeks(sum(not set(own).isdisjoint(each["questions"]) for each in looks), counter)


def _looks(counter: Path) -> list[dict[str, Any]]:
    """Return the looks so far; a file that cannot be read is not taken for none."""
    if not counter.exists():
        return []
    try:
        if counter.stat().st_size > MAX_BYTES:
            raise ValueError("it is too large")
        looks = json.loads(counter.read_text(encoding="utf-8"))["looks"]
        return [{**each, "questions": list(map(str, each["questions"]))} for each in looks]
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{counter} does not say how often the hold-out was looked at: {error}",
            hint="mend it, or remove it and say so wherever the figure is quoted",
        ) from error


def apart(tuning: Sequence[Question], held_out: Sequence[Question]) -> None:
    """Raise ConfigError if a question to tune on is in the hold-out."""
    known = {_short(question) for question in tuning}
    both = [question for question in held_out if _short(question) in known]
    if both:
        raise ConfigError(
            f"{len(both)} of the hold-out's questions are tuned on, as {both[0].id!r}",
            hint="take them out of one of the files",
        )


def _short(question: Question) -> str:
    """Return a short hash of a question's words."""
    return sha256(question.wording.encode()).hexdigest()[:16]
