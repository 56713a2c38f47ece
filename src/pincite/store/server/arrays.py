"""The arrays of a segment that lives in a server: small ones whole, large ones in pages.

Of a field (see ``index/postings.py``) a few keys are fetched without the rest. Most keys have tiny
slices of rows and counts: one row of a server for each would be mostly overhead, so some keys share
a bucket. Which bucket follows from the key and the number of buckets alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pincite.model.errors import StoreError
from pincite.store.files import Array
from pincite.store.segment import Field, RecentCache
from pincite.store.server.contract import StoreEngine
from pincite.store.server.engine_parts import gone

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


LAYOUT = "layout"
# Read here and there, a few rows at a time: a page has about a dozen of them.
PAGED = ("stream",)
PAGE_ITEMS = 2048
KEPT_VECTORS = 40_000
# Postings of one field of one segment that are kept; rare words come and go.
KEPT_BYTES = 32_000_000
KEPT_PAGES = 4096  # of one array; 16 MB or less
# The others are read whole. Servers have limits on a value, so they are cut as well.
WHOLE_BYTES = 4_000_000
# These are kept as buckets, by key; their keys are an array of their own.
FIELDS = ("term", "pair")
_IN_BUCKETS = {f"{name}_{part}" for name in FIELDS for part in ("offsets", "rows", "counts")}
_IN_BUCKETS.add("pair_keys")  # of terms, merging needs the keys


def blobs_of(arrays: Mapping[str, Array]) -> Iterator[tuple[str, int, bytes]]:
    """Yield arrays as blobs: name, number and data."""
    layout: dict[str, Any] = {"arrays": {}, "fields": {}}
    for name, array in arrays.items():
        if name in _IN_BUCKETS:
            continue
        items = PAGE_ITEMS if name in PAGED else max(1, WHOLE_BYTES // max(1, _row_bytes(array)))
        layout["arrays"][name] = {
            "dtype": array.dtype.str,
            "shape": array.shape,
            "items": items,
        }
        for number, at in enumerate(range(0, len(array), items)):
            yield name, number, np.ascontiguousarray(array[at : at + items]).tobytes()
    for name in FIELDS:
        if f"{name}_keys" in arrays:
            keys = arrays[f"{name}_keys"]
            bits = bits_for(len(keys))
            layout["fields"][name] = {"keys": len(keys), "dtype": keys.dtype.str, "bits": bits}
            for number, data in packed_buckets(name, arrays, bits):
                yield name, number, data
    yield LAYOUT, 0, json.dumps(layout).encode()


def _row_bytes(array: Array) -> int:
    return array[:1].nbytes


class PagedArray:
    """A long array of which pages are read when they are asked for; as much of one as is used."""

    def __init__(self, arrays: ServerArrays, name: str, facts: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self._name = name
        self._items: int = facts["items"]
        self._pages: RecentCache[int, Array] = RecentCache(KEPT_PAGES)
        self.dtype = np.dtype(facts["dtype"])
        self.shape: tuple[int, ...] = tuple(facts["shape"])

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def __getitem__(self, at: Any) -> Array:
        """Return what stands at some places, or between two; all pages are read at once."""
        is_whole = isinstance(at, slice) and at == slice(None)
        if is_whole or (isinstance(at, np.ndarray) and at.dtype == bool):
            return np.asarray(self._arrays.read(self._name)[at])
        places = np.arange(*at.indices(len(self))) if isinstance(at, slice) else np.asarray(at)
        homes = places // self._items
        pages = self._read(np.unique(homes).tolist())
        found = np.empty(len(places), dtype=self.dtype)
        for number, page in pages.items():
            own = np.flatnonzero(homes == number)
            found[own] = page[places[own] - number * self._items]
        return found

    def _read(self, numbers: list[int]) -> dict[int, Array]:
        known = self._pages.get(numbers)
        missing = [n for n in numbers if n not in known]
        if missing:
            read = self._arrays.pages(self._name, missing, self.dtype)
            if len(read) < len(missing):
                raise self._arrays.damaged(self._name)
            self._pages.put(read)
            known |= read
        return known


class VectorRows:
    """The vectors of a name, read when they are asked for; those used last are kept."""

    def __init__(self, engine: StoreEngine, name: str, shape: tuple[int, int]) -> None:
        self._engine = engine
        self._name = name
        self._kept: RecentCache[int, Array] = RecentCache(KEPT_VECTORS)
        self.shape = shape
        self.dtype = np.dtype(np.float16)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def __getitem__(self, at: Any) -> Array:
        wanted = np.arange(len(self))[at].tolist()
        if not wanted:
            return np.zeros((0, self.shape[1]), dtype=self.dtype)
        if len(wanted) > KEPT_VECTORS:
            return self._engine.vectors(self._name, wanted)
        known = self._kept.get(wanted)
        missing = [n for n in dict.fromkeys(wanted) if n not in known]
        if missing:
            read = dict(zip(missing, self._engine.vectors(self._name, missing), strict=True))
            self._kept.put(read)
            known |= read
        return np.stack([known[n] for n in wanted])


class ServerArrays(Mapping[str, Array]):
    """A segment's arrays by name, each read when it is first asked for."""

    def __init__(self, engine: StoreEngine, segment: str) -> None:
        self.engine = engine
        self.segment = segment
        self._known: dict[str, Any] = {}
        found = engine.blobs(LAYOUT, {segment: None})
        if not found:
            raise self.damaged(LAYOUT)
        layout = json.loads(found[0][2])
        self._layout: dict[str, Any] = layout["arrays"]
        self.fields: dict[str, Any] = layout["fields"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._layout)

    def __len__(self) -> int:
        return len(self._layout)

    def __getitem__(self, name: str) -> Array:
        known: Any = self._known.get(name)
        if known is None:
            facts = self._layout[name]
            known = PagedArray(self, name, facts) if name in PAGED else self.read(name)
            self._known[name] = known
        found: Array = known
        return found

    def read(self, name: str) -> Array:
        """Return a whole array."""
        facts = self._layout[name]
        pages = self.pages(name, None, np.dtype(facts["dtype"]))
        parts = [pages[number] for number in sorted(pages)]
        whole = np.concatenate(parts) if parts else np.zeros(0, dtype=facts["dtype"])
        if whole.size != math.prod(facts["shape"]):
            raise self.damaged(name)
        return whole.reshape(facts["shape"])

    def pages(self, name: str, numbers: list[int] | None, dtype: Any) -> dict[int, Array]:
        found = self.engine.blobs(name, {self.segment: numbers})
        return {number: np.frombuffer(data, dtype=dtype) for _, number, data in found}

    def damaged(self, name: str) -> StoreError:
        return StoreError(
            f"{self.engine.shown}: segment {self.segment} lacks a part of {name}",
            hint="copy the index anew",
        )


