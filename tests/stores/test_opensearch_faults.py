"""OpenSearch that dies, hangs and comes back, and writers that fall silent."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from tests.servers.opensearch import OpenSearch
from tests.stores.documents import build, library, loaded, rules
from tests.stores.fault_contract import ASKED, FaultContract

from pincite.index.builder import IndexBuilder
from pincite.model.errors import IndexBusy, StaleIndex, StoreError
from pincite.model.settings import Settings, StoreSettings
from pincite.search.reader import IndexReader
from pincite.store.location import open_engine, open_snapshot
from pincite.store.opensearch import engine as opensearch
from pincite.store.opensearch.engine import OpenSearchLease

# As many kills of nodes as one likes.
KILLS = int(os.environ.get("PINCITE_TEST_KILLS", "2"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(max(600, 120 * KILLS))]


def homes(url: str) -> tuple[set[str], set[str]]:
    """Return the homes that rows are marked with, and those that kept generations name."""
    engine: Any = open_engine(url)
    engine.generations()
    named = {home.name for home in engine._homes.values()}
    engine._client.refresh(engine._rows)
    found = engine._present(engine._rows)
    engine.close()
    return found, named


@pytest.mark.usefixtures("short_lease")
class TestOpenSearchFaults(FaultContract):
    kills = 2  # half a minute each
    no_hang = 30.0

    @pytest.fixture(autouse=True)
    def _where(self, mortal_opensearch: OpenSearch) -> None:
        self.server: OpenSearch = mortal_opensearch

    def fresh(self) -> str:
        return f"{self.server.url}/t{uuid4().hex[:12]}"

    def before_commit(self, engine: Any, kill: Callable[[], None]) -> None:
        """The manifest is there, and nobody names it."""
        change = engine._lease.change

        def dying_change(wanted: Callable[[Any], Any]) -> None:
            if "head" in wanted({"kept": [], "beat": 0}):
                kill()
            change(wanted)

        engine._lease.change = dying_change

    def leftovers(self, url: str) -> set[str]:
        found, named = homes(url)
        return found - named

    def test_a_writer_that_fell_silent_commits_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another takes over; what the first one still sends is never seen."""
        url, settings = self.fresh(), self.settings()
        build(url, {"a.md": rules(1)})
        with monkeypatch.context() as silent:
            silent.setattr(OpenSearchLease, "_keep", lambda _: None)
            first = IndexBuilder(url, settings)
            first.__enter__()
        first.put(loaded("b.md", rules(2), settings))
        first._write()
        build(url, {"c.md": rules(3)})
        theirs: Any = first._writer.engine  # type: ignore[attr-defined]
        # It does not know yet, and sends more of the segment that has the other's name as well.
        theirs.insert("keys", "000002-0", [("late", "x", "b.md")])
        assert "took over" in self.fails(first.flush).message
        first.__exit__(None, None, None)
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md", "c.md"]
            assert snapshot.found_by(["late"]) == []
            assert snapshot.manifest.generation == 2
        # The first one's way out did not free anything of the second.
        build(url, {"d.md": rules(4)})
        assert self.leftovers(url) == set()

    def test_a_living_writer_is_not_disturbed(self) -> None:
        url, settings = self.fresh(), self.settings()
        with IndexBuilder(url, settings) as builder:
            time.sleep(5.0)  # longer than the lease
            with pytest.raises(IndexBusy, match="another process is writing"):
                build(url, {"b.md": rules(2)})
            builder.put(loaded("a.md", rules(1), settings))
            builder.flush()
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md"]

    def test_an_index_of_another_version_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        url = self.fresh()
        build(url, {"a.md": rules(1)})
        monkeypatch.setattr(opensearch, "FORMAT", 99)
        with pytest.raises(StaleIndex, match="of version 1"):
            open_snapshot(url)
        with pytest.raises(StaleIndex, match="of version 1"):
            build(url, {"b.md": rules(2)})


@pytest.fixture(scope="module")
def cluster(mortal_opensearch: OpenSearch) -> Iterator[OpenSearch]:
    mortal_opensearch.kill()  # one server at a time is enough for a machine
    with OpenSearch(3) as nodes:
        yield nodes


class Traffic:
    """Somebody who writes and two who search, all the time."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.settings = Settings(store=StoreSettings(timeout_seconds=20.0))
        self.acknowledged: list[str] = []
        self.wrong: list[object] = []
        self.searches = self.outages = self.refused = 0
        self._done = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._write, *[self._ask] * 2)]

    def __enter__(self) -> Traffic:
        self._index = IndexReader.open(self.url, self.settings)
        self._wanted = self._index.search_ranking(ASKED, 10).hits
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(120)
        self._index.close()

    def _write(self) -> None:
        while not self._done.is_set():
            number = len(self.acknowledged)
            try:
                build(self.url, {f"{number}.md": rules(30 + number % 60)}, self.settings)
                self.acknowledged.append(f"{number}.md")
            except StoreError:
                self.refused += 1

    def _ask(self) -> None:
        """Search in one generation to the end; what is found there by name has to be read."""
        while not self._done.is_set():
            try:
                hits = self._index.search_ranking(ASKED, 10).hits
                found = [each.locator for each in self._index.snapshot.found_by(["3.2"])]
                self.searches += 1
                if hits != self._wanted or found != ["3.2"]:
                    self.wrong.append((hits, found))
            except StoreError:
                self.outages += 1
            time.sleep(0.05)

    def wait_for_more(self) -> None:
        """Wait until something more was acknowledged."""
        before, until = len(self.acknowledged), time.monotonic() + 120
        while len(self.acknowledged) == before:
            assert time.monotonic() < until, "nobody can write any more"
            time.sleep(0.1)


@pytest.mark.usefixtures("short_lease")
def test_a_cluster_loses_nothing_when_nodes_are_killed(cluster: OpenSearch) -> None:
    """The elected manager and another node die by turns."""
    url = f"{cluster.url}/killed?shards=3&replicas=1"
    build(url, library())
    cluster.wait(3, "green")
    with Traffic(url) as traffic:
        for turn in range(KILLS):
            manager = cluster.manager()
            others = [node for node in cluster.nodes if node is not manager]
            (others[0] if turn % 2 else manager).kill()
            cluster.wait(2)
            traffic.wait_for_more()
            cluster.start()
            cluster.wait(3, "green")
    told = (traffic.searches, traffic.outages, traffic.refused)
    print(f"{KILLS} kills, {len(traffic.acknowledged)} acknowledged; searches, outages, {told}")
    assert not traffic.wrong, traffic.wrong[0]
    assert traffic.searches > traffic.outages
    with open_snapshot(url) as snapshot:
        assert {*traffic.acknowledged, *library()} <= set(snapshot.documents())
        assert all(snapshot.chunks(name) for name in traffic.acknowledged)


def test_a_host_that_is_away_is_passed_over(cluster: OpenSearch) -> None:
    """Whichever of the hosts in the URL it is."""
    url = f"{cluster.url}/hosts?shards=2&replicas=1"
    build(url, {"a.md": rules(1)})
    cluster.wait(3, "green")
    for node in cluster.nodes:
        if node is cluster.manager():
            continue
        with open_snapshot(url) as snapshot:
            node.kill()
            cluster.wait(2)
            assert snapshot.documents() == ["a.md"] and snapshot.found_by(["1.2"])
        cluster.start()
        cluster.wait(3, "green")
