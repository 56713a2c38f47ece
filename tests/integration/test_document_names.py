"""Ids of documents: two files of one name are two documents, and what is moved stays itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from pincite.model.settings import Settings
from pincite.store.location import open_snapshot
from pincite.store.snapshot import source_file
from pincite.update import ingest_files, left_over

SETTINGS = Settings()


def write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, words in files.items():
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{words}\n")
    return folder


def ingest(index: Path, *paths: Path, prune: bool = False) -> dict[str, str]:
    done = ingest_files(list(paths), index, SETTINGS, prune=prune)
    return {outcome.document: str(outcome.status) for outcome in done}


def texts(index: Path) -> dict[str, str]:
    with open_snapshot(index, SETTINGS.store) as snapshot:
        return {each: snapshot.text(each).split()[-1] for each in snapshot.documents()}


def sources(index: Path) -> Iterable[Path]:
    with open_snapshot(index, SETTINGS.store) as snapshot:
        return [source_file(meta, index) for _, _, meta in sorted(snapshot.headers())]


def test_one_name_in_two_folders_is_two_documents(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", rules="first"), write(tmp_path / "b", rules="second")
    index = tmp_path / "index"
    assert ingest(index, a, b) == {"rules.md": "added", "b/rules.md": "added"}
    assert texts(index) == {"rules.md": "first", "b/rules.md": "second"}
    for paths in ((a, b), (b, a), (b,), (a / "rules.md",), (b / "rules.md",), (tmp_path / "b",)):
        assert set(ingest(index, *paths).values()) == {"unchanged"}, paths
    write(b, rules="third")
    assert ingest(index, b / "rules.md") == {"b/rules.md": "changed"}
    assert texts(index) == {"rules.md": "first", "b/rules.md": "third"}


def test_files_named_alone_and_in_later_runs(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", rules="first"), write(tmp_path / "b", rules="second")
    c = write(tmp_path / "z" / "b", rules="third")
    index = tmp_path / "index"
    assert ingest(index, a / "rules.md") == {"rules.md": "added"}
    assert ingest(index, b / "rules.md") == {"b/rules.md": "added"}
    assert ingest(index, c / "rules.md") == {"z/b/rules.md": "added"}
    assert len(texts(index)) == 3
    assert ingest(index, a, b, prune=True)["z/b/rules.md"] == "removed"
    assert texts(index) == {"rules.md": "first", "b/rules.md": "second"}


def test_a_file_that_is_named_twice_is_one_document(tmp_path: Path) -> None:
    a = write(tmp_path / "a", rules="first")
    assert ingest(tmp_path / "index", a, a / "rules.md", a) == {"rules.md": "unchanged"}
    assert texts(tmp_path / "index") == {"rules.md": "first"}


def test_a_moved_folder_is_not_there_twice(tmp_path: Path) -> None:
    a, b = write(tmp_path / "p" / "a", rules="first"), write(tmp_path / "p" / "b", rules="second")
    index = tmp_path / "index"
    ingest(index, a, b)
    (tmp_path / "p").rename(tmp_path / "q")
    assert not any(source.exists() for source in sources(index))
    moved = [tmp_path / "q" / name for name in ("b", "a")]  # in another order
    assert set(ingest(index, *moved)) == {"rules.md", "b/rules.md"}
    assert texts(index) == {"rules.md": "first", "b/rules.md": "second"}
    assert all(source.exists() for source in sources(index))
    assert set(ingest(index, *moved).values()) == {"unchanged"}


def test_an_index_that_is_moved_with_its_documents_finds_them(tmp_path: Path) -> None:
    docs = write(tmp_path / "p" / "docs", rules="first")
    ingest(tmp_path / "p" / "index", docs)
    (tmp_path / "p").rename(tmp_path / "q")
    index, there = tmp_path / "q" / "index", tmp_path / "q" / "docs"
    assert list(sources(index)) == [there / "rules.md"]
    assert ingest(index, there) == {"rules.md": "unchanged"}


def test_what_is_left_over_is_told_by_files_not_by_names(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", rules="first"), write(tmp_path / "b", rules="second", more="x")
    index = tmp_path / "index"
    ingest(index, a, b)
    (b / "more.md").unlink()
    files = [(a / "rules.md", "rules.md"), (b / "rules.md", "rules.md")]
    left = left_over(index, SETTINGS.store, files, [a, b])
    assert (left.gone, left.elsewhere) == (("more.md",), 0)
    shutil.rmtree(b)
    assert set(left_over(index, SETTINGS.store, files[:1], [a]).gone) == set()
