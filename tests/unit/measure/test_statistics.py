"""Claims of a difference: rare where there is none, found where there is one, always paired."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pincite.measure.coverage import krippendorff_alpha
from pincite.measure.statistics import compare, detectable_difference, holm, randomisation_p

# The published ranks of an electrical-code assistant, q01 to q20 without the two questions that
# have no answer: by embedding, and after its cross-encoder. None: missed.
EMBEDDED = (3, 2, 3, 1, 1, 2, 8, 1, None, 1, 1, 2, 13, 1, 1, 8, 1, 1)
RERANKED = (2, 1, 3, 1, 1, 1, 3, 1, None, 14, 1, 4, 1, 2, 1, 1, 1, 1)
ONES = [str(number) for number in range(2000)]


def reciprocal(ranks: tuple[int | None, ...]) -> list[float]:
    return [1 / rank if rank else 0.0 for rank in ranks]


def test_eighteen_published_ranks_show_no_significant_difference() -> None:
    """6 better, 3 worse, MRR 0.639 → 0.722: it reads like a gain and is none that one may claim."""
    first, second = reciprocal(EMBEDDED), reciprocal(RERANKED)
    found = compare(first, second, ONES[:18])
    assert np.mean(first) == pytest.approx(0.639, abs=5e-4)
    assert np.mean(second) == pytest.approx(0.722, abs=5e-4)
    assert (found.wins, found.ties, found.losses) == (6, 9, 3)
    assert found.p == pytest.approx(0.46, abs=0.01)
    assert found.interval[0] < 0 < found.interval[1]
    assert found.verdict == "no significant difference"
    assert found.detectable > abs(found.difference)


def test_a_copy_is_never_claimed_to_differ() -> None:
    values = np.random.default_rng(1).random(200)
    found = compare(values, values, ONES[:200])
    assert (found.p, found.ties, found.verdict) == (1.0, 200, "no significant difference")


@pytest.mark.parametrize("size", [30, 80])
def test_copies_with_chance_in_them_give_few_false_claims(size: int) -> None:
    """Two copies whose ties fall by chance, on 1,000 resampled sets of grouped questions."""
    chance = np.random.default_rng(9)
    claims = 0
    for _ in range(1000):
        groups = chance.integers(size // 2, size=size)
        hard = chance.random(size // 2)[groups]
        first, second = (chance.random((2, size)) > hard) / chance.integers(1, 4, size=(2, size))
        claims += compare(first, second, [str(g) for g in groups]).p <= 0.05
    assert 10 <= claims <= 50


def test_groups_that_fall_together_are_not_many_observations() -> None:
    """Ten questions of one document that all change are one change."""
    changes = [0.2] * 40 + [-0.1] * 10
    assert randomisation_p(changes, ONES[:50]) < 0.001
    assert randomisation_p(changes, ["a"] * 40 + ["b"] * 10) == 0.5 + 0.5


def test_a_real_difference_is_found_and_its_size_announced() -> None:
    chance = np.random.default_rng(2)
    first = chance.random(400)
    found = compare(first, first + chance.normal(0.05, 0.1, 400), ONES[:400])
    assert found.verdict == "better" and found.p < 0.001
    assert compare(first + 0.1, first, ONES[:400]).verdict == "worse"


def test_the_detectable_difference_is_found_in_four_of_five_sets() -> None:
    chance = np.random.default_rng(3)
    wanted = detectable_difference(chance.normal(0, 0.3, 2000), ONES) * math.sqrt(2000 / 100)
    found = sum(
        randomisation_p(chance.normal(wanted, 0.3, 100), ONES[:100]) <= 0.05 for _ in range(200)
    )
    assert 0.7 <= found / 200 <= 0.9


def test_holm_equals_the_textbook() -> None:
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0]) and holm([]) == []


def test_the_exact_and_the_drawn_test_agree() -> None:
    changes = np.random.default_rng(4).normal(0.1, 0.3, 14)
    exact = randomisation_p(changes, ONES[:14])
    # A group with almost no change makes it fifteen: too many to try all ways.
    drawn = randomisation_p([*changes, 1e-9], ONES[:15])
    assert drawn == pytest.approx(exact, abs=0.015)


# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", example C: four observers.
N = None
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]
# The same text, example A: two observers, two values.
TWO = [[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_agreement_equals_the_published_example(level: str, published: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(published, abs=5e-4)  # type: ignore[arg-type]


def test_agreement_of_two_and_of_nobody() -> None:
    assert krippendorff_alpha(TWO) == pytest.approx(0.095, abs=5e-4)
    assert math.isnan(krippendorff_alpha([[1, N], [N, 2]]))
    assert krippendorff_alpha([[2, 2], [2, 2]]) == 1.0
