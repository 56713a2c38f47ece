"""The index folder: what may lie in it, what is swept, what a reader keeps."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from pincite.api import Index
from pincite.model.errors import IndexBusy, StaleIndex, StoreError
from pincite.model.settings import LimitSettings, Settings
from pincite.model.tuning import Tuning
from pincite.model.types import Chunk, Document, Enrichment, Link, ParsedDocument, Span
from pincite.store import manifest as manifest_module
from pincite.store import snapshot as snapshot_module
from pincite.store.files import write_lock
from pincite.store.manifest import KEPT_GENERATIONS, check_files, current, read_manifest
from pincite.store.segment import Entry
from pincite.store.snapshot import Snapshot
from pincite.store.writer import IndexWriter

SHAPE = Settings().shape()


def entry(doc_id: str, text: str = "some words", locator: str = "1.1") -> Entry:
    chunk_id = f"id-{doc_id}"
    chunk = Chunk(chunk_id, Span(doc_id, 0, len(text)), text, "section", locator, "", (), len(text))
    return Entry(ParsedDocument(Document(doc_id, text), [chunk]), [(locator, chunk_id)])


def commit(folder: Path, *entries: Entry, drop: str = "") -> None:
    """Add a segment (without arrays) and commit."""
    with IndexWriter(folder, SHAPE) as writer:
        if drop:
            writer.drop(drop)
        if entries:
            writer.add(entries, {})
        writer.commit()


def test_a_generation_is_read_back(tmp_path: Path) -> None:
    commit(tmp_path, entry("a", "first"), entry("b", "second"))
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.documents() == ["a", "b"]
        assert snapshot.document("b").text == "second"
        assert [chunk.text for chunk in snapshot.get(["id-b", "id-a"])] == ["second", "first"]
        assert len(snapshot) == 2
        with pytest.raises(StoreError, match="no chunk 'id-c'"):
            snapshot.get(["id-a", "id-c"])
        with pytest.raises(StoreError, match="no document 'c'"):
            snapshot.document("c")


def test_a_relative_path_is_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commit(Path("index"), entry("a"))
    with Snapshot.open(Path("index")) as snapshot:
        assert snapshot.documents() == ["a"]


@pytest.mark.parametrize("name", ["100% of #1?", "a [bracket]", "ünï"])
def test_any_folder_name_is_fine(tmp_path: Path, name: str) -> None:
    commit(tmp_path / name, entry("a"))
    with Snapshot.open(tmp_path / name) as snapshot:
        assert snapshot.documents() == ["a"]


def test_a_dropped_document_is_gone_everywhere(tmp_path: Path) -> None:
    commit(tmp_path, entry("a"), entry("b"))
    commit(tmp_path, drop="a")
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.documents() == ["b"]
        assert len(snapshot) == 1
        assert snapshot.meta("a") is None
        assert snapshot.chunks("a") == []
        assert [chunk.id for chunk in snapshot.found_by(["1.1"])] == ["id-b"]
        with pytest.raises(StoreError):
            snapshot.get(["id-a"])


def test_places_are_found_in_document_order_over_all_segments(tmp_path: Path) -> None:
    for doc_id in ("b", "c", "a"):
        commit(tmp_path, entry(doc_id))
    with Snapshot.open(tmp_path) as snapshot:
        assert [chunk.span.doc_id for chunk in snapshot.found_by(["1.1"])] == ["a", "b", "c"]


def test_leaving_without_commit_changes_nothing(tmp_path: Path) -> None:
    commit(tmp_path, entry("a"))
    before = current(tmp_path)
    with IndexWriter(tmp_path, SHAPE) as writer:
        writer.drop("a")
        writer.add([entry("b")], {})
    assert current(tmp_path) == before
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.documents() == ["a"]


def test_what_a_killed_writer_of_the_same_pid_left_is_no_obstacle(tmp_path: Path) -> None:
    """In a container every run has the same pid."""
    (tmp_path / "segments" / f"000001-0.tmp-{os.getpid()}" / "rest").mkdir(parents=True)
    commit(tmp_path, entry("a"))
    assert [path.name for path in (tmp_path / "segments").iterdir()] == ["000001-0"]


@pytest.mark.parametrize("stray", ["segments/.DS_Store", "generations/notes.json", "CURRENT.tmp-9"])
def test_stray_files_are_no_obstacle(tmp_path: Path, stray: str) -> None:
    commit(tmp_path, entry("a"))
    (tmp_path / stray).write_text("?")
    commit(tmp_path, entry("b"))
    assert not (tmp_path / stray).exists()
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.documents() == ["a", "b"]


def test_old_generations_and_their_segments_are_swept(tmp_path: Path) -> None:
    for doc_id in "abcdef":
        commit(tmp_path, entry(doc_id))
    with IndexWriter(tmp_path, SHAPE) as writer:
        writer.replace([each.name for each in writer.segments], writer.add([entry("z")], {}))
        writer.commit()
    assert len(list((tmp_path / "generations").iterdir())) == KEPT_GENERATIONS
    commit(tmp_path, drop="z")
    assert [path.name for path in (tmp_path / "segments").iterdir()] == ["000007-0"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda values: values["segments"][0].pop("dropped"),
        lambda values: values["segments"][0].update(nam="x"),
        lambda values: values.pop("segments"),
        lambda values: values.update(segments=3),
        lambda values: values.update(extra=1),
    ],
)
def test_a_damaged_older_generation_serves_nobody(
    tmp_path: Path, damage: Callable[[dict[str, object]], object]
) -> None:
    commit(tmp_path, entry("a"))
    commit(tmp_path, entry("b"))
    older = tmp_path / "generations" / "000001.json"
    values = json.loads(older.read_bytes())
    damage(values)
    older.write_text(json.dumps(values))
    with pytest.raises(StoreError, match="damaged"):
        read_manifest(older)
    commit(tmp_path, entry("c"))
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.documents() == ["a", "b", "c"]


def test_a_reader_keeps_its_generation(tmp_path: Path) -> None:
    commit(tmp_path, entry("a", "old"))
    with Snapshot.open(tmp_path) as snapshot:
        for number in range(KEPT_GENERATIONS + 2):
            with IndexWriter(tmp_path, SHAPE) as writer:
                new = writer.add([entry("a", f"new {number}")], {"x": np.arange(3)})
                writer.replace([each.name for each in writer.manifest.segments], new)
                writer.commit()
        assert not (tmp_path / "segments" / "000001-0").exists()
        assert snapshot.document("a").text == "old"
        assert snapshot.get(["id-a"])[0].text == "old"


@pytest.mark.parametrize(
    "place", [(snapshot_module, "current"), (manifest_module, "manifest_file")]
)
def test_a_generation_that_is_swept_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[ModuleType, str]
) -> None:
    """The reader is held up once, in one of two places, until what it was to open is gone."""
    commit(tmp_path, entry("a", "old"))
    read = getattr(*place)

    def held_up(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(*place, read)
        result = read(*arguments, **named) if place[1] == "current" else None
        for number in range(KEPT_GENERATIONS + 1):
            with IndexWriter(tmp_path, SHAPE) as writer:
                new = writer.add([entry("a", f"new {number}")], {})
                writer.replace([each.name for each in writer.manifest.segments], new)
                writer.commit()
        return result or read(*arguments, **named)

    monkeypatch.setattr(*place, held_up)
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.document("a").text == f"new {KEPT_GENERATIONS}"


def test_a_failed_open_closes_what_it_opened(tmp_path: Path) -> None:
    commit(tmp_path, entry("a"))
    commit(tmp_path, entry("b"))
    (tmp_path / "segments" / "000002-0" / "chunks.sqlite").unlink()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(StoreError, match="damaged"):
        Snapshot.open(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_get_takes_any_number_of_ids(tmp_path: Path) -> None:
    unknown = list(map(str, range(260_000)))  # SQLite takes at most 250,000 values at once
    commit(tmp_path, entry("a"))
    with Snapshot.open(tmp_path) as snapshot, pytest.raises(StoreError, match="no chunk '0'"):
        snapshot.get(["id-a", *unknown])


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with write_lock(tmp_path):
        with pytest.raises(IndexBusy, match=f"pid {os.getpid()}"):
            IndexWriter(tmp_path, SHAPE).__enter__()
        with pytest.raises(IndexBusy), write_lock(tmp_path):
            pass
    commit(tmp_path, entry("a"))


def test_a_lock_that_was_deleted_still_holds(tmp_path: Path) -> None:
    with write_lock(tmp_path):
        (tmp_path / "write.lock").unlink()
        with pytest.raises(IndexBusy), write_lock(tmp_path):
            pass
    commit(tmp_path, entry("a"))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_does_not_keep_the_lock_of_its_parent(tmp_path: Path) -> None:
    """A killed writer may leave children behind; the next writer must not wait for them."""
    outcome, report = os.pipe()
    with write_lock(tmp_path):
        child = os.fork()
        if child == 0:
            held = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
            locks = {str(tmp_path), str(tmp_path / "write.lock")}
            os.write(report, b"held" if locks.intersection(held) else b"free")
            os._exit(0)
        os.waitpid(child, 0)
        with pytest.raises(IndexBusy), write_lock(tmp_path):
            pass
    assert os.read(outcome, 4) == b"free"
    os.close(outcome)
    os.close(report)


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    commit(tmp_path, entry("a"))
    other = Settings(tuning=Tuning(bigrams=False)).shape()
    with pytest.raises(StaleIndex, match=r"tokens\.bigrams was True, now False"):
        IndexWriter(tmp_path, other).__enter__()
    newer = {**SHAPE, "tokens": {**SHAPE["tokens"], "accents": True}}
    with pytest.raises(StaleIndex, match=r"tokens\.accents was None, now True"):
        IndexWriter(tmp_path, newer).__enter__()
    with IndexWriter(tmp_path, other, rebuild=True) as writer:
        writer.add([entry("b")], {})
        writer.commit()
    assert current(tmp_path).shape == other
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.documents() == ["b"]


def test_how_large_a_file_may_be_does_not_shape_the_index(tmp_path: Path) -> None:
    """The hint for a large file says to raise the limit: that must not ask for a rebuild."""
    commit(tmp_path, entry("a"))
    with IndexWriter(tmp_path, Settings(limits=LimitSettings(file_mb=200)).shape()) as writer:
        assert writer.base.documents() == ["a"]


@pytest.mark.parametrize("name", ["segment.json", "chunks.sqlite", "arrays.bin"])
def test_damage_is_found_by_size_or_checksum(tmp_path: Path, name: str) -> None:
    with IndexWriter(tmp_path, SHAPE) as writer:
        added = writer.add([entry("a")], {"numbers": np.arange(1000)})
        writer.commit()
    file = tmp_path / "segments" / added.name / name
    data = bytearray(file.read_bytes())
    assert check_files(tmp_path, added, full=True) == []
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert check_files(tmp_path, added, full=True) == [f"{file} does not match its checksum"]
    file.write_bytes(data[:-1])
    assert len(check_files(tmp_path, added, full=False)) == 1
    file.unlink()
    assert check_files(tmp_path, added, full=False) == [f"{file} is missing"]


def test_no_index_is_told_with_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no index in") as caught:
        Index.open(tmp_path)
    assert "pincite ingest" in caught.value.hint


def test_an_older_format_is_refused_until_it_is_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(manifest_module, "FORMAT", 1)
        older.setattr(manifest_module, "READABLE", (1,))
        commit(tmp_path, entry("a"))
    with pytest.raises(StaleIndex, match="has format") as refused:
        Snapshot.open(tmp_path)
    assert "--rebuild" in refused.value.hint
    with IndexWriter(tmp_path, SHAPE, rebuild=True) as writer:
        writer.add([entry("b")], {})
        writer.commit()
    with Snapshot.open(tmp_path) as snapshot:
        assert snapshot.documents() == ["b"]


def test_numbered_rows_come_back_under_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when so many words are repeated that the writer forgets some of them."""
    monkeypatch.setattr("pincite.store.segment.REMEMBERED_WORDS", 2)

    def family(doc_id: str) -> Entry:
        chunks = [
            Chunk(
                id=f"{doc_id}-{i}",
                span=Span(doc_id, i, 9),
                text="some words"[i:9],
                kind="clause" if i else "document",
                locator=f"{i}",
                title=f"t{i}",
                path=("Part", f"{doc_id} {i % 3}"),
                own_end=9,
                parent=f"{doc_id}-0" if i else None,
                searched=bool(i % 2),
                context=f"context {i % 2}",
            )
            for i in range(6)
        ]
        links = [
            Link(f"{doc_id}-5", "uses", "later", Span(doc_id, 1, 2)),
            Link(f"{doc_id}-1", "refers_to", "earlier", Span(doc_id, 0, 1)),
        ]
        facts = {f"{doc_id}-{i}": Enrichment("rule", tags=(f"tag {i % 3}",)) for i in range(5)}
        keys = [("same", chunk.id) for chunk in chunks] * 2
        return Entry(
            ParsedDocument(Document(doc_id, "some words"), chunks, links, facts, [], []), keys
        )

    written = [family("b"), family("a")]
    commit(tmp_path, *written)
    with Snapshot.open(tmp_path) as snapshot:
        for each in written:
            loaded = each.loaded
            assert snapshot.chunks(loaded.document.id) == loaded.chunks
            assert snapshot.links(loaded.document.id) == loaded.links
            assert snapshot.facts([chunk.id for chunk in loaded.chunks]) == loaded.facts
        assert [c.id for c in snapshot.children("b-0")] == [f"b-{i}" for i in range(1, 6)]
        assert [c.span.doc_id for c in snapshot.found_by(["same"])] == ["a"] * 6 + ["b"] * 6
        assert set(snapshot.documents_with(["same", "other"])) == {"same"}
        [segment] = snapshot.segments
        again = list(segment.entries())
    assert [e.loaded for e in again] == [e.loaded for e in written]
    assert [sorted(e.keys) for e in again] == [sorted(set(e.keys)) for e in written]


def test_what_is_remembered_of_a_document_is_not_shown_to_who_may_not_see_it(
    tmp_path: Path,
) -> None:
    top = Chunk("top", Span("a", 0, 10), "some words", "section", "1", "", (), 4)
    part = Chunk("part", Span("a", 5, 10), "words", "clause", "1(a)", "", (), 10, parent="top")
    commit(tmp_path, Entry(ParsedDocument(Document("a", "some words"), [top, part]), []))
    with Snapshot.open(tmp_path) as snapshot:
        within = snapshot.inside("top")
        assert [chunk.id for chunk in within] == ["part"]
        within.clear()  # what is handed out is the caller's
        assert [chunk.id for chunk in snapshot.inside("top")] == ["part"]
        assert snapshot.hiding(frozenset({"a"})).inside("top") == []
