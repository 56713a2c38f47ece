"""Words of a short answer are found inside their quotation as a reader sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.answer.lighting import lit
from pincite.answer.values import Citation, Sentence
from pincite.model.types import Span


def words(shown: str, quote: str, wanted: str, nth: int = 0) -> str | None:
    start = -1
    for _ in range(nth + 1):
        start = quote.index(wanted, start + 1)
    at = lit(shown, quote, start, start + len(wanted))
    return (
        None if at is None else shown[: at[0]] + "[" + shown[at[0] : at[1]] + "]" + shown[at[1] :]
    )


@pytest.mark.parametrize(
    ("shown", "quote", "wanted", "nth", "found"),
    [
        (
            "at least 2.4 m apart",
            "at\nleast **2.4\nm** apart",
            "2.4\nm",
            0,
            "at least [2.4 m] apart",
        ),
        ("5 or 5 or 5", "5 or\n5 or 5", "5", 1, "5 or [5] or 5"),
        ("Size (mm): 16; Load (A): 16", "| 16 | 16 |", "16", 0, "Size (mm): [16]; Load (A): 16"),
        ("Row: x; 2022: $5 %", "| x | $5 % |", "$5 %", 0, "Row: x; 2022: [$5 %]"),
        ("No such words", "ten", "ten", 0, None),
        ("a — b", "a — b", "—", 0, None),
    ],
)
def test_words_are_lit(shown: str, quote: str, wanted: str, nth: int, found: str | None) -> None:
    assert words(shown, quote, wanted, nth) == found


@given(st.text("ab1 .|*\n", max_size=40), st.data())
def test_what_is_shown_as_it_stands_is_lit_where_it_stands(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    at = lit(text, text, start, end)
    if at is not None:
        assert 0 <= at[0] < at[1] <= len(text)
        assert text[at[0] : at[1]].strip() == text[at[0] : at[1]]


def test_a_sentence_lights_only_what_it_quotes_and_nothing_twice() -> None:
    quote = "ten or twenty days"
    cited = Citation(1, "1", quote=quote, span=Span("a", 50, 50 + len(quote)))
    sentence = Sentence(quote, (cited, Citation(2, "2")))
    ten, twenty, both = Span("a", 50, 53), Span("a", 57, 63), Span("a", 50, 63)
    assert sentence.lit((ten, twenty)) == [(0, 3), (7, 13)]
    assert sentence.lit((ten, both)) == [(0, 3)]
    assert sentence.lit((Span("b", 50, 53), Span("a", 0, 50))) == []
    assert sentence.lit((Span("a", 0, 53),)) == [(0, 3)]
