"""OpenSearch behind the contract of ``store/server``.

``laws-head`` has the state: who writes, and which generation counts. It is changed only on the
condition that nobody else changed it since it was read (``if_seq_no``), so changing it is the
commit. ``laws-rows`` has the rows of all tables, ``laws-vectors-384`` the vectors of one length.

All that is written under one name is marked with its home: that name, and by whom it was written.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pincite.model.errors import StaleIndex, StoreError
from pincite.model.settings import StoreSettings
from pincite.store.files import Array
from pincite.store.manifest import manifest_of
from pincite.store.opensearch.client import Answer, OpenSearchClient, bitmap_of
from pincite.store.server.contract import TABLES, Row, StoreEngine
from pincite.store.server.engine_parts import (
    Absent,
    Conflict,
    Lease,
    SegmentHomes,
    gone,
    key_of,
    packed,
    pieces,
    unpacked,
)

FORMAT = 1
STATE = "state"
CHANGES = 20  # tries to change the state while a sign of life does so, too
# In one question: ids, keys and vectors; rows and blobs that are read one page after the other.
MAX_IDS, MAX_KEYS, MAX_VECTORS = 500, 5_000, 4_000
PAGES = {"texts": 50, "blobs": 10}
PAGE_ROWS = 5_000
MAX_BODY = 4_000_000  # signs of a row; longer ones are cut
MAX_HOMES = 10_000
# Of its index of vectors: links of each, how many are looked at while building and searching.
HNSW = {"m": 16, "ef_construction": 128}
EF_SEARCH = 256
# So many vectors are compared one by one; and no more than so many are found at a time.
FEW_VECTORS, MAX_NEAR = 10_000, 100_000
MAX_K = 10_000  # of its index of vectors
_HEAD = {"settings": {"number_of_shards": 1}, "mappings": {"dynamic": False}}
_ROWS = {
    "dynamic": "strict",
    "properties": {
        "home": {"type": "keyword"},
        "table": {"type": "keyword"},  # or blobs/ and the blob's name
        "serial": {"type": "integer"},
        "keys": {"type": "keyword", "doc_values": False},  # of the values it is looked up by
        "body": {"type": "keyword", "index": False, "doc_values": False},
    },
}


@dataclass(frozen=True, slots=True)
class OpenSearchHome:
    """Where all is that was written under one name."""

    name: str
    dimension: int = 0
    vectors: int = 0


class OpenSearchLease(Lease):
    """The state, as the one writer changes it.

    ``holder`` is who holds it, a name that nobody had before; ``beat`` changes again and again. One
    that was only asleep finds another holder, and can change nothing any more.
    """

    def __init__(self, client: OpenSearchClient, index: str) -> None:
        super().__init__(client.shown)
        self.holder = secrets.token_hex(6)
        self._client = client
        self._index = index
        self._seen: Answer | None = None

    def take(self) -> None:
        """Take it; IndexBusy if another writer lives."""
        self.wait()
        first: Answer = {"head": None, "kept": [], "beat": 0, "format": FORMAT}
        state = self._seen["_source"] if self._seen else first
        taken = {**state, "holder": self.holder, "is_held": True, "beat": state["beat"] + 1}
        try:
            self._write(self._seen, taken)
        except Conflict as error:
            now = self._read()
            if not now or now["_source"]["holder"] != self.holder:  # a request may be sent twice
                raise self.busy() from error
        self.begin()

    def look(self) -> tuple[str, int] | None:
        self._seen = self._read()
        state: Answer = self._seen["_source"] if self._seen else {"is_held": False}
        return (state["holder"], state["beat"]) if state["is_held"] else None

    def _read(self) -> Answer | None:
        return self._client.get(self._index, STATE)

    def _write(self, known: Answer | None, state: Answer) -> None:
        """Write the state if it is as it was read; Conflict if it is not."""
        condition = "op_type=create"
        if known is not None:
            condition = f"if_seq_no={known['_seq_no']}&if_primary_term={known['_primary_term']}"
        self._client.put(self._index, STATE, state, condition)

    def beat(self) -> None:
        self.change(lambda state: {"beat": state["beat"] + 1})

    def change(self, change: Callable[[Answer], Answer]) -> None:
        """Change the state; StoreError if the lease was lost meanwhile."""
        for attempt in range(CHANGES):
            known = self._read()
            state: Answer = known["_source"] if known else {"is_held": False}
            if not state["is_held"] or state["holder"] != self.holder:
                self._is_lost = True
                break
            try:
                self._write(known, {**state, **change(state)})
                break
            except Conflict:  # with a sign of life, or with a request that was sent twice
                if attempt == CHANGES - 1:
                    raise
        self.check()

    def give_back(self) -> None:
        """Let the next writer in at once; without this it waits until the lease is over."""
        self.end()
        self.change(lambda _: {"is_held": False})


class OpenSearchEngine(StoreEngine):
    """Some indexes of a cluster as the server of one index of ours."""

    def __init__(self, url: str, settings: StoreSettings | None = None) -> None:
        settings = settings or StoreSettings()
        self._client = OpenSearchClient(url, settings)
        self.shown = self._client.shown
        self._exact = settings.exact
        name = self._client.address.name
        self._head, self._rows = f"{name}-head", f"{name}-rows"
        self._homes: SegmentHomes[OpenSearchHome] = SegmentHomes(self.shown)
        self._serials: dict[tuple[str, str], int] = {}
        self._lease: OpenSearchLease | None = None

    def close(self) -> None:
        self._client.close()

    def server(self) -> str:
        return f"OpenSearch {self._client.version()}"

    def size(self) -> int | None:
        indexes = ",".join([self._head, self._rows, f"{self._client.address.name}-vectors-*"])
        path = f"/{indexes}/_stats/store?filter_path=_all.primaries.store.size_in_bytes"
        return int(self._client.ask("GET", path)["_all"]["primaries"]["store"]["size_in_bytes"])

    def _vectors_of(self, dimension: int) -> str:
        return f"{self._client.address.name}-vectors-{dimension}"

    # Generations

    def _state(self) -> Answer | None:
        found = self._client.get(self._head, STATE)
        state: Answer | None = None if found is None else found["_source"]
        if state is not None and state["format"] != FORMAT:
            raise StaleIndex(
                f"{self.shown} is of version {state['format']}, this Pincite wants {FORMAT}",
                hint="write to it once with the newest Pincite, and read it with that",
            )
        return state

    def stamp(self) -> str:
        state = self._state()
        return (state and state["head"]) or ""  # it has its writer's name: none is like another

    def head(self) -> bytes | None:
        state = self._state()
        if state is None or state["head"] is None:
            return None
        found = self._manifests([state["head"]])
        if not found:
            raise StoreError(f"{self.shown}: its manifest is gone", hint="try again")
        manifest: bytes = unpacked(found[0]["manifest"])
        return manifest

    def generations(self) -> dict[int, tuple[float, bytes]]:
        state = self._state()
        if state is None or not state["kept"]:
            return {}
        now = self._client.now()
        return {
            each["number"]: ((now - each["made"]) / 1000, unpacked(each["manifest"]))
            for each in self._manifests(state["kept"])
        }

    def _manifests(self, keys: Sequence[str]) -> list[Answer]:
        """Return generations, and learn the homes that they name."""
        fields = ("number", "made", "manifest", "homes")
        found = [each["_source"] for each in self._client.get_many(self._head, keys, fields)]
        for each in found:
            self._homes.update(
                {name: OpenSearchHome(**home) for name, home in each["homes"].items()}
            )
        return found

    # Reading rows

    def select(
        self,
        table: str,
        columns: Sequence[str],
        segments: Sequence[str],
        by: str = "",
        values: Sequence[Any] = (),
        limit: int = 0,
    ) -> list[Row]:
        names = {self._homes[segment].name: segment for segment in segments}
        at = {column: place for place, column in enumerate(TABLES[table].columns)}
        if not by:
            found = self._all({"table": [table]}, list(names), PAGES.get(table, PAGE_ROWS), limit)
        else:
            found = {}
            keys = [f"{key_of(table, by, value):x}" for value in dict.fromkeys(values)]
            for some in pieces(keys, MAX_KEYS):
                size = PAGES.get(table, PAGE_ROWS)
                found |= self._all({"keys": some}, list(names), size, limit)
        known = set(values)  # two values may have the same key
        return [
            (names[_home_of(name)], *(row[at[column]] for column in columns))
            for name, row in found.items()
            if not by or row[at[by]] in known
        ]

    def blobs(
        self, name: str, wanted: Mapping[str, Sequence[int] | None]
    ) -> list[tuple[str, int, bytes]]:
        homes = {self._homes[segment].name: segment for segment in wanted}
        whole = [
            self._homes[segment].name for segment, numbers in wanted.items() if numbers is None
        ]
        found = self._all({"table": [f"blobs/{name}"]}, whole, PAGES["blobs"]) if whole else {}
        ids = [
            f"{self._homes[segment].name}/blobs/{name}/{number}"
            for segment, numbers in wanted.items()
            for number in numbers or ()
        ]
        found |= self._whole(self._by_id(ids))
        return [
            (homes[_home_of(each)], int(each.rpartition("/")[2]), value)
            for each, value in found.items()
        ]

    def _all(
        self, terms: Mapping[str, Sequence[str]], homes: Sequence[str], page: int, limit: int = 0
    ) -> dict[str, Any]:
        """Return the values of all rows that have one of some terms in each field, by id."""
        wanted: dict[str, Any] = {
            "query": {
                "bool": {"filter": [{"terms": {f: v}} for f, v in {**terms, "home": homes}.items()]}
            },
            "_source": ["body"],
            "size": min(limit, page) if limit else page,
            "sort": [{"home": "asc"}, {"table": "asc"}, {"serial": "asc"}],
        }
        bodies: dict[str, str] = {}
        while True:
            hits = self._client.search(self._rows, wanted)["hits"]["hits"]
            bodies |= {hit["_id"]: hit["_source"]["body"] for hit in hits}
            if len(hits) < wanted["size"] or (limit and len(bodies) >= limit):
                return self._whole(bodies)
            wanted["search_after"] = hits[-1]["sort"]

    def _by_id(self, ids: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for some in pieces(ids, MAX_IDS):
            hits = self._client.get_many(self._rows, some, ["body"])
            found |= {hit["_id"]: hit["_source"]["body"] for hit in hits}
        return found

    def _whole(self, bodies: Mapping[str, str]) -> dict[str, Any]:
        """Return values of rows; of those that were cut the parts are read as well."""
        firsts = {name: body.partition(":") for name, body in bodies.items()}
        parts = self._by_id(
            [f"{name}/+{n}" for name, (size, _, _) in firsts.items() for n in range(1, int(size))]
        )
        try:
            return {
                name: unpacked(
                    "".join([text, *(parts[f"{name}/+{n}"] for n in range(1, int(size)))])
                )
                for name, (size, _, text) in firsts.items()
            }
        except KeyError as error:
            raise gone(self.shown, f"a part of {error}") from error

    # Vectors

    def vectors(self, name: str, numbers: Sequence[int]) -> Array:
        home = self._homes[name]
        found: dict[str, str] = {}
        for some in pieces(list(dict.fromkeys(numbers)), MAX_VECTORS):
            ids = [f"{home.name}/{number}" for number in some]
            for each in self._client.get_many(self._vectors_of(home.dimension), ids, ["half"]):
                found[each["_id"]] = each["_source"]["half"]
        try:
            rows = [base64.b64decode(found[f"{home.name}/{number}"]) for number in numbers]
        except KeyError as error:
            raise gone(self.shown, f"a part of vectors {name}") from error
        return np.frombuffer(b"".join(rows), dtype="<f2").reshape(len(rows), home.dimension)

    def nearest(
        self, names: Sequence[str], vector: Array, wanted: int, allowed: Mapping[str, Array]
    ) -> list[tuple[str, int, float]]:
        homes = {self._homes[name].name: name for name in names}
        if not homes or wanted < 1:
            return []
        left = sum(len(allowed.get(name, range(self._homes[name].vectors))) for name in names)
        among = self._among(names, allowed)
        query = vector.astype(np.float32).tolist()
        wanted = min(wanted, MAX_NEAR)
        asked: Answer
        if self._exact or left <= FEW_VECTORS or wanted > MAX_K:
            asked = {
                "script_score": {
                    "query": among,
                    "script": {
                        "lang": "knn",
                        "source": "knn_score",
                        "params": {
                            "field": "vector",
                            "query_value": query,
                            "space_type": "innerproduct",
                        },
                    },
                }
            }
        else:
            # Each shard, and each of its parts, looks for so many: no smaller than what is asked.
            near = {"vector": query, "k": wanted, "filter": among}
            asked = {"knn": {"vector": {**near, "method_parameters": {"ef_search": EF_SEARCH}}}}
        index = self._vectors_of(self._homes[names[0]].dimension)
        body = {"query": asked, "size": wanted, "_source": False}
        found = []
        for hit in self._client.search(index, body)["hits"]["hits"]:
            home, _, number = hit["_id"].rpartition("/")
            score = hit["_score"]
            found.append((homes[home], int(number), score - 1 if score >= 1 else 1 - 1 / score))
        return found

    def _among(self, names: Sequence[str], allowed: Mapping[str, Array]) -> Answer:
        """Return the question for the vectors of some names, or for those that are allowed."""
        free = [self._homes[name].name for name in names if name not in allowed]
        some: list[Answer] = [{"terms": {"home": free}}] if free else []
        for name in names:
            if len(allowed.get(name, ())):
                numbers = {"number": [bitmap_of(allowed[name])], "value_type": "bitmap"}
                own: list[Answer] = [{"term": {"home": self._homes[name].name}}, {"terms": numbers}]
                some.append({"bool": {"filter": own}})
        return {"bool": {"should": some, "minimum_should_match": 1}}

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        self._state()  # one of another version is not to be touched
        self._client.create(self._head, self._settings(_HEAD))
        shards = {"number_of_shards": self._client.address.shards, "refresh_interval": "-1"}
        rows = {"settings": shards, "mappings": _ROWS}
        self._client.create(self._rows, self._settings(rows), f"{self._rows}-written")
        lease = OpenSearchLease(self._client, self._head)
        try:
            lease.take()
            self._lease = lease
            yield
        finally:
            self._lease = None
            with suppress(StoreError):  # of a server that is gone: the lease runs out
                lease.give_back()

    def _settings(self, wanted: Answer) -> Answer:
        """Return what an index is made with: with as many copies as the URL says."""
        replicas = self._client.address.replicas
        copies = (
            {"auto_expand_replicas": "0-1"}
            if replicas is None
            else {"number_of_replicas": replicas}
        )
        return {**wanted, "settings": {**wanted["settings"], **copies}}

    @property
    def _writing(self) -> OpenSearchLease:
        if self._lease is None:
            raise ValueError("take the lock first")
        self._lease.check()
        return self._lease

    def _claim(self, segment: str) -> OpenSearchHome:
        """Return the home of a segment that is being written."""
        own = f"{segment}.{self._writing.holder}"
        known = self._homes.get(segment)
        if known is None or known.name != own:
            known = self._homes[segment] = OpenSearchHome(own)
        return known

    def insert(self, table: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
        home = self._claim(segment)
        documents = (each for row in rows for each in self._documents(home.name, table, row))
        self._put(f"{self._rows}-written", documents)

    def _put(self, alias: str, documents: Iterable[tuple[str, Answer]]) -> None:
        try:
            self._client.put_many(alias, documents)
        except Absent as error:  # another writer removed the index
            raise self._writing.lost() from error

    def _documents(self, home: str, table: str, row: Sequence[Any]) -> Iterator[tuple[str, Answer]]:
        """Yield a row as a document, or as the parts of a long one; the first tells how many."""
        name = table if table != "blobs" else f"blobs/{row[0]}"
        serial = self._serials.get((home, name), 0)
        keys: list[str] = []
        if table == "blobs":
            serial, body = row[1], packed(row[2])
        else:
            self._serials[home, name] = serial + 1
            body = packed(list(row))
            for column, value in zip(TABLES[table].columns, row, strict=True):
                if column in TABLES[table].looked_up and value is not None:
                    keys.append(f"{key_of(table, column, value):x}")
        parts = [body[at : at + MAX_BODY] for at in range(0, len(body), MAX_BODY)]
        own = {"home": home, "table": name, "serial": serial, "keys": keys}
        yield f"{home}/{name}/{serial}", {**own, "body": f"{len(parts)}:{parts[0]}"}
        for number, part in enumerate(parts[1:], 1):
            yield f"{home}/{name}/{serial}/+{number}", {"home": home, "body": part}

    def put_vectors(self, name: str, model: str, vectors: Array) -> None:
        home = self._claim(name)
        count, dimension = vectors.shape
        if not count:
            return
        self._homes[name] = OpenSearchHome(home.name, dimension, count)
        index = self._vectors_of(dimension)
        self._client.create(
            index, self._settings(self._vector_index(dimension)), f"{index}-written"
        )
        halves = np.ascontiguousarray(vectors, dtype="<f2")
        documents = (
            (
                f"{home.name}/{number}",
                {
                    "home": home.name,
                    "number": number,
                    "vector": row.astype(np.float32).tolist(),
                    "half": base64.b64encode(row.tobytes()).decode(),
                },
            )
            for number, row in enumerate(halves)
        )
        self._put(f"{index}-written", documents)
        self._client.refresh(index)

    def _vector_index(self, dimension: int) -> Answer:
        method = {"name": "hnsw", "engine": "lucene", "space_type": "innerproduct"}
        return {
            "settings": {
                "number_of_shards": self._client.address.shards,
                "refresh_interval": "-1",
                "max_result_window": MAX_NEAR,
                "knn": True,
            },
            "mappings": {
                "dynamic": "strict",
                "_source": {"excludes": ["vector"]},
                "properties": {
                    "home": {"type": "keyword"},
                    "number": {"type": "integer"},
                    "vector": {
                        "type": "knn_vector",
                        "dimension": dimension,
                        "method": {**method, "parameters": HNSW},
                    },
                    # The very numbers that were put, in half precision.
                    "half": {"type": "keyword", "index": False, "doc_values": False},
                },
            },
        }

    def switch(self, number: int, manifest: bytes) -> None:
        self._client.refresh(self._rows)
        lease = self._writing
        key = f"{number}.{lease.holder}"
        named = manifest_of(manifest, origin=self.shown).entries
        homes = {each.name: asdict(self._homes[each.name]) for each in named}
        made = {"number": number, "made": self._client.now(), "manifest": packed(manifest)}
        self._client.put(self._head, key, {**made, "homes": homes}, "refresh=false")
        # The one write that counts.
        lease.change(lambda state: {"head": key, "kept": [*_without(state["kept"], key), key]})

    def sweep(self, generations: Sequence[int], segments: Sequence[str]) -> None:
        for index in (self._rows, self._head):
            self._client.refresh(index)
        present = self._present(self._rows)
        for index in self._client.names(f"{self._client.address.name}-vectors-"):
            present |= self._present(index)
        written = self._client.search(self._head, {"size": MAX_HOMES, "_source": False})
        # Changed after looking: whoever takes over writes what was not seen here.
        self._writing.change(
            lambda state: {"kept": [key for key in state["kept"] if _number(key) in generations]}
        )
        kept = {STATE, *(self._state() or {"kept": []})["kept"]}
        left = {hit["_id"] for hit in written["hits"]["hits"]} - kept
        if left:
            self._client.delete(self._head, {"ids": {"values": sorted(left)}})
        homes = sorted(present - {self._homes[segment].name for segment in segments})
        if homes:
            for index in (self._rows, *self._client.names(f"{self._client.address.name}-vectors-")):
                self._client.delete(index, {"terms": {"home": homes}})

    def _present(self, index: str) -> set[str]:
        """Return the homes that something is left of."""
        wanted = {"size": 0, "aggs": {"homes": {"terms": {"field": "home", "size": MAX_HOMES}}}}
        buckets = self._client.search(index, wanted)["aggregations"]["homes"]["buckets"]
        return {each["key"] for each in buckets}

    def remove(self) -> bool:
        with self.lock():
            self._writing.change(lambda _: {"head": None, "kept": []})  # there is none any more
            for index in self._client.names(f"{self._client.address.name}-vectors-"):
                self._client.drop(index)
            self._client.drop(self._rows)
            self._client.drop(self._head)
        return True


def _home_of(name: str) -> str:
    return name.partition("/")[0]


def _number(key: str) -> int:
    return int(key.partition(".")[0])


def _without(kept: Sequence[str], key: str) -> list[str]:
    return [each for each in kept if each != key]
