"""Measures of rankings give the numbers of trec_eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.evaluate.measures import gains, value

REFERENCE = json.loads(Path(__file__).with_name("measures.json").read_text())
NAMES = sorted(REFERENCE["cases"][0]["values"])


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: case["found"])
def test_every_measure_equals_trec_eval(case: dict[str, Any]) -> None:
    ours = {name: value(name, case["found"], set(case["gold"])) for name in NAMES}
    assert ours == pytest.approx(case["values"], abs=1e-9)


def test_the_reference_has_all_kinds_of_cases() -> None:
    values = [case["values"] for case in REFERENCE["cases"]]
    for name in NAMES:
        assert {0.0, 1.0} <= {each[name] for each in values}, name
    assert len({each["ndcg@10"] for each in values}) > 15


def test_a_place_is_credited_once() -> None:
    """Two chunks of one document that answers are one find, at the better rank."""
    assert gains(["x", "a", "a", "b"], {"a", "b"}) == [False, True, False, True]
    assert value("recall@4", ["a", "a", "a", "x"], {"a", "b"}) == 0.5


def test_an_unknown_measure_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="map"):
        value("map", [], {"a"})


places = st.sampled_from("abcdefgh")


@given(found=st.lists(places, max_size=12), gold=st.sets(places, min_size=1))
def test_measures_are_shares_and_best_for_the_ideal(found: list[str], gold: set[str]) -> None:
    ideal = [*sorted(gold), *(place for place in found if place not in gold)]
    for name in NAMES:
        assert 0.0 <= value(name, found, gold) <= value(name, ideal, gold) <= 1.0 + 1e-12
    assert value("ndcg@10", ideal, gold) == pytest.approx(1.0)
