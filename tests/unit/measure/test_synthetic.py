"""Made questions: the same in any order, bounded, and each with a place that holds its answer."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite import Index, find_files, ingest_files
from pincite.maintain.exchange import export_index, import_index
from pincite.measure.synthetic import masked, opening, questions, records
from pincite.model.settings import Settings
from pincite.model.types import ParsedDocument
from pincite.read.load import parse

SAMPLES = Path(__file__).parents[3] / "samples"
SHARED = Path(__file__).parents[4] / "shared" / "data"
NAMES = ["electrical-code-2024.md", "manual.md", "rulebook.md", "notes.txt"]


def loaded(file: Path) -> ParsedDocument:
    return parse(file.read_bytes(), file.name, Settings().ingest)


DOCUMENTS = {name: loaded(SAMPLES / name) for name in NAMES}


def asked(name: str, kind: str) -> dict[str, str]:
    found = questions(DOCUMENTS[name], most=1000)
    return {each.text: each.gold.locator for each in found if each.kind == kind}


@pytest.mark.parametrize("name", NAMES)
def test_places_hold_their_answers(name: str) -> None:
    text = DOCUMENTS[name].document.text
    found = questions(DOCUMENTS[name], most=1000)
    assert found
    for each in found:
        span = each.gold.span
        assert each.answer and each.answer in text[span.start : span.end], each


@given(st.sampled_from(NAMES), st.randoms(use_true_random=False), st.integers(1, 20))
@settings(max_examples=20, deadline=None)
def test_order_changes_nothing(name: str, chance: object, most: int) -> None:
    document = DOCUMENTS[name]

    def shuffled(values: list) -> list:
        chance.shuffle(values)  # type: ignore[attr-defined]
        return values

    other = replace(
        document,
        chunks=shuffled(list(document.chunks)),
        links=shuffled(list(document.links)),
        facts=dict(shuffled(list(document.facts.items()))),
    )
    assert questions(other, most=most) == questions(document, most=most)


@pytest.mark.parametrize("name", NAMES)
def test_fewer_are_a_part_of_more(name: str) -> None:
    few, many = (questions(DOCUMENTS[name], most=most) for most in (3, 12))
    assert set(few) <= set(many)
    for kind in {each.kind for each in many}:
        assert sum(each.kind == kind for each in few) <= 3
        assert sum(each.kind == kind for each in many) <= 12
    assert len({(each.kind, each.text) for each in many}) == len(many)


def test_tables_share_the_bound() -> None:
    """A long table does not drive out the short ones."""
    tables = {each.group for each in questions(DOCUMENTS["manual.md"]) if each.kind == "cell"}
    few = questions(DOCUMENTS["manual.md"], most=len(tables))
    assert {each.group for each in few if each.kind == "cell"} == tables
    assert len(tables) > 2


def test_each_kind_asks_for_its_place() -> None:
    code = asked("electrical-code-2024.md", "locator")
    assert "210.8(A)(2)" in {re.sub(r"^What does | say\?$|^show me ", "", text) for text in code}
    cells = asked("manual.md", "cell")
    assert any("Table 4" in text and place == "Table 4 > E-07" for text, place in cells.items())
    terms = asked("electrical-code-2024.md", "definition")
    assert any("Branch circuit" in text for text in terms)
    assert asked("manual.md", "heading")
    assert asked("rulebook.md", "masked_name")


def test_names_are_masked() -> None:
    found = questions(DOCUMENTS["rulebook.md"], most=1000)
    entries = [each for each in found if each.kind == "masked_name"]
    assert len(entries) > 10
    for each in entries:
        said = each.text.partition(":")[2].casefold()
        assert each.answer.casefold() not in said
        for word in re.findall(r"[^\W\d_]{5,}", each.answer.casefold()):
            assert not re.search(rf"\b{word}(?:e?s|ing|ed)?\b", said), each.text


def test_other_forms_of_a_name_are_masked_too() -> None:
    words = "You reshape what a creature keeps in mind: its memories fade, or a memory you choose"
    assert "memor" not in masked(words, ["Modify Memory"])
    assert masked("The lantern is lit by the lantern.", ["Lantern"]) == ""  # nothing is left


def test_labels_and_tables_are_no_opening() -> None:
    entry = "### Ward\n\n**Range:** touch\n\n| a | b |\n\n" + "You guard a friend. " * 5
    assert opening(entry).startswith("You guard a friend.")
    assert opening("### Ward\n\n**Range:** touch") == ""


def test_what_two_documents_have_is_asked_with_the_title(tmp_path: Path) -> None:
    list(ingest_files(find_files([SAMPLES]), tmp_path / "index"))
    with Index.open(tmp_path / "index") as index:
        list(export_index(index.snapshot, tmp_path / "files", ask=records))
    lines = (tmp_path / "files" / "queries.jsonl").read_text("utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    assert all(each["synthetic"] is True for each in found)
    assert len({each["id"] for each in found}) == len(found)
    texts = [each["question"] for each in found if each["kind"] != "masked_name"]
    assert len(set(texts)) == len(texts)
    assert any("2021 Edition" in text for text in texts)
    # Reading back does not need them, and they come out the same.
    list(import_index(tmp_path / "files", tmp_path / "again"))
    with Index.open(tmp_path / "again") as index:
        list(export_index(index.snapshot, tmp_path / "files2", ask=records))
        assert (tmp_path / "files2" / "queries.jsonl").read_text("utf-8").splitlines() == lines
        list(export_index(index.snapshot, tmp_path / "files2"))
    assert not (tmp_path / "files2" / "queries.jsonl").exists()


def test_a_real_regulation_asks_for_its_clauses() -> None:
    file = SHARED / "part97" / "part97.md"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    found = questions(loaded(file))
    kinds = {each.kind for each in found}
    assert {"locator", "definition", "heading"} <= kinds
    defined = {each.answer: each.gold.locator for each in questions(loaded(file), most=1000)}
    assert defined["Amateur service"] == "97.3(a)(4)"
