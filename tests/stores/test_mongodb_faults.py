"""A server of MongoDB's protocol that dies, hangs and comes back, and writers that fall silent."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from tests.servers.mongodb import MongoDB
from tests.stores.documents import build, exported, library, loaded, rules
from tests.stores.fault_contract import FaultContract

from pincite.index.builder import IndexBuilder
from pincite.model.errors import ConfigError, IndexBusy, StaleIndex, StoreError
from pincite.model.settings import Settings, StoreSettings
from pincite.store.location import open_engine, open_snapshot
from pincite.store.mongodb import engine as mongodb
from pincite.store.mongodb.engine import MongoEngine, MongoLease
from pincite.store.server import engine_parts
from pincite.store.server.contract import TABLES

SETTINGS = Settings(store=StoreSettings(timeout_seconds=2.0))
# Beyond the time-out: choosing a server, one more try, and a busy machine.
NO_HANG = 20.0
pytestmark = pytest.mark.slow


@pytest.fixture
def server(mortal_mongodb: MongoDB) -> MongoDB:
    return mortal_mongodb


@pytest.fixture(autouse=True)
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_parts, "LEASE_SECONDS", 4.0)
    monkeypatch.setattr(engine_parts, "BEAT_SECONDS", 0.5)


def homes(url: str) -> tuple[set[str], set[str]]:
    """Return the homes that rows are marked with, and those that kept generations name."""
    engine = MongoEngine(url)
    engine.generations()
    named = set(engine._homes.values())
    found: set[str] = set()
    for table in (*TABLES, "vectors"):
        found |= {each["segment"] for each in engine._found(table, {}, ("segment",))}
    engine.close()
    return found, named


class TestMongoFaults(FaultContract):
    @pytest.fixture(autouse=True)
    def _where(self, server: MongoDB) -> None:
        self.server: MongoDB = server

    def fresh(self) -> str:
        return f"{self.server.url}/t{uuid4().hex[:12]}"

    def before_commit(self, engine: Any, kill: Callable[[], None]) -> None:
        """The manifest is there, and nobody names it."""
        change = engine._lease.change

        def dying_change(update: dict[str, Any]) -> None:
            if "head" in update.get("$set", {}):
                kill()
            change(update)

        engine._lease.change = dying_change

    def leftovers(self, url: str) -> set[str]:
        found, named = homes(url)
        return found - named


fails = TestMongoFaults().fails


def test_a_writer_outlives_a_restart_of_the_server(server: MongoDB) -> None:
    """Its lease is a document, which comes back with the server."""
    url = f"{server.url}/restart"
    build(url, {"a.md": rules(1)})
    with IndexBuilder(url, SETTINGS) as builder:
        builder.put(loaded("b.md", rules(2), SETTINGS))
        server.kill()
        server.start()
        builder.flush()
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md", "b.md"]


def test_a_writer_that_fell_silent_commits_nothing(
    server: MongoDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another takes over; what the first one still sends is never seen, though names are equal."""
    url = f"{server.url}/silent"
    build(url, {"a.md": rules(1)})
    with monkeypatch.context() as silent:
        silent.setattr(MongoLease, "_keep", lambda _: None)
        first = IndexBuilder(url, SETTINGS)
        first.__enter__()
    first.put(loaded("b.md", rules(2), SETTINGS))
    first._write()
    build(url, {"c.md": rules(3)})
    mine, theirs = f"{server.url}/silent", first._writer.engine  # type: ignore[attr-defined]
    # It does not know yet, and sends more of the segment that has the other's name as well.
    theirs.insert("keys", "000002-0", [("late", "x", "b.md")])
    told = fails(first.flush)
    assert "took over" in told.message
    first.__exit__(None, None, None)
    with open_snapshot(mine) as snapshot:
        assert snapshot.documents() == ["a.md", "c.md"]
        assert snapshot.found_by(["late"]) == []
        assert snapshot.manifest.generation == 2
    build(url, {"d.md": rules(4)})  # the first one's way out did not free anything of the second


def test_a_living_writer_is_not_disturbed(server: MongoDB) -> None:
    url = f"{server.url}/living"
    with IndexBuilder(url, SETTINGS) as builder:
        time.sleep(5.0)  # longer than the lease
        start = time.monotonic()
        with pytest.raises(IndexBusy, match="another process is writing"):
            build(url, {"b.md": rules(2)})
        assert time.monotonic() - start < NO_HANG
        builder.put(loaded("a.md", rules(1), SETTINGS))
        builder.flush()
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md"]


def test_values_that_no_document_holds_are_cut(
    server: MongoDB, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mongodb, "MAX_VALUE", 101)  # cuts inside of characters, too
    build(f"{server.url}/long", library())
    build(tmp_path / "folder", library())
    assert exported(f"{server.url}/long", tmp_path / "1") == exported(
        tmp_path / "folder", tmp_path / "2"
    )


def test_vectors_are_compared_exactly(server: MongoDB) -> None:
    random = np.random.default_rng(0)
    made = {f"000001-{n}": random.normal(size=(3000, 48)).astype(np.float16) for n in range(2)}
    engine = MongoEngine(f"{server.url}/vectors")
    with engine.lock():
        for name, vectors in made.items():
            engine.put_vectors(name, "m", vectors)
    query = random.normal(size=48).astype(np.float32)
    assert np.array_equal(engine.vectors("000001-1", [2999, 0]), made["000001-1"][[2999, 0]])
    scores = {(name, n): float(v @ query) for name, vs in made.items() for n, v in
              enumerate(vs.astype(np.float32))}  # fmt: skip
    near = engine.nearest(list(made), query, 25, {})
    assert {(name, n) for name, n, _ in near} == set(sorted(scores, key=scores.__getitem__)[-25:])
    assert all(abs(scores[name, n] - score) < 1e-4 for name, n, score in near)
    few = engine.nearest(["000001-0"], query, 25, {"000001-0": np.array([7, 5, 900])})
    assert {n for _, n, _ in few} == {5, 7, 900}
    with pytest.raises(StoreError, match="no longer there"):
        engine.vectors("000001-1", [3000])
    engine.close()


def test_collections_of_another_version_are_refused(server: MongoDB) -> None:
    url = f"{server.url}/version"
    build(url, {"a.md": rules(1)})
    engine = MongoEngine(url)
    engine._collection("state").update_one({}, {"$set": {"format": 99}})
    with pytest.raises(StaleIndex, match="of version 99"):
        open_snapshot(url)
    with pytest.raises(StaleIndex, match="of version 99"):
        build(url, {"b.md": rules(2)})
    engine._collection("state").update_one({}, {"$set": {"format": 1}})
    engine.close()
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md"]


def test_wrong_addresses_are_explained() -> None:
    pytest.importorskip("pymongo", reason="MongoDB's driver is not installed")
    with pytest.raises(ConfigError, match="names no database"):
        open_engine("mongodb://127.0.0.1:1")
    with pytest.raises(ConfigError, match="is no name"):
        open_engine("mongodb://127.0.0.1:1/db#A B")
    with pytest.raises(ConfigError, match="no host and port"):
        open_engine("mongodb://127.0.0.1:port/db")
    told = fails(lambda: open_snapshot("mongodb://ann:secret@127.0.0.1:1/db", SETTINGS.store))
    assert "cannot be reached" in told.message and "secret" not in told.message
