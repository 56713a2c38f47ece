"""Chroma behind ``store/vectordb``.

An index has one collection for its records and one for each set of vectors, so that no search by
meaning needs a filter, which is slow in Chroma. A mark is an empty collection; its note is in the
collection's metadata, which are written with it. The server has one state for all, so every
answer is after every stamp.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from pincite.core.errors import ConfigError
from pincite.core.store_settings import StoreSettings
from pincite.store.array_files import Array
from pincite.store.chroma.client import Client, Conflict
from pincite.store.vectordb.address import Address, address_of, index_name
from pincite.store.vectordb.driver import Absent, Found, Near, Record
from pincite.store.vectordb.engine import VectorEngine
from pincite.store.vectordb.values import key_of, pieces

LIKE = "chroma://localhost:8000/laws"
OPTIONS = {"tenant": "default_tenant", "database": "default_database", "tls": "false"}
LONGEST = 1_000_000
VECTOR_ROWS = 2_000
# Homes in one question.
MOST_HOMES = 200
# Of its index of vectors: links of each, how many are looked at while building and searching.
HNSW = {"space": "ip", "max_neighbors": 16, "ef_construction": 200, "ef_search": 300}
# Records and marks have to have one, too, and nobody asks it anything.
NO_HNSW = {"space": "l2", "max_neighbors": 4, "ef_construction": 10}
# Records that say which homes there are.
_HOMES = key_of("homes", "", "")


def open_chroma(url: str, settings: StoreSettings | None = None) -> VectorEngine:
    """Return the engine of an index in Chroma."""
    settings = settings or StoreSettings()
    address = address_of(url, port=8000, options=OPTIONS, like=LIKE)
    return VectorEngine(ChromaDriver(address, settings), settings)


class ChromaDriver:
    """Some collections of a database as one index."""

    longest = LONGEST

    def __init__(self, address: Address, settings: StoreSettings) -> None:
        self.shown = address.shown
        if address.name:
            raise ConfigError(f"{self.shown}: nothing may stand after #", hint=f"like {LIKE}")
        self._name = index_name(address.path, "Chroma")
        self._records = f"{self._name}_records"
        self._client = Client(address, settings)

    def close(self) -> None:
        self._client.close()

    def server(self) -> str:
        return f"Chroma {self._client.version()}"

    def stamp(self) -> int:
        return self._client.heartbeat()

    def seconds(self, stamp: int) -> float:
        return stamp / 1e9

    # Marks

    def marks(self) -> list[str]:
        return self._named(f"{self._name}_mark_")

    def _named(self, prefix: str) -> list[str]:
        names = self._client.names()
        return [name.removeprefix(prefix) for name in names if name.startswith(prefix)]

    def make_mark(self, name: str, note: str) -> bool:
        # A request that was sent twice may have been answered by a conflict with itself.
        with suppress(Conflict):
            self._client.create(f"{self._name}_mark_{name}", {"note": note}, NO_HNSW)
        return self.note(name) == note

    def note(self, name: str) -> str | None:
        with suppress(Absent):
            return str(self._client.metadata(f"{self._name}_mark_{name}")["note"])
        return None

    def drop_mark(self, name: str) -> None:
        with suppress(Absent):
            self._client.drop(f"{self._name}_mark_{name}")

    # Homes

    def prepare(self) -> None:
        with suppress(Conflict):
            self._client.create(self._records, {"made_by": "pincite"}, NO_HNSW)

    def add_home(self, home: int) -> None:
        self.put(home, [Record(f"{home}/home", (_HOMES,), "")])

    def homes(self) -> set[int]:
        wanted = {"where": {"key0": _HOMES}, "include": []}
        ids = self._client.of(self._records, "get", wanted)["ids"]
        return {int(each.partition("/")[0]) for each in ids}

    def drop_homes(self, homes: Collection[int]) -> None:
        present = self._named(f"{self._name}_vectors_") if homes else []
        for home in homes:
            if str(home) in present:
                with suppress(Absent):
                    self._client.drop(self._vectors_of(home))
        for some in pieces(sorted(homes), MOST_HOMES):
            wanted = {"where": {"home": {"$in": some}}}
            self._client.of(self._records, "delete", wanted, patient=True)

    def remove(self) -> None:
        ours = [f"{self._name}_vectors_{rest}" for rest in self._named(f"{self._name}_vectors_")]
        marks = [f"{self._name}_mark_{rest}" for rest in self.marks()]
        for name in (*ours, self._records, *marks):
            with suppress(Absent):
                self._client.drop(name)

    def _vectors_of(self, home: int) -> str:
        return f"{self._name}_vectors_{home}"

    # Records

    def put(self, home: int, records: Sequence[Record], *, replace: bool = False) -> None:
        keys = [
            {f"key{place}": key for place, key in enumerate(record.keys) if key}
            for record in records
        ]
        wanted = {
            "ids": [record.id for record in records],
            "embeddings": [[0.0, 0.0]] * len(records),
            # Beside each other, not as documents: those are indexed word by word.
            "metadatas": [
                {"home": home, "body": record.body, **some}
                for record, some in zip(records, keys, strict=True)
            ],
        }
        self._client.of(self._records, "upsert" if replace else "add", wanted)

    def by_id(self, homes: Collection[int], ids: Sequence[str], after: int) -> list[Found]:
        return self._found(homes, {"ids": list(ids)}) if ids else []

    def by_key(
        self, homes: Collection[int], place: int, keys: Sequence[int], after: int, limit: int = 0
    ) -> list[Found]:
        # Other homes are left out here: a condition on them would be looked up for itself.
        return self._found(homes, {"where": {f"key{place}": {"$in": list(keys)}}}) if keys else []

    def _found(self, homes: Collection[int], wanted: Mapping[str, Any]) -> list[Found]:
        answer = self._client.of(self._records, "get", {**wanted, "include": ["metadatas"]})
        return [
            Found(record_id, known["body"])
            for record_id, known in zip(answer["ids"], answer["metadatas"], strict=True)
            if known["home"] in homes
        ]

    # Vectors

    def put_vectors(self, home: int, vectors: Array) -> None:
        name = self._vectors_of(home)
        with suppress(Conflict):
            self._client.create(name, {"made_by": "pincite"}, HNSW)
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        for at in range(0, len(rows), VECTOR_ROWS):
            block = rows[at : at + VECTOR_ROWS]
            wanted = {
                "ids": [str(number) for number in range(at, at + len(block))],
                "embeddings": [base64.b64encode(row.tobytes()).decode() for row in block],
            }
            self._client.of(name, "add", wanted, patient=True)

    def vectors(
        self, home: int, dimension: int, numbers: Sequence[int], after: int
    ) -> dict[int, Array]:
        wanted = {"ids": [str(number) for number in numbers], "include": ["embeddings"]}
        answer = self._client.of(self._vectors_of(home), "get", wanted)
        matrix = np.asarray(answer["embeddings"], dtype=np.float32).reshape(-1, dimension)
        return {int(number): row for number, row in zip(answer["ids"], matrix, strict=True)}

    def near(
        self,
        homes: Collection[int],
        dimension: int,
        vector: Array,
        wanted: int,
        after: int,
        among: Mapping[int, Array] | None = None,
    ) -> list[Near]:
        found: list[Near] = []
        for home in homes:
            asked: dict[str, Any] = {
                "query_embeddings": [vector.astype(np.float32).tolist()],
                "n_results": wanted,
                "include": ["distances"],
            }
            if among is not None:
                asked["ids"] = [str(number) for number in among[home].tolist()]
                asked["n_results"] = min(wanted, len(asked["ids"]))
            answer = self._client.of(self._vectors_of(home), "query", asked)
            pairs = zip(answer["ids"][0], answer["distances"][0], strict=True)
            found += [Near(home, int(number), 1.0 - far) for number, far in pairs]
        return found