class BucketField(Field):
    """One field of a segment in a server, as much of one as scoring uses.

    The places of postings are numbers of our own: what counts is that the same key always has the
    same ones, and that its rows and counts are found by them.
    """

    def __init__(self, name: str, arrays: ServerArrays) -> None:
        facts = arrays.fields[name]
        self.name = name
        self.arrays = arrays
        self.bits: int = facts["bits"]
        self.keys: Any = _Keys(facts["keys"], np.dtype(facts["dtype"]))
        self.rows: Any = _Slices(self, 1)
        self.counts: Any = _Slices(self, 2)
        self.buckets: RecentCache[int, dict[int, Slice]] = RecentCache(KEPT_BYTES, _size_of)
        # Where the postings of a key stand: found once, however often its bucket is given up.
        self._spans: dict[int, tuple[int, int]] = {}  # by position
        self._key_at: dict[int, int] = {}  # by the beginning of a span
        self._end = 0
        self._lock = Lock()

    def position(self, key: int) -> int:
        found = self._slice(key)
        if found is None:
            return -1
        with self._lock:
            if found.position not in self._spans:
                end = self._end + len(found.rows)
                self._spans[found.position] = (self._end, end)
                self._key_at[self._end] = key
                self._end = end + 1  # so that no two begin at one place
        return found.position

    def span(self, position: int) -> tuple[int, int]:
        return self._spans[position]

    def dead(self, rows: Array) -> Mapping[int, int]:
        return _Dead(self, rows) if rows.any() else {}

    def at(self, start: int) -> Slice:
        """Return the postings that begin at a place."""
        found = self._slice(self._key_at[start])
        assert found is not None
        return found

    def _slice(self, key: int) -> Slice | None:
        bucket = int(bucket_of(np.array([key], dtype=np.uint64), self.bits)[0])
        while bucket not in (known := self.buckets.get([bucket])):
            fetch_buckets([(self, [key])])
        return known[bucket].get(key)

    def missing(self, keys: Iterable[int]) -> list[int]:
        """Return the buckets of keys that are not here."""
        homes = bucket_of(np.array(list(keys), dtype=np.uint64), self.bits)
        wanted = np.unique(homes).tolist()
        known = self.buckets.get(wanted)
        return [bucket for bucket in wanted if bucket not in known]


def fetch_buckets(wanted: Iterable[tuple[BucketField, Iterable[int]]]) -> None:
    """Read the buckets of keys that are not here yet: one question for all segments."""
    fields: dict[str, BucketField] = {}
    numbers: dict[str, set[int]] = {}
    for field, keys in wanted:
        if missing := field.missing(keys):
            fields[field.arrays.segment] = field
            numbers.setdefault(field.arrays.segment, set()).update(missing)
    if not fields:
        return
    one = next(iter(fields.values()))
    engine = one.arrays.engine
    found = engine.blobs(one.name, {name: sorted(some) for name, some in numbers.items()})
    for segment, bucket, data in found:
        fields[segment].buckets.put({bucket: unpacked_bucket(data)})
    if len(found) < sum(map(len, numbers.values())):
        raise gone(engine.shown, "this generation of the index")


def _size_of(bucket: Mapping[int, Slice]) -> int:
    """Return the bytes of a bucket, as it is packed."""
    return sum(16 + 6 * len(each.rows) for each in bucket.values()) + 4


class _Keys:
    """How many keys a field has, and of which type they are."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self._size = size
        self.dtype = dtype

    def __len__(self) -> int:
        return self._size


class _Slices:
    """Rows or counts, by the place where they begin."""

    def __init__(self, field: BucketField, part: int) -> None:
        self._field = field
        self._part = part

    def __getitem__(self, at: slice) -> Array:
        if at.start == at.stop:
            return np.zeros(0, dtype=np.uint32)
        found: Any = self._field.at(at.start)[self._part]
        return np.asarray(found)


class _Dead(Mapping[int, int]):
    """How many rows of a key are dead, counted when somebody asks."""

    def __init__(self, field: BucketField, rows: Array) -> None:
        self._field = field
        self._rows = rows

    def __getitem__(self, position: int) -> int:
        start, end = self._field.span(position)
        return int(self._rows[self._field.rows[start:end]].sum())

    def __iter__(self) -> Iterator[int]:
        raise TypeError("dead rows are counted by key")

    def __len__(self) -> int:
        raise TypeError("dead rows are counted by key")
