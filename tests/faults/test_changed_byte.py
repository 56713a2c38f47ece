"""One digit that changed by itself: whoever reads a whole index says so, and uses none of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pincite.maintain.copy import copy_index
from pincite.maintain.exchange import export_index
from pincite.model.errors import StoreError
from pincite.model.settings import Settings
from pincite.store.location import open_snapshot
from pincite.update import embed_index, ingest_files

RULE = "Rods shall be at least 2.4 m apart."


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index with 2.5 where 2.4 was written, in a file of the same size."""
    file, folder = tmp_path / "rules.md", tmp_path / "index"
    file.write_text(f"# Rules\n\n## 1 Rods\n\n{RULE}\n")
    list(ingest_files([(file, "rules.md")], folder))
    (database,) = folder.rglob("chunks.sqlite")
    data = database.read_bytes()
    assert data.count(RULE.encode()) == 1
    database.write_bytes(data.replace(b"least 2.4 m", b"least 2.5 m"))
    return folder


def _copied(index: Path, folder: Path) -> Iterator[object]:
    return copy_index(index, folder / "copy")


def _exported(index: Path, folder: Path) -> Iterator[object]:
    with open_snapshot(index) as snapshot:
        yield from export_index(snapshot, folder / "plain")


def _encoded(index: Path, _: Path) -> Iterator[object]:
    return embed_index(index, Settings().changed({"embedding.model": "static"}))


def _served(index: Path, _: Path) -> Iterator[object]:
    pytest.importorskip("fastapi", reason="needs the extra serve")
    from pincite.serve.collections import ServedCollection

    collection = ServedCollection("rules", index, Settings())
    yield collection.refresh()


@pytest.mark.parametrize("read", [_copied, _exported, _encoded, _served])
def test_a_changed_digit_is_told(
    read: Callable[[Path, Path], Iterator[object]], index: Path, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="does not match its checksum") as told:
        list(read(index, tmp_path))
    assert "doctor" in told.value.hint
    assert not (tmp_path / "plain").exists()


def test_a_service_makes_nothing_of_arrays_that_changed(tmp_path: Path) -> None:
    """Whatever a bit does to them, it is told as damage, not as what broke on the way."""
    file, folder = tmp_path / "rules.md", tmp_path / "index"
    file.write_text(f"# Rules\n\n## 1 Rods\n\n{RULE}\n")
    list(ingest_files([(file, "rules.md")], folder))
    (arrays,) = folder.rglob("arrays.bin")
    whole = arrays.read_bytes()
    for at in range(7, len(whole), len(whole) // 60):
        arrays.write_bytes(whole[:at] + bytes([whole[at] ^ 128]) + whole[at + 1 :])
        with pytest.raises(StoreError, match="does not match its checksum"):
            list(_served(folder, tmp_path))
