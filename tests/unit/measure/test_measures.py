"""LCS, intervals and cited clauses, on values small enough to check by hand."""

from __future__ import annotations

import random

import pytest

from figures import Figures
from pincite.measure.imports import cited_clauses
from pincite.measure.statistics import bootstrap_interval
from pincite.measure.words import WordNumbers, lcs_score


def slow_lcs(a: list[int], b: list[int]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


def test_lcs_equals_the_table_of_the_textbook() -> None:
    source = random.Random(3)
    for _ in range(60):
        a = [source.randrange(12) for _ in range(source.randrange(1, 90))]
        b = [source.randrange(12) for _ in range(source.randrange(0, 200))]
        assert lcs_score(a, b) == slow_lcs(a, b) / len(a)


def test_words_drop_articles_and_punctuation() -> None:
    words = WordNumbers()
    assert words.of("The cat, a dog; AN ant.") == words.of("cat dog ant")
    assert lcs_score([], [1, 2]) == 0.0


def test_interval_resamples_whole_groups() -> None:
    """Ten questions of one document are one observation, not ten."""
    values = [0.0] * 10 + [1.0] * 10
    alone = bootstrap_interval(values, [str(i) for i in range(20)])
    grouped = bootstrap_interval(values, ["a"] * 10 + ["b"] * 10)
    assert grouped == (0.0, 1.0)
    assert 0.2 < alone[0] < 0.5 < alone[1] < 0.8


def test_figures_hold_mean_interval_and_count() -> None:
    figures = Figures()
    figures.add("strict_lcs", [0.5, 1.0], ["a", "b"], scale=100)
    figures.add("nothing", [], [])
    assert figures.values == {"strict_lcs": 75.0}
    assert figures.counts == {"strict_lcs": 2}
    assert figures.intervals["strict_lcs"] == (50.0, 100.0)


def test_differences_are_paired_by_question() -> None:
    """A small change that every question agrees on is seen, however wide the figures spread."""
    groups = [str(i) for i in range(20)]
    low, high = Figures(), Figures()
    low.add("mrr", [i / 20 for i in range(20)], groups)
    high.add("mrr", [i / 20 + 0.01 for i in range(20)], groups)
    high.add("other", [1.0], ["a"])
    change = high.minus(low)
    assert change.values == {"mrr": pytest.approx(0.01)}
    assert change.intervals["mrr"] == pytest.approx((0.01, 0.01))
    assert high.intervals["mrr"][0] < low.intervals["mrr"][1]


def test_figures_of_other_questions_have_no_difference() -> None:
    one, other = Figures(), Figures()
    one.add("mrr", [1.0, 0.0], ["a", "b"])
    other.add("mrr", [1.0, 0.0], ["a", "c"])
    assert one.minus(other).values == {}


def test_cited_clauses() -> None:
    assert cited_clauses("[97.301]") == ()
    assert cited_clauses("[97.303 (h)]") == ("97.303(h)",)
    assert cited_clauses("[97.13(c)(2), 1.1307(b)]") == ("97.13(c)",)
