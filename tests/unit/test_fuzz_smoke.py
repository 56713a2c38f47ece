"""Every fuzz target on a few hundred damaged inputs, the same ones each time.

``python fuzz/run.py`` does the same for hours, guided by coverage; see docs/hostile.md.
"""

from __future__ import annotations

import pytest
from fuzz.run import quick, table, totals
from fuzz.targets.all import TARGETS


@pytest.mark.parametrize("name", TARGETS)
def test_the_law_of_a_target_holds(name: str) -> None:
    watch = quick(TARGETS[name])
    assert watch.executions == TARGETS[name].smoke
    assert not watch.findings, watch.findings


def test_a_target_whose_seeds_are_all_refused_tries_nothing() -> None:
    """Inputs that are refused at the door say little about what is behind it."""
    for target in TARGETS.values():
        taken = 0
        for seed in target.seeds():
            try:
                target.check(seed)
                taken += 1
            except target.refusals:
                continue
        assert taken, target.name


def test_slices_are_added_up_and_inputs_of_the_corpus_count_once() -> None:
    lines = [
        {"target": "a", "executions": 50, "replayed": 10, "seconds": 2.0, "refused": 20},
        {"target": "a", "executions": 30, "replayed": 30, "seconds": 1.0, "findings": {"x": 2}},
        {"target": "b", "seconds": 5.0, "ended": "exit 77"},
    ]
    found = totals(lines)
    assert found["a"]["executions"] == 40 and found["a"]["findings"] == {"x": 2}
    assert found["b"]["ended"] == 1
    assert list(table(found))[-1] == "| **all 2** | 40 | 8 | | | | 1 | 1 |"
