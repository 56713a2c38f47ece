"""The arrays of a segment that lives in a server: small ones whole, large ones in pages."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

import numpy as np

from pincite.core.errors import StoreError
from pincite.store.array_files import Array
from pincite.store.server.buckets import bits_for, packed_buckets
from pincite.store.server.contract import Engine

LAYOUT = "layout"
# Read here and there, a few rows at a time: a page has about a dozen of them.
PAGED = ("stream",)
PAGE_ITEMS = 2048
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
        self._pages: OrderedDict[int, Array] = OrderedDict()
        self._lock = Lock()
        self.dtype = np.dtype(facts["dtype"])
        self.shape: tuple[int, ...] = tuple(facts["shape"])

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def __getitem__(self, at: Any) -> Array:
        if not isinstance(at, slice) or at == slice(None):
            whole = self._arrays.read(self._name)
            return np.asarray(whole[at])
        begin, end, _ = at.indices(len(self))
        numbers = self._numbers(begin, end)
        pages = self._read(numbers)
        if not pages:
            return np.zeros(0, dtype=self.dtype)
        first = numbers[0] * self._items
        joined = pages[0] if len(pages) == 1 else np.concatenate(pages)
        return joined[begin - first : end - first]

    def fetch(self, begins: Array, ends: Array) -> None:
        """Read all stretches at once, before somebody asks for one after the other."""
        stretches = zip(begins.tolist(), ends.tolist(), strict=True)
        self._read(sorted({n for begin, end in stretches for n in self._numbers(begin, end)}))

    def _numbers(self, begin: int, end: int) -> range:
        return range(begin // self._items, -(-end // self._items)) if end > begin else range(0)

    def _read(self, numbers: range | list[int]) -> list[Array]:
        with self._lock:
            known = {n: self._pages[n] for n in numbers if n in self._pages}
        missing = [n for n in numbers if n not in known]
        if missing:
            known |= self._arrays.pages(self._name, missing, self.dtype)
            if len(known) < len(numbers):
                raise self._arrays.damaged(self._name)
        with self._lock:
            for number, page in known.items():
                self._pages[number] = page
                self._pages.move_to_end(number)
            while len(self._pages) > max(KEPT_PAGES, len(numbers)):
                self._pages.popitem(last=False)
        return [known[n] for n in numbers]


class ServerArrays(Mapping[str, Array]):
    """A segment's arrays by name, each read when it is first asked for."""

    def __init__(self, engine: Engine, segment: str) -> None:
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
