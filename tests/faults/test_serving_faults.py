"""Swaps and restarts of a service in short; bench/faults.py swap and restart do more of them."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

if find_spec("fastapi") is None or find_spec("uvicorn") is None:
    pytest.skip("needs the extra serve", allow_module_level=True)

import serving_faults

pytestmark = pytest.mark.slow


def test_new_generations_come_in_under_load() -> None:
    found = serving_faults.swap(10, 300)
    assert found.failures == []
    assert found.swaps == 10 and found.loaded.whole >= 300 and len(found.loaded.versions) >= 5


def test_a_service_that_is_ended_answers_what_it_accepted() -> None:
    found = serving_faults.restart(2)
    assert found.failures == []
    assert found.times == 2 and found.tally.whole > 0
    assert max(found.drained) < 15  # serve.drain_seconds, and a busy machine
