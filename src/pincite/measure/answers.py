"""Answers measured on judged questions: right, quoted, refused where due, and how sure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pincite.answer.asker import Asker
from pincite.answer.values import Answer, State
from pincite.measure.questions import Question
from pincite.measure.statistics import Confidence, confidence_of, mean_with_interval
from pincite.measure.words import area_under_roc, holds, is_exact, polar, token_f1

# An answer that shares so many words with the right one says the same.
SAME = 0.5


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """A question with its right answers, and what was said to it."""

    id: str
    question: str
    right: tuple[str, ...]  # wordings; none for a question without an answer, or not known
    is_answerable: bool
    group: str
    state: State
    said: str  # the short answer; where there is none, the first quotation
    quotation: str  # all that is quoted
    places: tuple[str, ...]  # that are cited
    confidence: float
    seconds: float

    @property
    def is_given(self) -> bool:
        """Whether there was an answer, not only places."""
        return self.state == "found"

    @property
    def f1(self) -> float:
        return token_f1(self.said, self.right) if self.is_given else 0.0

    @property
    def is_exact(self) -> bool:
        return self.is_given and is_exact(self.said, self.right)

    @property
    def is_quoted(self) -> bool:
        """Whether the right answer stands in what is quoted, word for word."""
        return self.is_given and holds(self.quotation, self.right)

    @property
    def is_right(self) -> bool:
        """Whether what was said is the right answer, in other words perhaps."""
        polars = {polar(each) for each in self.right} - {""}
        if polars:
            return self.is_given and polar(self.said) in polars
        return self.is_exact or self.f1 >= SAME

    @property
    def words(self) -> int:
        return len(self.quotation.split())

    def plain(self) -> dict[str, Any]:
        judged = {"f1": self.f1, "is_right": self.is_right, "is_quoted": self.is_quoted}
        return {**asdict(self), "right": list(self.right), "places": list(self.places), **judged}


def answered(asker: Asker, questions: Sequence[Question]) -> Iterator[AnswerRecord]:
    """Yield each question with what is said to it."""
    for each in questions:
        start = time.perf_counter()
        answer = asker.answer(each.text)
        yield _record(each, answer, time.perf_counter() - start)


def _record(asked: Question, answer: Answer, seconds: float) -> AnswerRecord:
    quotes = [each.quote for each in answer.citations if each.quote] or [answer.text]
    sources = {source.number: source for source in answer.sources}
    places = (sources[each.source].cited(each) for each in answer.citations)
    return AnswerRecord(
        asked.id,
        asked.text,
        asked.right if asked.is_answerable else (),
        asked.is_answerable,
        asked.group or asked.wording,
        answer.state,
        answer.short or quotes[0],
        " ".join(quotes),
        tuple(dict.fromkeys(places)),
        answer.confidence,
        seconds,
    )


def summarise_answers(records: Sequence[AnswerRecord]) -> dict[str, Any]:
    """Return figures with intervals, what confidence says, times, and every question."""
    sure = confidence_in(records)
    spent = np.percentile([each.seconds for each in records] or [0.0], [50, 95])
    return {
        "asked": len(records),
        "answerable": sum(each.is_answerable for each in records),
        "figures": answer_figures(records),
        "confidence": asdict(sure) if sure else None,
        "seconds": {"p50": float(spent[0]), "p95": float(spent[1])},
        "rows": [each.plain() for each in records],
    }


def answer_figures(records: Sequence[AnswerRecord]) -> dict[str, dict[str, float]]:
    """Return each measure with its interval, over the questions that it can be taken of."""
    known = [each for each in records if each.right]
    given = [each for each in records if each.is_given]
    judged = [each for each in given if each.right or not each.is_answerable]
    taken = {
        "F1": (known, [each.f1 for each in known]),
        "exact match": (known, [each.is_exact for each in known]),
        "right": (known, [each.is_right for each in known]),
        "quotation holds the answer": (known, [each.is_quoted for each in known]),
        "words quoted": (given, [each.words for each in given]),
        "refused of answerable": _refused(records, is_answerable=True),
        "refused of unanswerable": _refused(records, is_answerable=False),
    }
    found = {
        name: mean_with_interval(np.asarray(values, dtype=float), [each.group for each in those])
        for name, (those, values) in taken.items()
        if those
    }
    is_right = [each.is_right for each in judged]
    if len(set(is_right)) > 1:
        scores = [each.confidence for each in judged]
        # One value of all answers together: there is no mean to give an interval of.
        single = {
            "AUC of confidence": area_under_roc(scores, is_right),
            "calibration error": confidence_of(scores, is_right).error or 0.0,
        }
        found |= {
            name: {"value": value, "low": value, "high": value, "n": len(judged)}
            for name, value in single.items()
        }
    return found


def _refused(
    records: Sequence[AnswerRecord], *, is_answerable: bool
) -> tuple[list[AnswerRecord], list[bool]]:
    those = [each for each in records if each.is_answerable == is_answerable]
    return those, [not each.is_given for each in those]


def confidence_in(records: Sequence[AnswerRecord]) -> Confidence | None:
    """Return how often given answers are right by how sure they are; None for fewer than two."""
    judged = [e for e in records if e.is_given and (e.right or not e.is_answerable)]
    if len(judged) < 2:
        return None
    return confidence_of([each.confidence for each in judged], [each.is_right for each in judged])
