"""Probabilities that mean something: monotone, right on average, and honest about it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.errors import ModelError
from pincite.search.calibration import Calibration, calibration_error, fitted, threshold_for


@given(st.floats(-30, 30), st.floats(-30, 30), st.floats(0.01, 5), st.floats(-5, 5))
def test_a_calibration_keeps_the_order(one: float, two: float, slope: float, offset: float) -> None:
    found = Calibration(slope, offset)
    first, second = found.probability(one), found.probability(two)
    assert 0 <= first <= 1
    if one < two:
        assert first <= second


@pytest.mark.parametrize(("slope", "offset"), [(0.5, 1.0), (2.0, -3.0)])
def test_it_finds_the_true_one_and_its_error_is_small(slope: float, offset: float) -> None:
    chance = np.random.default_rng(3)
    logits = chance.normal(scale=3, size=8000)
    truth = Calibration(slope, offset)
    right = chance.random(8000) < [truth.probability(x) for x in logits]
    found = fitted(logits[:4000].tolist(), right[:4000].tolist())
    assert found.slope == pytest.approx(slope, rel=0.15)
    assert found.offset == pytest.approx(offset, abs=0.3)
    said = [found.probability(x) for x in logits[4000:]]
    assert calibration_error(said, right[4000:].tolist()) < 0.03
    bound = threshold_for(said, right[4000:].tolist(), 0.9)
    above = [r for p, r in zip(said, right[4000:], strict=True) if p >= bound]
    assert 0.89 < np.mean(above) < 0.93


def test_what_is_said_too_boldly_has_an_error() -> None:
    assert calibration_error([0.99] * 100, [True] * 50 + [False] * 50) == pytest.approx(0.49)


def test_no_threshold_keeps_a_promise_that_cannot_be_kept() -> None:
    assert threshold_for([0.9, 0.1], [False, False], 0.9) == 1.0


@pytest.mark.parametrize(
    "values",
    [{"slope": -1, "offset": 0}, {"slope": math.inf, "offset": 0}, {"slope": "x"}, 3, {"slope": 1}],
)
def test_a_calibration_that_would_turn_the_order_is_refused(values: object) -> None:
    with pytest.raises(ModelError):
        Calibration.from_plain(values)


def test_no_number_is_no_probability() -> None:
    with pytest.raises(ModelError, match="no number"):
        Calibration().probability(math.nan)
    with pytest.raises(ModelError, match="pairs"):
        fitted([1.0, 2.0], [True, True])
