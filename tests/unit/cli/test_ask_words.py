"""What ``pincite ask`` prints of an answer: its state, the short answer, and where it stands."""

from __future__ import annotations

import pytest

from pincite.answer.values import Abstention, Answer, Citation, CitedPlace, Sentence, Source
from pincite.cli.ask import _print_answer
from pincite.model.types import Span

QUOTE = "They shall be at least 2.4 m apart, and 2.4 m from a wall."
SPAN = Span("a.md", 100, 100 + len(QUOTE))
SOURCE = Source(1, "c1", "Rules", "250.56(B)", (), None, SPAN, QUOTE)
FOUND = Answer(
    "how far apart?",
    f"{QUOTE} [1]",
    (Sentence(QUOTE, (Citation(1, "250.56(B)", quote=QUOTE, span=SPAN),)),),
    (SOURCE,),
    short="2.4 m",
    short_spans=(Span("a.md", 123, 128),),
)


def test_the_short_answer_is_first_and_lit(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _print_answer(FOUND, is_written=False)
    assert capsys.readouterr().out.splitlines() == [
        "Found: 2.4 m",
        f"{QUOTE} [1]",
        "",
        "[1] Rules, 250.56(B)  (a.md)",
    ]
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    _print_answer(FOUND, is_written=False)
    shown = capsys.readouterr().out
    # The first of the two is the answer; the other one is not lit.
    assert "at least \x1b[1m2.4 m\x1b[0m apart, and 2.4 m from a wall." in shown


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("low_confidence", "Candidates: places only"),
        ("not_in_corpus", "Not in these documents"),
        ("referenced_but_missing", "Not in these documents"),
    ],
)
def test_no_answer_says_which_state_and_what_is_nearest(
    capsys: pytest.CaptureFixture[str], reason: str, words: str
) -> None:
    near = (CitedPlace("a.md", "Rules", "250.56", 3),)
    none = Abstention(reason, "No sentence says so.", near)  # type: ignore[arg-type]
    _print_answer(Answer("why?", none.message, abstention=none), is_written=False)
    assert capsys.readouterr().out.splitlines() == [
        words,
        "No sentence says so.",
        f"reason: {reason}",
        "nearest: Rules, 250.56, p. 3",
    ]
