"""What became of a question, and the answer itself, as values."""

from __future__ import annotations

from typing import get_args

import pytest

from pincite.answer.values import Abstention, Answer, Reason, ShortEvent
from pincite.model.types import Span

SPAN = Span("a.md", 3, 9)


def test_an_answer_without_an_abstention_is_found() -> None:
    assert Answer("why?", "because").state == "found"


@pytest.mark.parametrize("reason", get_args(Reason))
def test_only_low_confidence_leaves_candidates(reason: Reason) -> None:
    state = Answer("why?", "", abstention=Abstention(reason, "no")).state
    assert state == ("candidates" if reason == "low_confidence" else "not_found")


def test_a_short_answer_is_told_with_where_it_stands() -> None:
    told = Answer("how many?", "ten [1]", short="ten", short_spans=(SPAN,)).plain()
    where = [{"document": "a.md", "span": [3, 9]}]
    assert (told["state"], told["short"], told["short_spans"]) == ("found", "ten", where)
    assert ShortEvent("ten", (SPAN,)).plain() == {"short": "ten", "short_spans": where}
