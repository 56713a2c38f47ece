"""The model that says how probable it is that a text bears out a statement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pincite.check.judge import FEATURES, FILE, Judge, open_judge, windows
from pincite.check.support import TextParts, stray_numbers, weighed
from pincite.encode.encoders import OnnxEncoder
from pincite.encode.models import SHIPPED
from pincite.index.tokens import Analyzer
from pincite.model.errors import ModelError
from pincite.search.learned import load_model

CLAUSE = (
    "The owner of a vessel must pay the fee within 30 days after the invoice. "
    "No fee is due for vessels of the rescue service."
)
TEXTS = TextParts(Analyzer())


def test_what_it_sees_is_named_and_finite() -> None:
    line = open_judge().features("Owners pay within 30 days.", CLAUSE, TEXTS)
    assert len(line) == len(FEATURES) == len(load_model(FILE).features)
    seen = dict(zip(FEATURES, line, strict=True))
    assert seen["numbers"] == 1 and seen["numbers_missing"] == 0
    assert 0 < seen["token_match_least"] <= seen["token_match"] <= 1.001


def test_the_nearer_the_words_the_likelier() -> None:
    judge = open_judge()
    near, far = (
        judge.probability(claim, CLAUSE, TEXTS)
        for claim in (
            "The fee has to be paid by the owner within 30 days of the invoice.",
            "Divers need a licence of the federal ministry of agriculture.",
        )
    )
    assert near > 0.6 > 0.35 > far


@pytest.mark.parametrize(("claim", "text"), [("", CLAUSE), ("The fee is due.", ""), ("", "")])
def test_nothing_to_read_is_no_failure(claim: str, text: str) -> None:
    assert 0 <= open_judge().probability(claim, text, TEXTS) <= 1


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    whole = json.loads(FILE.read_text(encoding="utf-8"))
    whole["offset"] = 3.0
    (tmp_path / "judge.json").write_text(json.dumps(whole), encoding="utf-8")
    with pytest.raises(ModelError, match="its contents and its hash differ"):
        Judge(load_model(tmp_path / "judge.json"), OnnxEncoder(SHIPPED))


def test_windows_are_those_with_most_words() -> None:
    text = "\n\n".join(
        f"Line {n} says that boats of kind {n} carry {n * 'red '}lights." for n in range(60)
    )
    chosen = windows(TEXTS.content("Kind 7 carry lights"), TEXTS.of(text))
    assert len(chosen) == 2
    assert all(len(window) < 1_500 for window in chosen)


def test_a_number_that_stands_nowhere_speaks_against_a_statement() -> None:
    parts = TEXTS.of(CLAUSE + "\n\nA licence is valid for 14 months.")
    claim = "Whoever owns a ship settles it in 60 days."
    words = TEXTS.content(claim)
    assert list(stray_numbers(claim, words, parts)) == ["60 days"]
    verdict, reason, sure = weighed(claim, parts, words, 0.9)
    assert (verdict, reason) == ("number_differs", "the place does not say 60 days")
    assert sure < 0.5


def test_words_taken_over_need_the_numbers_of_their_own_unit() -> None:
    parts = TEXTS.of(CLAUSE + "\n\nA licence is valid for 14 days.")
    claim = "The owner of a vessel must pay the fee within 14 days after the invoice."
    assert list(stray_numbers(claim, TEXTS.content(claim), parts)) == ["14 days"]
