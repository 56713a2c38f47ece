"""Milvus as a store: the contract, its own index of vectors, a copy there and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.servers.milvus import Milvus
from tests.stores.moves import assert_there_and_back
from tests.stores.vector_search import assert_nearly_all_are_found

from pincite.core.errors import ConfigError, StoreError, StoreFull, StoreUnavailable
from pincite.core.settings import StoreSettings
from pincite.store.location import open_engine, open_snapshot, server_of
from pincite.store.milvus import driver
from pincite.store.vectordb.driver import Absent
from pincite.testing import StoreContract
from pincite.testing.documents import build, rules

SAMPLE = Path(__file__).parents[2] / "samples" / "rulebook.md"
pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("short_lease")
class TestMilvus(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, new_milvus: Callable[[], str]) -> None:
        self._new = new_milvus

    def fresh(self) -> str:
        return self._new()


def test_there_and_back_is_byte_for_byte_the_same(
    new_milvus: Callable[[], str], tmp_path: Path
) -> None:
    assert_there_and_back(new_milvus(), tmp_path)


def test_its_own_index_finds_nearly_all(new_milvus: Callable[[], str]) -> None:
    assert_nearly_all_are_found(new_milvus())


def test_the_command_line_takes_a_url(
    new_milvus: Callable[[], str], pincite: Callable[..., Any]
) -> None:
    url = new_milvus()
    told = pincite("ingest", SAMPLE, "--index", url, "--json")
    assert told.json["counts"] == {"added": 1}
    assert "Grabbed" in pincite("search", "what does grabbed do", "--index", url).out


def test_shards_are_set_when_an_index_is_made(milvus: Milvus) -> None:
    url = milvus.url + "?shards=2#sharded"
    build(url, {"a.md": rules(1)})
    build(milvus.url + "#sharded", {"b.md": rules(2)})  # they stay as they are
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md", "b.md"]
    with milvus.asked() as client:
        assert client.describe_collection("sharded_records")["num_shards"] == 2
    assert server_of(url).startswith("Milvus v2.")


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (5, "disk quota exceeded, please allocate more resources", StoreFull),
        (7, "disk limit exceeded[predict=9][limit=8]", StoreFull),
        (1001, "write file: no space left on device", StoreFull),
        (101, "collection not loaded[collection=7]", StoreUnavailable),
        (2, "service unavailable: internal: Milvus Proxy is not ready yet", StoreUnavailable),
        (200, "partition not found[partition=h7]", Absent),
        (65535, "partition name h7 not found", Absent),
        (1100, "invalid parameter", StoreError),
    ],
)
def test_a_refusal_says_whether_asking_again_may_help(
    code: int, text: str, kind: type[StoreError]
) -> None:
    pymilvus = pytest.importorskip("pymilvus", reason="Milvus's driver is not installed")
    engine: Any = open_engine("milvus://127.0.0.1:1/default#laws")
    told = engine._driver._client._told(pymilvus.MilvusException(code, text))
    assert type(told) is kind and told.hint
    engine.close()


def test_sorted_keys_find_the_same(
    milvus: Milvus, new_milvus: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most rows are in a part with sorted keys, some are new and not sorted yet."""
    monkeypatch.setattr(driver, "SORTED_FROM", 4_000)
    url, segment = new_milvus(), "000001-0"
    collection = url.rpartition("#")[2] + "_records"
    rows = [(f"k{n % 1500}", f"chunk{n}", f"d{n % 7}.md") for n in range(4_100)]
    engine = open_engine(url, StoreSettings(timeout_seconds=60))
    with engine.lock():
        engine.insert("keys", segment, rows)
        with milvus.asked() as client:  # sooner than in its own time
            client.release_collection(collection, timeout=60)
            client.load_collection(collection, timeout=60)
            loaded = client.list_loaded_segments(collection, timeout=60)
            assert any(each.num_rows >= 4_000 and "key" in each.index_name for each in loaded)
        for by, at, values in (
            ("key", 0, ["k3", "k1499", "none"]),
            ("document", 2, ["d2.md"]),
            ("key", 0, [f"k{n}" for n in range(1500)]),
        ):
            found = engine.select("keys", ["key", "chunk", "document"], [segment], by, values)
            wanted = [(segment, *row) for row in rows if row[at] in values]
            assert sorted(found) == sorted(wanted)
        assert len(engine.select("keys", ["key"], [segment])) == len(rows)
    engine.close()


def test_more_replicas_than_nodes_are_told(milvus: Milvus) -> None:
    with pytest.raises(StoreError, match="not enough") as caught:
        build(milvus.url + "?replicas=2#twice", {"a.md": rules(1)})
    assert "fewer replicas" in caught.value.hint


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("milvus://127.0.0.1:1/db#A B", "is no name"),
        ("milvus://127.0.0.1:1/db?shard=2", "'shard' means nothing"),
        ("milvus://127.0.0.1:1/db?shards=many", "is no number from 1 to 16"),
        ("milvus://127.0.0.1:1/db?tls=maybe#laws", "neither true nor false"),
        ("milvus://127.0.0.1:port/db", "no host and port"),
        ("milvus:///db", "no host"),
    ],
)
def test_wrong_addresses_are_explained(url: str, told: str) -> None:
    pytest.importorskip("pymilvus", reason="Milvus's driver is not installed")
    with pytest.raises(ConfigError, match=told):
        open_engine(url).head()


def test_nobody_there_is_told_without_the_password() -> None:
    pytest.importorskip("pymilvus", reason="Milvus's driver is not installed")
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        open_snapshot("milvus://ann:secret@127.0.0.1:1/laws", StoreSettings(timeout_seconds=2))
    assert "secret" not in caught.value.message and caught.value.hint
