"""The load script in small: nobody gets an error, the crowd is served, overload is refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_service", ROOT / "bench/service.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_service"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_crowd_is_served_while_the_index_changes() -> None:
    bench = script()
    words = ["--seconds", "4", "--searches", "40", "--streams", "15", "--swap-seconds", "1.0"]
    found = bench.measured(bench.arguments(words))
    for kind in ("search", "answer"):
        assert found["crowd"][kind]["errors"] == 0, found["crowd"][kind]
        assert found["crowd"][kind]["requests"] >= 15
    assert found["generations"]["swaps"] >= 2 <= found["generations"]["seen"]
    assert found["overload"]["other"] == 0
    assert found["overload"]["answered"] > 0 and found["overload"]["refused"] > 0
