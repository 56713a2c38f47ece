"""An index moves between stores and is the same afterwards, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.servers.postgres import Postgres
from tests.stores.documents import build, exported, library, rules
from tests.stores.moves import assert_there_and_back, made

from pincite.api import Index
from pincite.maintain import copy
from pincite.maintain.copy import copy_index
from pincite.model.errors import ConfigError


def test_there_and_back_is_byte_for_byte_the_same(postgres: Postgres, tmp_path: Path) -> None:
    assert_there_and_back(f"{postgres.url}#copied", tmp_path)


def test_a_copy_that_was_cut_short_goes_on(postgres: Postgres, tmp_path: Path) -> None:
    first, server = made(tmp_path / "first"), f"{postgres.url}#cut"
    stream = copy_index(first, server)
    assert next(stream).is_new
    stream.close()
    with Index.open(server) as some:
        assert 0 < len(some.documents()) < len(library())
    rest = list(copy_index(first, server))
    assert [part.is_new for part in rest] == [False, *(True for _ in rest[1:])]
    assert exported(first, tmp_path / "a") == exported(server, tmp_path / "b")
    assert not any(part.is_new for part in copy_index(first, server))


def test_nothing_is_mixed_into_another_index(tmp_path: Path) -> None:
    build(tmp_path / "one", {"a.md": rules(1)})
    build(tmp_path / "two", {"b.md": rules(2)})
    with pytest.raises(ConfigError, match="an index of its own"):
        list(copy_index(tmp_path / "one", tmp_path / "two"))
    with pytest.raises(ConfigError, match="the same"):
        list(copy_index(tmp_path / "one", tmp_path / "one"))


def test_two_copies_at_once_copy_everything_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one looked at an empty target, and wrote when the first one was ready."""
    build(tmp_path / "one", {"a.md": rules(1), "b.md": rules(2)})
    looked, look = [], copy._known

    def late(*arguments: Any) -> dict[str, int]:
        known = look(*arguments)
        if not looked:
            looked.append(known)
            list(copy_index(tmp_path / "one", tmp_path / "two"))
        return known

    monkeypatch.setattr(copy, "_known", late)
    (copied,) = copy_index(tmp_path / "one", tmp_path / "two")
    assert looked == [{}] and not copied.is_new
    with Index.open(tmp_path / "two") as index:
        assert index.documents() == ["a.md", "b.md"]
