"""Chroma that dies, hangs and comes back, and writers that fall silent."""

from __future__ import annotations

from uuid import uuid4

import pytest
from tests.servers.chroma import Chroma
from tests.servers.small_disk import means
from tests.stores.documents import build, library, rules
from tests.stores.silent import VectorFaults

from pincite.api import Index
from pincite.model.errors import StoreUnavailable

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("short_lease")
class TestChromaFaults(VectorFaults):
    @pytest.fixture(autouse=True)
    def _where(self, mortal_chroma: Chroma) -> None:
        self.server: Chroma = mortal_chroma

    def fresh(self) -> str:
        return f"{self.server.url}/t{uuid4().hex[:12]}"

    def test_a_full_disk_is_told_and_loses_nothing(self) -> None:
        """Chroma itself is not well afterwards: it has to be started again."""
        asked = "how many days to inspect a boiler"
        large = {f"large-{number}.md": rules(number, 120) for number in range(20, 26)}
        with means()[0]() as small, Chroma(small.folder) as server:
            url = f"{server.url}/full"
            build(url, library())
            with Index.open(url) as index:
                before = index.search_ranking(asked, 10).hits
                small.fill(server)
                with pytest.raises(StoreUnavailable) as told:
                    build(url, large)
                assert told.value.hint
                assert index.search_ranking(asked, 10).hits == before
            with Index.open(url) as again:
                assert again.documents() == sorted(library())
            small.free(server)
            server.kill()
            server.start()
            build(url, large)
            with Index.open(url) as again:
                assert again.documents() == sorted([*library(), *large])
