"""What the fault simulation found, one by one: files that fail while they are written."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.model.errors import ModelError, StoreError
from pincite.model.settings import Settings
from pincite.search.learned import Linear, RankerModel, load_model, save_model
from pincite.store import manifest as manifest_module
from pincite.store.files import explained, write_durably, write_folder, write_lock
from pincite.store.manifest import current
from pincite.store.writer import IndexWriter

SHAPE = Settings().shape()


def failing(number: int) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


def commit(folder: Path) -> None:
    with IndexWriter(folder, SHAPE) as writer:
        writer.add([], {"x": np.arange(3)})
        writer.commit()


def test_folders_above_a_new_index_are_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut names of folders that nobody synced are gone, with all inside them."""
    synced, fsync = set(), os.fsync

    def noted(handle: int) -> None:
        synced.add(os.readlink(f"/proc/self/fd/{handle}"))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    commit(tmp_path / "a" / "b" / "index")
    above = [tmp_path, tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "index"]
    assert synced >= {str(folder) for folder in above}


@pytest.mark.parametrize("call", ["pwrite", "ftruncate"])
def test_a_full_disk_is_no_reason_not_to_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(os, call, failing(errno.ENOSPC))
    with write_lock(tmp_path), pytest.raises(StoreError), write_lock(tmp_path):
        pass


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (sqlite3.SQLITE_FULL, "free some disk space"),
        (sqlite3.SQLITE_READONLY, "read-only"),
        (sqlite3.SQLITE_IOERR | 3 << 8, "room, limits and health"),
    ],
)
def test_what_sqlite_says_of_a_disk_has_the_same_remedy(code: int, remedy: str) -> None:
    error = sqlite3.OperationalError("words of SQLite")
    error.sqlite_errorcode = code
    with pytest.raises(StoreError, match="words of SQLite") as told, explained("write", Path("x")):
        raise error
    assert remedy in told.value.hint


def test_a_commit_is_one_although_nothing_can_be_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(manifest_module, "sweep", failing(errno.EIO))
        commit(tmp_path)
    assert current(tmp_path).generation == 1
    commit(tmp_path)
    assert current(tmp_path).generation == 2


def model(weight: float) -> RankerModel:
    return RankerModel("linear", ("bm25", "dense"), 10, Linear(np.array([weight, 1.0])), about={})


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_model_is_replaced_at_once_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """It was written over the old one: a crash left neither."""
    file = tmp_path / "ranker.json"
    save_model(model(1), file)
    with monkeypatch.context() as broken:
        broken.setattr(os, call, failing(errno.ENOSPC))
        with pytest.raises(ModelError, match="No space left"):
            save_model(model(2), file)
    scorer = load_model(file).scorer
    assert isinstance(scorer, Linear) and scorer.weights[0] == 1
    assert list(tmp_path.iterdir()) == [file]


def test_what_killed_writers_left_beside_a_file_is_deleted(tmp_path: Path) -> None:
    dead = tmp_path / "file.tmp-999999999"
    alive = tmp_path / f"file.tmp-{os.getppid()}"
    other = tmp_path / "file.tmp-notes"
    for each in (dead, alive, other):
        each.write_text("x")
    write_durably(tmp_path / "file", b"words")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "file", alive, other])


def test_a_folder_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk what is half written takes the room that a smaller work would need."""
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(OSError):
        write_folder(tmp_path / "home", {"x": np.arange(1000)})
    assert list(tmp_path.iterdir()) == []


def test_a_generation_that_was_never_current_is_not_kept_by_a_rebuild(tmp_path: Path) -> None:
    """It was kept in the place of the one before, which readers and a repair may need."""
    for _ in range(3):
        commit(tmp_path)
    left = tmp_path / "generations" / "000004.json"  # of a writer that was killed
    left.write_bytes((tmp_path / "generations" / "000003.json").read_bytes())
    with IndexWriter(tmp_path, SHAPE, rebuild=True) as writer:
        writer.add([], {})
        writer.commit()
    kept = sorted(file.name for file in (tmp_path / "generations").iterdir())
    assert kept == ["000003.json", "000004.json"] and current(tmp_path).generation == 4
