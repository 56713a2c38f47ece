"""Keyed slices of arrays, packed so that a few keys are fetched without the rest.

A field (see ``index/postings.py``) has for each key a slice of rows and one of counts. Most slices
are tiny: one row of a server for each would be mostly overhead, so some keys share a bucket. Which
bucket follows from the key and the number of buckets alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pincite.core.errors import StoreError
from pincite.store.array_files import Array

KEYS_PER_BUCKET = 32
_MIXER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: spreads any numbers


class Slice(NamedTuple):
    """What a field has for one key."""

    position: int  # of the key among all keys of the field
    rows: Array
    counts: Array


def bits_for(keys: int) -> int:
    """Return the bits of a bucket's number for so many keys.

    >>> bits_for(0), bits_for(64), bits_for(100_000)
    (0, 2, 12)
    """
    return (keys // KEYS_PER_BUCKET).bit_length()


def bucket_of(keys: Array, bits: int) -> Array:
    """Return the bucket of each key."""
    if not bits:
        return np.zeros(len(keys), dtype=np.int64)
    mixed = keys.astype(np.uint64) * _MIXER
    return (mixed >> np.uint64(64 - bits)).astype(np.int64)


def packed_buckets(
    name: str, arrays: Mapping[str, Array], bits: int
) -> Iterator[tuple[int, bytes]]:
    """Yield all buckets of a field, also empty ones: one that is not there was lost."""
    keys, offsets = arrays[f"{name}_keys"], arrays[f"{name}_offsets"].astype(np.int64)
    rows, counts = arrays[f"{name}_rows"], arrays[f"{name}_counts"]
    home = bucket_of(keys, bits)
    order = np.argsort(home, kind="stable")
    ends = np.searchsorted(home[order], np.arange(1 << bits), side="right").tolist()
    for number, (begin, end) in enumerate(pairwise([0, *ends])):
        chosen = order[begin:end]
        sizes = offsets[chosen + 1] - offsets[chosen]
        at = np.repeat(offsets[chosen] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        parts = (
            np.array([len(chosen)], dtype="<u4"),
            keys[chosen].astype("<u8"),
            chosen.astype("<u4"),
            sizes.astype("<u4"),
            rows[at].astype("<u4"),
            counts[at].astype("<u2"),
        )
        yield number, b"".join(part.tobytes() for part in parts)


def unpacked_bucket(data: bytes) -> dict[int, Slice]:
    """Return the slices of a bucket by key; StoreError if its bytes do not add up."""
    try:
        size = int(np.frombuffer(data, "<u4", 1)[0])
        keys = np.frombuffer(data, "<u8", size, 4)
        positions = np.frombuffer(data, "<u4", size, 4 + 8 * size)
        sizes = np.frombuffer(data, "<u4", size, 4 + 12 * size).astype(np.int64)
        total, start = int(sizes.sum()), 4 + 16 * size
        rows = np.frombuffer(data, "<u4", total, start)
        counts = np.frombuffer(data, "<u2", total, start + 4 * total)
    except (ValueError, IndexError) as error:
        raise StoreError(f"a bucket is damaged: {error}", hint="copy the index anew") from error
    ends = np.cumsum(sizes).tolist()
    return {
        key: Slice(position, rows[end - length : end], counts[end - length : end])
        for key, position, length, end in zip(
            keys.tolist(), positions.tolist(), sizes.tolist(), ends, strict=True
        )
    }
