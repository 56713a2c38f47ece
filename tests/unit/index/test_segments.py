"""Segments: which become one, and how often their database is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite.api import Index
from pincite.index.builder import MERGED_CHUNKS, _to_merge
from pincite.model.settings import Settings
from pincite.store.manifest import SegmentEntry
from pincite.update import ingest_files


def entry(number: int, chunks: int) -> SegmentEntry:
    return SegmentEntry(f"s{number}", "", documents=1, chunks=chunks)


@pytest.mark.parametrize("size", [40, 4_000, 40_000, 120_000])
def test_segments_of_any_size_become_fewer(size: int) -> None:
    """So that their number grows with the logarithm of what is indexed, or with its size."""
    segments = [entry(number, size) for number in range(200)]
    number = len(segments)
    while group := _to_merge(segments):
        merged = sum(each.chunks for each in group)
        assert len(group) > 1 and merged <= MERGED_CHUNKS
        number += 1
        segments = [*(each for each in segments if each not in group), entry(number, merged)]
    assert len(segments) <= max(40, 200 * size // MERGED_CHUNKS + 15)


def test_segments_that_fill_memory_stay() -> None:
    assert _to_merge([entry(number, 200_000) for number in range(20)]) == []


def test_the_rows_of_a_table_are_read_at_once(tmp_path: Path) -> None:
    rows = "\n".join(f"| copper {n} | {n} mm |" for n in range(300))
    text = f"# Wires\n\nTable 7 Copper conductors\n\n| Wire | Size |\n|---|---|\n{rows}\n"
    (tmp_path / "wires.md").write_text(text, encoding="utf-8")
    list(ingest_files([(tmp_path / "wires.md", "wires.md")], tmp_path / "index"))
    with Index.open(tmp_path / "index", Settings()) as index:
        index.search("anything else", 5)
        asked: list[str] = []
        for segment in index.snapshot.segments:
            segment._database.set_trace_callback(asked.append)
        found = index.search("size of copper 217", 5)
        assert any("217" in passage.snippet for passage in found.passages)
    assert len(asked) < 60
