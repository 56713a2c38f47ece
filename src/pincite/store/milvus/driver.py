"""Milvus behind ``store/vectordb``.

An index has one collection for its records and one for its vectors of each length. A home is a
partition of them: reading touches no others, and dropping one is dropping a partition. A mark is an
empty collection; its note is the description.

Every question names the time of the server that its answer has to be after (Milvus calls that a
customized consistency level). A generation's own time is known, so a reader waits for a node that
lags behind, and for nothing else; the strong level would wait for the server's next tick each time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from pincite.core.store_settings import StoreSettings
from pincite.store.array_files import Array
from pincite.store.milvus.client import PAUSE_SECONDS, Client
from pincite.store.milvus.collections import Collections, Exists
from pincite.store.vectordb.address import Address, address_of, count_of, index_name
from pincite.store.vectordb.driver import KEYS, Absent, Found, Near, Record
from pincite.store.vectordb.engine import VectorEngine

LIKE = "milvus://localhost:19530/default#laws"
OPTIONS = {"shards": "1", "replicas": "1", "tls": "false"}
LONGEST = 65_535  # bytes of a text, which is plain ASCII here
LONGEST_ID = 200
INDEX: dict[str, Any] = {
    "index_type": "HNSW",
    "metric_type": "IP",
    "params": {"M": 16, "efConstruction": 200},
}
NO_INDEX: dict[str, Any] = {"index_type": "FLAT", "metric_type": "L2", "params": {}}
OF_NUMBERS: dict[str, Any] = {"index_type": "STL_SORT"}
# How many candidates a search follows; more find more.
LEAST_FOLLOWED, MOST_FOLLOWED = 300, 32_000
# So many new vectors are worth an index at once; fewer wait for the server's own time.
INDEXED_FROM = 5_000
# And so many new records are worth having their keys sorted: until then they are read through.
SORTED_FROM = 200_000
VECTOR_BATCH_BYTES = 8_000_000
# The server's time: milliseconds, then a counter.
_COUNTER_BITS = 18


def open_milvus(url: str, settings: StoreSettings | None = None) -> VectorEngine:
    """Return the engine of an index in Milvus."""
    settings = settings or StoreSettings()
    address = address_of(url, port=19530, options=OPTIONS, like=LIKE)
    return VectorEngine(MilvusDriver(address, settings), settings)


class MilvusDriver:
    """Some collections of a database as one index."""

    longest = LONGEST

    def __init__(self, address: Address, settings: StoreSettings) -> None:
        self.shown = address.shown
        self._name = index_name(address.name, "Milvus")
        self._client = Client(address, address.path or "default", settings)
        self._ask = self._client.ask
        self._records = f"{self._name}_records"
        self._new_records = 0
        self._collections = Collections(
            self._client,
            shards=count_of(address.options, "shards", 16),
            replicas=count_of(address.options, "replicas", 64),
        )

    def close(self) -> None:
        self._client.close()

    def server(self) -> str:
        def version(client: Any, seconds: float) -> str:
            return str(client.get_server_version(timeout=seconds))

        return f"Milvus {self._ask(version)}"

    # Time

    def stamp(self) -> int:
        def alloc(client: Any, seconds: float) -> int:
            return int(client._get_connection().alloc_timestamp(timeout=seconds))

        return self._ask(alloc)

    def seconds(self, stamp: int) -> float:
        return (stamp >> _COUNTER_BITS) / 1000

    # Marks

    def _mark(self, name: str) -> str:
        return f"{self._name}_mark_{name}"

    def marks(self) -> list[str]:
        prefix = self._mark("")
        names = self._collections.names()
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    def make_mark(self, name: str, note: str) -> bool:
        try:
            self._collections.create(self._mark(name), {"id": 0}, ("nothing", 2), note=note)
        except Exists:
            return False
        # One that is alike in everything the server takes for the same: whose it is has to be read.
        return self.note(name) == note

    def note(self, name: str) -> str | None:
        with suppress(Absent):
            return self._collections.note(self._mark(name))
        return None

    def drop_mark(self, name: str) -> None:
        with suppress(Absent):
            self._collections.drop(self._mark(name))

    # Homes

    def prepare(self) -> None:
        keys = [f"key{place}" for place in range(KEYS)]
        columns = {"id": LONGEST_ID, **dict.fromkeys(keys, 0), "body": LONGEST}
        # Each collection has to have vectors, and an index of them.
        indexes = {**dict.fromkeys(keys, OF_NUMBERS), "nothing": NO_INDEX}
        self._collections.prepare(self._records, columns, indexes, ("nothing", 2))

    def add_home(self, home: int) -> None:
        self._collections.add_partition(self._records, _partition(home))

    def _all_homes(self) -> dict[str, set[int]]:
        """Return the homes of each collection."""
        wanted = (self._records, f"{self._name}_vectors_")
        return {
            name: {int(p[1:]) for p in self._collections.partitions(name) if p[0] == "h"}
            for name in self._collections.names()
            if name.startswith(wanted)
        }

    def homes(self) -> set[int]:
        return set().union(*self._all_homes().values())

    def drop_homes(self, homes: Collection[int]) -> None:
        for name, present in self._all_homes().items() if homes else ():
            for home in present.intersection(homes):
                self._collections.drop_partition(name, _partition(home))

    def remove(self) -> None:
        names = self._collections.names()
        ours = [name for name in names if name.startswith(f"{self._name}_vectors_")]
        ours += [self._records] * (self._records in names)
        for name in (*ours, *map(self._mark, self.marks())):
            with suppress(Absent):
                self._collections.drop(name)

    def _vectors_of(self, dimension: int) -> str:
        return f"{self._name}_vectors_{dimension}"

    # Records

    def put(self, home: int, records: Sequence[Record], *, replace: bool = False) -> None:
        rows = [
            {
                "id": record.id,
                **{f"key{place}": key for place, key in enumerate(record.keys)},
                "body": record.body,
                "nothing": (0.0, 0.0),
            }
            for record in records
        ]
        self._send(self._records, home, rows, replace=replace)
        self._new_records += len(rows)
        if self._new_records >= SORTED_FROM:
            self._new_records = 0
            self._collections.flush(self._records)

    def _send(
        self, collection: str, home: int, rows: list[dict[str, Any]], *, replace: bool = False
    ) -> None:
        partition = _partition(home)

        def send(client: Any, seconds: float) -> None:
            write: Callable[..., Any] = client.upsert if replace else client.insert
            write(collection, rows, partition_name=partition, timeout=seconds)

        until = time.monotonic() + self._client.seconds
        while True:
            try:
                return self._ask(send)
            except Absent:
                is_there = partition in self._collections.partitions(collection)
                if not is_there or time.monotonic() > until:
                    raise
                self._collections.spread(collection)
                time.sleep(PAUSE_SECONDS)

    def by_id(self, homes: Collection[int], ids: Sequence[str], after: int) -> list[Found]:
        return self._found(homes, f"id in {json.dumps(list(ids))}", after) if ids else []

    def by_key(
        self, homes: Collection[int], place: int, keys: Sequence[int], after: int, limit: int = 0
    ) -> list[Found]:
        return self._found(homes, f"key{place} in {list(keys)}", after, limit) if keys else []

    def _found(
        self, homes: Collection[int], condition: str, after: int, limit: int = 0
    ) -> list[Found]:
        found = self._query(self._records, homes, condition, ["body"], after, limit)
        return [Found(each["id"], each["body"]) for each in found]

    def _query(
        self,
        collection: str,
        homes: Collection[int],
        condition: str,
        fields: list[str],
        after: int,
        limit: int = 0,
    ) -> list[dict[str, Any]]:
        some = {"limit": limit} if limit else {}
        return self._ask(
            lambda client, seconds: list(
                client.query(
                    collection,
                    filter=condition,
                    output_fields=fields,
                    partition_names=[_partition(home) for home in homes],
                    timeout=seconds,
                    **_after(after),
                    **some,
                )
            )
        )

    # Vectors

    def put_vectors(self, home: int, vectors: Array) -> None:
        count, dimension = vectors.shape
        collection = self._vectors_of(dimension)
        indexes = {"vector": INDEX}
        self._collections.prepare(collection, {"number": 0}, indexes, ("vector", dimension))
        self._collections.add_partition(collection, _partition(home))
        some = max(1, VECTOR_BATCH_BYTES // (4 * dimension))
        for at in range(0, count, some):
            block = enumerate(vectors[at : at + some], at)
            rows = [{"number": home << 32 | n, "vector": vector} for n, vector in block]
            self._send(collection, home, rows)
        if count >= INDEXED_FROM:
            self._collections.flush(collection)

    def vectors(
        self, home: int, dimension: int, numbers: Sequence[int], after: int
    ) -> dict[int, Array]:
        condition = f"number in {[home << 32 | number for number in numbers]}"
        collection = self._vectors_of(dimension)
        found = self._query(collection, [home], condition, ["vector"], after)
        return {
            each["number"] & 0xFFFF_FFFF: np.asarray(each["vector"], dtype=np.float32)
            for each in found
        }

    def near(
        self,
        homes: Collection[int],
        dimension: int,
        vector: Array,
        wanted: int,
        after: int,
        among: Mapping[int, Array] | None = None,
    ) -> list[Near]:
        numbers = [
            number
            for home, some in (among or {}).items()
            for number in (some + (home << 32)).tolist()
        ]
        followed = min(MOST_FOLLOWED, max(LEAST_FOLLOWED, 2 * wanted))
        found = self._ask(
            lambda client, seconds: client.search(
                self._vectors_of(dimension),
                [vector.astype(np.float32)],
                filter="" if among is None else f"number in {numbers}",
                limit=wanted,
                search_params={"metric_type": "IP", "params": {"ef": followed}},
                partition_names=[_partition(home) for home in homes],
                timeout=seconds,
                **_after(after),
            )
        )
        hits = [(int(each.id), float(each.distance)) for each in found[0]]
        return [Near(n >> 32, n & 0xFFFF_FFFF, score) for n, score in hits]


def _partition(home: int) -> str:
    return f"h{home}"


def _after(stamp: int) -> dict[str, Any]:
    return {"consistency_level": "Customized", "guarantee_timestamp": stamp}
