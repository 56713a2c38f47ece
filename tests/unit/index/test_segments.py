"""Segments: which become one."""

from __future__ import annotations

import pytest

from pincite.index.builder import MERGED_CHUNKS, _to_merge
from pincite.store.manifest import SegmentEntry


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
