"""Indexes on their way to the nodes of a cluster."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pincite.core.errors import ConfigError
from pincite.evaluate.node_index import sent
from pincite.store.server.snapshot import ServerSnapshot


def test_an_index_in_a_server_is_not_sent() -> None:
    snapshot = object.__new__(ServerSnapshot)
    with pytest.raises(ConfigError, match="folder") as told:
        sent(cast(Any, None), snapshot)
    assert "pincite copy" in told.value.hint
