"""An index that a released version wrote opens, or is told how to be made again."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from pincite import Index
from pincite.model.errors import StaleIndex
from pincite.store.format import FORMAT

FROZEN = Path(__file__).parents[1] / "faults" / "frozen"
ARCHIVES = sorted(FROZEN.glob("*.tar.xz"))


def test_the_present_format_is_frozen() -> None:
    assert f"format-{FORMAT}.tar.xz" in {archive.name for archive in ARCHIVES}


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda file: file.name)
def test_a_frozen_index_opens_or_is_told_how_to_be_made_again(
    archive: Path, tmp_path: Path
) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    was = json.loads(archive.with_name(archive.name.replace("tar.xz", "json")).read_text())
    try:
        index = Index.open(tmp_path)
    except StaleIndex as told:
        assert "--rebuild" in told.hint
        assert f"format-{FORMAT}." not in archive.name, "the present format has to open"
        return
    with index:
        assert {name: len(index.snapshot.text(name)) > 0 for name in index.documents()} == (
            dict.fromkeys(was["documents"], True)
        )
        for query, best in was["hits"].items():
            assert best in {hit.chunk_id for hit in index.search(query, 5).ranking.hits[:5]}
