"""MongoDB behind the contract of ``store/server``.

Its documents are rows of the contract's tables. Each is marked with its segment's home: the
segment's name and the term of the writer that wrote it, so that what a writer that was thought dead
still sends is never taken for a part of another's segment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import numpy as np

from pincite.core.errors import StaleIndex, StoreError
from pincite.core.store_settings import StoreSettings
from pincite.store.array_files import Array
from pincite.store.manifest import manifest_of
from pincite.store.mongodb.client import Address, Client, Collection
from pincite.store.mongodb.lease import STATE, Lease
from pincite.store.mongodb.values import (
    Record,
    batches,
    blob_key,
    joined,
    matrix_of,
    record_of,
    row_of,
    vector_records,
)
from pincite.store.server.contract import TABLES, Row
from pincite.store.server.exact import nearest_of_all

FORMAT = 1
# Names of blobs in one question.
MOST_KEYS = 5_000


class MongoEngine:
    """Some collections of a database as the server of one index."""

    def __init__(self, url: str, settings: StoreSettings | None = None) -> None:
        self._client = Client(Address(url), settings or StoreSettings())
        self._lease: Lease | None = None
        self._homes: dict[str, str] = {}  # of the segments that were heard of
        self._matrices: dict[str, Array] = {}  # vectors by name, read once and kept
        self._lock = Lock()

    @property
    def shown(self) -> str:
        return self._client.address.shown

    def close(self) -> None:
        self._client.close()

    def _collection(self, name: str, *, journalled: bool = False) -> Collection:
        prefix = self._client.address.name
        return self._client.collection(f"{prefix}_{name}", journalled=journalled)

    # Reading

    def head(self) -> bytes | None:
        state = self._state()
        if state is None or state["head"] is None:
            return None
        found = self._manifests([state["head"]])
        if not found:
            raise StoreError(f"{self.shown}: its manifest is gone", hint="try again")
        return bytes(found[0]["manifest"])

    def stamp(self) -> str:
        state = self._state()
        if state is None or state["head"] is None:
            return ""
        # Keys come again where a database was dropped and made anew.
        with self._client.explained():
            generations = self._collection("generations")
            found = generations.find_one({"_id": state["head"]}, {"made": 1}) or {}
        return f"{state['head']} {found.get('made', '')}"

    def server(self) -> str:
        return f"MongoDB {self._client.version()}"

    def generations(self) -> dict[int, tuple[float, bytes]]:
        state = self._state()
        if state is None or not state["kept"]:
            return {}
        now = self._client.now()
        return {
            each["number"]: ((now - each["made"]).total_seconds(), bytes(each["manifest"]))
            for each in self._manifests(state["kept"])
        }

    def _state(self) -> Mapping[str, Any] | None:
        with self._client.explained():
            found: Mapping[str, Any] | None = self._collection("state").find_one(STATE)
        known = FORMAT if found is None else found.get("format", FORMAT)
        if known != FORMAT:
            raise StaleIndex(
                f"{self.shown} has collections of version {known}, this Pincite wants {FORMAT}",
                hint="write to it once with the newest Pincite, and read it with that",
            )
        return found

    def _manifests(self, keys: Sequence[str]) -> list[Mapping[str, Any]]:
        found = self._found("generations", {"_id": {"$in": list(keys)}})
        for each in found:
            self._homes.update(each["homes"])
        return found

    def _found(
        self, table: str, wanted: Mapping[str, Any], columns: Sequence[str] = (), limit: int = 0
    ) -> list[Any]:
        shown = {"_id": 0, "segment": 1, **dict.fromkeys(columns, 1)} if columns else None
        with self._client.explained():
            return list(self._collection(table).find(wanted, shown, limit=limit))

    def _home(self, segment: str) -> str:
        try:
            return self._homes[segment]
        except KeyError as error:
            raise self._gone(segment) from error

    def _gone(self, name: str) -> StoreError:
        return StoreError(f"{self.shown}: {name} is no longer there", hint="open the index again")

    def select(
        self,
        table: str,
        columns: Sequence[str],
        segments: Sequence[str],
        by: str = "",
        values: Sequence[Any] = (),
        limit: int = 0,
    ) -> list[Row]:
        homes = {self._home(segment): segment for segment in segments}
        wanted: Record = {"segment": {"$in": list(homes)}}
        if by:
            wanted[by] = {"$in": list(values)}
        found = self._found(table, wanted, columns, limit)
        return [self._row(table, each, homes[each["segment"]], columns) for each in found]

    def _row(self, table: str, record: Record, segment: str, columns: Sequence[str]) -> Row:
        for column in columns:
            if isinstance(record[column], dict):  # too long for one document
                found = sorted(self.blobs(record[column]["parts"], {segment: None}))
                parts = [data for _, _, data in found]
                record[column] = joined(TABLES[table].columns[column], parts)
        return row_of(record, segment, columns)

    def blobs(
        self, name: str, wanted: Mapping[str, Sequence[int] | None]
    ) -> list[tuple[str, int, bytes]]:
        homes = {self._home(segment): segment for segment in wanted}
        whole = [self._home(segment) for segment, numbers in wanted.items() if numbers is None]
        keys = [
            blob_key(self._home(segment), name, number)
            for segment, numbers in wanted.items()
            for number in numbers or ()
        ]
        asked: list[Record] = [{"segment": {"$in": whole}, "name": name}] if whole else []
        for at in range(0, len(keys), MOST_KEYS):
            asked.append({"_id": {"$in": keys[at : at + MOST_KEYS]}})
        return [
            (homes[each["segment"]], each["number"], bytes(each["data"]))
            for question in asked
            for each in self._found("blobs", question, ("number", "data"))
        ]

    def vectors(self, name: str, numbers: Sequence[int]) -> Array:
        matrix = self._matrix(name)
        try:
            return matrix[np.array(numbers, dtype=np.int64)].astype(np.float16)
        except IndexError as error:
            raise self._gone(f"a part of vectors {name}") from error

    def _matrix(self, name: str) -> Array:
        """Return all vectors of a name, from memory if they were read before.

        As float32, which holds every float16 exactly and is compared six times as fast.
        """
        with self._lock:  # two threads would read the same
            if name not in self._matrices:
                records = self._found(
                    "vectors", {"segment": self._home(name)}, ("number", "dimension", "data")
                )
                if not records:
                    raise self._gone(f"vectors {name}")
                self._matrices[name] = matrix_of(records)
            return self._matrices[name]

    def nearest(
        self, names: Sequence[str], vector: Array, wanted: int, allowed: Mapping[str, Array]
    ) -> list[tuple[str, int, float]]:
        return nearest_of_all(self._matrix, names, vector, wanted, allowed)

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        self._state()  # one of another version is not to be touched
        lease = Lease(self._client, self._collection("state", journalled=True))
        state = lease.take()
        try:
            if state.get("format") != FORMAT:
                self._make_indexes()
                lease.change({"$set": {"format": FORMAT}})
            self._lease = lease
            yield
        finally:
            self._lease = None
            with suppress(StoreError):  # of a server that is gone: the lease runs out
                lease.give_back()

    def _make_indexes(self) -> None:
        wanted = {
            name: [["segment"], *([column, "segment"] for column in table.looked_up)]
            for name, table in TABLES.items()
        }
        wanted |= {"blobs": [["segment", "name"]], "vectors": [["segment"]]}
        with self._client.explained(), self._client.patient():
            for name, indexes in wanted.items():
                models = [self._client.index_model([(c, 1) for c in each]) for each in indexes]
                self._collection(name).create_indexes(models)

    @property
    def _writing(self) -> Lease:
        if self._lease is None:
            raise ValueError("take the lock first")
        self._lease.check()
        return self._lease

    def _claim(self, segment: str) -> str:
        """Return the home of a segment that is being written, and let the sweeper know it."""
        home = f"{segment}.{self._writing.term}"
        if self._homes.get(segment) != home:
            with self._client.explained():
                self._collection("segments").insert_one({"_id": home})
            self._homes[segment] = home
        return home

    def insert(self, table: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
        home = self._claim(segment)
        parts: list[Record] = []

        def records() -> Iterator[Record]:
            for values in rows:
                record, more = record_of(table, home, values)
                parts.extend(more)
                yield record

        self._send(table, records)
        self._send("blobs", lambda: iter(parts))

    def _send(self, table: str, records: Callable[[], Iterator[Record]]) -> None:
        with self._client.explained():
            for batch in batches(records()):
                self._writing.check()
                self._collection(table).insert_many(batch)

    def put_vectors(self, name: str, model: str, vectors: Array) -> None:
        home = self._claim(name)
        self._send("vectors", lambda: vector_records(home, model, vectors))

    def switch(self, number: int, manifest: bytes) -> None:
        key = f"{number}.{self._writing.term}"
        record = {"number": number, "manifest": manifest, "homes": self._homes_of(manifest)}
        with self._client.explained():
            self._collection("generations", journalled=True).update_one(
                {"_id": key}, {"$set": record, "$currentDate": {"made": True}}, upsert=True
            )
        # The one write that counts; it waits for the journal, which has all before it.
        self._writing.change({"$set": {"head": key}, "$push": {"kept": key}})

    def _homes_of(self, manifest: bytes) -> dict[str, str]:
        """Return the homes of the segments that a manifest names."""
        named = manifest_of(manifest, origin=self.shown)
        names = [entry.name for entry in named.segments]
        names += [entry.name for entry in named.vectors]
        return {name: self._home(name) for name in names}

    def sweep(self, generations: Sequence[int], segments: Sequence[str]) -> None:
        state = self._state()
        kept = [key for key in (state or {}).get("kept", ()) if _number(key) in generations]
        self._writing.change({"$set": {"kept": kept}})
        homes = [self._home(segment) for segment in segments]
        with self._client.explained(), self._client.patient():
            self._collection("generations").delete_many({"_id": {"$nin": kept}})
            known = self._found("segments", {"_id": {"$nin": homes}})
            gone = {"$in": [each["_id"] for each in known]}
            if not known:
                return
            for table in (*TABLES, "vectors"):
                self._collection(table).delete_many({"segment": gone})
            self._collection("segments").delete_many({"_id": gone})

    def remove(self) -> None:
        with self.lock():
            self._writing.change({"$set": {"head": None, "kept": []}})  # there is no index any more
            with self._client.explained(), self._client.patient():
                for name in ("generations", *TABLES, "vectors", "segments", "state"):
                    self._collection(name).drop()


def _number(key: str) -> int:
    return int(key.partition(".")[0])
