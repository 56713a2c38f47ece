"""Milvus as a store: the contract, its own index of vectors, a copy there and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.testing import StoreContract

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("short_lease")
class TestMilvus(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, new_milvus: Callable[[], str]) -> None:
        self._new = new_milvus

    def fresh(self) -> str:
        return self._new()
