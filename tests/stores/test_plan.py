"""What copying an index into a server will take, from a small part of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.stores.documents import build, rules

from pincite.maintain import plan as planning
from pincite.maintain.copy import copy_index
from pincite.maintain.plan import plan
from pincite.model.errors import ConfigError, StoreError
from pincite.store.location import exists, open_engine, open_snapshot, place_beside
from pincite.update import embed_index

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plan") / "index"
    for half in range(2):  # two segments
        build(made, {f"{n}.md": rules(n + 1, 20) for n in range(10 * half, 10 * half + 10)})
    for _ in embed_index(made):
        pass
    return made


@pytest.fixture(params=["postgresql", "opensearch"])
def url(request: pytest.FixtureRequest) -> str:
    name = f"plan_{uuid4().hex[:8]}"
    if request.param == "postgresql":
        return f"{request.getfixturevalue('postgres').url}#{name}"
    made: Callable[[], str] = request.getfixturevalue("new_opensearch")
    return made()


def test_a_part_is_copied_and_removed_again(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, pincite: Callable[..., Any]
) -> None:
    with open_snapshot(folder) as snapshot:
        total = len(snapshot)
    monkeypatch.setattr(planning, "SAMPLE_CHUNKS", total // 2)
    found = plan(folder, url)
    assert found.chunks == total and total // 2 <= found.sample < total
    assert found.seconds > found.sample_seconds > 0
    assert found.disk_mb is not None and found.disk_mb > 0
    assert not exists(url) and not exists(place_beside(url, "_plan"))
    told = pincite("plan", folder, "--store", url)
    assert told.code == 0 and f"of {total:,} chunks" in told.out and "disk" in told.out
    list(copy_index(folder, url))
    engine = open_engine(url)
    size = engine.size()
    engine.close()
    # It is told as it is: within a factor of three of what so small an index really takes.
    assert size is not None and 1 / 3 < found.disk_mb * 1e6 / size < 3
    again = plan(folder, url)  # beside an index of that name
    assert again.chunks == total and exists(url)


def test_what_a_killed_plan_left_is_removed(url: str, folder: Path) -> None:
    build(place_beside(url, "_plan"), {"left.md": rules(1)})
    assert plan(folder, url).sample
    assert not exists(place_beside(url, "_plan"))


def test_a_plan_needs_a_server_and_something_to_copy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a plan is for a server"):
        plan(tmp_path / "index", str(tmp_path / "other"))
    with pytest.raises(StoreError, match="no index"):
        plan(tmp_path / "index", "postgresql://127.0.0.1:1/db")
