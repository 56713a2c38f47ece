"""The samples from end to end: their questions find their places, and every place its locator."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pincite import Index, find_files, ingest_files
from pincite.model.errors import StoreError
from pincite.model.tables import Cell, parse_table, row_names
from pincite.model.types import Chunk
from pincite.search.lookup import TableCell

SAMPLES = Path(__file__).parents[2] / "samples"
QUESTIONS = [
    json.loads(line) for line in (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("samples")
    outcomes = list(ingest_files(find_files([SAMPLES]), folder))
    assert {outcome.status for outcome in outcomes} == {"added"}
    with Index.open(folder) as opened:
        yield opened


def places(index: Index, question: dict[str, dict[str, list[dict[str, str]]]]) -> list[Chunk]:
    gold = question["gold"]
    named = gold.get("any", []) + gold.get("all", [])
    return [index.show(place["locator"], place["document"])[0] for place in named]


def test_there_are_enough_questions_of_every_kind(index: Index) -> None:
    kinds = {question["kind"] for question in QUESTIONS}
    assert len(QUESTIONS) >= 60
    assert {"lookup", "table", "definition", "exception", "multi", "unanswerable"} <= kinds
    for question in QUESTIONS:
        assert bool(places(index, question)) != ("none" in question["gold"]), question["id"]


def test_questions_find_their_places(index: Index) -> None:
    """A floor, not a goal: lexical search finds few of the paraphrases."""
    found: dict[str, list[bool]] = defaultdict(list)
    for question in QUESTIONS:
        gold = places(index, question)
        if not gold:
            continue
        hits = index.search(question["question"], k=10).passages
        found[question["kind"]].append(
            any(place.span.overlap(hit.chunk.span) for place in gold for hit in hits)
        )
    every = [value for values in found.values() for value in values]
    assert sum(every) / len(every) >= 0.85, {k: sum(v) / len(v) for k, v in found.items()}
    assert all(found["locator"])


@pytest.mark.parametrize("name", [path.name for path in sorted(SAMPLES.glob("*.[mt]*"))])
def test_a_locator_as_query_hits_its_place_first(index: Index, name: str) -> None:
    named = [
        chunk
        for chunk in index.snapshot.chunks(name)
        if chunk.kind in ("section", "clause", "table")
    ]
    wrong = []
    for chunk in named:
        hits = index.search(chunk.locator, k=5).passages
        own = [hit for hit in hits if hit.chunk.span.doc_id == name]
        if not own or own[0].chunk.id != chunk.id or hits[0].place.locator != chunk.locator:
            wrong.append(chunk.locator)
    assert len(wrong) <= len(named) / 100, wrong


def test_the_removed_section_is_found_in_the_old_edition_only(index: Index) -> None:
    (place,) = index.show("240.33")
    assert place.span.doc_id == "electrical-code-2021.md"


def test_the_query_may_name_the_edition(index: Index) -> None:
    for year in ("2021", "2024"):
        first = index.search(f"210.8(D) in the {year} edition").passages[0]
        assert first.chunk.span.doc_id == f"electrical-code-{year}.md"
        assert first.place.locator == "210.8(D)"


def test_what_a_cell_is_cited_by_can_be_shown(index: Index) -> None:
    tables = [c for d in index.documents() for c in index.snapshot.chunks(d) if c.kind == "table"]
    assert tables
    for chunk in tables:
        table = parse_table(chunk.text)
        assert table is not None
        for number, name in enumerate(row_names(table)):
            cell = Cell(number, 1, name, table.columns[1], "", "", (), "")
            (row,) = index.show(TableCell(chunk, cell).citation, chunk.span.doc_id)
            assert row.kind == "row" and row.locator == f"{chunk.locator} > {name}"
            assert all(value in row.text for value in table.rows[number])


def test_rows_that_begin_alike_are_cited_apart(make_index: Callable[..., Index]) -> None:
    table = "| Work | Area (m²) | Fee > 0 (€) |\n|---|---|---|\n"
    rows = "| Hot | Up to 50 | 40 |\n| Hot | Over 50 | 60 |\n"
    index = make_index({"fees.md": f"# Fees\n\n**Table 3 Fees**\n\n{table}{rows}"})
    cells = index.cells("Table 3", "Hot", "fee")
    assert [each.citation for each in cells] == [
        "Table 3 > Hot, Up to 50 > Fee > 0 (€)",
        "Table 3 > Hot, Over 50 > Fee > 0 (€)",
    ]
    shown = [index.show(each.citation) for each in cells]
    assert [row.text.strip() for (row,) in shown] == rows.splitlines()
    with pytest.raises(StoreError, match="no place"):
        index.show("Table 3 > Hot, Over 50 > Price")
