"""Every store keeps the contract."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.servers.postgres import Postgres
from tests.stores.contract import StoreContract


class TestFolder(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, tmp_path: Path) -> None:
        self._folder, self._number = tmp_path, count()

    def fresh(self) -> Path:
        return self._folder / f"store-{next(self._number)}"


@pytest.mark.slow
class TestPostgres(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, postgres: Postgres, request: pytest.FixtureRequest) -> None:
        self._url, self._number = postgres.url, count()
        self._name = f"t{abs(hash(request.node.name)) % 10**9}"

    def fresh(self) -> str:
        return f"{self._url}#{self._name}_{next(self._number)}"


@pytest.mark.slow
class TestMongoDB(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, new_mongodb: Callable[[], str]) -> None:
        self._new = new_mongodb

    def fresh(self) -> str:
        return self._new()
