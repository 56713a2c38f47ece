"""Spreading, and what it remembers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pincite import Index, find_files, ingest_files
from pincite.model.settings import load_settings
from pincite.search import pipeline
from pincite.search.candidates import Candidates
from pincite.search.pipeline import Spread


@pytest.fixture
def index(tmp_path: Path) -> Index:
    sections = (f"## {n}.1 Part {n}\n\n(a) Wires.\n\n(b) Pipes.\n" for n in range(1, 6))
    (tmp_path / "code.md").write_text("# Code\n\n" + "\n".join(sections), encoding="utf-8")
    settings = load_settings(overrides=["ingest.split_depth=1"])
    list(ingest_files(find_files([tmp_path / "code.md"]), tmp_path / "index", settings))
    return Index.open(tmp_path / "index", settings)


def test_what_is_remembered_changes_nothing(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "REMEMBERED", 3)
    ids = [chunk.id for chunk in index.snapshot.chunks("code.md")]
    stage, query = Spread(index.snapshot, 0.5), index.parse("wires")
    for first in range(len(ids)):  # the memory fills up and is emptied on the way
        some = ids[first : first + 4]
        table = Candidates.of(some, {"terms": 1.0 - np.arange(len(some)) / 100})
        fresh = Spread(index.snapshot, 0.5)
        assert stage(query, table).hits() == fresh(query, table).hits()


def test_a_section_takes_turns_with_others(index: Index) -> None:
    inside = [c for c in index.snapshot.chunks("code.md") if c.locator[:3] in ("1.1", "2.1")]
    places = {c.locator: c.id for c in inside}
    names = ("1.1(a)", "1.1(b)", "2.1(a)")
    table = Candidates.of([places[name] for name in names], {"terms": np.array([1.0, 0.99, 0.98])})
    spread = Spread(index.snapshot, 0.5)(index.parse("wires"), table)
    order = [places[name] for name in ("1.1(a)", "2.1(a)", "1.1(b)")]
    assert spread.names(spread.order()) == order
