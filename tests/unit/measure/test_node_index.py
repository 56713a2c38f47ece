"""Indexes on their way to the nodes of a cluster."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pincite.measure.spreading import sent
from pincite.model.errors import ConfigError
from pincite.store.server.snapshot import ServerSnapshot


def test_an_index_in_a_server_is_not_sent() -> None:
    snapshot = object.__new__(ServerSnapshot)
    with pytest.raises(ConfigError, match="folder") as told:
        sent(cast(Any, None), snapshot)
    assert "pincite copy" in told.value.hint
