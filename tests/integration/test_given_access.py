"""Access tags from outside the document: of who ingests, of a folder; they stay until changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite.index.opened import OpenIndex
from pincite.model.settings import Settings
from pincite.read.access import FILE
from pincite.store.location import open_snapshot
from pincite.update import ingest_files

PLAIN = Settings().changed({"embedding.model": "none"})
OWN = "---\naccess: board\n---\n# Own\n\nPlans of the board.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = tmp_path / "files"
    (files / "inner").mkdir(parents=True)
    (files / "a.csv").write_text("Name,Wage\nAnn,10\nBob,20\n")
    (files / "own.md").write_text(OWN)
    (files / "inner/b.txt").write_text("Rods are 2 m apart.\n")
    return files


def tags(index: Path) -> dict[str, str]:
    with open_snapshot(index) as snapshot:
        return {doc_id: meta.get("access", "") for doc_id, _, meta in snapshot.headers()}


def test_who_ingests_gives_tags_that_stay(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    ingest_files(folder, index, PLAIN, access="staff, hr")
    given = {"a.csv": "staff,hr", "inner/b.txt": "staff,hr", "own.md": "board"}
    assert tags(index) == given
    (folder / "a.csv").write_text("Name,Wage\nAnn,11\n")
    ingest_files(folder, index, PLAIN)  # nobody says anything: nothing becomes public
    assert tags(index) == given
    ingest_files(folder, index, PLAIN, rebuild=True)
    assert tags(index) == given
    report = ingest_files(folder, index, PLAIN, access="")
    assert report.counts["changed"] == 3 and not report.rejected
    assert tags(index) == {"a.csv": "", "inner/b.txt": "", "own.md": "board"}


def test_a_folder_gives_tags_to_all_below_it(folder: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    ingest_files(folder, index, PLAIN)
    (folder / FILE).write_text("staff\n")
    (folder / "inner" / FILE).write_text("guests\n")
    report = ingest_files(folder, index, PLAIN)
    assert report.counts["changed"] == 3
    assert tags(index) == {"a.csv": "staff", "inner/b.txt": "guests", "own.md": "board"}
    opened = OpenIndex.open(index)
    assert list(opened.seen_by(()).snapshot.documents()) == []
    assert list(opened.seen_by(("guests",)).snapshot.documents()) == ["inner/b.txt"]
    opened.snapshot.close()


def test_tags_that_cannot_be_read_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / FILE).write_text("\n")
    report = ingest_files(folder, tmp_path / "index", PLAIN)
    assert {each.reason for each in report.rejected} == {f"{folder / FILE}: access names nobody"}
    assert report.counts["rejected"] == 3
