"""Spreading, and what it remembers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite import Index, find_files, ingest_files
from pincite.core.settings import load_settings
from pincite.core.types import Hit, Query, Ranking
from pincite.retrieve import spread
from pincite.search.diversity import Spread


@pytest.fixture
def index(tmp_path: Path) -> Index:
    sections = (f"## {n}.1 Part {n}\n\n(a) Wires.\n\n(b) Pipes.\n" for n in range(1, 6))
    (tmp_path / "code.md").write_text("# Code\n\n" + "\n".join(sections), encoding="utf-8")
    settings = load_settings(overrides=["ingest.split_depth=1"])
    list(ingest_files(find_files([tmp_path / "code.md"]), tmp_path / "index", settings))
    return Index.open(tmp_path / "index", settings)


def test_what_is_remembered_changes_nothing(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "REMEMBERED", 3)
    ids = [chunk.id for chunk in index.snapshot.chunks("code.md")]
    stage = Spread(index.snapshot, 0.5)
    for first in range(len(ids)):  # the memory fills up and is emptied on the way
        hits = tuple(Hit(each, 1.0 - n / 100) for n, each in enumerate(ids[first : first + 4]))
        ranking = Ranking(Query("wires"), hits)
        assert stage.rerank(ranking) == Spread(index.snapshot, 0.5).rerank(ranking)


def test_a_section_takes_turns_with_others(index: Index) -> None:
    inside = [c for c in index.snapshot.chunks("code.md") if c.locator[:3] in ("1.1", "2.1")]
    places = {c.locator: c.id for c in inside}
    names = ("1.1(a)", "1.1(b)", "2.1(a)")
    hits = tuple(Hit(places[name], 1.0 - n / 100) for n, name in enumerate(names))
    ranked = Spread(index.snapshot, 0.5).rerank(Ranking(Query("wires"), hits))
    assert ranked.ids == tuple(places[name] for name in ("1.1(a)", "2.1(a)", "1.1(b)"))
