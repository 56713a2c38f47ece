"""The simulated disk in short; python tests/faults/simulate.py --seeds 5000 plays more seeds."""

from __future__ import annotations

import os

import pytest
import simulate

from pincite.store import files

pytestmark = pytest.mark.slow
SEEDS = int(os.environ.get("PINCITE_FAULT_SEEDS", "160"))


@pytest.mark.parametrize("part", [0, 1])
def test_whatever_the_disk_does_nothing_acknowledged_is_lost(part: int) -> None:
    half = SEEDS // 2
    found = simulate.run(range(part * half, (part + 1) * half))
    assert found.failures == []
    assert found.seeds == half and len(found.steps) == 11
    assert all(steps >= 5 for steps in found.steps.values())
    assert sum(found.faults.values()) > half  # a fault did come in nearly every seed


def test_the_simulation_notices_what_is_not_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code without its syncs of segments loses what it acknowledged."""
    monkeypatch.setattr(files, "sync", lambda path: None)
    assert simulate.run(range(40)).failures
