"""Matches of a query in a text, against the plain way to find them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pincite.index.tokens import Analyzer
from pincite.search.passages import Matches, word_starts

WEIGHTS = {"wire": 2.0, "the": 0.1, "copper": 3.5, "2.5": 1.7}
WORDS = ("wire", "Wires,", "the", "copper", "2.5", "copper-wire", "other", "\n\n", "\u2003", " ")
texts = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)


@given(st.text(max_size=80))
def test_words_start_where_a_pattern_finds_them(text: str) -> None:
    assert word_starts(text).tolist() == [m.start() for m in re.finditer(r"\S+", text)]


@given(texts)
def test_matches_are_those_of_every_word_analysed(text: str) -> None:
    analyzer = Analyzer()
    plain = [
        (word.start(), word.end())
        for word in re.finditer(r"\S+", text)
        for term in analyzer.word(word.group())
        if term in WEIGHTS
    ]
    for _ in range(2):  # from nothing, and from what the analyzer remembers
        assert list(Matches(text, WEIGHTS, analyzer).between(0, len(text))) == plain


@given(texts, st.integers(0, 30), st.integers(0, 300), st.integers(1, 60), st.integers(0, 10))
def test_the_best_stretch_is_the_first_that_no_other_beats(
    text: str, low: int, size: int, width: int, before: int
) -> None:
    matches, high = Matches(text, WEIGHTS, Analyzer()), min(len(text), low + size)
    starts = [low, *(max(low, at - before) for at, _ in matches.between(low, high))]
    worth = [matches.worth(at, min(high, at + width)) for at in starts]
    best = matches.best_start(low, high, width, before)
    chosen = matches.worth(best, min(high, best + width))
    assert abs(chosen - max(worth)) < 1e-9
    assert best == min(at for at, each in zip(starts, worth, strict=True) if each == chosen)


def test_words_that_are_not_remembered_are_found_too() -> None:
    long = "wire-" + "x" * 100
    analyzer = Analyzer()
    for _ in range(2):
        assert list(Matches(long, WEIGHTS, analyzer).between(0, 200)) == [(0, len(long))]
