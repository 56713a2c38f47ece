"""Vectors of an index: complete, incremental, kept over merges, removed with their documents."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pincite.api import Index
from pincite.encode import cache
from pincite.model.settings import EmbeddingSettings, Settings, load_settings
from pincite.search.pipeline import NO_WORD
from pincite.store.manifest import current, damage
from pincite.update import embed_index, ingest_files, remove

TEXTS = {
    "fire.md": "# Fire\n\n## 1 Extinguishers\n\nKeep a device against flames in each room.\n",
    "water.md": "# Water\n\n## 2 Pipes\n\nTubing that leaks shall be mended at once.\n",
    "pay.md": "# Pay\n\n## 3 Wages\n\nEmployees get their salary on the last day of the month.\n",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))


def build(home: Path, names: list[str], settings: Settings | None = None) -> Path:
    for name in names:
        (home / name).write_text(TEXTS[name])
    files = [(home / name, name) for name in names]
    list(ingest_files(files, home / "index", settings))
    return home / "index"


def embedded(folder: Path, settings: Settings | None = None) -> int:
    """Return how many chunks were encoded."""
    steps = list(embed_index(folder, settings or Settings()))
    return steps[-1].done if steps else 0


def first(folder: Path, query: str) -> str:
    with Index.open(folder) as index:
        return index.search(query, 1).passages[0].chunk.span.doc_id


def test_meaning_finds_what_words_do_not(tmp_path: Path) -> None:
    folder = build(tmp_path, list(TEXTS))
    with Index.open(folder) as index:
        assert index.search("when is income paid out to workers").ranking.hits == ()
    assert embedded(folder) >= 3
    assert first(folder, "when is income paid out to workers") == "pay.md"
    assert first(folder, "repairing a plumbing problem") == "water.md"
    assert damage(folder) == []
    with Index.open(folder) as index:
        assert index.search("when is income paid out to workers").ranking.notes == (NO_WORD,)
        assert index.search("leaks").ranking.notes == ()


@pytest.mark.parametrize("pipeline", ["hybrid", "hybrid+late", "hybrid+rerank"])
def test_who_asks_for_meaning_is_told_where_there_is_none(tmp_path: Path, pipeline: str) -> None:
    folder = build(tmp_path, list(TEXTS))
    asked = load_settings(overrides=[f"search.preset={pipeline}"])
    told = ("searched by words alone: the index has no vectors of minilm@2",)
    with Index.open(folder, asked) as index:
        assert index.search("leaks").ranking.notes == told
    with Index.open(folder) as index:  # nothing was asked for: words are all that there is
        assert index.search("leaks").ranking.notes == ()
    embedded(folder, asked)
    with Index.open(folder, asked) as index:
        assert index.search("leaks").ranking.notes == ()


def test_only_what_is_new_is_encoded(tmp_path: Path) -> None:
    folder = build(tmp_path, ["fire.md"])
    before = embedded(folder)
    assert embedded(folder) == 0
    generation = current(folder).generation
    build(tmp_path, list(TEXTS))
    assert 0 < embedded(folder) <= 2 * before
    assert current(folder).generation > generation
    assert {entry.model for entry in current(folder).vectors} == {"minilm@2"}


def test_vectors_live_through_merges_and_go_with_their_documents(tmp_path: Path) -> None:
    names = []
    for number in range(12):
        names.append(f"{number}.md")
        (tmp_path / names[-1]).write_text(f"# Paper {number}\n\nPaper number {number} on pigs.\n")
        list(ingest_files([(tmp_path / names[-1], names[-1])], tmp_path / "index"))
        embedded(tmp_path / "index")
    manifest = current(tmp_path / "index")
    assert len(manifest.segments) < 12
    assert sum(entry.chunks for entry in manifest.vectors) == 12
    assert embedded(tmp_path / "index") == 0
    remove(tmp_path / "index", names[1:])
    with Index.open(tmp_path / "index") as index:
        found = index.search("swine article", 20)
        assert {p.chunk.span.doc_id for p in found.passages} == {"0.md"}
    assert damage(tmp_path / "index") == []


def test_a_second_run_takes_vectors_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build(tmp_path, list(TEXTS))
    embedded(folder)
    with Index.open(folder) as index:
        expected = index.search("income", 3).ranking.hits

    def refuse(*_: object) -> None:
        raise AssertionError("encoded again")

    monkeypatch.setattr("pincite.encode.encoders.OnnxEncoder.encode", refuse)
    other = tmp_path / "other"
    other.mkdir()
    again = build(other, list(TEXTS))
    embedded(again)
    monkeypatch.undo()
    with Index.open(again) as index:
        assert index.search("income", 3).ranking.hits == expected


def test_no_model_means_words_alone(tmp_path: Path) -> None:
    folder = build(tmp_path, list(TEXTS))
    none = replace(Settings(), embedding=EmbeddingSettings(model="none"))
    assert embedded(folder, none) == 0
    with Index.open(folder, none) as index:
        assert index.search("leaks").ranking.hits
    assert not (cache.cache_folder()).exists()
