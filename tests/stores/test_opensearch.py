"""OpenSearch as a store: the contract, its own index of vectors, a copy there and back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.servers.guarded import Door, basic, make_authority
from tests.servers.opensearch import OpenSearch
from tests.stores.contract import StoreContract
from tests.stores.documents import build, exported, library, rules
from tests.stores.moves import assert_there_and_back
from tests.stores.vector_search import assert_nearly_all_are_found

from pincite.model.errors import StoreError, StoreFull, StoreUnavailable
from pincite.store.location import open_engine, open_snapshot, server_of
from pincite.store.opensearch import engine as opensearch

SAMPLE = Path(__file__).parents[2] / "samples" / "rulebook.md"
pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("short_lease")
class TestOpenSearch(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, new_opensearch: Callable[[], str]) -> None:
        self._new = new_opensearch

    def fresh(self) -> str:
        return self._new()


def test_there_and_back_is_byte_for_byte_the_same(
    new_opensearch: Callable[[], str], tmp_path: Path
) -> None:
    assert_there_and_back(f"{new_opensearch()}?shards=3&replicas=0", tmp_path)


def test_its_own_index_finds_nearly_all(new_opensearch: Callable[[], str]) -> None:
    assert_nearly_all_are_found(new_opensearch())


def test_the_command_line_takes_a_url(
    new_opensearch: Callable[[], str], pincite: Callable[..., Any]
) -> None:
    url = new_opensearch()
    told = pincite("ingest", SAMPLE, "--index", url, "--json")
    assert told.json["counts"] == {"added": 1}
    assert "Grabbed" in pincite("search", "what does grabbed do", "--index", url).out
    assert pincite("audit", "--index", url).code == 0
    assert server_of(url).startswith("OpenSearch 3.")


def test_values_that_are_too_long_are_cut(
    new_opensearch: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_opensearch()
    monkeypatch.setattr(opensearch, "MAX_BODY", 101)
    monkeypatch.setattr(opensearch, "PAGE_ROWS", 7)
    build(url, library())
    build(tmp_path / "folder", library())
    assert exported(url, tmp_path / "1") == exported(tmp_path / "folder", tmp_path / "2")


def test_the_last_watermark_of_a_disk_is_told(new_opensearch: Callable[[], str]) -> None:
    """What a server does to an index when its disk is nearly full, done to it here."""
    url = new_opensearch()
    build(url, {"a.md": rules(1)})
    engine: Any = open_engine(url)

    def block(value: bool | None) -> None:
        settings = {"index.blocks.read_only_allow_delete": value}
        engine._client.ask("PUT", f"/{engine._rows}/_settings", settings)

    block(True)
    with pytest.raises(StoreFull) as told:
        build(url, {"b.md": rules(2)})
    assert told.value.hint
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md"] and snapshot.found_by(["1.2"])
    block(None)
    build(url, {"b.md": rules(2)})
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md", "b.md"]
    engine.close()


def test_an_answer_by_halves_is_an_outage(new_opensearch: Callable[[], str]) -> None:
    """A shard that is away must never look like documents that do not say."""
    url = f"{new_opensearch()}?shards=2&replicas=0"
    build(url, {"a.md": rules(1), "b.md": rules(2)})
    engine: Any = open_engine(url)
    client = engine._client
    with open_snapshot(url) as snapshot:
        assert snapshot.found_by(["1.2"])
        # One of its two shards may be nowhere from now on.
        away = {"settings": {"number_of_shards": 2, "number_of_replicas": 0}}
        shut = {"index.routing.allocation.require._name": "nobody", **away["settings"]}
        client.drop(engine._rows)
        path = f"/{engine._rows}?timeout=1s&wait_for_active_shards=0"
        client.ask("PUT", path, {"settings": shut, "mappings": opensearch._ROWS})
        with pytest.raises(StoreUnavailable):
            snapshot.found_by(["1.3"])
    engine.close()


def test_a_user_with_a_password_behind_tls(opensearch: OpenSearch, tmp_path: Path) -> None:
    """The server is real; its own plugin for that is in no registry, so a door stands before it."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make certificates with")
    authority, own = make_authority(tmp_path)
    allowed = {basic("ann", "pa55/w0rd"), "ApiKey k3y"}
    with Door(opensearch.hosts[0], own, allowed) as door:
        place = f"{door.host}/guarded"
        options = f"?tls=true&ca={authority}"
        build(f"opensearch://ann:pa55%2Fw0rd@{place}{options}", {"a.md": rules(1)})
        with open_snapshot(f"opensearch://:k3y@{place}{options}&auth=apikey") as snapshot:
            assert snapshot.documents() == ["a.md"]
        with pytest.raises(StoreUnavailable, match="certificate") as unknown:
            open_snapshot(f"opensearch://ann:pa55%2Fw0rd@{place}?tls=true")
        with pytest.raises(StoreError, match="Unauthorized") as refused:
            open_snapshot(f"opensearch://ann:pa55@{place}{options}")
        told = [*map(str, (unknown.value, refused.value)), unknown.value.hint, refused.value.hint]
        assert "pa55" not in " ".join(told) and "right" in told[-1]
