"""The inverted index of one segment, as arrays that are memory-mapped and never rebuilt.

A *field* is a sorted array of keys with, for each key, the rows that contain it and how often:

    {field}_keys     uint64, sorted     hash of a term; of a pair: see pair_key
    {field}_offsets  signed, one more   where the key's postings start
    {field}_rows     unsigned           rows in ascending order
    {field}_counts   unsigned           occurrences in that row, at most MAX_COUNT

``term`` is the field of single terms, ``pair`` that of neighbouring content terms, function words
between them passed over; ``pair_lengths`` holds how many each row has. ``stream`` holds every row's
terms in order (as positions in term_keys) and ``stream_offsets`` where each row starts: it serves
window scores, and merging segments without reading any text again.

Numbers are as narrow as their largest one allows: most segments have fewer than 65,536 rows and
terms, and then take half the space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
MAX_COUNT = np.iinfo(np.uint16).max


def term_key(term: str) -> int:
    """Return the 64-bit key of a term, the same in every process and version."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def pair_key(left: int, right: int, keys: Array) -> int:
    """Return the key of two neighbouring terms as a field's keys write it.

    Positions of terms take half of the bits each.
    """
    return left << (4 * keys.dtype.itemsize) | right


def build_postings(
    keys: Array, stream: Array, offsets: Array, *, pairs: bool, skipped: Array
) -> dict[str, Array]:
    """Return the arrays of a segment.

    Args:
        keys: the key of each term, in any order; every term occurs in the stream.
        stream: the terms of all rows one after the other, as positions in ``keys``.
        offsets: where each row starts in the stream, and its end.
        pairs: whether to index neighbouring terms too.
        skipped: which places of the stream pairs are formed across.
    """
    order = np.argsort(keys)
    rank = np.empty(len(keys), dtype=np.uint32)
    rank[order] = np.arange(len(keys), dtype=np.uint32)
    stream, keys = rank[stream], keys[order]
    size = len(offsets) - 1
    rows = np.repeat(np.arange(size, dtype=np.uint64), np.diff(offsets))
    arrays = {"stream": narrow(stream), "stream_offsets": narrow_signed(offsets)}
    arrays |= _field("term", stream.astype(np.uint64), rows)
    arrays["term_keys"] = keys
    if pairs:
        kept = ~skipped
        arrays |= _pairs(stream[kept].astype(np.uint64), rows[kept], len(keys), size)
    return arrays


def _pairs(stream: Array, rows: Array, vocabulary: int, size: int) -> dict[str, Array]:
    """Return the field of neighbouring terms and each row's number of pairs."""
    bits = np.uint64(max(1, vocabulary).bit_length())
    inside = rows[1:] == rows[:-1]
    rows = rows[1:][inside]
    arrays = _field("pair", (stream[:-1][inside] << bits) | stream[1:][inside], rows)
    packed = arrays["pair_keys"]
    low = (np.uint64(1) << bits) - np.uint64(1)
    kind: type[np.unsignedinteger[Any]] = np.uint32 if vocabulary <= 1 << 16 else np.uint64
    half = np.uint64(4 * np.dtype(kind).itemsize)
    arrays["pair_keys"] = (((packed >> bits) << half) | (packed & low)).astype(kind)
    arrays["pair_lengths"] = narrow_signed(np.bincount(rows.astype(np.int64), minlength=size))
    return arrays


def _field(name: str, keys: Array, rows: Array) -> dict[str, Array]:
    """Return the postings of a field from its (key, row) occurrences."""
    width = np.uint64((int(rows.max()) + 1 if len(rows) else 1).bit_length())
    if len(keys) and int(keys.max()).bit_length() + int(width) > 64:
        order = np.lexsort((rows, keys))  # too large to pack into one number: slower, same result
        keys, rows = keys[order], rows[order]
    else:
        packed = np.sort((keys << width) | rows)
        keys, rows = packed >> width, packed & ((np.uint64(1) << width) - np.uint64(1))
    is_posting = _changes(keys) | _changes(rows)
    at = np.flatnonzero(is_posting)
    counts = np.diff(at, append=len(keys))
    keys = keys[at]
    first = np.flatnonzero(_changes(keys))
    return {
        f"{name}_keys": keys[first],
        f"{name}_offsets": narrow_signed(np.append(first, len(keys))),
        f"{name}_rows": narrow(rows[at]),
        f"{name}_counts": narrow(np.minimum(counts, MAX_COUNT)),
    }


def narrow(values: Array) -> Array:
    """Return the numbers, none below 0, in the narrowest unsigned type that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def narrow_signed(values: Array) -> Array:
    """Return the numbers in 32 bits if they fit; signed, so that differences stay true."""
    fits = int(values.max(initial=0)) <= np.iinfo(np.int32).max
    return values.astype(np.int32 if fits else np.int64)


def _changes(values: Array) -> Array:
    """Return where a value differs from the one before it; the first always does."""
    changes = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def live_terms(parts: Iterable[tuple[Mapping[str, Array], Array]]) -> tuple[Array, Array, Array]:
    """Return keys, stream and offsets of the live rows of several segments, one after the other.

    Args:
        parts: for each segment its arrays and which of its rows are live.
    """
    pieces, lengths = [], []
    for arrays, live in parts:
        sizes = np.diff(arrays["stream_offsets"])
        stream = arrays["stream"][np.repeat(live, sizes)]
        pieces.append(arrays["term_keys"][stream])
        lengths.append(sizes[live])
    hashes = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.uint64)
    keys, stream = np.unique(hashes, return_inverse=True)
    offsets = np.concatenate(([0], *lengths)).cumsum()
    return keys, stream.astype(np.uint32), offsets
