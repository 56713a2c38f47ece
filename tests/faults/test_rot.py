"""Damaged files are noticed and named, and a repair keeps what checksums vouch for."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fault_workload as workload
import pytest
import rot

from pincite.maintain.repair import repair_index
from pincite.model.errors import StaleIndex, StoreError
from pincite.model.settings import Settings
from pincite.model.types import ParsedDocument
from pincite.read.load import parse
from pincite.store import files, manifest
from pincite.store.manifest import current, damage
from pincite.store.segment import digest_of
from pincite.store.snapshot import Snapshot

FILES = int(os.environ.get("PINCITE_ROT_FILES", "64"))
SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.md"))
DOCUMENTS = {f"{i}.md": workload.document(i, 1) for i in range(4)}


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with workload.small_segments():
        yield


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index of four documents in one segment, in its second generation."""
    monkeypatch.setattr(workload.builder, "SEGMENT_TERMS", 10_000)
    workload.bring(tmp_path / "index", DOCUMENTS)
    workload.encode(tmp_path / "index")
    return tmp_path / "index"


def segment(index: Path, name: str) -> Path:
    return index / "segments" / current(index).segments[-1].name / name


def spoil(file: Path, at: int | None = None) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 1
    file.write_bytes(data)


@pytest.mark.slow
def test_a_bit_flipped_in_any_file_is_told_by_whoever_reads_it() -> None:
    found = rot.flip_each(1)
    assert found.failures == [] and found.files == sum(row.flips for row in found.rows.values())


@pytest.mark.slow
def test_every_damaged_file_is_noticed_and_repaired() -> None:
    found = rot.run(FILES)
    assert found.failures == []
    assert len(found.rows) == 8 and sum(row.damaged for row in found.rows.values()) == FILES
    assert all(row.noticed == row.damaged for row in found.rows.values())
    mended = {kind: row.complete for kind, row in found.rows.items()}
    for kind, row in found.rows.items():
        assert kind == "segments/chunks.sqlite" or mended[kind] == row.damaged


def test_a_database_loses_only_what_is_damaged_in_it(index: Path) -> None:
    file = segment(index, "chunks.sqlite")
    spoil(file, file.read_bytes().index(b"Document 2 version 1 paragraph 3"))
    report = repair_index(index)
    assert (report.rebuilt, report.lost) == (["0.md", "1.md", "3.md"], ["2.md"])
    assert report.lost_unnamed == 0 and not report.is_complete
    kept = {name: text for name, text in DOCUMENTS.items() if name != "2.md"}
    workload.check_complete(index, kept, vectors=False)
    workload.bring(index, DOCUMENTS)
    workload.encode(index)
    workload.check_complete(index, DOCUMENTS, vectors=True)


@pytest.fixture
def merged(index: Path) -> Path:
    """An index whose last generation merged three segments, which are still kept, into one."""
    for last in (5, 6):
        new = {f"{n}.md": workload.document(n, 1) for n in range(5, last + 1)}
        workload.bring(index, DOCUMENTS | new)
    assert [entry.documents for entry in current(index).segments] == [6]
    return index


def test_what_a_damaged_database_cannot_give_comes_from_an_older_generation(merged: Path) -> None:
    before = workload.content(merged)
    segment(merged, "chunks.sqlite").unlink()
    report = repair_index(merged)
    assert report.older == sorted(before.texts) and not report.lost
    assert workload.content(merged).texts == before.texts


def test_documents_whose_names_are_gone_too_are_counted(merged: Path) -> None:
    shutil.rmtree(segment(merged, "."))
    report = repair_index(merged)
    assert report.lost_unnamed == 6 and not report.is_complete


@pytest.mark.parametrize("words", ["", "000001\n", "2 x\n", "000009 " + "0" * 64, None])
def test_a_pointer_that_leads_nowhere(index: Path, words: str | None) -> None:
    before = workload.content(index)
    if words is None:
        (index / "CURRENT").unlink()
    else:
        (index / "CURRENT").write_text(words)
    with pytest.raises(StoreError) as told:
        Snapshot.open(index)
    assert "CURRENT" in told.value.message and "doctor" in told.value.hint
    report = repair_index(index)
    assert report.fell_back_to == 2 and not report.lost
    assert workload.content(index) == before


def test_a_flipped_format_is_damage_and_not_another_format(index: Path) -> None:
    file = max((index / "generations").iterdir())
    before = workload.content(index)
    file.write_bytes(file.read_bytes().replace(b'"format": 3', b'"format": 7'))
    with pytest.raises(StoreError, match="do not match") as told:
        Snapshot.open(index)
    assert not isinstance(told.value, StaleIndex)
    assert repair_index(index).fell_back_to == 1
    assert workload.content(index).texts == before.texts


