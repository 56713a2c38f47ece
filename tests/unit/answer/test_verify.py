"""Checking a sentence against what it cites."""

from __future__ import annotations

import pytest

from pincite.answer.values import Source
from pincite.answer.verify import Verifier
from pincite.index.tokens import Analyzer
from pincite.model.types import Span

ROD = (
    "(B) Spacing. Where more than one rod is used, they shall be at least 2.4 m apart.\n"
    "(C) Depth. A rod shall be driven to a depth of 3.0 m, as 250.52(A) says."
)
TABLE = (
    "**Table 4 Errors**\n\n| Code | Meaning | Wait (min) |\n|---|---|---|\n"
    "| E-07 | Pressure low | 5 |\n| E-08 | Motor does not answer | 20 |"
)


def source(number: int, text: str, locator: str) -> Source:
    span = Span("code.md", 100 * number, 100 * number + len(text))
    return Source(number, f"c{number}", "Code", locator, ("Code", "Earthing"), 3, span, text)


@pytest.fixture
def verifier() -> Verifier:
    return Verifier([source(1, ROD, "250.56"), source(2, TABLE, "Table 4")], Analyzer())


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Rods shall be at least 2.4 m apart.", [1]),
        ("Rods shall be 2400 mm apart.", [1]),
        ("Under 250.56(B) more than one rod shall be 2.4 m apart.", [1]),
        ("As 250.52(A) says, a rod goes to a depth of 3 m.", [1]),
        ("The code says “they shall be at least 2.4 m apart”.", [1]),
        ("E-07 means pressure low.", [2]),
        ("E-08 means that the motor does not answer; wait 20 minutes.", [2]),
        ("Rods shall not be less than 2.4 m apart.", [1]),
        ("Rods are 2.4 m apart, and E-07 means pressure low.", [1, 2]),
    ],
)
def test_what_holds(verifier: Verifier, text: str, cited: list[int]) -> None:
    sentence, rejected = verifier.check(text, cited)
    assert (sentence.verdict, rejected) == ("supported", [])
    assert [each.source for each in sentence.citations] == cited
    assert all(each.ok for each in sentence.citations)


@pytest.mark.parametrize(
    ("text", "cited", "reason"),
    [
        ("Rods shall be at least 2.4 m apart.", [3], "no source [3]"),
        ("Rods shall be at least 2.4 m apart.", [2], "2.4 m"),
        ("Rods shall be at least 2.5 m apart.", [1], "2.5 m"),
        ("Rods shall be at least 3 m apart where more than one rod is used.", [1], "3 m"),
        ("Rods shall be at least 2.4 mm apart.", [1], "2.4 mm"),
        ("Rods shall be at least 2.4 A apart.", [1], "2.4 A"),
        ("Under 250.57 rods shall be at least 2.4 m apart.", [1], "250.57"),
        ("Under 250.56(D) rods shall be at least 2.4 m apart.", [1], "250.56(D)"),
        ("The code says “they shall be at least 2.4 m away”.", [1], "away"),
        ("E-09 means pressure low.", [2], "e-09"),
        ("E-07 means pressure low; wait 20 minutes.", [2], "20 minutes"),
        ("Swimming pools need a licence from the harbour office.", [1], "few of its words"),
        ("Rods shall not be at least 2.4 m apart.", [1], "the opposite"),
        ("Rods shall be at most 2.4 m apart.", [1], "the opposite"),
        ("Rods may be at least 2.4 m apart where more than one is used.", [1], "the opposite"),
        ("E-08 means that the motor does answer.", [2], "the opposite"),
    ],
)
def test_what_does_not_hold(verifier: Verifier, text: str, cited: list[int], reason: str) -> None:
    sentence, rejected = verifier.check(text, cited)
    assert sentence.verdict == "unsupported"
    assert sentence.citations == ()
    assert [each.source for each in rejected] == cited
    assert reason in rejected[0].reason
    assert not rejected[0].ok


def test_one_of_several_citations_may_be_rejected(verifier: Verifier) -> None:
    sentence, rejected = verifier.check("Rods shall be at least 2.4 m apart.", [1, 2, 9])
    assert sentence.verdict == "supported"
    assert [each.source for each in sentence.citations] == [1]
    assert {each.source for each in rejected} == {2, 9}


def test_sentences_without_a_source(verifier: Verifier) -> None:
    assert verifier.check("Here is what the code says.", [])[0].verdict == "uncited"
    assert verifier.check("Rods shall be 2.4 m apart.", [])[0].verdict == "uncited"
    assert verifier.check("Rods shall be 9.9 m apart.", [])[0].verdict == "unsupported"


def test_a_sentence_taken_over_is_a_quotation_with_its_place(verifier: Verifier) -> None:
    quote = "they shall be at least 2.4 m apart."
    sentence, _ = verifier.check(f"The code says: “{quote}”", [1])
    (citation,) = sentence.citations
    assert citation.quote == quote
    assert citation.span is not None
    start = citation.span.start - 100
    assert ROD[start : start + len(quote)] == quote
