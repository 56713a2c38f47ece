"""Chroma that dies, hangs and comes back, and writers that fall silent."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from tests.servers.chroma import Chroma
from tests.stores.silent import VectorFaults

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def faulty_chroma() -> Iterator[Chroma]:
    """Lend a server of our own: it will not live long."""
    pytest.importorskip("httpx", reason="Chroma's driver is not installed")
    pytest.importorskip("chromadb_rust_bindings", reason="no Chroma is installed")
    with Chroma() as started:
        yield started


@pytest.mark.usefixtures("short_lease")
class TestChromaFaults(VectorFaults):
    @pytest.fixture(autouse=True)
    def _where(self, faulty_chroma: Chroma) -> None:
        self.server: Chroma = faulty_chroma

    def fresh(self) -> str:
        return f"{self.server.url}/t{uuid4().hex[:12]}"
