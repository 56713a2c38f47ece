"""A field whose postings are in a server: read by key, some keys together, and kept meanwhile."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import numpy as np

from pincite.core.errors import StoreError
from pincite.index.postings import Array, Field
from pincite.store.server.buckets import Slice, bucket_of, unpacked_bucket
from pincite.store.server.segment import ServerSegment

# Postings of one field of one segment that are kept; rare words come and go.
KEPT_BYTES = 32_000_000


class BucketField(Field):
    """One field of a segment in a server, as much of one as scoring uses.

    The places of postings are numbers of our own: what counts is that the same key always has the
    same ones, and that its rows and counts are found by them.
    """

    def __init__(self, name: str, segment: ServerSegment) -> None:
        facts = segment.fields[name]
        self.name = name
        self.segment = segment
        self.bits: int = facts["bits"]
        self.keys: Any = _Keys(facts["keys"], np.dtype(facts["dtype"]))
        self.rows: Any = _Slices(self, 1)
        self.counts: Any = _Slices(self, 2)
        self._buckets: OrderedDict[int, dict[int, Slice]] = OrderedDict()
        self._kept = 0
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
        with self._lock:
            known = self._buckets.get(bucket)
            if known is not None:
                self._buckets.move_to_end(bucket)
                return known.get(key)
        fetch_buckets([(self, [key])])
        with self._lock:
            return self._buckets[bucket].get(key)

    def missing(self, keys: Sequence[int]) -> list[int]:
        """Return the buckets of keys that are not here."""
        homes = bucket_of(np.array(keys, dtype=np.uint64), self.bits)
        with self._lock:
            return [b for b in np.unique(homes).tolist() if b not in self._buckets]

    def keep(self, bucket: int, data: bytes) -> None:
        """Remember a bucket, and give up those that were not used for longest."""
        slices = unpacked_bucket(data)
        with self._lock:
            if bucket not in self._buckets:
                self._kept += len(data)
            self._buckets[bucket] = slices
            self._buckets.move_to_end(bucket)
            while self._kept > KEPT_BYTES and len(self._buckets) > 1:
                _, old = self._buckets.popitem(last=False)
                self._kept -= sum(16 + 6 * len(each.rows) for each in old.values()) + 4


def fetch_buckets(wanted: Iterable[tuple[Field | None, Sequence[int]]]) -> None:
    """Read the buckets of keys that are not here yet: one question for all segments."""
    fields: dict[str, BucketField] = {}
    numbers: dict[str, list[int]] = defaultdict(list)
    for field, keys in wanted:
        if isinstance(field, BucketField) and keys and (missing := field.missing(keys)):
            fields[field.segment.entry.name] = field
            numbers[field.segment.entry.name] += missing
    if not fields:
        return
    one = next(iter(fields.values()))
    found = one.segment.engine.blobs(one.name, numbers)
    for segment, bucket, data in found:
        fields[segment].keep(bucket, data)
    if len(found) < sum(map(len, numbers.values())):
        raise StoreError(
            f"{one.segment.engine.shown}: this generation of the index is no longer there",
            hint="open the index again",
        )


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
