"""An exported index comes back as the same index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pincite import Index, PinciteError, find_files, ingest_files
from pincite.maintain.exchange import export_index, import_index

SAMPLES = Path(__file__).parents[2] / "samples"
QUERIES = ["how far apart do earth rods stand", "Table 250.66", "error E-07", "grabbed"]


def answers(index: Index) -> list[list[tuple[str, float, str]]]:
    return [
        [(p.chunk.id, p.hit.score, p.citation) for p in index.search(query).passages]
        for query in QUERIES
    ]


def test_export_and_import_give_the_same_index(tmp_path: Path) -> None:
    list(ingest_files(find_files([SAMPLES]), tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        names = list(export_index(index.snapshot, tmp_path / "files"))
        before, places = answers(index), [index.snapshot.chunks(name) for name in names]
        links = [index.snapshot.links(name) for name in names]
        facts = [index.snapshot.facts([c.id for c in chunks]) for chunks in places]
    assert list(import_index(tmp_path / "files", tmp_path / "again")) == names
    with Index.open(tmp_path / "again") as index:
        assert answers(index) == before
        assert [index.snapshot.chunks(name) for name in names] == places
        assert [index.snapshot.links(name) for name in names] == links
        assert [index.snapshot.facts([c.id for c in chunks]) for chunks in places] == facts
        list(export_index(index.snapshot, tmp_path / "files2"))
    for file in sorted((tmp_path / "files").iterdir()):
        assert file.read_bytes() == (tmp_path / "files2" / file.name).read_bytes(), file.name


def test_chunks_are_readable_records(tmp_path: Path) -> None:
    list(ingest_files(find_files([SAMPLES / "manual.md"]), tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        list(export_index(index.snapshot, tmp_path / "files"))
    lines = (tmp_path / "files" / "chunks.jsonl").read_text("utf-8").splitlines()
    records = {record["locator"]: record for record in map(json.loads, lines)}
    assert records["Table 4 > E-07"]["kind"] == "row"
    assert records["2.3"]["path"] == ["2 Installation", "2.3 Wiring"]


def test_the_graph_says_which_places_of_two_editions_are_the_same(tmp_path: Path) -> None:
    files = [SAMPLES / f"electrical-code-{year}.md" for year in (2021, 2024)]
    list(ingest_files(find_files(files), tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        list(export_index(index.snapshot, tmp_path / "files"))
    lines = (tmp_path / "files" / "tuning.graph.jsonl").read_text("utf-8").splitlines()
    edges = [edge for edge in map(json.loads, lines) if edge["relation"] == "same_as"]
    assert len(edges) == 497
    assert {edge["document"] for edge in edges} == {files[1].name}
    assert {edge["target_document"] for edge in edges} == {files[0].name}
    assert "555.38" not in {edge["target"] for edge in edges}
    list(import_index(tmp_path / "files", tmp_path / "again"))
    with Index.open(tmp_path / "again") as index:
        kinds = {link.relation for link in index.snapshot.links(files[1].name)}
    assert "refers_to" in kinds and "same_as" not in kinds


def test_other_files_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    list(ingest_files(find_files([SAMPLES / "manual.md"]), tmp_path / "index"))
    (tmp_path / "files").mkdir()
    with pytest.raises(PinciteError, match="not an exported index"):
        list(import_index(tmp_path / "files", tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        assert index.documents() == ["manual.md"]
