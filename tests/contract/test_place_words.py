"""Whatever a heading can be called, a question can name: every word, in every language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.api import Index
from pincite.model.locators import PLACE_WORDS, PlaceWord, is_plural
from pincite.model.settings import Settings, merged
from pincite.model.types import Filters
from pincite.read.load import find_files
from pincite.update import ingest_files

HEADINGS = [each for each in PLACE_WORDS if each.level]
NUMBERS = ("3", "4", "5", "IV", "B")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index with one document for each word, whose headings are called so."""
    folder = tmp_path_factory.mktemp("words")
    for each in HEADINGS:
        parts = (
            f"## {each.word.capitalize()} {number}\n\nWords of {each.word} {number}, and no more.\n"
            for number in NUMBERS
        )
        (folder / f"{each.word}.md").write_text("# Book\n\n" + "\n".join(parts), encoding="utf-8")
    values = {"embedding": {"model": "none"}, "search": {"meaning_weight": 0.0}}
    settings = merged(Settings(), values, origin="test")
    found: list[Path] = find_files([folder])
    list(ingest_files(found, folder / "index", settings))
    with Index.open(folder / "index", settings) as opened:
        yield opened


def named(index: Index, question: str, each: PlaceWord) -> list[str]:
    """Return the headings of the word's own places that a question names, in their order."""
    return [
        passage.chunk.path[-1]
        for passage in index.search(question, 20, Filters(documents=(f"{each.word}.md",))).passages
        if "place" in passage.hit.features and passage.chunk.kind == "section"
    ]


@pytest.mark.parametrize("each", HEADINGS, ids=lambda each: each.word)
def test_a_place_is_found_by_its_name(index: Index, each: PlaceWord) -> None:
    for number in NUMBERS:
        place = f"{each.word.capitalize()} {number}"
        for form in (each.word, *(each.forms if number in "3B" else ())):
            question = f"what does {form} {number} say about words?"
            assert named(index, question, each) == [place], question
            assert named(index, question.upper(), each) == [place], question.upper()
            if len(number) > 1 or number.isdigit():
                assert named(index, question.lower(), each) == [place], question.lower()


@pytest.mark.parametrize("each", HEADINGS, ids=lambda each: each.word)
def test_a_range_is_found_by_its_ends(index: Index, each: PlaceWord) -> None:
    places = [f"{each.word.capitalize()} {number}" for number in ("3", "4", "5")]
    for form in filter(is_plural, each.forms):
        for joint in (" to ", "–", " through "):
            question = f"what do {form} 3{joint}5 say about words?"
            assert named(index, question, each) == places, question
        assert named(index, f"what do {form} 3 and 5 say?", each) == places[::2]
