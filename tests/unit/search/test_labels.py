"""Grades by place, and the published label."""

from __future__ import annotations

from pincite.measure.learning import AnswerPlace, grade_by_place
from pincite.model.types import Chunk, Span


def chunk(start: int, end: int, page: int | None = 3) -> Chunk:
    span = Span("d", start, end)
    return Chunk("i", span, "x" * (end - start), "clause", "1", "", (), end, page)


def test_a_page_is_all_or_nothing() -> None:
    assert grade_by_place(chunk(0, 10), [AnswerPlace("d", page=3)]) == 2
    assert grade_by_place(chunk(0, 10), [AnswerPlace("d", page=4)]) == 0
    assert grade_by_place(chunk(0, 10), [AnswerPlace("e", page=3)]) == 0
    assert grade_by_place(chunk(0, 10), [AnswerPlace("e", page=3), AnswerPlace("d", page=3)]) == 2
    assert grade_by_place(chunk(0, 10), []) == 0


def test_a_stretch_counts_by_what_is_shared() -> None:
    gold = [AnswerPlace("d", span=Span("d", 100, 200))]
    assert grade_by_place(chunk(0, 100), gold) == 0
    assert grade_by_place(chunk(0, 110), gold) == 1
    assert grade_by_place(chunk(0, 150), gold) == 2
    assert grade_by_place(chunk(120, 130), gold) == 2  # a clause inside the place
