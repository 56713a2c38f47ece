"""Milvus that dies, hangs and comes back, and writers that fall silent."""

from __future__ import annotations

from uuid import uuid4

import pytest
from tests.servers.milvus import Milvus
from tests.stores.silent import VectorFaults

from pincite.core.settings import Settings, StoreSettings

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("short_lease")
class TestMilvusFaults(VectorFaults):
    kills = 1  # it takes its time to come back
    no_hang = 45.0
    # It dies before the commit here; Chroma, behind the same engine and sooner back, at any moment.
    test_killed_while_rows_are_written = None
    test_killed_while_arrays_are_written = None

    def settings(self) -> Settings:
        """Give it time: on a busy machine it needs more than two seconds for an answer."""
        return Settings(store=StoreSettings(timeout_seconds=8.0))

    @pytest.fixture(autouse=True)
    def _where(self, mortal_milvus: Milvus) -> None:
        self.server = self._mortal = mortal_milvus

    def fresh(self) -> str:
        if self.server is self._mortal:
            self.server.clear()  # the less there is, the sooner it is back
        return f"{self.server.url}#t{uuid4().hex[:12]}"

    def test_a_server_that_hangs_is_told_in_time(self, milvus: Milvus) -> None:
        """One that can come back soon ends itself when it hangs; this one does not."""
        self.server = milvus
        super().test_a_server_that_hangs_is_told_in_time()
