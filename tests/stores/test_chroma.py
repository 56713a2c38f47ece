"""Chroma as a store: the contract, its own index of vectors, a copy there and back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.testing import StoreContract

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("short_lease")
class TestChroma(StoreContract):
    @pytest.fixture(autouse=True)
    def _where(self, new_chroma: Callable[[], str]) -> None:
        self._new = new_chroma

    def fresh(self) -> str:
        return self._new()
