"""The quality floor on documents of the ICDAR 2013 table competition."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[4]
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
FLOOR = 0.95  # macro F1; 0.98 when this was written


def load_bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_tables", ROOT / "bench" / "tables.py")
    assert spec and spec.loader
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench = load_bench()


@pytest.mark.slow
@pytest.mark.skipif(not (DATA / bench.SET).exists(), reason="no ICDAR 2013 set; see PINCITE_DATA")
def test_tables_of_the_european_half() -> None:
    paths = sorted((DATA / bench.SET).glob("*-eu/*.pdf"))
    results, _ = bench.with_pincite(paths)
    scores = bench.score(paths, results["pincite"])
    assert bench.summary(scores)["macro_f1"] >= FLOOR


def test_relations_skip_blanks_and_know_spans() -> None:
    cell = bench.CellBox
    cells = [cell(0, 0, "Year s", columns=2), cell(1, 0, "a"), cell(1, 1, ""), cell(2, 1, "b")]
    assert bench.relations([cells]) == {
        ("below", "Years", "a"): 1,
        ("below", "Years", "b"): 1,
    }
