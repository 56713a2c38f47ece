"""The front door of Python: open, ingest, search, ask, show, cite, evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import pincite
from pincite.answer.values import CompleteEvent
from pincite.model.errors import ConfigError, SourceError, StoreError

SAMPLES = Path(__file__).parents[2] / "samples"
NEW = "electrical-code-2024.md"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pincite.Index]:
    with pincite.open(tmp_path_factory.mktemp("door") / "index") as opened:
        report = opened.ingest(SAMPLES)
        assert report.counts == {"added": 5} and report.vectors > 400
        yield opened


def test_an_index_is_made_when_it_is_first_written_to(tmp_path: Path) -> None:
    with pincite.open(str(tmp_path / "index")) as index:
        assert not (tmp_path / "index").exists()
        for read in (lambda: index.search("rods"), index.documents, lambda: index.show("1.1")):
            with pytest.raises(StoreError, match=r"no index in .* yet") as told:
                read()
            assert "index.ingest" in told.value.hint
        done = index.ingest_text("Rods shall be 2.4 m apart.", id="memo", title="Memo")
        assert (done.document, done.status, done.chunks) == ("memo", "added", 1)
        assert index.documents() == ["memo"]
        assert index.search("how far apart are rods")[0].citation == "Memo"
        again = index.ingest_text("Rods shall be 2.4 m apart.", id="memo", title="Memo")
        assert again.status == "unchanged"
        changed = index.ingest_text("Rods shall be 3 m apart.", id="memo", title="Memo")
        assert changed.status == "changed"
        assert "3 m" in index.search("how far apart are rods")[0].snippet
        assert index.remove("memo") == ["memo"] and index.documents() == []
        with pytest.raises(AttributeError):
            _ = index.nothing  # type: ignore[attr-defined]


def test_closing_an_index_that_was_never_written(tmp_path: Path) -> None:
    pincite.open(tmp_path / "index").close()
    assert not (tmp_path / "index").exists()


def test_files_are_named_by_strings_and_paths_alike(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nFirst words.\n")
    (tmp_path / "b.bin").write_bytes(b"\0")
    assert pincite.find_files(str(tmp_path)) == pincite.find_files([tmp_path])
    named: list[str | Path] = [str(tmp_path / "a.md"), tmp_path / "b.bin"]
    report = pincite.ingest_files(named, str(tmp_path / "index"))
    assert [each.status for each in report] == ["added", "rejected"]
    assert len(report) == 2 and report[0].document == "a.md" and report[-1:] == report.rejected
    with pytest.raises(SourceError, match="no reader"):
        report.raise_for_rejected()
    assert pincite.Index.open(tmp_path / "index").documents() == ["a.md"]


def test_progress_is_an_iterator_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nFirst words.\n")
    index = pincite.open(tmp_path / "index")
    stream = index.iter_ingest(tmp_path / "a.md")
    assert not (tmp_path / "index").exists()
    assert [outcome.status for outcome in stream] == ["added"]
    assert index.opened.snapshot.vectors and index.search("first")[0].chunk.span.doc_id == "a.md"
    index.close()


def test_what_is_ingested_is_found_by_the_same_object(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nBees are kept in hives.\n")
    with pincite.open(tmp_path / "index") as index:
        index.ingest([tmp_path / "a.md"]).raise_for_rejected()
        assert index.ask("where are bees kept").text.startswith("Bees are kept in hives.")
        (tmp_path / "a.md").write_text("# A\n\nBees are kept in trees.\n")
        index.ingest(str(tmp_path / "a.md"))
        assert index.ask("where are bees kept").text.startswith("Bees are kept in trees.")


def test_a_result_is_a_sequence_of_passages(index: pincite.Index) -> None:
    found = index.search("how far apart are earth rods", k=4)
    assert len(found) == 4 and list(found) == found.passages == found[:]
    assert found[0].rank == 1 and found[-1].rank == 4 and found[0] in found
    assert [passage.rank for passage in found[1:3]] == [2, 3]
    empty = index.search("zzzz qqqq", filters=pincite.Filters(documents=("nothing",)))
    assert not empty and len(empty) == 0


def test_an_answer_and_its_events(index: pincite.Index) -> None:
    answer = index.ask("how far apart are earth rods?")
    assert "2.4 m apart" in answer.text and answer.citations[0].locator == "250.56(B)"
    *_, last = index.ask_stream("how far apart are earth rods?")
    assert isinstance(last, CompleteEvent) and last.answer.text == answer.text


def test_places_cells_and_citations(index: pincite.Index) -> None:
    (place,) = index.show("210.8(D)", NEW)
    assert place.text.startswith("(D) Testing.")
    cell = index.cell("Table 250.122", "90 A", "copper", NEW)
    assert (cell.value, cell.unit) == ("16", "mm²") and cell.citation.startswith("Table 250.122")
    with pytest.raises(StoreError, match=r"2 cells .*electrical-code-2021.md"):
        index.cell("Table 250.122", "90 A", "copper")
    with pytest.raises(StoreError, match="no cell"):
        index.cell("Table 250.122", "no such row", document=NEW)
    passage = index.search("210.8(D)", k=1)[0]
    assert pincite.cite(passage) == index.cite(passage) == passage.citation
    title = "Harbourline Electrical Code, 2024 Edition"
    assert index.cite("210.8(D)", "markdown", NEW) == f"*{title}*, **210.8(D)**"
    entry = pincite.cite(passage, style="bibtex")
    assert entry.startswith("@misc{electrical-code-2024.md-210.8-D,") and f"{{{title}}}" in entry
    with pytest.raises(ConfigError, match="no style"):
        pincite.cite(passage, style="apa")


def test_an_evaluation_has_a_value_for_each_measure(index: pincite.Index) -> None:
    found = index.evaluate(str(SAMPLES / "questions.jsonl"))
    low, high = found.interval("nDCG@10")
    assert 0.8 < low < found["nDCG@10"] < high <= 1 and "RR" in found
    assert found["Recall@3"] <= found["Recall@10"]  # also what nobody asked for before
    assert found.summary["questions"]["counted"] > 50
    with pytest.raises(pincite.PinciteError):
        found["goodness@3"]


def test_writing_needs_the_place_of_an_index(index: pincite.Index) -> None:
    with pytest.raises(StoreError, match="not opened by its place"):
        pincite.Index(index.opened, index.settings).ingest("samples")
