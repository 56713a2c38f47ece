"""A Ray of this machine, for tests of work on several."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_work import LOCAL

from pincite.cluster import Cluster, connected


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One Ray for all tests of a module; whoever connects again gets the same."""
    pytest.importorskip("ray", reason="needs the extra ray")
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)  # nodes find the functions of tests there
        patch.setenv("RAY_AUTH_TOKEN", os.urandom(32).hex())
        with connected(LOCAL) as found:
            assert found is not None
            yield found
