"""The parts of a store in Chroma, with a client that keeps everything in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from threading import Lock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.errors import StoreError
from pincite.model.settings import StoreSettings
from pincite.store.chroma import client as recording
from pincite.store.chroma import engine as searching
from pincite.store.chroma.client import ChromaRecord, Near, parts_of, records_of
from pincite.store.chroma.engine import ChromaEngine
from pincite.store.manifest import Manifest
from pincite.store.server import engine_parts
from pincite.store.server.engine_parts import Absent, packed, unpacked


class MemoryClient:
    """A server that forgets; stamps count what was written."""

    shown = "memory://127.0.0.1/test"

    def __init__(self) -> None:
        self.kept_marks: dict[str, str] = {}
        self.kept_homes: dict[int, dict[str, ChromaRecord]] = {}
        self.kept_vectors: dict[int, np.ndarray] = {}
        self.asked: list[int] = []  # how many vectors were wanted at a time
        self._time = 0
        self._lock = Lock()

    def stamp(self) -> int:
        self._time += 1
        return self._time

    def marks(self, kind: str) -> list[int]:
        names = [name.removeprefix(f"{kind}_") for name in self.kept_marks if kind in name]
        return sorted(map(int, names))

    def make_mark(self, name: str, note: str) -> bool:
        with self._lock:
            return self.kept_marks.setdefault(name, note) == note

    def note(self, name: str) -> str | None:
        return self.kept_marks.get(name)

    def drop_mark(self, name: str) -> None:
        self.kept_marks.pop(name, None)

    def prepare(self) -> None: ...

    def add_home(self, home: int) -> None:
        self.kept_homes[home] = {}

    def homes(self) -> set[int]:
        return set(self.kept_homes)

    def drop_homes(self, homes: Collection[int]) -> None:
        for home in homes:
            del self.kept_homes[home]

    def put(self, home: int, records: Sequence[ChromaRecord], *, replace: bool = False) -> None:
        if home not in self.kept_homes:
            raise Absent("no such home", hint="open the index again")
        assert all(len(record.body) <= recording.MAX_BODY for record in records)
        self.kept_homes[home] |= {record.id: record for record in records}

    def by_id(self, homes: Collection[int], ids: Sequence[str]) -> dict[str, str]:
        rows = {i: r for home in homes for i, r in self.kept_homes[home].items()}
        return {i: rows[i].body for i in ids if i in rows}

    def by_key(self, homes: Collection[int], place: int, keys: Sequence[int]) -> dict[str, str]:
        rows = [record for home in homes for record in self.kept_homes[home].values()]
        return {row.id: row.body for row in rows if set(row.keys[place : place + 1]) & set(keys)}

    def put_vectors(self, home: int, vectors: np.ndarray) -> None:
        self.kept_vectors[home] = vectors

    def vectors(self, home: int, numbers: Sequence[int]) -> dict[int, np.ndarray]:
        return {number: self.kept_vectors[home][number] for number in numbers}

    def near(
        self,
        homes: Collection[int],
        vector: np.ndarray,
        wanted: int,
        among: Mapping[int, np.ndarray] | None = None,
    ) -> list[Near]:
        self.asked.append(wanted)
        found = []
        for home in homes:
            numbers = range(len(self.kept_vectors[home])) if among is None else among[home].tolist()
            found += [Near(home, n, float(self.kept_vectors[home][n] @ vector)) for n in numbers]
        return sorted(found, key=lambda each: -each.score)[:wanted]

    def close(self) -> None: ...


def engine_of(client: MemoryClient, *, exact: bool = False) -> ChromaEngine:
    return ChromaEngine("", StoreSettings(exact=exact), client)


ANY_VALUE = st.none() | st.integers() | st.text() | st.binary()


@given(st.lists(ANY_VALUE), st.integers(60, 400))
def test_values_come_back_as_they_were(row: list[object], longest: int) -> None:
    assert unpacked(packed(row)) == row
    with pytest.MonkeyPatch.context() as small:
        small.setattr(recording, "MAX_BODY", longest)
        records = list(records_of("7/x/1", [3], row))
    size, first = parts_of(records[0].body)
    assert size == len(records)
    assert all(len(record.body) <= longest and record.body.isascii() for record in records)
    assert unpacked(first + "".join(record.body for record in records[1:])) == row
    assert [list(record.keys) for record in records] == [[3]] + [[]] * (size - 1)


@given(st.binary(max_size=5000))
def test_bytes_come_back_as_they_were(data: bytes) -> None:
    assert unpacked(packed(data)) == data
    assert unpacked(packed([data])) == [data]


@pytest.mark.parametrize("text", ["", "x", "j[1", "z!!!", "zAAAA"])
def test_damaged_values_are_told(text: str) -> None:
    with pytest.raises(StoreError, match="damaged"):
        unpacked(text) if text[:1] in ("j", "z") else parts_of(text)


def test_rows_in_pages_and_parts() -> None:
    client = MemoryClient()
    engine = engine_of(client)
    rows = [(f"key {n % 7}", f"chunk {n}", "d" * n) for n in range(300)]
    blobs = [("term", n, np.random.default_rng(n).bytes(900)) for n in range(40)]
    with engine.lock(), pytest.MonkeyPatch.context() as small:
        small.setattr(recording, "MAX_BODY", 200)
        small.setattr(searching, "PAGE_ROWS", 13)
        small.setattr(searching, "PAGE_BYTES", 2_000)
        small.setattr(searching, "MAX_IDS", 9)
        engine.insert("keys", "000001-0", rows)
        engine.insert("blobs", "000001-0", blobs)
        columns = ("key", "chunk", "document")
        found = engine.select("keys", columns, ["000001-0"])
        assert sorted(found) == sorted(("000001-0", *row) for row in rows)
        some = engine.select("keys", columns, ["000001-0"], "key", ["key 3", "none"])
        assert sorted(some) == sorted(("000001-0", *row) for row in rows if row[0] == "key 3")
        whole = engine.blobs("term", {"000001-0": None})
        assert sorted(whole) == [("000001-0", n, data) for _, n, data in blobs]
        few = engine.blobs("term", {"000001-0": [5, 39, 40]})
        assert sorted(few) == [("000001-0", n, blobs[n][2]) for n in (5, 39)]
        home = engine._homes["000001-0"].number
        del client.kept_homes[home][f"{home}/blobs/term/7/+1"]
        with pytest.raises(StoreError, match="no longer there"):
            engine.blobs("term", {"000001-0": None})


@given(
    st.integers(1, 60),
    st.lists(st.tuples(st.integers(1, 90), st.none() | st.floats(0, 1)), min_size=1, max_size=4),
    st.integers(0, 1000),
)
def test_filters_cost_no_hit(wanted: int, parts: list[tuple[int, float | None]], seed: int) -> None:
    """Whatever a filter leaves, the nearest of that are found, however few are asked at a time."""
    random = np.random.default_rng(seed)
    client = MemoryClient()
    engine, exact = engine_of(client), engine_of(client, exact=True)
    with engine.lock(), pytest.MonkeyPatch.context() as small:
        small.setattr(searching, "MAX_NAMED", 20)
        small.setattr(searching, "MAX_NEAR", 80)
        allowed = {}
        for number, (size, share) in enumerate(parts):
            name = f"000001-{number}"
            engine.put_vectors(name, "m", random.normal(size=(size, 4)).astype(np.float16))
            if share is not None:
                allowed[name] = np.flatnonzero(random.random(size) < share)
        exact._homes = engine._homes
        names = list(engine._homes)
        query = random.normal(size=4).astype(np.float32)
        found = engine.nearest(names, query, wanted, allowed)
        best = exact.nearest(names, query, wanted, allowed)
        assert [each[:2] for each in found] == [each[:2] for each in best]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_parts, "LEASE_SECONDS", 0.05)
    monkeypatch.setattr(engine_parts, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(engine_parts, "BEAT_SECONDS", 60.0)  # nobody is heard in time


@pytest.mark.usefixtures("hasty")
def test_of_two_that_think_it_is_their_turn_one_commits() -> None:
    client = MemoryClient()
    slow, quick = engine_of(client), engine_of(client)
    manifest = Manifest(1, {}).to_bytes()
    with slow.lock():
        slow.insert("keys", "000001-0", [("a", "b", "c")])
        slow_check, slow._lease.check = slow._lease.check, lambda: None  # type: ignore[union-attr]
        with quick.lock():
            quick.switch(1, manifest)
            with pytest.raises(StoreError, match="took over"):
                slow.switch(1, Manifest(1, {"x": 1}).to_bytes())
            quick.sweep([1], [])
            with pytest.raises(StoreError, match="took over"):
                slow.insert("keys", "000001-0", [("d", "e", "f")])  # its home was swept
        with pytest.raises(StoreError, match="took over"):
            slow_check()
    assert engine_of(client).head() == manifest
    assert [mark for mark in client.kept_marks if mark.startswith("lock")] == []


@pytest.mark.usefixtures("hasty")
def test_a_number_made_anew_never_counts() -> None:
    """A writer that slept through many commits makes a number that was swept."""
    client = MemoryClient()
    engine = engine_of(client)
    with engine.lock():
        for number in (1, 2, 3, 4):
            engine.switch(number, Manifest(number, {}).to_bytes())
            engine.sweep([number], [])
        with pytest.raises(StoreError, match="took over"):
            engine.switch(2, Manifest(2, {"x": 1}).to_bytes())
    client.kept_marks["generation_1"] = '{"format": 1, "home": 5, "stamp": 1}'
    client.kept_homes[5] = {}
    fresh = engine_of(client)
    assert fresh.head() == Manifest(4, {}).to_bytes()
    assert 1 not in fresh.generations()
