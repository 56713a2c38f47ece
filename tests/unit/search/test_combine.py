"""Two orders become one: cases that are worth seeing with numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pincite.model.settings import Reranking
from pincite.search.candidates import Candidates, Tier
from pincite.search.rerank import combined

TIERS = {"entities": Tier.ENTITY, "identifier": Tier.IDENTIFIER}


def made(*lines: tuple[str, dict[str, float]]) -> Candidates:
    """Return a table of ids with parts; a name of a tier puts a line into that tier."""
    names = dict.fromkeys(name for _, parts in lines for name in parts if name not in TIERS)
    columns = {name: np.array([parts.get(name, np.nan) for _, parts in lines]) for name in names}
    table = Candidates.of([name for name, _ in lines], columns)
    tiers = [sum(TIERS.get(name, 0) for name in parts) for _, parts in lines]
    return replace(table, tier=np.array(tiers))


def ids(table: Candidates) -> list[str]:
    return table.names(table.order())


def settings(**values: Any) -> Reranking:
    return replace(Reranking(enabled=True), **values)


def test_the_formula() -> None:
    before = made(
        ("a", {"terms": 3.0, "window": 1.0}), ("b", {"terms": 3.0}), ("c", {"terms": 2.0})
    )
    # Log odds -1, +3 and +1: from worst to best 0, 1 and a half of the range from 2 to 4.
    judged = {name: 1 / (1 + math.exp(-x)) for name, x in (("a", -1), ("b", 3), ("c", 1))}
    after = combined(before, judged, settings(weight=0.4))
    assert ids(after) == ["b", "a", "c"]
    b, a, c = after.hits()
    assert b.score == pytest.approx(0.6 * 3 + 0.4 * 4)
    assert a.score == pytest.approx(0.6 * 4 + 0.4 * 2)
    assert c.score == pytest.approx(0.6 * 2 + 0.4 * 3)
    assert a.features == pytest.approx({"terms": 1.8, "window": 0.6, "rerank": 0.8})
    assert b.raw == {"rerank": judged["b"]}


@pytest.mark.parametrize("mode", ["weighted", "rrf", "replace", "union"])
@pytest.mark.parametrize("weight", [0.5, 0.9, 1.0])
def test_what_has_the_name_stays_before_what_has_the_number(mode: str, weight: float) -> None:
    """The best words are neither in the entity's tier nor in the identifier's."""
    before = made(
        ("entity", {"terms": 0.1, "entities": 1.5}),
        ("number", {"terms": 0.5, "identifier": 1.0}),
        ("words", {"terms": 1.0}),
    )
    assert ids(before) == ["entity", "number", "words"]
    judged = {"entity": 0.0, "number": 1.0, "words": 1.0}
    assert ids(combined(before, judged, settings(mode=mode, weight=weight))) == ids(before)


def test_a_tier_is_ordered_by_reading_too() -> None:
    before = made(("a", {"terms": 0.5, "entities": 1.0}), ("b", {"terms": 0.4, "entities": 1.0}))
    assert ids(combined(before, {"a": 0.1, "b": 0.9}, settings(weight=0.6))) == ["b", "a"]


@pytest.mark.parametrize("mode", ["weighted", "rrf", "replace"])
@pytest.mark.parametrize("weight", [0.1, 0.5, 1.0])
def test_what_was_read_is_before_what_was_not(mode: str, weight: float) -> None:
    before = made(*((name, {"terms": 1 - n / 100}) for n, name in enumerate("dcba")))
    judged = {"d": 0.0, "c": 0.0}
    found = ids(combined(before, judged, settings(mode=mode, weight=weight)))
    assert set(found[:2]) == {"c", "d"} and found[2:] == ["b", "a"]


def test_rrf_counts_ranks_alone() -> None:
    before = made(("a", {"terms": 100.0}), ("b", {"terms": 1.0}), ("c", {"terms": 0.5}))
    judged = {"a": 0.1, "b": 0.9, "c": 0.2}
    after = combined(before, judged, settings(mode="rrf", weight=0.5))
    assert ids(after) == ["b", "a", "c"]
    assert after.hits()[0].score == pytest.approx(100 * (61 / 62 + 1) / 2)


def test_scores_below_zero_are_no_problem() -> None:
    before = made(("a", {"meaning": -0.1}), ("b", {"meaning": -0.3}))
    assert ids(combined(before, {"a": 0.1, "b": 0.9}, settings(weight=0.9))) == ["b", "a"]
    alone = made(("a", {"meaning": 0.0}))
    assert combined(alone, {"a": 0.5}, settings()).hits()[0].score == 0.0


def test_what_could_not_be_read_goes_below_and_keeps_its_order() -> None:
    before = made(*((name, {"terms": 1 - n / 10}) for n, name in enumerate("edcba")))
    found = combined(before, {"d": 0.2, "b": 0.9}, settings(weight=0.6))
    assert ids(found) == ["b", "d", "e", "c", "a"]
    for hit in found.hits():
        assert hit.score == pytest.approx(sum(hit.features.values()))
