"""Postings in buckets are the postings, whatever the keys."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.index.postings import build_postings
from pincite.model.errors import StoreError
from pincite.store.segment import Field
from pincite.store.server.arrays import (
    PAGE_ITEMS,
    bits_for,
    blobs_of,
    bucket_of,
    packed_buckets,
    unpacked_bucket,
)

ROWS = st.lists(st.lists(st.integers(0, 300), max_size=30), min_size=1, max_size=40)


def arrays_of(rows: list[list[int]]) -> dict[str, np.ndarray]:
    keys = np.random.default_rng(0).permutation(301).astype(np.uint64) * np.uint64(2**55 // 3)
    words = np.array([word for row in rows for word in row], dtype=np.int64)
    known, stream = np.unique(words, return_inverse=True)
    offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    skipped = np.zeros(len(stream), dtype=bool)
    return build_postings(keys[known], stream, offsets, pairs=True, skipped=skipped)


@given(ROWS)
def test_every_key_is_found_with_its_postings(rows: list[list[int]]) -> None:
    arrays = arrays_of(rows)
    for name in ("term", "pair"):
        field = Field(name, arrays)
        bits = bits_for(len(field.keys))
        buckets = {n: unpacked_bucket(data) for n, data in packed_buckets(name, arrays, bits)}
        assert sorted(buckets) == list(range(1 << bits))
        assert sum(len(bucket) for bucket in buckets.values()) == len(field.keys)
        homes = bucket_of(field.keys, bits).tolist()
        for position, (key, home) in enumerate(zip(field.keys.tolist(), homes, strict=True)):
            start, end = field.span(position)
            found = buckets[home][key]
            assert found.position == position
            assert found.rows.tolist() == field.rows[start:end].tolist()
            assert found.counts.tolist() == field.counts[start:end].tolist()


def test_buckets_hold_some_keys_each() -> None:
    keys = np.arange(100_000, dtype=np.uint64) << np.uint64(16)  # as pairs are: all alike below
    sizes = np.bincount(bucket_of(keys, bits_for(len(keys))))
    assert sizes.max() < 4 * sizes.mean() < 400


def test_damaged_buckets_are_told() -> None:
    (_, data), *_ = packed_buckets("term", arrays_of([[1, 2, 3]]), 0)
    for length in (0, 3, 10, len(data) - 1):
        with pytest.raises(StoreError, match="damaged"):
            unpacked_bucket(data[:length])


def test_long_arrays_are_cut_into_pages() -> None:
    stream = np.arange(2 * PAGE_ITEMS + 5, dtype=np.uint16)
    pages = [data for name, _, data in blobs_of({"stream": stream}) if name == "stream"]
    assert [len(page) // 2 for page in pages] == [PAGE_ITEMS, PAGE_ITEMS, 5]
    assert b"".join(pages) == stream.tobytes()