def test_a_lost_pointer_does_not_cost_the_index(index: Path) -> None:
    """A writer used to begin an index anew, and swept the old one away."""
    (index / "CURRENT").unlink()
    more = workload.document(8, 1)
    with workload.builder.IndexBuilder(
        index, workload.SETTINGS, profile=str(current_profile(index))
    ) as writer:
        writer.put(workload.loaded("8.md", more))
        writer.flush()
    assert workload.content(index).texts == {**DOCUMENTS, "8.md": more}


def current_profile(index: Path) -> object:
    file = sorted((index / "generations").iterdir())[-1]
    return json.loads(file.read_text())["shape"]["profile"]["fingerprint"]


def test_without_a_pointer_and_without_a_whole_generation_nothing_is_overwritten(
    index: Path,
) -> None:
    (index / "CURRENT").unlink()
    shutil.rmtree(index / "segments")
    with pytest.raises(StoreError, match="no generation there is whole"):
        workload.bring(index, DOCUMENTS)
    workload.bring(index, DOCUMENTS, rebuild=True)
    workload.check_complete(index, DOCUMENTS, vectors=False)


def test_nothing_to_repair_changes_nothing(index: Path) -> None:
    before = sorted(index.rglob("*"))
    report = repair_index(index)
    assert report.is_complete and report.problems == [] and report.generation == 2
    assert sorted(index.rglob("*")) == before


def test_an_index_that_cannot_be_read_at_all_is_told(index: Path, tmp_path: Path) -> None:
    for file in (index / "generations").iterdir():
        file.write_bytes(b"rot")
    with pytest.raises(StoreError):
        repair_index(index)
    with pytest.raises(StoreError, match="no index"):
        repair_index(tmp_path / "nothing")


def test_a_format_that_nobody_reads_is_not_repaired(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "READABLE", (99,))
    with pytest.raises(StaleIndex) as told:
        repair_index(index)
    assert "--rebuild" in told.value.hint


def test_a_sector_that_cannot_be_read_is_named(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, read = segment(index, "arrays.bin"), files.sha256_of

    def failing(file: Path) -> str:
        if file == bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return read(file)

    monkeypatch.setattr(manifest, "sha256_of", failing)
    assert damage(index) == [f"{bad} cannot be read: Input/output error"]


def test_a_document_read_back_has_its_own_checksum(tmp_path: Path) -> None:
    """All that is kept is in it: any change of a field is another checksum."""
    settings = Settings()
    with workload.builder.IndexBuilder(tmp_path / "index", settings) as writer:
        for sample in SAMPLES:
            writer.put(parse(sample.read_bytes(), sample.name, settings.ingest))
        writer.flush()
    with Snapshot.open(tmp_path / "index") as snapshot:
        for part in snapshot.segments:
            known = part.arrays["document_digests"]
            for number, entry in enumerate(part.entries()):
                assert digest_of(entry.loaded) == known[number].tobytes()


def changes() -> list[Callable[[ParsedDocument], Any]]:
    from dataclasses import replace

    def document(**new: Any) -> Callable[[ParsedDocument], ParsedDocument]:
        return lambda old: replace(old, document=replace(old.document, **new))

    def chunk(**new: Any) -> Callable[[ParsedDocument], ParsedDocument]:
        return lambda old: replace(old, chunks=[replace(old.chunks[0], **new), *old.chunks[1:]])

    return [
        document(text="other"),
        document(title="other"),
        document(meta={}),
        chunk(locator="9"),
        chunk(context="other"),
        chunk(searched=None),
        chunk(page=7),
        lambda old: replace(old, links=list(old.links)[1:]),
        lambda old: replace(old, facts={}),
        lambda old: replace(old, chunks=old.chunks[1:]),
    ]


@pytest.mark.parametrize("change", changes())
def test_any_change_of_a_document_changes_its_checksum(
    change: Callable[[ParsedDocument], ParsedDocument],
) -> None:
    sample = SAMPLES[0]
    loaded = parse(sample.read_bytes(), sample.name, Settings().ingest)
    assert loaded.links and loaded.facts
    assert digest_of(change(loaded)) != digest_of(loaded)


def test_the_command_mends_and_tells(index: Path, pincite: Any) -> None:
    file = segment(index, "chunks.sqlite")
    spoil(file, file.read_bytes().index(b"Document 2 version 1 paragraph 3"))
    told = pincite("doctor", "--index", index)
    assert told.code == 4 and "pincite doctor --repair" in told.out and str(file) in told.out
    quiet = ("--set", "embedding.model=none")
    told = pincite("doctor", "--repair", "--index", index, *quiet)
    assert told.code == 3, told.out + told.err
    assert "lost: 2.md" in told.out and "pincite ingest FILES" in told.out
    assert "search data made again for 3 documents" in told.out
    told = pincite("doctor", "--repair", "--index", index, "--json", *quiet)
    assert told.code == 0 and told.json["ok"] and told.json["repair"]["problems"] == []
    told = pincite("doctor", "--repair", "--index", "postgresql://localhost/nothing")
    assert told.code == 2 and "folder" in told.err
